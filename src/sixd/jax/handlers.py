"""The handlers by which XLA calls compiled code: registered once they pass a call with a known answer.

Where the check fails, operators run through a Python callback on the CPU, with the same bits.
"""

from __future__ import annotations

import ctypes
import re
import threading
import warnings
from functools import cache
from pathlib import Path

import jax
import numpy as np

from sixd.codegen.xla import MESSAGES, ROOTS
from sixd.codegen.xla_frame import MAJOR, MINOR, KnownCall, frame_fault
from sixd.engine.artifact import handlers
from sixd.errors import CompileWarning
from sixd.locks import Lock
from sixd.runtime.cpython import common_context
from sixd.runtime.cuda.driver import driver
from sixd.runtime.machine_code import LoadedImage
from sixd.runtime.xla import TABLE, XlaPlan, device_words, load_handlers

TARGETS = {"cpu": "sixd_cpu", "cuda": "sixd_cuda"}  # names of the handlers by platform
_CHECK = "sixd_check"  # begins the name of the handler that is checked
_KEY = 0x51D_CEC  # of the plan of the check
_LOCK = Lock()
_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
_KEPT: list[object] = []  # functions that XLA calls as long as the process lives


def register(platform: str) -> bool:
    """Register the handler of a platform ("cpu" or "cuda") at its first use; False if it does not pass the check."""
    with _LOCK:
        return _register(platform)


@cache
def _register(platform: str) -> bool:
    if platform == "cuda":
        for name in ROOTS[3:]:
            TABLE.roots[ROOTS.index(name)] = driver("sixd.jax").function_address(name)
    fault = _fault(platform)
    if fault:
        warnings.warn(
            f"sixd.jax: functions run through a Python callback on the CPU, some 15 us slower a call: {fault} "
            f"(jax {jax.__version__}). Results are the same. Install a supported one: pip install 'jax>=0.10,<0.11'.",
            CompileWarning,
            stacklevel=2,
        )
        return False
    _register_address(TARGETS[platform], _loaded().address(platform), platform)
    return True


@cache
def _loaded() -> LoadedImage:
    """The code of the handlers, which stays in memory; the version of XLA's interface is that of jaxlib."""
    header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
    for word, name in (("major", "MAJOR"), ("minor", "MINOR")):
        defined = re.search(rf"#define XLA_FFI_API_{name} (\d+)", header)
        if defined is None:
            raise ValueError(f"jaxlib's c_api.h does not define XLA_FFI_API_{name}")
        TABLE.roots[ROOTS.index(word)] = int(defined.group(1))
    return load_handlers(handlers())


def _register_address(name: str, address: int, platform: str) -> None:
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(address), platform="CUDA" if platform == "cuda" else platform)


# the check --------------------------------------------------------------------------------------


def _fault(platform: str) -> str:
    """Why the handler of a platform cannot be used; empty if it can."""
    faults: list[str] = []

    def check() -> None:
        try:
            _call_known(platform, faults)
        except Exception as error:  # whatever JAX raises for a handler that it does not accept
            faults.append(f"a call with a known answer failed with {type(error).__name__}: {error!s:.200}")

    # a thread of its own has none of the caller's settings of JAX: meshes, default devices, disabled jit
    thread = threading.Thread(target=check, name="sixd.jax check")
    thread.start()
    thread.join()
    return faults[0] if faults else ""


def _call_known(platform: str, faults: list[str]) -> None:
    """Call the handler through JAX, first without a plan, which is an error that it reports; append what is wrong.

    On the CPU the plan's code computes 2 x + y. On a GPU the plan has no kernel, which the handler reports after it has
    asked for the stream and the device. The handler gets a frame only after the frame's layout was checked.
    """
    loaded = _loaded()
    if (major := TABLE.roots[ROOTS.index("major")]) != MAJOR:
        faults.append(f"the major version of XLA's interface is {major}, expected {MAJOR}")
        return
    x, y = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0.5, 0.25], np.float32)
    words = np.array([_KEY, 3, 8, 0, 8], np.int64)
    known = KnownCall([x.shape, y.shape], [x.shape], words.tolist())
    handler, name = _HANDLER(loaded.address(platform)), f"{_CHECK}_{platform}"

    def checked(frame: int) -> int | None:
        fault = frame_fault(frame, known)
        if fault:
            faults.append(fault)
        return None if fault else handler(frame)

    entry = _HANDLER(checked)
    _KEPT.append(entry)
    _register_address(name, ctypes.cast(entry, ctypes.c_void_p).value or 0, platform)
    call = jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, x.dtype))
    device = jax.local_devices(backend=platform)[0]
    run = jax.jit(lambda *arrays: call(*arrays, words=words))
    arrays = [jax.device_put(a, device) for a in (x, y)]
    make = _known_plan if platform == "cpu" else _empty_plan
    # later minor versions may have other functions in the table, of which a call with a known answer uses none
    has_errors = TABLE.roots[ROOTS.index("minor")] <= MINOR
    plan = None  # is held until the last call
    for message in ([MESSAGES["missing"]] + [MESSAGES["device"]] * (platform == "cuda")) * has_errors:
        try:
            jax.block_until_ready(run(*arrays))
            faults.append("an error of a handler is not reported")
        except jax.errors.JaxRuntimeError as error:
            if message not in str(error):
                raise
        plan = plan or TABLE.find(_KEY, make)
    if platform == "cpu":
        plan = plan or TABLE.find(_KEY, make)
        if not np.array_equal(run(*arrays), 2 * x + y):
            faults.append("a call with a known answer has another result")


def _known_plan() -> XlaPlan:
    """The plan whose code computes 2 x + y for the arrays of the check."""

    def loop(args: int, dims: int, steps: int, context: int) -> None:
        rows = ctypes.c_int64.from_address(dims).value
        addresses = (ctypes.c_uint64 * 3).from_address(args)
        distances = (ctypes.c_int64 * 3).from_address(steps)
        for row in range(rows):
            x, y, z = (
                (ctypes.c_float * 2).from_address(a + row * d) for a, d in zip(addresses, distances, strict=True)
            )
            z[:] = [2 * a + b for a, b in zip(x, y, strict=True)]

    function = _LOOP(loop)
    code = ctypes.cast(function, ctypes.c_void_p).value or 0
    return XlaPlan([1, code, common_context().address], function)


def _empty_plan() -> XlaPlan:
    """A plan for GPUs without a kernel."""
    return XlaPlan(device_words(0, 1, [None]), None)
