"""The C and C++ compilers of this machine: build generated code and call it. Either may be missing."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

CC = next(filter(None, map(shutil.which, ("gcc", "clang", "cc"))), None)
CXX = next(filter(None, map(shutil.which, ("g++", "clang++", "c++"))), None)
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
COMPILERS = {"C99": [CC, "-std=c99"], "C++": [CXX, "-x", "c++"]}

needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler: neither gcc nor clang nor cc is on the PATH")


def build(code, folder, language="C99", optimize="-O2"):
    """Return the compiled function, which is called with pointers."""
    source, _ = code.save(folder)
    library = folder / f"{code.name}.so"
    command = [*COMPILERS[language], *STRICT, optimize, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    function = getattr(ctypes.CDLL(str(library)), code.name)
    function.restype = None
    return function


def call(function, program, *arrays, dtype=np.float64):
    """Return the outputs; the numbers next to them must not be written."""
    inputs = [np.array(a, dtype=dtype, order="C") for a in arrays]
    padded = [np.full(len(slot.entries) + 2, 77.0, dtype=dtype) for slot in program.outputs]
    function(*(pointer(a) for a in inputs), *(pointer(a[1:-1]) for a in padded))
    assert all(a[0] == a[-1] == 77.0 for a in padded)
    return tuple(a[1:-1].reshape(slot.shape) for a, slot in zip(padded, program.outputs, strict=True))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data if array.size else None)
