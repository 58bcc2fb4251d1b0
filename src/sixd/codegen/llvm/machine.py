"""The host's processor and machine code for it: LLVM's code generator, without its optimisation passes.

A program is already folded, so only code generation is left: that cuts compile times by a factor of three to five and
loses no speed. llvmlite is imported when the first kernel is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sixd.locks import FORKS_WAIT, Lock

_LOCK = Lock()


@dataclass(frozen=True)
class Machine:
    """A processor: LLVM's name and features for it, the width of its vectors [bits], and whether it has fma."""

    cpu: str
    features: str
    bits: int
    has_fma: bool

    def lanes(self, dtype: str) -> int:
        """Number of floats in one vector."""
        return self.bits // {"float64": 64, "float32": 32}[dtype]


@cache
def host() -> Machine:
    """This computer's processor, with the widest vectors that it has."""
    llvm = load_llvm()
    with FORKS_WAIT:
        features = llvm.get_host_cpu_features()
    wide = all(features.get(f) for f in ("avx512f", "avx512dq", "avx512vl"))
    bits = 512 if wide else 256 if features.get("avx") else 128
    is_x86 = llvm.get_process_triple().startswith(("x86_64", "i686"))
    text = features.flatten() + (",-prefer-256-bit" if wide else "")
    return Machine(llvm.get_host_cpu_name(), text, bits, bool(features.get("fma")) or not is_x86)


def assemble(module: str, machine: Machine) -> bytes:
    """The object file of a module of LLVM code."""
    llvm = load_llvm()
    with FORKS_WAIT, _LOCK:
        return _assemble(llvm, module, machine)


def _assemble(llvm: Any, module: str, machine: Machine) -> bytes:
    """A function of its own, so that LLVM's objects are freed before :func:`assemble` releases its lock."""
    parsed = llvm.parse_assembly(module)
    target = llvm.Target.from_triple(llvm.get_process_triple())
    options = {"cpu": machine.cpu, "features": machine.features, "reloc": "pic", "codemodel": "small"}
    return bytes(target.create_target_machine(opt=2, **options).emit_object(parsed))


@cache
def load_llvm() -> Any:
    """llvmlite's binding, ready for this processor."""
    with FORKS_WAIT:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    return llvm
