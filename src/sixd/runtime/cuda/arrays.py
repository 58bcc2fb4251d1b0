"""Arrays of other libraries in the memory of a GPU, by their own attributes, ``__cuda_array_interface__`` or DLPack.

They are taken without copies. Results are made by the library of the first argument: CuPy or PyTorch. Others give
``out=``.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from sixd.errors import DeviceError, ScalarTypeError, ShapeError
from sixd.runtime.cuda.driver import driver

Shape = tuple[int, ...]
ON_GPU = (2, 13)  # kinds of device of DLPack: memory of a GPU, and memory that both sides see
LEGACY = 1  # the stream on which a library without a current stream works, in the numbering of both protocols
_DTYPES = {("f", 8): "float64", ("f", 4): "float32"}
SIZES = {"float64": 8, "float32": 4}


class DeviceArray(NamedTuple):
    """An array on a GPU: address, shape, strides [entries], dtype, the object that keeps it alive, the GPU's number."""

    address: int
    shape: Shape
    strides: Shape
    dtype: str
    writeable: bool
    owner: Any
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


def read_array(where: str, name: str, x: Any) -> DeviceArray:
    """The array behind an object; DeviceError if it is not on a GPU."""
    if type(x).__module__.partition(".")[0] == "torch":
        return _from_torch(where, name, x)
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is not None:
        return _from_interface(where, name, interface, x)
    side = getattr(x, "__dlpack_device__", None)
    if side is not None and int(side()[0]) in ON_GPU:
        return _from_dlpack(where, name, x)
    raise not_on_gpu(where, name, x)


