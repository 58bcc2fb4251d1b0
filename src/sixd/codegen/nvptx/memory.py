"""Rows of arrays in the memory of a GPU: one row a thread, addressed directly or by tiles through shared memory.

Neighbouring threads have neighbouring rows. If rows are narrow, or arrays column-major, a warp's direct accesses cover
whole lines of memory. Wide rows are read and written by tiles: a warp takes 16 or 32 entries of its 32 rows to or from
shared memory, a row's part of 128 bytes at a time, and each thread finds its own row's entries there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sixd.codegen.llvm.body import Group
from sixd.codegen.llvm.ir import WORD, Code, Type, Value
from sixd.codegen.llvm.rows import tiles
from sixd.trace.program import Program, Slot

WARP = 32  # threads
# entries of a row from which on it is taken by tiles. Mass matrix of a six-joint arm, 36 entries, rows a second on an
# H200: 1.8e9 and 1.1e10 in float32, 1.15e9 and 1.1e10 in float64
WIDE = 16
LINE = 128  # bytes of a row in a tile

SHARED, INDEX = Type("ptr addrspace(3)"), Type("i32")
_KNOWN = "!invariant.load !1"


def tile_bytes(program: Program, type: Type) -> int:
    """The shared memory that a warp needs for its tiles [bytes]."""
    widths = [width for slot in (*program.inputs, *program.outputs) for _, width in _parts(slot, type) if width > 1]
    return WARP * (max(widths) | 1) * type.bytes if widths else 0


def _parts(slot: Slot, type: Type) -> list[tuple[int, int]]:
    """First entry and width of the groups of an array: tiles, or single entries."""
    size = len(slot.entries)
    return tiles(size, LINE // type.bytes) if size >= WIDE else [(j, 1) for j in range(size)]


class Rows:
    """The arrays of a kernel, row-major: entries of a row are neighbours, rows have any distance.

    The code has ``%a0``, ``%a1``, … the addresses of the arrays, inputs first, ``%r0``, … the distances of their rows
    [entries], ``%n`` the number of rows, ``%row`` the thread's; for tiles ``%first``, the warp's first row, ``%lane``
    the thread's number in the warp, and ``%tile`` the warp's shared memory.
    """

    def __init__(self, code: Code, type: Type, program: Program) -> None:
        self.code, self.type, self.size, self.shift = code, type, type.bytes, len(program.inputs)
        self.inputs, self.outputs = (
            [(k, *part) for k, slot in enumerate(slots) for part in _parts(slot, type)]
            for slots in (program.inputs, program.outputs)
        )
        self.wide = {k: len(s.entries) >= WIDE for k, s in enumerate((*program.inputs, *program.outputs))}
        self._starts: dict[int, Value] = {}

    def fill_zeros(self) -> None:
        """Do nothing: zeros are stored as other entries are."""

    def alike(self, group: Group) -> object:
        """Return None: all groups of one width are stored alike."""

    def load(self, group: Group) -> list[Value]:
        """Load the entries of an input's group."""
        k, first, width = group
        code = self.code
        if not self.wide[k]:
            return [code.load(self.type, self._entry(k, first), f"align {self.size}, {_KNOWN}")]
        self._wait()
        for row, column in self._share(width):
            x = code.load(self.type, self._at(k, row, column, first), f"align {self.size}, {_KNOWN}")
            code.do(f"store {x}, {self._slot(row, column, width)}, align {self.size}")
        self._wait()
        own = Value(code, INDEX, "%lane")
        slots = [self._slot(own, code.const(j, INDEX), width) for j in range(width)]
        return [code.load(self.type, slot, f"align {self.size}") for slot in slots]

    def store(self, group: Group, values: list[Value], like: Group | None = None) -> None:
        """Store the entries of an output's group."""
        k, first, width = self.shift + group[0], group[1], group[2]
        code = self.code
        if not self.wide[k]:
            code.do(f"store {values[0]}, {self._entry(k, first)}, align {self.size}")
            return
        self._wait()
        own = Value(code, INDEX, "%lane")
        for j, x in enumerate(values):
            code.do(f"store {x}, {self._slot(own, code.const(j, INDEX), width)}, align {self.size}")
        self._wait()
        for row, column in self._share(width):
            x = code.load(self.type, self._slot(row, column, width), f"align {self.size}")
            code.do(f"store {x}, {self._at(k, row, column, first)}, align {self.size}")

    def start(self, k: int) -> Value:
        """The address of the thread's row of array k."""
        if k not in self._starts:
            distance = Value(self.code, WORD, "%row") * Value(self.code, WORD, f"%r{k}")
            self._starts[k] = self.code.at(f"%a{k}", distance * self.size)
        return self._starts[k]

    def _entry(self, k: int, j: int) -> Value:
        return self.code.at(self.start(k), j * self.size)

    # tiles -------------------------------------------------------------------------------------------

    def _share(self, width: int) -> Iterator[tuple[Value, Value]]:
        """Row and column in the tile of each entry that this thread takes: neighbours go to neighbouring threads."""
        for turn in range(width):
            number = Value(self.code, INDEX, "%lane") + turn * WARP
            row = self.code.emit(INDEX, f"udiv {number}, {width}")
            yield row, number - row * width

    def _slot(self, row: Value, column: Value, width: int) -> Value:
        """The address in shared memory of an entry of the tile; rows have odd lengths, so that banks do not clash."""
        offset = self.code.emit(WORD, f"zext {(row * (width | 1) + column) * self.size} to i64")
        return self.code.emit(SHARED, f"getelementptr i8, ptr addrspace(3) %tile, {offset}")

    def _at(self, k: int, row: Value, column: Value, first: int) -> Value:
        """The address in array k of an entry of the tile; rows after the last one are the last one."""
        code = self.code
        wide_row, wide_column = (code.emit(WORD, f"zext {x} to i64") for x in (row, column))
        number = code.intrinsic("smin", Value(code, WORD, "%first") + wide_row, Value(code, WORD, "%n") - 1)
        return code.at(f"%a{k}", (number * Value(code, WORD, f"%r{k}") + wide_column + first) * self.size)

    def _wait(self) -> None:
        """Wait for the other threads of the warp, which use the same tile."""
        self.code.module.declare("declare void @llvm.nvvm.bar.warp.sync(i32)")
        self.code.do("call void @llvm.nvvm.bar.warp.sync(i32 -1)")


class Strided:
    """The arrays of a kernel with any distances of entries, such as column-major ones.

    The code has ``%a0``, … and ``%r0``, … as for :class:`Rows`, and ``%s0_0``, ``%s0_1``, … the distances along the
    dimensions of an array's core [entries].
    """

    def __init__(self, code: Code, type: Type, program: Program) -> None:
        self.code, self.type, self.size, self.shift = code, type, type.bytes, len(program.inputs)
        self.shapes = [slot.shape for slot in (*program.inputs, *program.outputs)]
        self.inputs, self.outputs = (
            [(k, j, 1) for k, slot in enumerate(slots) for j in range(len(slot.entries))]
            for slots in (program.inputs, program.outputs)
        )

    def fill_zeros(self) -> None:
        """Do nothing: zeros are stored as other entries are."""

    def alike(self, group: Group) -> object:
        """Return None: all groups are stored alike."""

    def load(self, group: Group) -> list[Value]:
        """Load an entry of an input."""
        k, j, _ = group
        return [self.code.load(self.type, self._entry(k, j), f"align {self.size}, {_KNOWN}")]

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
