"""Distances of two solids by coal: its C++ function, in a program that is compiled for it, or its Python call."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import coal
import numpy as np

from benchmarks.contenders.with_coal import shape_of

Array = np.ndarray
Solid = tuple[str, Array]  # its kind, and its sizes or vertices

_SOURCE = Path(__file__).with_name("coal_calls.cpp")
_PREFIX = Path(coal.__file__).parents[4]  # of the wheel, which has coal's headers and library
_EIGEN = Path("/usr/include/eigen3")  # Debian: libeigen3-dev
_ROUNDS = 3  # of Python calls


def distances(solids: Sequence[Solid], R: Sequence[Array], p: Sequence[Array]) -> tuple[float, Array]:
    """Return the least ns a pair and the signed distances (n,) of two solids with rotations (n, 3, 3) and positions
    (n, 3) each."""
    program = _compiled()
    if program is None:
        return _by_python(solids, R, p)
    words = [" ".join([kind, *([str(len(size))] if kind == "hull" else []), *_texts(size)]) for kind, size in solids]
    places = np.concatenate([x.reshape(len(x), -1) for pair in zip(R, p, strict=True) for x in pair], axis=1)
    text = " ".join([*words, str(len(places)), *_texts(places)])
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    least, *found = map(float, done.stdout.split())
    return least, np.array(found)


def how() -> str:
    """Return how coal is called."""
    if _compiled() is None:
        return "its Python call, minus the cost of an empty call, since g++ or Eigen's headers are missing"
    return "its C++ function, called in a loop"


@cache
def _compiled() -> str | None:
    """Return the program that calls coal, None if there is no compiler or no Eigen."""
    compiler = shutil.which("g++")
    if compiler is None or not _EIGEN.is_dir():
        return None
    folder = tempfile.mkdtemp(prefix="coal_calls")
    atexit.register(shutil.rmtree, folder)
    program = str(Path(folder) / "calls")
    library = _PREFIX / "lib"
    flags = ["-O2", "-DNDEBUG", "-std=c++17", f"-I{_PREFIX / 'include'}", f"-I{_EIGEN}"]
    links = [f"-L{library}", "-lcoal", f"-Wl,-rpath,{library}"]
    done = subprocess.run([compiler, *flags, str(_SOURCE), "-o", program, *links], capture_output=True, check=False)
    return program if done.returncode == 0 else None


def _texts(x: Array) -> list[str]:
    return list(map(repr, np.ravel(x).tolist()))


def _by_python(solids: Sequence[Solid], R: Sequence[Array], p: Sequence[Array]) -> tuple[float, Array]:
    request = coal.DistanceRequest(True)
    request.enable_signed_distance = True
    shapes = [shape_of(*solid) for solid in solids]
    places = [[coal.Transform3s(x, y) for x, y in zip(*pair, strict=True)] for pair in zip(R, p, strict=True)]
    times, empty = [], []
    found = [0.0] * len(R[0])
    for _ in range(_ROUNDS):
        result = coal.DistanceResult()
        start = time.perf_counter_ns()
        for k, (x, y) in enumerate(zip(*places, strict=True)):
            result.clear()  # else coal returns at once after an overlap
            found[k] = coal.distance(shapes[0], x, shapes[1], y, request, result)
        times.append(time.perf_counter_ns() - start)
        start = time.perf_counter_ns()
        for _pair in zip(*places, strict=True):
            result.clear()
        empty.append(time.perf_counter_ns() - start)
    return (min(times) - min(empty)) / len(found), np.array(found)
