"""A GPU: its primary context, which other libraries use too, the code that is loaded there, and its counts.

The driver compiles PTX to machine code of the card, which takes seconds for large programs; that is kept on disk, too.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NamedTuple

from sixd.codegen.nvptx.architectures import architecture_of
from sixd.errors import DeviceError
from sixd.locks import Lock
from sixd.runtime import cache as disk
from sixd.runtime.cuda.driver import (
    CAPABILITY_MAJOR,
    CAPABILITY_MINOR,
    ERROR_LOG,
    ERROR_LOG_SIZE,
    INPUT_PTX,
    driver,
)
from sixd.runtime.cuda.ranks import local_device

COUNTS = 4096  # words on each device; routines beyond that share them
_LOG = 8192  # bytes


class LoadedKernel(NamedTuple):
    """A kernel on a device: its module and function, and the address of its counter of suspect rows."""

    module: int
    function: int
    counter: int


class Device:
    """One GPU."""

    def __init__(self, where: str, number: int) -> None:
        self._driver = driver(where)
        self.number = number
        handle = self._driver.number(where, "cuDeviceGet", ctypes.c_int(number))
        self.capability = tuple(
            self._driver.number(where, "cuDeviceGetAttribute", ctypes.c_int(which), ctypes.c_int(handle))
            for which in (CAPABILITY_MAJOR, CAPABILITY_MINOR)
        )
        self.architecture = architecture_of(where, *self.capability)
        # retained until the process ends
        self._context = self._driver.address(where, "cuDevicePrimaryCtxRetain", ctypes.c_int(handle))
        self.is_alone = self._driver.devices == 1
        self._names: list[str] = []
        self._counts = 0
        self._lock = Lock()

    @property
    def context(self) -> int:
        """The handle of its primary context."""
        return self._context

    @contextmanager
    def current(self, where: str) -> Iterator[None]:
        """Make its context that of this thread, then the former one again."""
        self._driver.call(where, "cuCtxPushCurrent_v2", ctypes.c_void_p(self._context))
        try:
            yield
        finally:
            self._driver.address(where, "cuCtxPopCurrent_v2")

    def load(self, where: str, ptx: str) -> LoadedKernel:
        """Load the kernel of a PTX text; its count is reported under the name ``where``."""
        with self._lock, self.current(where):
            module = self._module(where, ptx)
            function = self._driver.address(where, "cuModuleGetFunction", ctypes.c_void_p(module), b"kernel")
            if not self._counts:
                self._counts = self._driver.address(where, "cuMemAlloc_v2", ctypes.c_size_t(8 * COUNTS))
                self._clear(where)
            self._names.append(where)
            return LoadedKernel(module, function, self._counts + 8 * ((len(self._names) - 1) % COUNTS))

    def _module(self, where: str, ptx: str) -> int:
        """The module of a PTX text, from the disk if its machine code is there."""
        version = f"{self.capability} {self._driver.version}"
        key = disk.digest("cubin", ptx, version, disk.fingerprint())
        entry = disk.read(key)
        if entry is not None:
            try:
                return self._driver.address(where, "cuModuleLoadData", ctypes.c_char_p(entry.image))
            except DeviceError:  # of another card or driver after all: made again
                pass
        cubin = self._assemble(where, ptx)
        disk.write(key, disk.CachedKernel({"name": f"{where} for a GPU {version}", "model": ""}, cubin))
        return self._driver.address(where, "cuModuleLoadData", ctypes.c_char_p(cubin))

    def _assemble(self, where: str, ptx: str) -> bytes:
        """Machine code of a PTX text, by the driver's linker."""
        log = ctypes.create_string_buffer(_LOG)
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG)
        state = ctypes.c_void_p()
        self._driver.call(where, "cuLinkCreate_v2", ctypes.c_uint(2), options, values, ctypes.byref(state))
        try:
            text = ptx.encode() + b"\0"
            nothing = (ctypes.c_uint(0), None, None)
            self._driver.call(
                where, "cuLinkAddData_v2", state, ctypes.c_int(INPUT_PTX), text, ctypes.c_size_t(len(text)), b"kernel",
                *nothing,
            )  # fmt: skip
            data, size = ctypes.c_void_p(), ctypes.c_size_t()
            self._driver.call(where, "cuLinkComplete", state, ctypes.byref(data), ctypes.byref(size))
            return ctypes.string_at(data.value or 0, size.value)  # a copy: the linker owns the data
        except DeviceError as error:
            raise DeviceError(f"{error} {log.value.decode(errors='replace').strip()}".strip()) from None
        finally:
            self._driver.call(where, "cuLinkDestroy", state)

    def prepare(
        self,
        where: str,
        kernel: LoadedKernel,
        blocks: int,
        threads: int,
        shared: int,
        addresses: int,
        words: Sequence[int],
    ) -> Launch:
        """A launch that is repeated with other addresses, of which there are so many before the words."""
        return Launch(self, where, kernel, (blocks, 1, 1, threads, 1, 1, shared), addresses, words)

    def launch(
        self,
        where: str,
        kernel: LoadedKernel,
        blocks: int,
        threads: int,
        shared: int,
        stream: int,
        words: Sequence[int],
    ) -> None:
        """Launch a kernel whose arguments are words of 64 bits."""
        found = self._driver
        own = _OWN
        # mostly its context is that of the thread already
        elsewhere = found.get_current(own.reference) or own.context.value != self._context
        if elsewhere:
            found.call(where, "cuCtxPushCurrent_v2", ctypes.c_void_p(self._context))
        try:
            values, pointers = own.arguments(len(words))
            values[:] = words
            code = found.launch(kernel.function, blocks, 1, 1, threads, 1, 1, shared, stream, pointers, None)
        finally:
            if elsewhere:
                found.address(where, "cuCtxPopCurrent_v2")
        if code:
            raise found.error(where, "cuLaunchKernel", code)

    def counts(self, where: str) -> dict[str, int]:
        """The numbers of suspect rows since the last call, by routine, after all work on the device has ended."""
        if not self._counts:
            return {}
        values = (ctypes.c_uint64 * COUNTS)()
        with self._lock, self.current(where):
            self._driver.call(where, "cuCtxSynchronize")
            self._driver.call(
                where, "cuMemcpyDtoH_v2", values, ctypes.c_uint64(self._counts), ctypes.c_size_t(8 * COUNTS)
            )
            self._clear(where)
            names = list(self._names)
        found: dict[str, int] = {}
        for k, name in enumerate(names[:COUNTS]):
            if values[k]:
                found[name] = found.get(name, 0) + values[k]
        return found

    def _clear(self, where: str) -> None:
        self._driver.call(
            where, "cuMemsetD8_v2", ctypes.c_uint64(self._counts), ctypes.c_ubyte(0), ctypes.c_size_t(8 * COUNTS)
        )


