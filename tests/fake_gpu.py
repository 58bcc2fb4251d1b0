"""A driver and arrays of a GPU in the memory of the CPU, whose kernels are run by ``warp``.

``install(monkeypatch)`` replaces NVIDIA's library by this driver; kernels are then LLVM code instead of PTX.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
import threading
import types
from functools import partial

import numpy as np

from sixd.codegen.nvptx import ptx
from sixd.runtime.arrays import registry
from sixd.runtime.cuda import device, driver
from warp import Emulated

_current = [0]  # numbers of GPUs; the last is CuPy's current one
_numbers = {}  # address -> number of its GPU


class Memory(np.ndarray):
    """The memory of an array, with the attributes of CuPy's pointers."""

    ptr = property(lambda self: self.__array_interface__["data"][0] if self.size else 0)
    device_id = property(lambda self: _numbers.get(self.ptr, 0))


class Array:
    """An array "on the GPU": NumPy's, known by its interface and the attributes of CuPy's arrays."""

    def __init__(self, data, device=None):
        self.data = np.asarray(data).view(Memory)
        number = _current[-1] if device is None else device
        _numbers[self.data.__array_interface__["data"][0]] = number

    dtype = property(lambda self: self.data.dtype)
    shape = property(lambda self: self.data.shape)
    strides = property(lambda self: self.data.strides)
    device = property(lambda self: _on(self.data.device_id))

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    ndim = property(lambda self: self.data.ndim)

    def reshape(self, shape):
        return type(self)(self.data.reshape(shape))

    def copy(self):
        return type(self)(np.array(self.data))

    def __getitem__(self, index):
        return type(self)(self.data[index])

    def __setitem__(self, index, x):
        self.data[index] = getattr(x, "data", x)

    def __add__(self, x):
        return type(self)(self.data + x.data)

    def __sub__(self, x):
        return type(self)(self.data - x.data)

    def __invert__(self):
        return type(self)(~self.data)

    def __ge__(self, x):
        return type(self)(self.data >= x)

    def sum(self, axis):
        return type(self)(self.data.sum(axis))

    def __gt__(self, x):
        return type(self)(self.data > x)

    def __lt__(self, x):
        return type(self)(self.data < x)

    def __le__(self, x):
        return type(self)(self.data <= x)

    def get(self):
        return np.array(self.data)

    @property
    def __cuda_array_interface__(self):
        info = dict(self.data.__array_interface__)
        return {"shape": info["shape"], "typestr": info["typestr"], "data": info["data"], "version": 3,
                "strides": info["strides"], "stream": None}  # fmt: skip


Array.__module__ = "cupy"


@contextlib.contextmanager
def _on(number):
    _current.append(number)
    try:
        yield
    finally:
        _current.pop()


