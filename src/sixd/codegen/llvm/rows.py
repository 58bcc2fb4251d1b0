"""Entries of row-major arrays: tiles, loaded and stored by transposing them in registers, and long runs of zeros.

A tile is ``width`` (a power of two) neighbouring entries of each of ``lanes`` rows. Gathers would be shorter to write,
but take 60 ns instead of 20 per row of a six-joint arm's inverse dynamics on CPUs with slow (patched) gathers.

Long runs of zeros in outputs are filled by a loop, not stored one by one. The Christoffel symbols of a humanoid are
32,768 numbers, 30,596 of them structural zeros: code that stores each takes 35 s to compile, code that fills runs 7 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from sixd.codegen.llvm.body import Group
from sixd.codegen.llvm.ir import POINTER, WORD, FunctionBody, Module, Type, Value
from sixd.trace.program import Program

Part = tuple[Value, Value | int, Value]  # of a row: its address, the part's distance from there [bytes], the entries


def tiles(size: int, lanes: int, shift: int = 0) -> list[tuple[int, int]]:
    """(first entry, width) of the tiles that cover an array of ``size`` entries; full ones begin at entry ``shift``."""
    cover, first = [], 0
    while first < size:
        end = size if first >= shift else shift
        width = lanes
        while width > end - first:
            width //= 2
        cover.append((first, width))
        first += width
    return cover


def load_tile(
    code: FunctionBody, pointers: Sequence[Value], type: Type, width: int, byte: int, align: int
) -> list[Value]:
    """``width`` vectors: entry j of every row, counted from ``byte`` in each row."""
    part = Type(type.kind, width)
    rows = [code.load(part, code.at(p, byte), f"align {align}, !invariant.load !1") for p in pointers]
    # register r holds the rows r, r + width, …, one after the other
    blocks = [concatenate(code, rows[r::width]) for r in range(width)]
    return transpose(code, blocks)


def rows_of_tile(code: FunctionBody, columns: Sequence[Value]) -> list[Value]:
    """The inverse of the transposition in :func:`load_tile`: each row's entries from vectors of all rows' entries."""
    width, type = len(columns), columns[0].type
    part = Type(type.kind, width)
    blocks = transpose(code, columns)
    return [_extract(code, blocks[row % width], row // width * width, part) for row in range(type.lanes)]


def store_rows(code: FunctionBody, parts: Sequence[Part], flags: str) -> None:
    """Store parts of rows."""
    for row, byte, entries in parts:
        code.do(f"store {entries}, {code.at(row, byte)}, {flags}")


def transpose(code: FunctionBody, registers: Sequence[Value]) -> list[Value]:
    """Transpose each square block of w registers: log2(w) stages, each of which swaps halves at one distance."""
    registers = list(registers)
    width = len(registers)
    distance = 1
    while distance < width:
        for k in range(width):
            if not k & distance:
                a, b = registers[k], registers[k + distance]
                lanes = range(a.type.lanes)
                low = [i - distance + len(lanes) if i & distance else i for i in lanes]
                high = [i + len(lanes) if i & distance else i + distance for i in lanes]
                registers[k], registers[k + distance] = _shuffle(code, a, b, low), _shuffle(code, a, b, high)
        distance *= 2
    return registers


def blend(code: FunctionBody, a: Value, b: Value, chosen: Sequence[bool]) -> Value:
    """The lanes of b that are chosen, else those of a."""
    lanes = len(chosen)
    return _shuffle(code, a, b, [lane + lanes if x else lane for lane, x in enumerate(chosen)])


def concatenate(code: FunctionBody, parts: Sequence[Value]) -> Value:
    """One vector of all the parts, joined in pairs."""
    parts = list(parts)
    while len(parts) > 1:
        parts = [_join(code, a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _join(code: FunctionBody, a: Value, b: Value) -> Value:
    n = a.type.lanes
    type = Type(a.type.kind, 2 * n)
    if n == 1:
        first = code.emit(type, f"insertelement {type} poison, {a}, i64 0")
        return code.emit(type, f"insertelement {first}, {b}, i64 1")
    return _shuffle(code, a, b, range(2 * n))


def _extract(code: FunctionBody, block: Value, first: int, part: Type) -> Value:
    if part.lanes == block.type.lanes:
        return block
    if part.lanes == 1:
        return code.emit(part, f"extractelement {block}, i64 {first}")
    return _shuffle(code, block, block, range(first, first + part.lanes))


def _shuffle(code: FunctionBody, a: Value, b: Value, sources: Sequence[int]) -> Value:
    mask = ", ".join(f"i32 {k}" for k in sources)
    return code.emit(Type(a.type.kind, len(sources)), f"shufflevector {a}, {b}, <{len(sources)} x i32> <{mask}>")


class Entries:
    """Access to a program's arrays at these addresses, in groups of at most ``width`` entries; ``flags``: of loads."""

    def __init__(
        self,
        code: FunctionBody,
        type: Type,
        program: Program,
        sources: list[Value],
        targets: list[Value],
        flags: str = "",
        width: int = 1,
    ) -> None:
        self.code, self.type, self.sources, self.targets, self.flags = code, type, sources, targets, flags
        self.inputs, outputs = (
            [(k, *t) for k, slot in enumerate(slots) for t in tiles(len(slot.entries), width)]
            for slots in (program.inputs, program.outputs)
        )
        self.outputs, self.zeros = split_zeros(program, outputs)

    def fill_zeros(self) -> None:
        """Fill the long runs of zeros in outputs."""
        for group in self.zeros:
            fill(self.code, self.at(self.targets, group), self.type, group[2] * self.type.lanes)

    def load(self, group: Group) -> list[Value]:
        """Load the entries of an input's group."""
        first, flags = self.at(self.sources, group), f"align {self.type.bytes}{self.flags}"
        return [self.code.load(self.type, self.code.at(first, j * self.type.bytes), flags) for j in range(group[2])]

    def alike(self, group: Group) -> object:
        """The output: all of its groups of one width are stored alike."""
        return group[0]

    def store(self, group: Group, values: list[Value], like: Group | None = None) -> None:
        """Store the entries of an output's group."""
        output, _, _ = like or group
        first = self.at(self.targets, (output, *group[1:]))
        for j, value in enumerate(values):
            self.code.do(f"store {value}, {self.code.at(first, j * self.type.bytes)}, align {self.type.bytes}")

    def at(self, bases: list[Value], group: Group) -> Value:
        """The address of a group's first entry."""
        k, first, _ = group
        return self.code.at(bases[k], self.type.bytes * first)


