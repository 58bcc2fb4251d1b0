"""The inner loop of a NumPy generalised ufunc: a vector of rows at a time.

The last vector ends with the last row, and repeats rows of the one before; if there are fewer rows than lanes, the last
row fills the spare lanes. So no memory outside the arrays is accessed, and every row is computed by the same
instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from sixd.codegen.llvm.body import KINDS, Body, Group
from sixd.codegen.llvm.ir import ATTRIBUTES, POINTER, WORD, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.machine import CACHE, LINE, MALLOC, offset
from sixd.codegen.llvm.rolled import define_rolled, is_large
from sixd.codegen.llvm.rows import (
    Part,
    fill,
    load_tile,
    rows_of_tile,
    split_zeros,
    store_rows,
    tiles,
)
from sixd.codegen.llvm.wide import StoredRange, align_rows, pieces, wide_outputs
from sixd.trace.program import Program

FLAG = Type("i1")
# operations and entries of results from which on LLVM's effort is 1 for code in one block: a third less time to compile
# for 2 to 4 % of speed. Derivatives of seven joints' inverse dynamics: 0.35 instead of 0.53 s
LONG, MANY_RESULTS = 2_500, 100


def emit_loop(program: Program, dtype: str, lanes: int, limit: float, has_fma: bool = True) -> str:
    """The LLVM module with ``void loop(char **args, long *dimensions, long *steps, void *context)``.

    It adds 1 to the context's count if the sum of squares of a row's outputs is above ``limit`` or NaN.
    """
    module = Module(has_fma)
    type = Type(KINDS[dtype], lanes)
    _define_vector(module, program, type, limit)
    inputs, one = len(program.inputs), Type(type.kind).bytes
    wide = {inputs + k: len(program.outputs[k].entries) * one for k in wide_outputs(program, type)}
    define_loop(module, inputs + len(program.outputs), lanes, wide)
    return str(module)


def _define_vector(module: Module, program: Program, type: Type, limit: float) -> None:
    """Define ``i1 vector(ptr rows_of, ptr context, i1 direct)``: one vector of rows. Its table has the addresses of the
    rows, array by array, then the distances to the rows of the next vector. ``direct``: write wide outputs past the
    cache.

    A function of its own, so that LLVM does not move its constants out of the loop, where they would fill registers.
    """
    if is_large(program):
        define_rolled(module, "vector", program, type, limit, lambda code: _TiledRows(code, type, program))
        return
    code = FunctionBody(module)
    rows = _TiledRows(code, type, program)
    if program.operations >= LONG and not rows.wide and sum(width for _, _, width in rows.outputs) >= MANY_RESULTS:
        module.effort = 1
    rows.fill_zeros()
    suspect = Body(program, code, type, rows).write(limit)
    assert suspect is not None
    code.do(f"ret {code.any(suspect)}")
    module.define("vector", f"internal i1 @vector(ptr %rows_of, ptr %context, i1 %direct) noinline {ATTRIBUTES}", code)


def define_loop(module: Module, arrays: int, lanes: int, wide: Mapping[int, int]) -> None:
    """Define ``loop``, which calls ``vector`` for all rows of the arrays; ``wide``: those that can be written past the
    cache, with the sizes of their rows [bytes]."""
    code = FunctionBody(module)
    count = _word(code, "%dims", 0, WORD)
    # the rows' addresses are kept in memory: there are more of them than registers
    code.do(f"%rows_of = alloca [{arrays * (lanes + 1)} x ptr], align 8")
    code.do(f"br {count.compare('sgt', 0)}, label %start, label %done")
    code.begin("start")
    bases = [_word(code, "%args", k, POINTER) for k in range(arrays)]
    steps = [_word(code, "%steps", k, WORD) for k in range(arrays)]
    spare = [code.intrinsic("smin", code.const(lane, WORD), count - 1) for lane in range(lanes)]
    shifts = [[lane * step for lane in spare] for step in steps]
    final = count - lanes
    # wide arrays together are larger than a cache, and their lines begin where they do in contiguous large arrays
    large, total = code.const(bool(wide), FLAG), code.const(0, WORD)
    for k, size in wide.items():
        address = code.emit(WORD, f"ptrtoint {bases[k]} to i64")
        off = (address - MALLOC) | (steps[k] - size)
        large, total = large & (off & (LINE - 1)).compare("eq", 0), total + count * steps[k]
    if wide:
        large = large & total.compare("sgt", CACHE) & final.compare("sge", 0)
    code.do("br label %rows")

    code.begin("rows")
    row = code.emit(WORD, "phi i64 [ 0, %start ], [ %next, %rows ]")
    seen = code.emit(FLAG, "phi i1 [ false, %start ], [ %some, %rows ]")
    for k, (base, step, shift) in enumerate(zip(bases, steps, shifts, strict=True)):
        first = code.at(base, row * step)
        for lane, s in enumerate(shift):
            code.do(f"store {code.at(first, s)}, {code.at('%rows_of', 8 * (k * lanes + lane))}, align 8")
        code.do(f"store {step * lanes}, {code.at('%rows_of', 8 * (arrays * lanes + k))}, align 8")
    # the last vector may begin elsewhere
    direct = large
    for k in wide:
        direct = direct & ((row * steps[k]) & (LINE - 1)).compare("eq", 0)
    suspect = code.emit(FLAG, f"call i1 @vector(ptr %rows_of, ptr %context, {direct})")
    code.do(f"%some = or {seen}, {suspect.text}")
    after = row + lanes
    code.do(f"%next = call i64 @llvm.smin.i64({after}, {final})")
    code.do(f"br {after.compare('slt', count)}, label %rows, label %finish")

    code.begin("finish")
    if wide:
        code.do("fence seq_cst")  # writes past the cache are complete before the loop returns
    code.do("br i1 %some, label %report, label %done")
    code.begin("report")
    code.emit(WORD, f"atomicrmw add {code.at('%context', offset('count'))}, i64 1 monotonic")
    code.do("br label %done")
    code.begin("done")
    code.do("ret void")
    module.define("loop", "void @loop(ptr %args, ptr %dims, ptr %steps, ptr %context)", code)


class _TiledRows:
    """Access to one vector of rows: groups are tiles."""

    def __init__(self, code: FunctionBody, type: Type, program: Program) -> None:
        self.code, self.type, self.shift = code, type, len(program.inputs)
        self.size = Type(type.kind).bytes
        self.arrays = len(program.inputs) + len(program.outputs)
        self.rolled = is_large(program)
        # pieces of wide outputs by their first entry and width
        self.wide: dict[int, dict[tuple[int, int], StoredRange]] = {}
        for k in wide_outputs(program, type):
            self.wide[k] = {(p.first, p.width): p for p in pieces(len(program.outputs[k].entries), type)}
        self.inputs = [(k, *t) for k, s in enumerate(program.inputs) for t in tiles(len(s.entries), type.lanes)]
        groups = [(k, *t) for k, s in enumerate(program.outputs) for t in self._groups(k, len(s.entries))]
        kept, self.zeros = split_zeros(program, groups)
        # what goes through the cache comes after what goes past it: changing between them takes 15 ns each time
        self.outputs = sorted(kept, key=lambda g: g[0] in self.wide and not self.wide[g[0]][g[1:]].is_line)

    def _groups(self, k: int, size: int) -> list[tuple[int, int]]:
        """First entry and width of the groups of output k."""
        wide = self.wide.get(k, {})
        return list(wide) if wide else tiles(size, self.type.lanes)

    def fill_zeros(self) -> None:
        """Fill the long runs of zeros in outputs."""
        for k, first, width in self.zeros:
            for row in row_addresses(self.code, self.shift + k, self.type.lanes):
                fill(self.code, self.code.at(row, first * self.size), self.type, width)

    def load(self, group: Group) -> list[Value]:
        """Load the entries of an input's tile, and prefetch those of the next vector's rows in rolled programs, which
        load all of them first: a humanoid's 96 entries take 10 instead of 100 ns a row."""
        k, first, width = group
        rows = row_addresses(self.code, k, self.type.lanes)
        if self.rolled:
            self._prefetch(k, [(row, first * self.size) for row in rows], "0")
        return load_tile(self.code, rows, self.type, width, first * self.size, self.size)

    def alike(self, group: Group) -> object:
        """The form of a piece of a wide output, at any position; None for a tile."""
        k, first, width = group
        return self.wide[k][first, width]._replace(first=0) if k in self.wide else None

    def store(self, group: Group, values: list[Value], like: Group | None = None) -> None:
        """Store an output's group in the rows; lines of wide outputs past the cache, if ``direct`` holds."""
        k, first, width = group
        code, rows = self.code, row_addresses(self.code, k + self.shift, self.type.lanes)
        output, start, _ = like or group
        if output not in self.wide:
            self._store_cached(
                k, [(row, first * self.size, x) for row, x in zip(rows, rows_of_tile(code, values), strict=True)]
            )
            return
        piece = self.wide[output][start, width]
        columns, lanes = align_rows(code, values, piece), self.type.lanes
        lines = [rows_of_tile(code, columns[j : j + lanes]) for j in range(0, len(columns), lanes)]
        parts = [
            (row, (first + skip + j * lanes) * self.size, x)
            for row, skip, *entries in zip(rows, piece.skips, *lines, strict=True)
            if skip is not None
            for j, x in enumerate(entries)
        ]
        if not piece.is_line:
            self._store_cached(k, parts)
            return
        past, cached, after = code.label("past"), code.label("cached"), code.label("after")
        code.do(f"br i1 %direct, label %{past}, label %{cached}")
        code.begin(past)
        store_rows(code, parts, f"align {LINE}, !nontemporal !2")
        code.do(f"br label %{after}")
        code.begin(cached)
        # these are too many to be prefetched: a humanoid's mass matrices would take 1.3 times as long
        store_rows(code, parts, f"align {self.size}")
        code.do(f"br label %{after}")
        code.begin(after)

    def _store_cached(self, k: Value | int, parts: list[Part]) -> None:
        """Store parts of rows, and prefetch those of the next vector's rows: 1.4 times as fast for a 7-joint arm's mass
        matrix."""
        store_rows(self.code, parts, f"align {self.size}")
        self._prefetch(k + self.shift, [(row, byte) for row, byte, _ in parts], "1")

    def _prefetch(self, array: Value | int, parts: Sequence[tuple[Value, Value | int]], write: str) -> None:
        """Prefetch the same parts of the next vector's rows; addresses outside of arrays do no harm."""
        code = self.code
        code.module.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        ahead = _word(code, "%rows_of", array + self.arrays * self.type.lanes, WORD)
        for row, byte in parts:
            # keep it close, data
            code.do(f"call void @llvm.prefetch.p0({code.at(row, ahead + byte)}, i32 {write}, i32 3, i32 1)")


