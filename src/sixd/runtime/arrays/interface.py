"""What sixd needs of a library of arrays. Each library is one file with a subclass, listed in ``registry.py``.

NumPy reads the memory of a ``CpuLibrary`` in place: functions compute on that, and the results are wrapped. A
``NativeLibrary`` makes the arrays that sixd computes with: NumPy is one, and so is each ``GpuLibrary``, on whose arrays
compiled code is launched by addresses and layouts.

Nothing here imports a library: the class of an argument tells which library made it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sixd.errors import DeviceError
from sixd.runtime.arrays.layouts import DeviceArray, Shape
from sixd.spatial.scalar import Array

# what a launch needs of an array whose layout is known: the layout as its library states it, which is the same for
# equal layouts, the address, and the number of the GPU (-1 if the array is empty)
Look = tuple[Any, int, int]
NUMBERS = (float, int, np.float64, np.float32)


# a function (values, out) -> results
OnArrays = Callable[[Sequence[Any], Any], Any]


class ArrayLibrary(ABC):
    """A library of arrays, in one kind of memory."""

    on_gpu = False
    # code that copies an array {} to the other memory, for error messages
    copy_to_gpu = copy_to_cpu = ""

    @classmethod
    @abstractmethod
    def recognize(cls, kind: type) -> ArrayLibrary | None:
        """The library of the arrays of a class; None for other classes. Each class is asked for once."""

    def of(self, x: Any) -> ArrayLibrary:
        """The library of one array: another one than ``self`` where a class has arrays in both memories."""
        return self

    def look(self, x: Any) -> Look:
        """What a launch needs of an array."""
        raise not_on_gpu("launch", "an array", x)

    def read(self, where: str, name: str, x: Any) -> DeviceArray:
        """The address and layout of an array on a GPU; DeviceError if it is not there."""
        raise not_on_gpu(where, name, x)


class CpuLibrary(ArrayLibrary):
    """A library whose arrays are memory of the CPU that NumPy can read.

    Compiled functions, kernels and ``sixd.step`` return its arrays. ``sixd.simulate`` reads its arrays and records
    NumPy's. Other functions read what ``numpy.asarray`` accepts, for which an array needs ``__array__``.
    """

    @abstractmethod
    def to_numpy(self, where: str, name: str, x: Any) -> Any:
        """The memory of an array as a NumPy array, without a copy."""

    @abstractmethod
    def from_numpy(self, x: Array) -> Any:
        """An array with the memory of a NumPy array, of any shape, () included."""

    def wrap(self, result: Any) -> Any:
        """The arrays of a result as arrays of this library, in the same (named) tuple; other objects as they are."""
        if isinstance(result, tuple):
            parts = [self.wrap(x) for x in result]
            return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
        if isinstance(result, np.ndarray) and result.dtype != object:
            return self.from_numpy(result)
        if isinstance(result, np.generic):
            return self.from_numpy(np.asarray(result))
        return result


class NativeLibrary(ArrayLibrary):
    """A library that makes the arrays of a computation.

    Arrays are made of the dtype and on the device of another one, ``like``.
    """

    def stream(self, device: int) -> int:
        """The handle of the current stream on a GPU; 0 on the CPU, which has none."""
        return 0

    def require_making(self, where: str) -> None:
        """Raise if the library is only read, so that it cannot make arrays."""

    @abstractmethod
    def empty(self, like: Any, shape: Shape) -> Any:
        """A new array."""

    @abstractmethod
    def full(self, like: Any, shape: Shape, value: float) -> Any:
        """A new array filled with a number."""

    @abstractmethod
    def upload(self, like: Any, array: Array) -> Any:
        """A copy of a NumPy array."""

    @abstractmethod
    def download(self, x: Any) -> Array:
        """A copy as a NumPy array, or the array itself if it is one."""

    @abstractmethod
    def view(self, x: Any, shape: Shape) -> Any:
        """An array broadcast to a shape, without a copy."""

    @abstractmethod
    def rows(self, x: Any, shape: Shape) -> Any:
        """An array broadcast to a shape, contiguous."""

    @abstractmethod
    def copy(self, x: Any) -> Any:
        """A copy."""

    @abstractmethod
    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        """Entries of a where the condition holds, else of b."""


class GpuLibrary(NativeLibrary):
    """A library whose arrays are memory of an NVIDIA GPU."""

    on_gpu = True

    @abstractmethod
    def read(self, where: str, name: str, x: Any) -> DeviceArray:
        """The address and layout of an array, of float64 or float32."""

    def look(self, x: Any) -> Look:
        """The same as quickly as the library allows: 0.5 us for CuPy and PyTorch."""
        array = self.read("launch", "an array", x)
        return (array.dtype, array.shape, array.strides, array.writeable), array.address, array.device

    @abstractmethod
    def stream(self, device: int) -> int:
        """The handle of the current stream on a GPU."""


# errors -------------------------------------------------------------------------------------------


def describe(x: object) -> str:
    """The class of an argument, as it is known to users."""
    return f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}".removeprefix("builtins.")


def not_on_gpu(where: str, name: str, x: object) -> DeviceError:
    """The error for an argument that is not in the memory of a GPU."""
    return DeviceError(
        f"{where}: {name} is a {describe(x)} in CPU memory, expected an array on a GPU, as all arguments of this call. "
        f"Copy it there (cupy.asarray, tensor.cuda()), or give all arguments in CPU memory."
    )
