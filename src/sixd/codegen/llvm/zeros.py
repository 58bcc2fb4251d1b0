"""Outputs that are mostly zero: long runs of zeros are filled by a loop, not stored one by one.

The Christoffel symbols of a humanoid are 32,768 numbers, 30,596 of them structural zeros: code that stores each takes
35 s to compile, code that fills runs 7 s.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixd.codegen.llvm.ir import POINTER, WORD, Code, Module, Type, Value
from sixd.codegen.llvm.schedule import Group
from sixd.trace.program import Program

SHORTEST = 16  # entries of a run that is worth a call
# of an output with at least so many entries; a humanoid's mass matrix, of 1024, would take twice the time, since its
# lines would no longer be written past the cache
MANY = 4096


def split_zeros(program: Program, groups: Sequence[Group]) -> tuple[list[Group], list[Group]]:
    """The groups of outputs to store, and the long runs of neighbouring groups that are all zeros."""
    kept: list[Group] = []
    runs: list[Group] = []
    pending: list[Group] = []

    def flush() -> None:
        if sum(width for _, _, width in pending) >= SHORTEST:
            k, first, _ = pending[0]
            runs.append((k, first, pending[-1][1] + pending[-1][2] - first))
        else:
            kept.extend(pending)
        pending.clear()

    for group in groups:
        k, first, width = group
        if pending and pending[-1][0] != k:
            flush()
        entries = program.outputs[k].entries
        if len(entries) >= MANY and all(e.is_value(0) for e in entries[first : first + width]):
            pending.append(group)
        else:
            flush()
            kept.append(group)
    flush()
    return kept, runs


def define_fill(module: Module, type: Type) -> None:
    """Define ``void fill(ptr address, i64 count)``: store ``count`` zeros, at least one, from the address on."""
    code = Code(module)
    one = Type(type.kind)
    code.do("br label %next")
    code.begin("next")
    k = code.emit(WORD, "phi i64 [ 0, %entry ], [ %after, %next ]")
    address = code.at(Value(code, POINTER, "%address"), k * one.bytes)
    code.do(f"store {code.const(0.0, one)}, {address}, align {one.bytes}")
    code.do(f"%after = add {k}, 1")
    code.do(f"br {Value(code, WORD, '%after').compare('slt', Value(code, WORD, '%count'))}, label %next, label %done")
    code.begin("done")
    code.do("ret void")
    module.define("fill", "internal void @fill(ptr %address, i64 %count) noinline", code)


def fill(code: Code, address: Value, count: int) -> None:
    """Append a call that stores ``count`` zeros from an address on."""
    code.do(f"call void @fill({address}, i64 {count})")
