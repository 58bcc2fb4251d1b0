"""Arrays on a GPU that any other library made, by ``__cuda_array_interface__`` or DLPack.

They are read without copies. Their libraries are unknown, so results are written to ``out=``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from sixd.errors import DeviceError, ScalarTypeError
from sixd.runtime.arrays.interface import ArrayLibrary, GpuLibrary, not_on_gpu
from sixd.runtime.arrays.layouts import DeviceArray, Shape, dtype_name, row_major
from sixd.runtime.arrays.numpy_arrays import NUMPY
from sixd.runtime.cuda.driver import driver

_ON_GPU = (2, 13)  # kinds of device of DLPack: memory of a GPU, and memory that both sides see
_LEGACY = 1  # the stream on which a library without a current stream works, in the numbering of both protocols


class GpuProtocols(GpuLibrary):
    """A library known by the protocols of its arrays; ``root`` is its package."""

    def __init__(self, root: str) -> None:
        self._root = root

    @classmethod
    def recognize(cls, kind: type) -> GpuLibrary | None:
        protocols = ("__cuda_array_interface__", "__dlpack_device__", "__getattr__")
        return cls(kind.__module__.partition(".")[0]) if any(hasattr(kind, name) for name in protocols) else None

    def of(self, x: Any) -> ArrayLibrary:
        if getattr(x, "__cuda_array_interface__", None) is not None:
            return self
        try:
            return self if _has_gpu_memory(x) else NUMPY
        except Exception:  # not an array after all: refused where it is read
            return NUMPY

    def read(self, where: str, name: str, x: Any) -> DeviceArray:
        interface = getattr(x, "__cuda_array_interface__", None)
        if interface is not None:
            return read_interface(where, name, interface, x)
        if _has_gpu_memory(x):
            return _read_dlpack(where, name, x)
        raise not_on_gpu(where, name, x)

    def stream(self, device: int) -> int:
        return _LEGACY

    def require_making(self, where: str) -> None:
        hint = " Functions for JAX are in sixd.jax." if self._root.startswith("jax") else ""
        raise DeviceError(
            f"{where}: arrays of {self._root} are only read: give out=, and arrays whose rows have one distance. "
            f"Results are made for arrays of CuPy and PyTorch.{hint}"
        )

    def _refuse(self, *_: Any, **__: Any) -> Any:
        self.require_making("sixd")

    empty = full = upload = download = view = rows = copy = choose = _refuse


def read_interface(where: str, name: str, interface: Mapping[str, Any], owner: object) -> DeviceArray:
    """The array of a ``__cuda_array_interface__``."""
    kind, size = interface["typestr"][1:2], int(interface["typestr"][2:])
    dtype = dtype_name(where, name, kind, size, interface["typestr"])
    if interface.get("mask") is not None:
        raise ScalarTypeError(f"{where}: {name} has a mask, expected an array without one.")
    shape = tuple(int(n) for n in interface["shape"])
    address, readonly = interface["data"]
    strides = interface.get("strides")
    steps = row_major(shape) if strides is None else tuple(int(s) // size for s in strides)
    return DeviceArray(int(address or 0), shape, steps, dtype, not readonly, owner, _device(where, int(address or 0)))


def _has_gpu_memory(x: Any) -> bool:
    """Whether DLPack says that an array is in memory that a GPU sees."""
    device = getattr(x, "__dlpack_device__", None)
    return device is not None and int(device()[0]) in _ON_GPU


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


def _read_dlpack(where: str, name: str, x: Any) -> DeviceArray:
    capsule = x.__dlpack__(stream=_LEGACY)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    kind = "f" if tensor.code == 2 and tensor.lanes == 1 else "?"
    dtype = dtype_name(where, name, kind, tensor.bits // 8, f"type {tensor.code} of {tensor.bits} bits")
    shape: Shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = tuple(tensor.strides[k] for k in range(tensor.ndim)) if tensor.strides else row_major(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    # the capsule was not renamed, so that it frees the tensor when it is freed itself
    return DeviceArray(address, shape, strides, dtype, True, (capsule, x), _device(where, address))


def _device(where: str, address: int) -> int:
    """The number of the GPU of an address; -1 for that of an empty array."""
    return driver(where).device_of(where, address) if address else -1
