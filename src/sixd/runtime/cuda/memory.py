"""Memory of a GPU that sixd allocates itself, for computations on arrays in CPU memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from sixd.errors import DeviceError
from sixd.runtime.cuda.device import Device
from sixd.runtime.cuda.driver import driver
from sixd.spatial.scalar import Array


class Buffer:
    """A contiguous array on a GPU, known to others by ``__cuda_array_interface__``; freed by :meth:`free`."""

    def __init__(self, where: str, gpu: Device, shape: tuple[int, ...], dtype: Any) -> None:
        self.where, self.gpu, self.shape, self.dtype = where, gpu, shape, np.dtype(dtype)
        self.size = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        self.address = 0
        if self.size:
            try:
                with gpu.current(where):
                    self.address = driver(where).address(where, "cuMemAlloc_v2", ctypes.c_size_t(self.size))
            except DeviceError as error:
                raise DeviceError(
                    f"{error} An array of shape {shape} takes {self.size:,} bytes on GPU {gpu.number}. Compute fewer "
                    f"states at once, or record fewer steps."
                ) from error

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3,
            "strides": None, "stream": None,
        }  # fmt: skip

    def write(self, x: Array) -> Buffer:
        """Copy an array of this shape to the GPU; return the buffer."""
        x = np.ascontiguousarray(x, self.dtype)
        assert x.shape == self.shape
        self._copy("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), ctypes.c_void_p(x.ctypes.data))
        return self

    def read(self, out: Array | None = None) -> Array:
        """Copy the array from the GPU, to ``out`` if it is passed, after all work on the default stream."""
        direct = out is not None and out.flags.c_contiguous and out.dtype == self.dtype
        x = out if out is not None and direct else np.empty(self.shape, self.dtype)
        assert x.shape == self.shape
        self._copy("cuMemcpyDtoH_v2", ctypes.c_void_p(x.ctypes.data), ctypes.c_uint64(self.address))
        if out is None or direct:
            return x
        out[...] = x
        return out

    def _copy(self, name: str, target: Any, source: Any) -> None:
        if self.size:
            with self.gpu.current(self.where):
                driver(self.where).call(self.where, name, target, source, ctypes.c_size_t(self.size))

    def free(self) -> None:
        """Give the memory back."""
        if self.address:
            address, self.address = self.address, 0
            with self.gpu.current(self.where):
                driver(self.where).call(self.where, "cuMemFree_v2", ctypes.c_uint64(address))
