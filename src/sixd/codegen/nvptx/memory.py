"""Rows of arrays in the memory of a GPU: one row a thread, addressed directly or through shared memory.

Neighbouring threads have neighbouring rows. If rows are narrow, or arrays column-major, a warp's direct accesses cover
whole lines of memory. Wider rows go through shared memory: a warp copies its 32 rows there and back together,
neighbouring entries by neighbouring threads, and each thread finds its own row's entries there, one by one as they are
needed. Rows that are too wide for that are copied by tiles: 128 bytes of each row at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from sixd.codegen.llvm.body import Group
from sixd.codegen.llvm.ir import POINTER, WORD, FunctionBody, Type, Value
from sixd.codegen.llvm.rows import tiles
from sixd.codegen.nvptx.launch import WARP
from sixd.trace.program import Program, Slot

# entries of a row from which on it goes through shared memory. Mass matrix of a six-joint arm, 36 entries, rows a
# second on an H200 in float32: 1.8e9 directly, 1.2e10 by tiles, 2.0e10 through it; in float64 1.15e9, 9.9e9, 1.16e10
WIDE = 16
LINE = 128  # bytes of a row in a tile
# entries that a thread copies in one iteration of a loop, in compact code: so many loads run side by side
TOGETHER = 16
# tiles of a program up to which they are copied without calls: RNEA of a floating humanoid in float64, three tiles,
# 1.05e9 rows a second on an H200, 6.3e8 with calls
FEW_TILES = 8
# bytes of shared memory of a warp for whole rows. An SM has 228 kB, room for seven such warps. ABA of a floating
# humanoid in float64 2.4e8 rows a second, with 32 kB 2.1e8
STAGED = 29 * 1024

SHARED, INDEX = Type("ptr addrspace(3)"), Type("i32")
KNOWN = "!invariant.load !1"


class Shares:
    """The shared memory of a warp: arrays of whole rows and where they begin [bytes], after the memory of a tile.

    Of the wide arrays the narrowest are there first.
    """

    def __init__(self, program: Program, type: Type) -> None:
        slots = (*program.inputs, *program.outputs)
        sizes = {k: len(slot.entries) for k, slot in enumerate(slots)}
        wide = sorted((k for k in sizes if sizes[k] >= WIDE), key=lambda k: sizes[k])
        ends = list(accumulate(WARP * pitch(sizes[k]) * type.bytes for k in wide))
        whole = [k for k, end in zip(wide, ends, strict=True) if end <= STAGED]
        self.tiled = set(wide) - set(whole)
        parts = [width for k in self.tiled for _, width in _parts(slots[k], type)]
        tile = WARP * pitch(max(parts)) * type.bytes if parts else 0
        self.starts = {k: tile + start for k, start in zip(whole, [0, *ends], strict=False)}
        self.bytes = tile + (ends[len(whole) - 1] if whole else 0)


def pitch(width: int) -> int:
    """The distance of rows in shared memory [entries]: odd, so that banks do not clash."""
    return width | 1


def _parts(slot: Slot, type: Type) -> list[tuple[int, int]]:
    """First entry and width of the tiles of an array."""
    return tiles(len(slot.entries), LINE // type.bytes)


def _narrow(program: Program, inputs: Sequence[Group]) -> list[Group]:
    """The groups of inputs whose rows are narrow."""
    return [group for group in inputs if len(program.inputs[group[0]].entries) < WIDE]


# copies by a warp -----------------------------------------------------------------------------------


def copy_rows(
    code: FunctionBody,
    type: Type,
    array: Value,
    distance: Value,
    tile: Value,
    width: int,
    *,
    inward: bool,
    together: int = 0,
) -> None:
    """Copy ``width`` entries of the warp's rows to shared memory at ``tile``, if ``inward``, or else from there.

    ``array`` is the address of the first entry, ``distance`` that of rows [entries]; rows after the last one are the
    last one. Neighbours go to neighbouring threads. Code for ``together`` entries of a thread, by default for all, is
    written once and repeated.
    """
    lane, last, size = Value(code, INDEX, "%lane"), Value(code, INDEX, "%last"), type.bytes
    loops = width // together if 0 < together < width else 0

    def wide(x: Value) -> Value:
        return code.emit(WORD, f"zext {x} to i64")

    def one(row: Value, column: Value) -> None:
        near = code.intrinsic("umin", row, last)
        short = distance.type == INDEX
        there = wide(near * distance + column) if short else wide(near) * distance + wide(column)
        entry = code.at(array, there * size)
        slot = shared_at(code, tile, wide((row * pitch(width) + column) * size))
        source, target = (entry, slot) if inward else (slot, entry)
        x = code.load(type, source, f"align {size}, {KNOWN}" if inward else f"align {size}")
        code.do(f"store {x}, {target}, align {size}")

    def several(start: Value, count: int) -> None:
        row = code.emit(INDEX, f"udiv {start}, {width}")
        column = start - row * width
        for k in range(count):
            if k:  # WARP entries further
                row = row + WARP // width
                if WARP % width:
                    column = column + WARP % width
                    over = column.compare("uge", width)
                    column, row = over.where(column - width, column), over.where(row + 1, row)
            one(row, column)

    if loops:
        code.repeat(
            code.const(loops, WORD),
            lambda k: several(code.emit(INDEX, f"trunc {k} to i32") * (together * WARP) + lane, together),
        )
    several(lane + loops * together * WARP, width - loops * together)


def shared_at(code: FunctionBody, tile: Value, byte: Value | int) -> Value:
    """The address ``byte`` bytes after one in shared memory."""
    return code.emit(SHARED, f"getelementptr i8, {tile}, {code.lift(byte, WORD)}")


def own_slot(code: FunctionBody, width: int, size: int, j: int, start: int = 0) -> Value:
    """The address in the warp's shared memory of entry j of the thread's row, of rows that begin at byte ``start``."""
    row = Value(code, INDEX, "%lane") * (pitch(width) * size)
    at = shared_at(code, Value(code, SHARED, "%tile"), code.emit(WORD, f"zext {row} to i64"))
    return shared_at(code, at, start + j * size)


def wait(code: FunctionBody) -> None:
    """Wait for the other threads of the warp, which use the same shared memory."""
    code.module.declare("declare void @llvm.nvvm.bar.warp.sync(i32)")
    code.do("call void @llvm.nvvm.bar.warp.sync(i32 -1)")


class RowMajorArrays:
    """The arrays of a kernel, row-major: entries of a row are neighbours, rows have distances up to ``FARTHEST``.

    The code has ``%a0``, ``%a1``, … the addresses of the arrays, inputs first, ``%r0``, … the distances of their rows
    [entries], ``%n`` the number of rows, ``%row`` the thread's; if shared memory is used ``%first``, the warp's first
    row, ``%lane`` the thread's number in the warp, and ``%tile`` the warp's shared memory.

    ``direct`` are the inputs that do not go through shared memory: their latency is long, so they are best loaded at
    once. ``compact``: copies of whole rows are loops, those of many tiles calls. That is for large programs alone:
    others become slower, RNEA of a humanoid in float32 3.1e9 rows a second instead of 3.9e9, mass matrix of a floating
    quadruped 1.60e9 instead of 1.77e9.
    """

    def __init__(self, code: FunctionBody, type: Type, program: Program, *, compact: bool = False) -> None:
        self.code, self.type, self.size, self.shift = code, type, type.bytes, len(program.inputs)
        slots = (*program.inputs, *program.outputs)
        self.shares, self.width = Shares(program, type), {k: len(slot.entries) for k, slot in enumerate(slots)}

        def groups(first: int, own: Sequence[Slot]) -> list[Group]:
            return [
                (k, *part)
                for k, slot in enumerate(own)
                for part in (
                    _parts(slot, type) if first + k in self.shares.tiled else [(j, 1) for j in range(len(slot.entries))]
                )
            ]

        self.inputs, self.outputs = groups(0, program.inputs), groups(self.shift, program.outputs)
        self.direct = _narrow(program, self.inputs)
        count = sum(width > 1 for _, _, width in (*self.inputs, *self.outputs))
        self.together, self.calls_tiles = TOGETHER if compact else 0, compact and count > FEW_TILES
        self._starts: dict[tuple[int, str], Value] = {}

    def fill_zeros(self) -> None:
        """Do nothing: zeros are stored as other entries are."""

    def alike(self, group: Group) -> object:
        """Return None: all groups of one width are stored alike."""

    def begin(self) -> None:
        """Copy the wide inputs to shared memory."""
        inputs = [k for k in self.shares.starts if k < self.shift]
        for k in inputs:
            self._copy_whole(k, inward=True)
        if inputs:
            wait(self.code)

    def finish(self) -> None:
        """Copy the wide outputs from shared memory."""
        outputs = [k for k in self.shares.starts if k >= self.shift]
        if outputs:
            wait(self.code)
        for k in outputs:
            self._copy_whole(k, inward=False)

    def load(self, group: Group) -> list[Value]:
        """Load the entries of an input's group."""
        k, first, width = group
        code = self.code
        if k in self.shares.starts:
            return [code.load(self.type, self._own(k, first), f"align {self.size}")]
        if k not in self.shares.tiled:
            return [code.load(self.type, self._entry(k, first), f"align {self.size}, {KNOWN}")]
        wait(self.code)
        self._copy_tile(k, first, width, inward=True)
        wait(self.code)
        return [code.load(self.type, x, f"align {self.size}") for x in self._own_tile(width)]

    def store(self, group: Group, values: list[Value], like: Group | None = None) -> None:
        """Store the entries of an output's group."""
        k, first, width = self.shift + group[0], group[1], group[2]
        code = self.code
        if k not in self.shares.tiled:
            target = self._own(k, first) if k in self.shares.starts else self._entry(k, first)
            code.do(f"store {values[0]}, {target}, align {self.size}")
            return
        wait(self.code)
        for x, slot in zip(values, self._own_tile(width), strict=True):
            code.do(f"store {x}, {slot}, align {self.size}")
        wait(self.code)
        self._copy_tile(k, first, width, inward=False)

    def start(self, k: int) -> Value:
        """The address of the thread's row of array k."""
        return self._start(k, "%row")

    def _start(self, k: int, row: str) -> Value:
        key = k, row
        if key not in self._starts:
            distance = Value(self.code, WORD, row) * Value(self.code, WORD, f"%r{k}")
            self._starts[key] = self.code.at(f"%a{k}", distance * self.size)
        return self._starts[key]

    def _entry(self, k: int, j: int) -> Value:
        return self.code.at(self.start(k), j * self.size)

    # shared memory -----------------------------------------------------------------------------------

    def _copy_whole(self, k: int, *, inward: bool) -> None:
        """Copy the warp's rows of array k to or from shared memory."""
        array, distance = self._start(k, "%first"), self._distance(k)
        tile = shared_at(self.code, Value(self.code, SHARED, "%tile"), self.shares.starts[k])
        copy_rows(self.code, self.type, array, distance, tile, self.width[k], inward=inward, together=self.together)

    def _copy_tile(self, k: int, first: int, width: int, *, inward: bool) -> None:
        """Copy the tile of the warp's rows of array k from entry ``first`` on."""
        code, module, tile = self.code, self.code.module, Value(self.code, SHARED, "%tile")
        array, distance = code.at(self._start(k, "%first"), first * self.size), self._distance(k)
        if not self.calls_tiles:
            copy_rows(code, self.type, array, distance, tile, width, inward=inward)
            return
        function = f"{'take' if inward else 'give'}_{width}"
        if not module.has(function):
            own = FunctionBody(module)
            passed = Value(own, POINTER, "%array"), Value(own, INDEX, "%distance"), Value(own, SHARED, "%tile")
            copy_rows(own, self.type, *passed, width, inward=inward)
            own.do("ret void")
            parameters = ", ".join([*map(str, passed), "i32 %lane", "i32 %last"])
            module.define(function, f"internal void @{function}({parameters}) noinline nounwind", own)
        code.do(f"call void @{function}({array}, {distance}, {tile}, i32 %lane, i32 %last)")

    def _distance(self, k: int) -> Value:
        return self.code.emit(INDEX, f"trunc {Value(self.code, WORD, f'%r{k}')} to i32")

    def _own_tile(self, width: int) -> list[Value]:
        return [own_slot(self.code, width, self.size, j) for j in range(width)]

    def _own(self, k: int, j: int) -> Value:
        """The address in shared memory of an entry of the thread's row of array k."""
        return own_slot(self.code, self.width[k], self.size, j, self.shares.starts[k])


