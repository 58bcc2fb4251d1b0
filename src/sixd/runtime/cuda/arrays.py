"""Arrays of other libraries in the memory of a GPU, by ``__cuda_array_interface__`` or DLPack, without copies.

Results are made by the library of the first argument: CuPy or PyTorch. Others give ``out=``.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from sixd.errors import DeviceError, ScalarTypeError, ShapeError

Shape = tuple[int, ...]
ON_GPU = (2, 13)  # kinds of device of DLPack: memory of a GPU, and memory that both sides see
LEGACY = 1  # the stream on which a library without a current stream works, in the numbering of both protocols
_DTYPES = {("f", 8): "float64", ("f", 4): "float32"}


class DeviceArray(NamedTuple):
    """An array on a GPU: address, shape, strides [entries], dtype, and the object that keeps it alive."""

    address: int
    shape: Shape
    strides: Shape
    dtype: str
    writeable: bool
    owner: Any

    @property
    def extent(self) -> tuple[int, int]:
        """The first address of its entries, and the one after the last."""
        size = {"float64": 8, "float32": 4}[self.dtype]
        steps = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        if 0 in self.shape:
            return self.address, self.address
        low, high = sum(min(s, 0) for s in steps), sum(max(s, 0) for s in steps)
        return self.address + size * low, self.address + size * (high + 1)


def read_array(where: str, name: str, x: Any) -> DeviceArray:
    """The array behind an object; DeviceError if it is not on a GPU."""
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is not None:
        return _from_interface(where, name, interface, x)
    place = getattr(x, "__dlpack_device__", None)
    if place is not None and int(place()[0]) in ON_GPU:
        return _from_dlpack(where, name, x)
    kind = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}".removeprefix("builtins.")
    raise DeviceError(
        f"{where}: {name} is a {kind} in the memory of the processor, expected an array on a GPU, as all arguments of "
        f"a kernel of target='cuda'. Copy it there (cupy.asarray, tensor.cuda()), or compile with target='cpu'."
    )


def _from_interface(where: str, name: str, interface: dict[str, Any], owner: Any) -> DeviceArray:
    kind, size = interface["typestr"][1:2], int(interface["typestr"][2:])
    dtype = _dtype(where, name, kind, size, interface["typestr"])
    if interface.get("mask") is not None:
        raise ScalarTypeError(f"{where}: {name} has a mask, expected an array without one.")
    shape = tuple(int(n) for n in interface["shape"])
    address, readonly = interface["data"]
    strides = interface.get("strides")
    steps = row_major(shape) if strides is None else tuple(int(s) // size for s in strides)
    return DeviceArray(int(address or 0), shape, steps, dtype, not readonly, owner)


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


def _from_dlpack(where: str, name: str, x: Any) -> DeviceArray:
    capsule = x.__dlpack__(stream=LEGACY)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    kind = "f" if tensor.code == 2 and tensor.lanes == 1 else "?"
    dtype = _dtype(where, name, kind, tensor.bits // 8, f"type {tensor.code} of {tensor.bits} bits")
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = tuple(tensor.strides[k] for k in range(tensor.ndim)) if tensor.strides else row_major(shape)
    # the capsule was not renamed, so that it frees the tensor when it is freed itself
    return DeviceArray((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, True, (capsule, x))


def _dtype(where: str, name: str, kind: str, size: int, text: str) -> str:
    if (kind, size) not in _DTYPES:
        raise ScalarTypeError(f"{where}: {name} holds {text}, expected float64 or float32 on the GPU.")
    return _DTYPES[kind, size]


# layouts ------------------------------------------------------------------------------------------


def row_major(shape: Shape) -> Shape:
    """The strides of a contiguous row-major array [entries]."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def is_row_major(shape: Shape, strides: Shape) -> bool:
    """Whether an array is contiguous and row-major; strides of dimensions of one entry do not count."""
    return 0 in shape or all(n == 1 or s == t for n, s, t in zip(shape, strides, row_major(shape), strict=True))


class Layout(NamedTuple):
    """The shape and strides [entries] of an array's leading dimensions, and the strides of its core."""

    batch: Shape
    outer: Shape
    inner: Shape


def layout_of(where: str, name: str, array: DeviceArray, core: Shape) -> Layout:
    """The layout of an array; ShapeError if its shape does not end in ``core``."""
    cut = len(array.shape) - len(core)
    if cut < 0 or array.shape[cut:] != core:
        raise ShapeError(f"{where}: {name} has shape {array.shape}, expected {('...', *core)}.")
    return Layout(array.shape[:cut], array.strides[:cut], array.strides[cut:])


def row_stride(batch: Shape, layout: Layout) -> int | None:
    """The distance of rows [entries] of an array whose leading dimensions broadcast to ``batch``, counted in row-major
    order; None if rows do not have one distance."""
    own = [0 if n == 1 else s for n, s in zip(layout.batch, layout.outer, strict=True)]
    steps = [0] * (len(batch) - len(own)) + own
    pairs = [(n, s) for n, s in zip(batch, steps, strict=True) if n != 1]
    for (_, outer), (n, inner) in pairwise(pairs):
        if outer != n * inner:
            return None
    return pairs[-1][1] if pairs else 0


# libraries ----------------------------------------------------------------------------------------


class Library(NamedTuple):
    """What a library of arrays does: ``stream(device)``, its current one; ``empty(like, shape)``; ``rows(x, shape)``, a
    contiguous copy of x broadcast to a shape."""

    stream: Callable[[int], int]
    empty: Callable[[Any, Shape], Any]
    rows: Callable[[Any, Shape], Any]


def library_of(where: str, x: Any) -> Library:
    """The library that made an array."""
    root = type(x).__module__.partition(".")[0]
    made = {"cupy": _cupy, "torch": _torch}.get(root)
    return made(sys.modules[root]) if made is not None else _other(where, root)


def _cupy(cupy: Any) -> Library:
    return Library(
        lambda device: int(cupy.cuda.get_current_stream(device).ptr),
        lambda like, shape: cupy.empty(shape, like.dtype),
        lambda x, shape: cupy.ascontiguousarray(cupy.broadcast_to(x, shape)),
    )


def _torch(torch: Any) -> Library:
    return Library(
        lambda device: int(torch.cuda.current_stream(device).cuda_stream),
        lambda like, shape: torch.empty(shape, dtype=like.dtype, device=like.device),
        lambda x, shape: x.expand(shape).contiguous(),
    )


def _other(where: str, root: str) -> Library:
    def refuse(*_: Any) -> Any:
        raise DeviceError(
            f"{where}: arrays of {root} are taken as they are: give out=, and arrays whose rows have one distance. "
            f"Results are made for arrays of CuPy and PyTorch."
        )

    return Library(lambda device: LEGACY, refuse, refuse)