class Library:
    """The functions of the driver that are used, with their arguments as ctypes passes them."""

    memory = 2**30  # number of bytes that an array can have

    def __init__(self, devices=1):
        self.devices, self.images, self.linked, self.launches = devices, [], b"", []
        self.local, self.lock = threading.local(), threading.Lock()
        self.buffers, self.kernels, self.used, self.is_capturing = [], {}, [], False
        # with argument types, as ctypes has them
        self.cuLaunchKernel, self.cuCtxGetCurrent = partial(self._launch), partial(self._current)

    @property
    def contexts(self):
        """Return the contexts of this thread, the current one last."""
        return self.local.__dict__.setdefault("contexts", [])

    def cuInit(self, flags):
        return 0

    def cuDriverGetVersion(self, ref):
        return self._set(ref, 13000)

    def cuDeviceGetCount(self, ref):
        return self._set(ref, self.devices)

    def cuDeviceGet(self, ref, number):
        return self._set(ref, number.value)

    def cuDeviceGetAttribute(self, ref, which, number):
        return self._set(ref, {75: 9, 76: 0}[which.value])

    def cuPointerGetAttribute(self, ref, which, address):
        assert which.value == 9
        return self._set(ref, _numbers.get(address.value, 0))

    def cuDevicePrimaryCtxRetain(self, ref, number):
        return self._set(ref, 4096 + number.value)

    def cuCtxPushCurrent_v2(self, context):
        self.contexts.append(context.value)
        return 0

    def cuCtxPopCurrent_v2(self, ref):
        return self._set(ref, self.contexts.pop())

    def cuStreamIsCapturing(self, stream, ref):
        return self._set(ref, int(self.is_capturing))

    def cuCtxSynchronize(self):
        return 0 if self.contexts else 201

    def cuLinkCreate_v2(self, count, options, values, ref):
        assert count.value == len(options) == len(values)
        return self._set(ref, 77)

    def cuLinkAddData_v2(self, state, kind, data, size, name, count, options, values):
        assert (state.value, kind.value, data[-1], len(data)) == (77, 1, 0, size.value)
        self.linked = data[:-1]
        return 218 if b"broken" in data else 0

    def cuLinkComplete(self, state, data, size):
        self._keep = ctypes.create_string_buffer(self.linked, len(self.linked))
        self._set(size, len(self.linked))
        return self._set(data, ctypes.addressof(self._keep))

    def cuLinkDestroy(self, state):
        return 0

    def cuModuleLoadData(self, ref, image):
        self.images.append(image.value.decode())
        return self._set(ref, len(self.images))

    def cuModuleGetFunction(self, ref, module, name):
        assert name == b"kernel"
        return self._set(ref, module.value)

    def cuMemAlloc_v2(self, ref, size):
        if not 0 < size.value <= self.memory:
            return 2
        self.buffers.append(ctypes.create_string_buffer(size.value))
        address = ctypes.addressof(self.buffers[-1])
        _numbers[address] = self.contexts[-1] - 4096
        return self._set(ref, address)

    def cuMemFree_v2(self, address):
        assert self.contexts[-1] - 4096 == _numbers[address.value]
        kept = [x for x in self.buffers if ctypes.addressof(x) != address.value]
        assert len(kept) == len(self.buffers) - 1
        self.buffers = kept
        return 0

    def cuMemcpyHtoD_v2(self, target, source, size):
        assert self.contexts[-1] - 4096 == _numbers[target.value]
        ctypes.memmove(target.value, source.value, size.value)
        return 0

    def cuMemsetD8_v2(self, address, value, size):
        ctypes.memset(address.value, value.value, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, target, source, size):
        ctypes.memmove(target, source.value, size.value)
        return 0

    def _current(self, ref):
        return self._set(ref, self.contexts[-1] if self.contexts else None)

    def _launch(self, function, gx, gy, gz, bx, by, bz, shared, stream, pointers, extra):
        if not self.contexts:
            return 201  # invalid context
        assert len(self.cuLaunchKernel.argtypes) == 11
        assert gy == gz == by == bz == 1
        start = pointers if isinstance(pointers, int) else ctypes.addressof(pointers)
        count = re.search(r"@kernel\(([^)]*)\)", self.images[function - 1]).group(1).count(",") + 1
        found = (ctypes.c_void_p * count).from_address(start)
        words = [ctypes.c_int64.from_address(pointer).value for pointer in found]
        key = function, shared, bx
        with self.lock:
            if key not in self.kernels:
                self.kernels[key] = Emulated(self.images[function - 1], shared, bx)
        with self.lock:
            self.kernels[key](words, gx)
        self.launches.append((gx, bx, shared, stream))
        self.used.append(self.contexts[-1] - 4096)
        return 0

    def cuGetErrorName(self, code, ref):
        return self._set(ref, b"CUDA_ERROR_INVALID_PTX")

    def cuGetErrorString(self, code, ref):
        return self._set(ref, b"a PTX JIT compilation failed")

    def _set(self, ref, value):
        ref._obj.value = value
        return 0


def install(monkeypatch, devices=1):
    """Put a fake driver and a fake CuPy in place; return the driver."""
    library = Library(devices)
    _numbers.clear()
    monkeypatch.setenv("SIXD_CACHE_DIR", "off")
    monkeypatch.setattr(driver, "open_library", lambda name: library)
    monkeypatch.setattr(driver, "_found", [])
    monkeypatch.setattr(device, "_devices", {})
    monkeypatch.setattr(ptx, "make_ptx", lambda text, arch: text)
    cupy = types.ModuleType("cupy")
    cupy.empty = lambda shape, dtype: Array(np.full(shape, 7.0, dtype))
    cupy.broadcast_to = lambda x, shape: Array(np.broadcast_to(x.data, shape))
    cupy.ascontiguousarray = lambda x: Array(np.ascontiguousarray(x.data))
    cupy.asarray = lambda x: Array(np.array(x))
    cupy.where = lambda c, x, y: Array(np.where(c.data, getattr(x, "data", x), getattr(y, "data", y)))
    cupy.full = lambda shape, value, dtype: Array(np.full(shape, value, dtype))
    runtime = types.SimpleNamespace(getDevice=lambda: _current[-1])
    stream = types.SimpleNamespace(ptr=42)
    cupy.cuda = types.SimpleNamespace(get_current_stream=lambda number: stream, runtime=runtime)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    registry.LOOKS.clear()  # arrays of the CuPy of another test
    registry._FINDERS.clear()
    driver.is_installed.cache_clear()
    return library