class Launch:
    """A kernel with all its arguments but the first ones, which are addresses."""

    __slots__ = (
        "_blocks",
        "_count",
        "_device",
        "_fixed",
        "_grid",
        "_is_alone",
        "_kernel",
        "_launch",
        "_where",
        "_words",
    )

    def __init__(
        self, gpu: Device, where: str, kernel: LoadedKernel, grid: tuple[int, ...], count: int, words: Sequence[int]
    ) -> None:
        self._device, self._where, self._kernel, self._grid = gpu, where, kernel, grid
        self._count, self._words = count, tuple(words)
        self._fixed, self._launch, self._is_alone = (kernel.function, *grid), gpu._driver.launch, gpu.is_alone
        self._blocks: dict[int, tuple[Any, int, Any]] = {}  # by thread

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Launch it."""
        values, pointers, _ = self._blocks.get(get_ident()) or self._add_block()
        values[0 : self._count] = addresses
        if self._is_alone:
            # mostly its context is that of the thread already; if there is none the driver refuses
            code = self._launch(*self._fixed, stream, pointers, None)
            if not code:
                return
        blocks, _, _, threads, _, _, shared = self._grid
        words = (*addresses, *self._words)
        self._device.launch(self._where, self._kernel, blocks, threads, shared, stream, words)

    def _add_block(self) -> tuple[Any, int, Any]:
        """Memory of this thread for the arguments, the address of their addresses, and what keeps that alive."""
        count = self._count + len(self._words)
        values = (ctypes.c_int64 * count)()
        values[self._count :] = list(self._words)
        start = ctypes.addressof(values)
        pointers = (ctypes.c_void_p * count)(*range(start, start + 8 * count, 8))
        found = self._blocks[get_ident()] = values, ctypes.addressof(pointers), pointers
        return found


class _Own(threading.local):
    """Memory of a thread for calls of the driver, which reads it before it returns."""

    def __init__(self) -> None:
        self.context = ctypes.c_void_p()
        self.reference = ctypes.byref(self.context)
        self._blocks: dict[int, tuple[Any, Any]] = {}

    def arguments(self, count: int) -> tuple[Any, Any]:
        """Room for that many arguments of a kernel, and the addresses of them."""
        found = self._blocks.get(count)
        if found is None:
            values = (ctypes.c_int64 * count)()
            start = ctypes.addressof(values)
            pointers = (ctypes.c_void_p * count)(*range(start, start + 8 * count, 8))
            found = self._blocks[count] = values, pointers
        return found


_OWN = _Own()
_devices: dict[int, Device] = {}
_LOCK = Lock()


def device(where: str, number: int) -> Device:
    """The GPU of that number."""
    if number not in _devices:
        with _LOCK:
            if number not in _devices:
                _devices[number] = Device(where, number)
    return _devices[number]


def devices_in_use() -> list[Device]:
    """The GPUs on which code was loaded."""
    return list(_devices.values())


def own_architecture(where: str) -> str:
    """The architecture for which PTX is made for the GPU of this process."""
    try:
        return device(where, local_device(where)).architecture
    except DeviceError as error:
        raise DeviceError(f"{error} To compile without a GPU name its architecture, such as arch='sm_90'.") from None
