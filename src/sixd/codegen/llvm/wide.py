"""Outputs with wide rows, which can be written past the cache, a cache line at a time.

The cache would read every line before it is overwritten. A row need not be a whole number of lines. Then the lines of
neighbouring rows begin at different entries, and a vector of rows stores, for each row, the line that begins next. The
entries before a row's first line and after its last one share lines with other rows, and go through the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from sixd.codegen.llvm.ir import FunctionBody, Type, Value
from sixd.codegen.llvm.machine import LINE, MALLOC
from sixd.codegen.llvm.rows import MANY, blend, tiles
from sixd.trace.program import Program

# bytes of a row. It pays when the output is larger than a cache. Mass matrices, ns a row, through the cache and past:
# 4,096 rows of a humanoid (32 joints, 128 lines a row) 890 and 490, on a floating base (38, 180.5 lines) 1,270 and 480,
# of a quadruped on one (18, 40.5 lines) 160 and 115, or 300 and 133 if other work has emptied the cache; 16,384 rows of
# the quadruped alone (12, 18 lines) 136 and 50. Of seven joints (6.1 lines) 35 and 37 for 4,096 rows that fit
WIDE = 1024
# lines of a row that are stored one after the other, if its neighbours' lines begin at the same entries. If rows have a
# multiple of 2 kB, equal lines of neighbours meet in the same part of the memory: three matrices of 32 by 32 numbers
# take 590 ns line by line, and 310 by four lines (memory alone, 4,096 rows)
TOGETHER = 4


class StoredRange(NamedTuple):
    """Entries that are stored together: in each row ``length`` of the ``width`` entries from ``first`` on, after
    skipping ``skips``; None where the row has none. ``is_line``: they are whole lines if the array begins MALLOC bytes
    into one, as large arrays do."""

    first: int
    width: int
    length: int
    skips: tuple[int | None, ...]
    is_line: bool


def wide_outputs(program: Program, type: Type) -> list[int]:
    """The outputs that can be written past the cache."""
    if type.bytes != LINE:
        return []
    sizes = [len(slot.entries) * Type(type.kind).bytes for slot in program.outputs]
    # runs of zeros are made of pieces that do not overlap
    many = [len(slot.entries) >= MANY for slot in program.outputs]
    return [k for k, size in enumerate(sizes) if size >= WIDE and (size % LINE == 0 or not many[k])]


def pieces(size: int, type: Type) -> list[StoredRange]:
    """The pieces of an output with ``size`` entries in neighbouring rows, as many as there are lanes."""
    lanes, one = type.lanes, Type(type.kind).bytes
    starts = [-(MALLOC + lane * size * one) % LINE // one for lane in range(lanes)]
    ends = [start + (size - start) // lanes * lanes for start in starts]
    ranges = []
    for a, b in pairwise(sorted({0, *starts})):
        ranges += _partial(a, b, [start >= b for start in starts])
    count = max((end - start) // lanes for start, end in zip(starts, ends, strict=True))
    together = TOGETHER if len(set(starts)) == 1 and size < MANY else 1
    for k in range(0, count, together):
        at = [(start + k * lanes, end) for start, end in zip(starts, ends, strict=True)]
        lines = [x if x < end else None for x, end in at]
        begins = [x for x in lines if x is not None]
        first, length = min(begins), min(together, count - k) * lanes
        skips = tuple(None if x is None else x - first for x in lines)
        ranges.append(StoredRange(first, max(begins) + length - first, length, skips, True))
    for a, b in pairwise(sorted({*ends, size})):
        ranges += _partial(a, b, [end <= a for end in ends])
    return ranges


def _partial(a: int, b: int, included: Sequence[bool]) -> list[StoredRange]:
    """Pieces of the entries a to b, less than a line, of some of the rows."""
    skips = tuple(0 if x else None for x in included)
    return [StoredRange(a + k, width, width, skips, False) for k, width in tiles(b - a, LINE)]


def align_rows(code: FunctionBody, columns: Sequence[Value], piece: StoredRange) -> list[Value]:
    """The ``length`` columns to store, of the ``width`` columns of a piece: each lane skips its own number of them."""
    columns, skips = list(columns), [skip or 0 for skip in piece.skips]
    step = columns[0].type.lanes // 2
    while step:
        # by the binary digits of the numbers, from the highest on
        chosen = [bool(skip & step) for skip in skips]
        if any(chosen):
            moved = [blend(code, a, b, chosen) for a, b in zip(columns, columns[step:], strict=False)]
            columns[: len(moved)] = moved  # lanes that move do not need the rest
        step //= 2
    return columns[: piece.length]
