"""Outputs that are mostly zero: long runs of zeros are filled by a loop, not stored one by one.

The Christoffel symbols of a humanoid are 32,768 numbers, 30,596 of them zeros by structure: storing each took 35 s to
compile, filling takes 7 s.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixd.codegen.llvm.ir import (
    POINTER,
    WORD,
    Code,
    Module,
    Type,
    Value,
)
from sixd.codegen.llvm.schedule import Group
from sixd.trace.program import Program

SHORTEST = 16  # entries of a run that is worth a call
# of an output with as many entries; a humanoid's mass matrix, of 1024, takes twice the time filled so, since its lines
# are then no more written past the cache
MANY = 4096


def split_zeros(program: Program, groups: Sequence[Group]) -> tuple[list[Group], list[Group]]:
    """The groups of outputs that hold something, or stand alone, and the long runs of neighbours that hold zeros."""
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
    """``void fill(ptr place, i64 count)``: zeros from there on, at least one."""
    code = Code(module)
    one = Type(type.kind)
    code.do("br label %next")
    code.begin("next")
    k = code.emit(WORD, "phi i64 [ 0, %entry ], [ %after, %next ]")
    place = code.at(Value(code, POINTER, "%place"), k * one.bytes)
    code.do(f"store {code.const(0.0, one)}, {place}, align {one.bytes}")
    code.do(f"%after = add {k}, 1")
    code.do(f"br {Value(code, WORD, '%after').compare('slt', Value(code, WORD, '%count'))}, label %next, label %done")
    code.begin("done")
    code.do("ret void")
    module.define("fill", "internal void @fill(ptr %place, i64 %count) noinline", code)


def fill(code: Code, place: Value, count: int) -> None:
    """Put ``count`` zeros there."""
    code.do(f"call void @fill({place}, i64 {count})")