def row_addresses(code: FunctionBody, k: Value | int, lanes: int) -> list[Value]:
    """The addresses of the rows of array k, from the table ``%rows_of``."""
    return [_word(code, "%rows_of", k * lanes + lane, POINTER) for lane in range(lanes)]


def _word(code: FunctionBody, base: str, k: Value | int, type: Type) -> Value:
    return code.load(type, code.at(base, k * 8), "align 8")


class RowAccess(Protocol):
    """Access to the rows of the arrays of a function, by the number k of the array, and to their records."""

    def load(self, k: int, record: Value | int, count: int) -> Iterator[Value]:
        """Load the entries of a record of array k, which has ``count`` of them."""

    def store(self, k: int, record: Value | int, count: int, get: Callable[[int], Value]) -> None:
        """Store the entries ``get(0)``, ``get(1)``, … of a record of array k."""

    def count_once(self) -> Value:
        """1 in the code that counts for a row, 0 if the row is computed once more."""

    def any(self, condition: Value) -> Value:
        """Whether a truth value holds for any of the rows that go through the code together."""

    def align(self) -> None:
        """Wait for the other rows that go through the code together."""


class VectorRows(RowAccess):
    """A vector of rows, whose addresses are in the table ``%rows_of``."""

    def __init__(self, code: FunctionBody, type: Type) -> None:
        self.code, self.type, self.size = code, type, Type(type.kind).bytes

    def load(self, k: int, record: Value | int, count: int) -> Iterator[Value]:
        rows = self._rows(k, record, count)
        for first, width in tiles(count, self.type.lanes):
            yield from load_tile(self.code, rows, self.type, width, first * self.size, self.size)

    def store(self, k: int, record: Value | int, count: int, get: Callable[[int], Value]) -> None:
        rows = self._rows(k, record, count)
        for first, width in tiles(count, self.type.lanes):
            parts = zip(rows, rows_of_tile(self.code, [get(first + j) for j in range(width)]), strict=True)
            store_rows(self.code, [(row, first * self.size, x) for row, x in parts], f"align {self.size}")

    def load_long(self, k: int, record: Value | int, count: int, address: Value) -> None:
        """Load the entries of a record of array k to an address, most of them in a loop."""
        code, type = self.code, self.type
        rows = self._rows(k, record, count)

        def tile(first: Value, width: int) -> None:
            starts = [code.at(row, first * self.size) for row in rows]
            for j, x in enumerate(load_tile(code, starts, type, width, 0, self.size)):
                code.do(f"store {x}, {code.at(address, (first + j) * type.bytes)}, align {type.bytes}")

        self._tiles(count, tile)

    def store_long(self, k: int, record: Value | int, count: int, address: Value) -> None:
        """Store the entries at an address as a record of array k, most of them in a loop."""
        code, type = self.code, self.type
        rows = self._rows(k, record, count)

        def tile(first: Value, width: int) -> None:
            entries = [code.load(type, code.at(address, (first + j) * type.bytes), f"align {type.bytes}")
                       for j in range(width)]  # fmt: skip
            for row, x in zip(rows, rows_of_tile(code, entries), strict=True):
                store_rows(code, [(code.at(row, first * self.size), 0, x)], f"align {self.size}")

        self._tiles(count, tile)

    def _tiles(self, count: int, tile: Callable[[Value, int], None]) -> None:
        """Append the code of whole tiles, in a loop, and of the rest."""
        code, lanes = self.code, self.type.lanes
        code.repeat(code.const(count // lanes, WORD), lambda n: tile(n * lanes, lanes))
        at = count // lanes * lanes
        for first, width in tiles(count - at, lanes):
            tile(code.const(at + first, WORD), width)

    def count_once(self) -> Value:
        return self.code.const(1, WORD)

    def any(self, condition: Value) -> Value:
        return self.code.any(condition)

    def align(self) -> None:
        """Do nothing: the rows of a vector are never apart."""

    def _rows(self, k: int, record: Value | int, count: int) -> list[Value]:
        rows = row_addresses(self.code, k, self.type.lanes)
        return [self.code.at(row, record * (count * self.size)) for row in rows]
