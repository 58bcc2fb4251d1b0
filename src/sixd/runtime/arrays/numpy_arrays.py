"""NumPy's arrays, and everything that NumPy can convert to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.runtime.arrays.interface import NativeLibrary
from sixd.runtime.arrays.layouts import Shape
from sixd.spatial.scalar import Array


class NumpyArrays(NativeLibrary):
    """NumPy."""

    @classmethod
    def recognize(cls, kind: type) -> NativeLibrary | None:
        """Every class that no other library recognizes; what is not an array is refused when it is read."""
        return NUMPY

    def empty(self, like: Array, shape: Shape) -> Array:
        return np.empty(shape, like.dtype)

    def full(self, like: Array, shape: Shape, value: float) -> Array:
        return np.full(shape, value, like.dtype)

    def upload(self, like: Array, array: Array) -> Array:
        return np.array(array, like.dtype)

    def download(self, x: Array) -> Array:
        return x

    def view(self, x: Array, shape: Shape) -> Array:
        return np.broadcast_to(x, shape)

    def rows(self, x: Array, shape: Shape) -> Array:
        return np.ascontiguousarray(np.broadcast_to(x, shape))

    def copy(self, x: Array) -> Array:
        return np.copy(x)

    def choose(self, condition: Array, a: Any, b: Any) -> Array:
        return np.where(condition, a, b)


NUMPY = NumpyArrays()
