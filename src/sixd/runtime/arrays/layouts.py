"""Layouts of arrays in the memory of a GPU: addresses, shapes and strides."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from sixd.errors import ScalarTypeError, ShapeError

Shape = tuple[int, ...]
_DTYPES = {("f", 8): "float64", ("f", 4): "float32"}
SIZES = {"float64": 8, "float32": 4}


class DeviceArray(NamedTuple):
    """An array on a GPU: address, shape, strides [entries], dtype, the object that keeps it alive, the GPU's number."""

    address: int
    shape: Shape
    strides: Shape
    dtype: str
    writeable: bool
    owner: object
    device: int

    @property
    def reach(self) -> tuple[int, int]:
        """The first byte of its entries, and the one after the last, counted from its address."""
        if 0 in self.shape:
            return 0, 0
        size = SIZES[self.dtype]
        steps = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        return size * sum(min(s, 0) for s in steps), size * (sum(max(s, 0) for s in steps) + 1)

    @property
    def extent(self) -> tuple[int, int]:
        """The first address of its entries, and the one after the last."""
        low, high = self.reach
        return self.address + low, self.address + high


def dtype_name(where: str, name: str, kind: str, size: int, text: str) -> str:
    """The name of the dtype of that kind and size [bytes]; raise for others, described by ``text``."""
    if (kind, size) not in _DTYPES:
        raise ScalarTypeError(
            f"{where}: {name} holds {text}, expected float64 or float32 on the GPU. Convert it: {name}.astype(float)."
        )
    return _DTYPES[kind, size]


def row_major(shape: Shape) -> Shape:
    """The strides of a contiguous row-major array [entries]."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def is_row_major(shape: Shape, strides: Shape) -> bool:
    """Whether an array is contiguous and row-major; strides of dimensions of one entry do not count."""
    return 0 in shape or all(n == 1 or s == t for n, s, t in zip(shape, strides, row_major(shape), strict=True))


class ArrayLayout(NamedTuple):
    """The shape and strides [entries] of an array's batch dimensions, and the strides of its core."""

    batch: Shape
    outer: Shape
    inner: Shape


def layout_of(where: str, name: str, array: DeviceArray, core: Shape) -> ArrayLayout:
    """The layout of an array; ShapeError if its shape does not end in ``core``."""
    cut = len(array.shape) - len(core)
    if cut < 0 or array.shape[cut:] != core:
        raise ShapeError(f"{where}: {name} has shape {array.shape}, expected {('...', *core)}.")
    return ArrayLayout(array.shape[:cut], array.strides[:cut], array.strides[cut:])


def row_stride(batch: Shape, layout: ArrayLayout) -> int | None:
    """The distance of samples [entries] of an array whose batch dimensions broadcast to ``batch``, counted in row-major
    order; None if samples do not have one distance."""
    own = [0 if n == 1 else s for n, s in zip(layout.batch, layout.outer, strict=True)]
    steps = [0] * (len(batch) - len(own)) + own
    pairs = [(n, s) for n, s in zip(batch, steps, strict=True) if n != 1]
    for (_, outer), (n, inner) in pairwise(pairs):
        if outer != n * inner:
            return None
    return pairs[-1][1] if pairs else 0
