"""The libraries of arrays, and which of them made an argument. A new library is one more class in ``LIBRARIES``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sixd.errors import DeviceError
from sixd.runtime.arrays.cupy_arrays import CupyArrays
from sixd.runtime.arrays.gpu_protocols import GpuProtocols
from sixd.runtime.arrays.interface import (
    NUMBERS,
    ArrayLibrary,
    CpuLibrary,
    GpuLibrary,
    Look,
    NativeLibrary,
    OnArrays,
    describe,
)
from sixd.runtime.arrays.layouts import DeviceArray
from sixd.runtime.arrays.numpy_arrays import NUMPY, NumpyArrays
from sixd.runtime.arrays.torch_tensors import CudaTensors

# asked in this order whether a class is theirs; NumPy is last, for it takes every class that no other recognizes
LIBRARIES: list[type[ArrayLibrary]] = [CupyArrays, CudaTensors, GpuProtocols, NumpyArrays]

# most arguments are of these types
_PLAIN = frozenset({np.ndarray, list, tuple, type(None), *NUMBERS})
# by class: which library an array has, and what a launch needs of it
_FINDERS: dict[type, Callable[[Any], ArrayLibrary]] = {}
LOOKS: dict[type, Callable[[Any], Look]] = {}


def library_of(x: object) -> ArrayLibrary:
    """The library of an argument; NumPy for what is no array."""
    kind = type(x)
    return NUMPY if kind in _PLAIN else (_FINDERS.get(kind) or _recognize(kind).of)(x)


def look(x: object) -> Look:
    """What a launch needs of an array on a GPU."""
    return (LOOKS.get(type(x)) or _recognize(type(x)).look)(x)


def _recognize(kind: type) -> ArrayLibrary:
    """The library of a class, which is found once."""
    library = next(found for cls in LIBRARIES if (found := cls.recognize(kind)) is not None)
    LOOKS.setdefault(kind, library.look)
    _FINDERS.setdefault(kind, library.of)
    return library


def read_array(where: str, name: str, x: object) -> DeviceArray:
    """The address and layout of an array on a GPU; DeviceError if it is not there."""
    return library_of(x).read(where, name, x)


def is_on_gpu(*values: object) -> bool:
    """Whether one of the arguments is an array on a GPU."""
    for x in values:  # noqa: SIM110  (half the time of any())
        if type(x) not in _PLAIN and library_of(x).on_gpu:
            return True
    return False


def common_library(where: str, names: Sequence[str], values: Sequence[object], out: object = None) -> ArrayLibrary:
    """The library of the arguments of a call, whose names are ``names``; DeviceError if only some are on a GPU.

    Arrays of NumPy go with those of any other library on the CPU; plain numbers and None with any. If arrays are of
    several other libraries on the CPU, the first argument's is returned.
    """
    every = (*values, *(out if isinstance(out, (tuple, list)) else (out,)))
    libraries = [NUMPY if type(x) in _PLAIN else library_of(x) for x in every]
    others = [k for k, library in enumerate(libraries) if library is not NUMPY]
    if not others:
        return NUMPY
    first = next((k for k in others if libraries[k].on_gpu), others[0])
    if libraries[first].on_gpu:
        labels = (*names, *["out"] * (len(every) - len(values)))
        for name, x, library in zip(labels, every, libraries, strict=True):
            if not library.on_gpu and x is not None and type(x) not in NUMBERS:
                raise _mixed(where, name, x, labels[first], libraries[first])
    return libraries[first]


def native_library(where: str, names: Sequence[str], values: Sequence[object]) -> NativeLibrary:
    """The library that makes the arrays of a computation with these arguments; that of tensors on the CPU is NumPy."""
    library = common_library(where, names, values)
    if not isinstance(library, NativeLibrary):
        return NUMPY
    library.require_making(where)
    return library


def maker_of(where: str, x: object) -> GpuLibrary:
    """The library of an array on a GPU; DeviceError if it cannot make arrays."""
    library = library_of(x)
    assert isinstance(library, GpuLibrary)
    library.require_making(where)
    return library


def _mixed(where: str, name: str, x: object, other: str, there: ArrayLibrary) -> DeviceError:
    to, back = library_of(x).copy_to_gpu or there.copy_to_gpu, there.copy_to_cpu
    to, back = (f", {text.format(label)}" if text else "" for text, label in ((to, name), (back, other)))
    return DeviceError(
        f"{where}: {name} is a {describe(x)} in CPU memory, but {other} is on a GPU, expected all in one memory. "
        f"Copy it to the GPU{to}, or the others to the CPU{back}."
    )


def require_cpu(where: str, **values: object) -> None:
    """Raise if one of these arguments is on a GPU."""
    for name, x in values.items():
        if is_on_gpu(x):
            copy = library_of(x).copy_to_cpu.format(name) or "a copy there"
            raise DeviceError(
                f"{where}: {name} is a {describe(x)} on a GPU, but this function is not compiled and expects arrays in "
                f"CPU memory. Give {copy}."
            )


# evaluation ---------------------------------------------------------------------------------------


def by_library(
    where: str,
    names: Sequence[str],
    values: Sequence[Any],
    out: Any,
    on_numpy: OnArrays,
    on_gpu: OnArrays | None = None,
) -> Any:
    """The result of ``on_gpu(values, out)`` for arrays on a GPU, of ``on_numpy(arrays, out)`` for others.

    The memory of another library's arrays on the CPU is passed on as NumPy's, and results are arrays of that library,
    or ``out`` itself.
    """
    library = common_library(where, names, values, out)
    if library.on_gpu and on_gpu is not None:
        return on_gpu(values, out)
    if not isinstance(library, CpuLibrary):
        return on_numpy(values, out)
    arrays = [_to_numpy(where, name, x) for name, x in zip(names, values, strict=True)]
    if out is None:
        return library.wrap(on_numpy(arrays, None))
    several = isinstance(out, (tuple, list))
    on_numpy(arrays, tuple(_to_numpy(where, "out", x) for x in out) if several else _to_numpy(where, "out", out))
    return out


def needs_numpy(*values: object) -> bool:
    """Whether one of the arguments is an array in CPU memory of another library than NumPy."""
    return any(type(x) not in _PLAIN and isinstance(library_of(x), CpuLibrary) for x in values)


def _to_numpy(where: str, name: str, x: Any) -> Any:
    library = library_of(x)
    return library.to_numpy(where, name, x) if isinstance(library, CpuLibrary) else x
