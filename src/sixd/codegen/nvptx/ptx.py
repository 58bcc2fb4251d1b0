"""PTX from LLVM code, by LLVM's code generator for NVIDIA's GPUs. Needs neither a GPU nor a CUDA toolkit."""

from __future__ import annotations

from functools import cache
from typing import Any

from sixd.codegen.llvm.machine import effort_of, load_llvm
from sixd.codegen.nvptx.architectures import ARCHITECTURES
from sixd.locks import FORKS_WAIT, Lock

TRIPLE = "nvptx64-nvidia-cuda"
_LOCK = Lock()


def make_ptx(module: str, arch: str) -> str:
    """The PTX of a module of LLVM code; ``arch`` is what ``check_architecture`` returns."""
    assert arch in ARCHITECTURES.values()  # LLVM accepts other names silently
    llvm = _load()
    with FORKS_WAIT, _LOCK:
        return _make(llvm, module, arch)


def _make(llvm: Any, module: str, arch: str) -> str:
    """A function of its own, so that LLVM's objects are freed before :func:`make_ptx` releases its lock."""
    parsed = llvm.parse_assembly(module)
    # no features: LLVM ends the process on a PTX version that does not fit
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, features="", opt=effort_of(module))
    parsed.triple, parsed.data_layout = TRIPLE, str(machine.target_data)
    return str(machine.emit_assembly(parsed))


@cache
def _load() -> Any:
    """llvmlite's binding, ready for GPUs."""
    llvm = load_llvm()
    with FORKS_WAIT:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return llvm
