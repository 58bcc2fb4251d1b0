"""NVIDIA's driver library by ctypes: the few functions that loading and launching code need.

The library comes with the driver of the card; no CUDA toolkit is used. Functions are named as in the driver's manual
("CUDA Driver API"), some with the suffix _v2, by which the library exports their current version.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

from sixd.errors import DeviceError

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

# numbers from the driver's header
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76  # attributes of a device
DEVICE_ORDINAL = 9  # attribute of a pointer
INPUT_PTX = 1  # kind of input of the linker
ERROR_LOG, ERROR_LOG_SIZE = 5, 6  # options of the linker
NOT_INITIALIZED = 3  # number of an error


def open_library(name: str) -> Any:
    """The functions of a library of that name; OSError if there is none."""
    return ctypes.CDLL(name)


class Driver:
    """The driver, initialised. Raises DeviceError if there is none, or no GPU."""

    def __init__(self, where: str) -> None:
        try:
            self._library = open_library(LIBRARY)
        except OSError:
            raise DeviceError(
                f"{where}: there is no driver of an NVIDIA GPU on this computer ({LIBRARY} cannot be loaded), so code "
                f"of target='cuda' cannot run here. Compile with target='cpu'."
            ) from None
        self._process = os.getpid()
        self.call(where, "cuInit", ctypes.c_uint(0))
        self.version = self.number(where, "cuDriverGetVersion")
        self.devices = self.number(where, "cuDeviceGetCount")
        # these two are called at each launch, with plain numbers
        word, number = ctypes.c_void_p, ctypes.c_uint
        self.launch = self._prepared("cuLaunchKernel", word, *[number] * 7, word, word, word)
        self.get_current = self._prepared("cuCtxGetCurrent", word)
        if self.devices == 0:
            raise DeviceError(f"{where}: the driver finds no GPU. Is one hidden by CUDA_VISIBLE_DEVICES?")

    def _prepared(self, name: str, *types: Any) -> Any:
        """A function of the driver that takes plain numbers, and returns 0 or the number of an error."""
        function = getattr(self._library, name)
        function.argtypes = types
        return function

    def call(self, where: str, name: str, *arguments: Any) -> None:
        """Call a function of the driver; DeviceError if it fails."""
        code = getattr(self._library, name)(*arguments)
        if code:
            raise self.error(where, name, code)

    def error(self, where: str, name: str, code: int) -> DeviceError:
        """The error for a function of the driver that has failed with that number."""
        hint = ""
        if code == NOT_INITIALIZED and os.getpid() != self._process:
            hint = (
                " This process was forked from one that had used the GPU, which the driver does not allow. Start "
                "processes by multiprocessing.get_context('spawn')."
            )
        return DeviceError(f"{where}: {name} failed: {self._describe(code)}.{hint}")

    def number(self, where: str, name: str, *arguments: Any) -> int:
        """The number that a function writes to its first argument."""
        found = ctypes.c_int()
        self.call(where, name, ctypes.byref(found), *arguments)
        return found.value

    def address(self, where: str, name: str, *arguments: Any) -> int:
        """The address or handle that a function writes to its first argument; 0 for null."""
        found = ctypes.c_void_p()
        self.call(where, name, ctypes.byref(found), *arguments)
        return found.value or 0

    def function_address(self, name: str) -> int:
        """The address of a function of the driver, for compiled code that calls it."""
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0

    def device_of(self, where: str, address: int) -> int:
        """The number of the GPU whose memory an address is in."""
        found = ctypes.c_int()
        pointer = ctypes.c_uint64(address)
        self.call(where, "cuPointerGetAttribute", ctypes.byref(found), ctypes.c_int(DEVICE_ORDINAL), pointer)
        return found.value

    def is_capturing(self, stream: int) -> bool:
        """Whether work of a stream is recorded for a graph instead of being done."""
        found = ctypes.c_int()
        code = self._library.cuStreamIsCapturing(ctypes.c_void_p(stream), ctypes.byref(found))
        return bool(code or found.value)

    def _describe(self, code: int) -> str:
        texts = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            if getattr(self._library, name)(ctypes.c_int(code), ctypes.byref(text)) == 0 and text.value:
                texts.append(text.value.decode(errors="replace"))
        return ": ".join(texts) or f"error {code}"


_found: list[Driver] = []


def driver(where: str) -> Driver:
    """The driver; ``where`` begins the message if there is none."""
    if not _found:
        _found.append(Driver(where))
    return _found[0]


@cache
def is_installed() -> bool:
    """Whether there is a driver and a GPU."""
    try:
        driver("cuda")
    except DeviceError:
        return False
    return True