class Strided:
    """The arrays of a kernel with any distances of entries, such as column-major ones.

    The code has ``%a0``, … and ``%r0``, … as for :class:`RowMajorArrays`, and ``%s0_0``, ``%s0_1``, … the distances
    along the dimensions of an array's core [entries]; ``direct`` are the inputs that are best loaded at once.
    """

    def __init__(self, code: FunctionBody, type: Type, program: Program) -> None:
        self.code, self.type, self.size, self.shift = code, type, type.bytes, len(program.inputs)
        self.shapes = [slot.shape for slot in (*program.inputs, *program.outputs)]
        self.inputs, self.outputs = (
            [(k, j, 1) for k, slot in enumerate(slots) for j in range(len(slot.entries))]
            for slots in (program.inputs, program.outputs)
        )
        self.direct = _narrow(program, self.inputs)

    def fill_zeros(self) -> None:
        """Do nothing: zeros are stored as other entries are."""

    def alike(self, group: Group) -> object:
        """Return None: all groups are stored alike."""

    def begin(self) -> None:
        """Do nothing: entries are loaded where they are needed."""

    def finish(self) -> None:
        """Do nothing: entries are stored when they are known."""

    def load(self, group: Group) -> list[Value]:
        """Load an entry of an input."""
        k, j, _ = group
        return [self.code.load(self.type, self._entry(k, j), f"align {self.size}, {KNOWN}")]

    def store(self, group: Group, values: list[Value], like: Group | None = None) -> None:
        """Store an entry of an output."""
        k, j, _ = group
        self.code.do(f"store {values[0]}, {self._entry(self.shift + k, j)}, align {self.size}")

    def _entry(self, k: int, j: int) -> Value:
        code = self.code
        distance = Value(code, WORD, "%row") * Value(code, WORD, f"%r{k}")
        for d, index in enumerate(_indices(j, self.shapes[k])):
            if index:
                distance = distance + Value(code, WORD, f"%s{k}_{d}") * index
        return code.at(f"%a{k}", distance * self.size)


def _indices(j: int, shape: Sequence[int]) -> list[int]:
    """The indices of the j-th entry of an array in row-major order."""
    return [int(x) for x in np.unravel_index(j, shape)] if shape else []