# runs of zeros -------------------------------------------------------------------------------------

SHORTEST = 16  # entries of a run that is worth a call
# of an output with at least so many entries; a humanoid's mass matrix, of 1024, would take twice the time, since its
# lines would no longer be written past the cache
MANY = 4096


def split_zeros(program: Program, groups: Sequence[Group]) -> tuple[list[Group], list[Group]]:
    """The groups of outputs to store, and the long runs of neighbouring groups that are all zeros."""

    def kind(group: Group) -> tuple[int, bool]:
        k, first, width = group
        entries = program.outputs[k].entries
        return k, len(entries) >= MANY and all(e.is_value(0) for e in entries[first : first + width])

    kept: list[Group] = []
    runs: list[Group] = []
    for (k, is_zero), neighbours in groupby(groups, kind):
        run = list(neighbours)
        length = sum(width for _, _, width in run)
        if is_zero and length >= SHORTEST:
            runs.append((k, run[0][1], length))
        else:
            kept += run
    return kept, runs


def _define_fill(module: Module, type: Type) -> None:
    """Define ``void fill(ptr address, i64 count)``: store ``count`` zeros, at least one, from the address on."""
    code = FunctionBody(module)
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


def fill(code: FunctionBody, address: Value, type: Type, count: int) -> None:
    """Append a call that stores ``count`` zeros of a float type from an address on."""
    if not code.module.has("fill"):
        _define_fill(code.module, type)
    code.do(f"call void @fill({address}, i64 {count})")
