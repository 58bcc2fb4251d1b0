"""Kernels of GPUs run on the CPU: the same LLVM code, with a Python thread for each thread of a warp.

Special registers and the barrier of a warp become calls of Python, and shared memory becomes a global array.
"""

from __future__ import annotations

import ctypes
import itertools
import threading

import llvmlite.binding as llvm
import numpy as np

from sixd.codegen.llvm.machine import host, load_llvm

WARP = 32
_numbers = itertools.count()
_REGISTERS = ("tid", "ctaid", "ntid")
# the approximate reciprocal of a GPU: the upper half of a number's reciprocal; its lower half is ignored, subnormals
# are zeros
_APPROXIMATE = """
define internal i64 @half(double %x) {
  %bits = bitcast double %x to i64
  %upper = and i64 %bits, -4294967296
  %size = and i64 %bits, 9223372036854775807
  %sign = and i64 %bits, -9223372036854775808
  %subnormal = icmp ult i64 %size, 4503599627370496
  %found = select i1 %subnormal, i64 %sign, i64 %upper
  ret i64 %found
}
define internal double @approximate(double %x) {
  %bits = call i64 @half(double %x)
  %number = bitcast i64 %bits to double
  %exact = fdiv double 1.0, %number
  %half = call i64 @half(double %exact)
  %found = bitcast i64 %half to double
  ret double %found
}
"""


class Emulated:
    """The kernel of a module of LLVM code; ``shared``: bytes of shared memory of a block."""

    def __init__(self, text, shared, threads=64):
        self.shared, self.threads, self.local, self.failed = shared, threads, threading.local(), []
        number = next(_numbers)
        register, wait = ctypes.CFUNCTYPE(ctypes.c_int32), ctypes.CFUNCTYPE(None, ctypes.c_int32)
        self._calls = {name: register(lambda name=name: getattr(self.local, name)) for name in _REGISTERS}
        self._calls["wait"], self._calls["align"] = wait(self._wait), ctypes.CFUNCTYPE(None)(lambda: self._wait(0))
        self._calls["any"] = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(self._any)
        load_llvm()
        for name, call in self._calls.items():
            llvm.add_symbol(f"emulated_{name}_{number}", ctypes.cast(call, ctypes.c_void_p).value)
        for name in _REGISTERS:
            text = text.replace(f"@llvm.nvvm.read.ptx.sreg.{name}.x", f"@emulated_{name}_{number}")
        text = text.replace("@llvm.nvvm.bar.warp.sync", f"@emulated_wait_{number}").replace("ptx_kernel void", "void")
        # the only warp of a block at a time
        text = text.replace("@llvm.nvvm.barrier0.or", f"@emulated_any_{number}")
        text = text.replace("@llvm.nvvm.barrier0", f"@emulated_align_{number}")
        text = text.replace("external addrspace(3) global [0 x i8]",
                            f"internal addrspace(3) global [{shared + 1} x i8] zeroinitializer")  # fmt: skip
        text = text.replace("declare double @llvm.nvvm.rcp.approx.ftz.d(double)", _APPROXIMATE)
        text = text.replace("@llvm.nvvm.rcp.approx.ftz.d", "@approximate")
        target = llvm.Target.from_default_triple().create_target_machine(
            cpu=host().cpu, features=host().features, opt=1, jit=True
        )
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), target)
        self._engine.finalize_object()
        self._address = self._engine.get_function_address("kernel")

    def __call__(self, words, blocks):
        """Run the blocks, a warp at a time; ``words`` are the arguments."""
        arguments = [ctypes.c_int64(w) for w in words]
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(arguments))(self._address)
        for block, first in itertools.product(range(blocks), range(0, self.threads, WARP)):
            self._barrier, self._flags = threading.Barrier(WARP, timeout=60), set()
            lanes = range(first, first + WARP)
            if self.shared:
                threads = [threading.Thread(target=self._run, args=(function, arguments, block, t)) for t in lanes]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            else:
                for t in lanes:
                    self._run(function, arguments, block, t)
            assert not self.failed, self.failed

    def _run(self, function, arguments, block, thread):
        self.local.tid, self.local.ctaid, self.local.ntid = thread, block, self.threads
        function(*arguments)

    def _any(self, flag):
        """Return 1 if any thread of the warp passes another number than 0."""
        if flag:
            self._flags.add(threading.get_ident())
        self._wait(0)
        found = int(bool(self._flags))
        self._wait(0)
        self._flags.discard(threading.get_ident())
        self._wait(0)
        return found

    def _wait(self, _):
        try:
            self._barrier.wait()
        except threading.BrokenBarrierError:
            self.failed.append("a thread of the warp did not come to the barrier")


def run_kernel(text, shared, layout, inputs, outputs):
    """Run a kernel on arrays of samples (n, …), or one sample for all; return the count of suspect samples.

    ``shared``: bytes of shared memory of a warp.
    """
    kernel, count = Emulated(text, 2 * shared), np.zeros(1, np.int64)
    rows, arrays = len(outputs[0]), (*inputs, *outputs)
    words = [a.ctypes.data for a in arrays]
    for a in arrays:
        words.append(a.strides[0] // a.itemsize if len(a) > 1 else 0)
        words += [s // a.itemsize for s in a.strides[1:]] if layout == "strided" else []
    kernel([*words, rows, count.ctypes.data], -(-rows // kernel.threads))
    return int(count[0])