def not_on_gpu(where: str, name: str, x: Any) -> DeviceError:
    """The error for an argument that is not in the memory of a GPU."""
    kind = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}".removeprefix("builtins.")
    return DeviceError(
        f"{where}: {name} is a {kind} in the memory of the processor, expected an array on a GPU, as all arguments of "
        f"a call there. Copy it (cupy.asarray, tensor.cuda()), or compute on the processor with all arrays there."
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
    return DeviceArray(int(address or 0), shape, steps, dtype, not readonly, owner, _device(where, int(address or 0)))


def _from_torch(where: str, name: str, x: Any) -> DeviceArray:
    """A CUDA tensor; its own interface refuses those that require gradients."""
    if not x.is_cuda:
        raise not_on_gpu(where, name, x)
    if x.requires_grad:
        refuse_gradient(where, name)
    dtype = str(x.dtype).removeprefix("torch.")
    if dtype not in SIZES:
        raise ScalarTypeError(f"{where}: {name} holds {dtype}, expected float64 or float32. Convert it: {name}.to(…).")
    strides = tuple(int(s) for s in x.stride())
    return DeviceArray(x.data_ptr(), tuple(map(int, x.shape)), strides, dtype, True, x, x.get_device())


def refuse_gradient(where: str, name: str) -> None:
    """Raise for a tensor that requires gradients, while they are recorded: its gradient would be lost silently."""
    if sys.modules["torch"].is_grad_enabled():
        raise ScalarTypeError(
            f"{where}: {name} is a tensor that requires gradients, which this function does not pass on. Use the "
            f"function of that name in sixd.torch, or give {name}.detach()."
        )


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
    address = (tensor.data or 0) + tensor.byte_offset
    # the capsule was not renamed, so that it frees the tensor when it is freed itself
    return DeviceArray(address, shape, strides, dtype, True, (capsule, x), _device(where, address))


def _device(where: str, address: int) -> int:
    """The number of the GPU of an address; -1 for that of an empty array."""
    return driver(where).device_of(where, address) if address else -1


def _dtype(where: str, name: str, kind: str, size: int, text: str) -> str:
    if (kind, size) not in _DTYPES:
        raise ScalarTypeError(
            f"{where}: {name} holds {text}, expected float64 or float32 on the GPU. Convert it: {name}.astype(float)."
        )
    return _DTYPES[kind, size]


# quick looks --------------------------------------------------------------------------------------

# what a launch needs of an array whose layout is known: the layout as its library states it, which is the same for
# equal layouts, the address, and the number of the GPU (-1 if the array is empty)
Look = tuple[Any, int, int]
LOOKS: dict[type, Callable[[Any], Look]] = {}


def look(x: Any) -> Look:
    """A look at an array on a GPU, as quick as its library allows: 0.5 us for CuPy and PyTorch."""
    return (LOOKS.get(type(x)) or add_look(type(x)))(x)


def add_look(kind: type) -> Callable[[Any], Look]:
    """The function that looks at arrays of a class."""
    root = kind.__module__.partition(".")[0]
    return LOOKS.setdefault(kind, {"cupy": _look_cupy, "torch": _look_torch}.get(root, _look_at_any))


def _look_cupy(x: Any) -> Look:
    data = x.data
    address = data.ptr
    return (x.dtype, x.shape, x.strides), address, data.device_id if address else -1


def _look_torch(x: Any) -> Look:
    if not x.is_cuda or x.requires_grad:
        read_array("launch", "an array", x)  # raises, unless gradients are not recorded
    address = x.data_ptr()
    return (x.dtype, x.shape, x.stride()), address, x.get_device() if address else -1


def _look_at_any(x: Any) -> Look:
    array = read_array("launch", "an array", x)
    return (array.dtype, array.shape, array.strides, array.writeable), array.address, array.device


# layouts ------------------------------------------------------------------------------------------


def row_major(shape: Shape) -> Shape:
    """The strides of a contiguous row-major array [entries]."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def is_row_major(shape: Shape, strides: Shape) -> bool:
    """Whether an array is contiguous and row-major; strides of dimensions of one entry do not count."""
    return 0 in shape or all(n == 1 or s == t for n, s, t in zip(shape, strides, row_major(shape), strict=True))


class ArrayLayout(NamedTuple):
    """The shape and strides [entries] of an array's leading dimensions, and the strides of its core."""

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
    """What a library of arrays does.

    ``stream(device)`` is its current stream on a GPU; ``empty(like, shape)``, ``full(like, shape, value)`` and
    ``upload(like, array)``, a copy of a NumPy array, make arrays of the dtype and on the device of another one;
    ``rows(x, shape)`` is x broadcast to a shape as a contiguous array, ``view(x, shape)`` the same without a copy;
    ``download(x)`` copies to NumPy; ``copy(x)``; ``choose(condition, a, b)`` has entries of a, or of b. ``on_gpu``: its
    arrays are on a GPU, so that numbers are not read.
    """

    module: Any
    stream: Callable[[int], int]
    empty: Callable[[Any, Shape], Any]
    rows: Callable[[Any, Shape], Any]
    full: Callable[[Any, Shape, float], Any]
    view: Callable[[Any, Shape], Any]
    upload: Callable[[Any, Any], Any]
    download: Callable[[Any], Any]
    copy: Callable[[Any], Any]
    choose: Callable[[Any, Any, Any], Any]
    on_gpu: bool = True


_LIBRARIES: dict[str, Library] = {}


def library_of(where: str, x: Any) -> Library:
    """The library that made an array."""
    root = type(x).__module__.partition(".")[0]
    made = {"cupy": _cupy, "torch": _torch}.get(root)
    if made is None:
        return _other(where, root)
    found = _LIBRARIES.get(root)
    if found is None or found.module is not sys.modules[root]:
        found = _LIBRARIES[root] = made(sys.modules[root])
    return found


def _cupy(cupy: Any) -> Library:
    current, number = cupy.cuda.get_current_stream, cupy.cuda.runtime.getDevice

    def empty(like: Any, shape: Shape) -> Any:
        if number() == like.data.device_id:
            return cupy.empty(shape, like.dtype)
        with like.device:
            return cupy.empty(shape, like.dtype)

    def rows(x: Any, shape: Shape) -> Any:
        with x.device:
            return cupy.ascontiguousarray(cupy.broadcast_to(x, shape))

    def full(like: Any, shape: Shape, value: float) -> Any:
        with like.device:
            return cupy.full(shape, value, like.dtype)

    def upload(like: Any, array: Any) -> Any:
        with like.device:
            return cupy.asarray(array)

    stream, download = (lambda device: current(device).ptr), (lambda x: x.get())
    return Library(cupy, stream, empty, rows, full, cupy.broadcast_to, upload, download, lambda x: x.copy(), cupy.where)


def _torch(torch: Any) -> Library:
    # the raw handle, if this version has it: a Stream object takes 2 us to make
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return Library(
        torch,
        raw or (lambda device: int(torch.cuda.current_stream(device).cuda_stream)),
        lambda like, shape: like.new_empty(shape, requires_grad=False),
        lambda x, shape: x.detach().expand(shape).contiguous(),
        lambda like, shape, value: like.new_full(shape, value, requires_grad=False),
        lambda x, shape: x.detach().expand(shape),
        lambda like, array: torch.as_tensor(array, device=like.device),
        lambda x: x.detach().cpu().numpy(),
        lambda x: x.clone(),
        torch.where,
    )


def _other(where: str, root: str) -> Library:
    def refuse(*_: Any) -> Any:
        hint = " Functions for JAX are in sixd.jax." if root.startswith("jax") else ""
        raise DeviceError(
            f"{where}: arrays of {root} are taken as they are: give out=, and arrays whose rows have one distance. "
            f"Results are made for arrays of CuPy and PyTorch.{hint}"
        )

    return Library(None, lambda device: LEGACY, *[refuse] * 8)  # type: ignore[arg-type]
