"""The interface of compiled code to this computer: its context, NumPy's arrays, the CPU, and machine code for it.

The context is a table of eight-byte words that compiled code reaches by a pointer, so that it needs no linking. The
code adds to ``count`` when a result is suspect (not finite, or very large); the other words are addresses.
``sixd.runtime.cpython.layout_is_known`` checks the offsets before code that uses them runs.

Machine code is made by LLVM's code generator, without its optimisation passes. A program is already folded, so only
code generation is left: that cuts compile times by a factor of three to five and loses no speed. llvmlite is imported
when the first kernel is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sixd.locks import FORKS_WAIT, Lock

# of libm, for float64
MATH = ("sin", "cos", "tan", "asin", "acos", "atan2", "exp", "log", "log1p", "tanh", "hypot")
HEAP = ("malloc", "free")
CONTEXT = ("count", *MATH, *HEAP)
NO_MEMORY = 1 << 32  # is added to the count if the heap has none

EFFORT = "; effort "  # begins the text of a module; then follows the level of LLVM's code generator, 1 or 2

# memory [bytes]: a cache line, the size of a cache, the offset in a line at which glibc begins a large array, and the
# size from which on arrays of results begin so wherever they come from
LINE, CACHE, MALLOC, ALIGNED = 64, 8 << 20, 16, 2 << 20
# bytes from the start of an object of NumPy's array class
TYPE, DATA, NDIM, SHAPE, DESCR, FLAGS = 8, 16, 24, 32, 56, 64
CONTIGUOUS_ALIGNED, WRITEABLE, WARN_ON_WRITE = 0x0001 | 0x0100, 0x0400, -0x80000000
# bytes from the start of other objects: the words of an object that is called, the length of a tuple
OBJECT = {"vectorcall": 16, "words": 24, "length": 16}
TYPE_NUMBER = {"float64": 12, "float32": 11}

# tables of words by which objects are called (sixd.runtime.calls). All begin with those in CALL: ``arguments`` are
# their number, ``options`` that of choices with a default (at most two), ``parameters`` the address of their names.
# A plan then has words for each float width (KIND) and each array (SPEC), and ``named``: the class of several results;
# a public function, which finds the plan of a system, has a table of slots. ``most``: rows from which on threads are
# used; ``long``: from which on others may run
CALL = ("fallback", "vectorcall", "arguments", "options", "default0", "default1", "parameters", "out", "none", "items")
PLAN = (
    *CALL, "owner", "outputs", "array_type", "tuple_type", "array_new", "array_return", "tuple_new", "tuple_set",
    "incref", "decref", "save_thread", "restore_thread", "named", "call_object",
)  # fmt: skip
KIND = ("descr", "type_number", "size", "entry", "entry_context", "loop", "loop_context", "most", "long")
KINDS_OF_PLAN = ("float64", "float32")
SPEC = ("dimensions", "entries", "shape")
FRONT = (*CALL, "choice", "mask", "table")
SLOT = ("system", "choice", "option0", "option1", "plan")
MOST_ARRAYS, MOST_DIMENSIONS = 64, 16  # of a plan: inputs and outputs; of a core, and of a batch

_LOCK = Lock()


def slot_of(*addresses: Any) -> Any:
    """The slot for the addresses of a system and its choices, before it is cut to the size of the table."""
    system, *choices = addresses
    slot = system >> 4
    for k, choice in enumerate(choices):
        slot = slot + (choice >> 5 + k)
    return slot


def index_of(name: str) -> int:
    """Index of the first word of a part of a plan: a float width, or ``specs``."""
    return len(PLAN) + len(KIND) * (*KINDS_OF_PLAN, "specs").index(name)


def offset(name: str) -> int:
    """Offset of a word in the context [bytes]."""
    return 8 * CONTEXT.index(name)


@dataclass(frozen=True)
class Machine:
    """A CPU: LLVM's name and features for it, the width of its vectors [bits], and whether it has fma."""

    cpu: str
    features: str
    bits: int
    has_fma: bool

    def lanes(self, dtype: str) -> int:
        """Number of floats in one vector."""
        return self.bits // {"float64": 64, "float32": 32}[dtype]


@cache
def host() -> Machine:
    """This computer's CPU, with its widest vectors."""
    llvm = load_llvm()
    with FORKS_WAIT:
        features, cpu, triple = llvm.get_host_cpu_features(), llvm.get_host_cpu_name(), llvm.get_process_triple()
    wide = all(features.get(f) for f in ("avx512f", "avx512dq", "avx512vl"))
    bits = 512 if wide else 256 if features.get("avx") else 128
    is_x86 = triple.startswith(("x86_64", "i686"))
    text = features.flatten() + (",-prefer-256-bit" if wide else "")
    return Machine(cpu, text, bits, bool(features.get("fma")) or not is_x86)


def assemble(module: str, machine: Machine) -> bytes:
    """The object file of a module of LLVM code."""
    llvm = load_llvm()
    with FORKS_WAIT, _LOCK:
        return _assemble(llvm, module, machine)


def _assemble(llvm: Any, module: str, machine: Machine) -> bytes:
    """A function of its own, so that LLVM's objects are freed before :func:`assemble` releases its lock."""
    parsed = llvm.parse_assembly(module)
    target = llvm.Target.from_triple(triple_of(llvm.get_process_triple()))
    options = {"cpu": machine.cpu, "features": machine.features, "reloc": "pic", "codemodel": "small"}
    return bytes(target.create_target_machine(opt=effort_of(module), **options).emit_object(parsed))


def triple_of(process: str) -> str:
    """The triple for which code is made: on Windows with its calling convention, but as ELF files, which are linked
    in ``sixd.runtime.machine_code`` and which LLVM's loader needs."""
    return f"{process}-elf" if "-windows-" in process else process


def effort_of(module: str) -> int:
    """The level of LLVM's code generator that a module of LLVM code asks for."""
    return 1 if module.startswith(f"{EFFORT}1") else 2


@cache
def load_llvm() -> Any:
    """llvmlite's binding, ready for this CPU."""
    with FORKS_WAIT:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    return llvm
