"""Row-major arrays and vectors of rows: loading and storing by transposing tiles in registers.

A tile is ``width`` (a power of two) neighbouring entries of each of ``lanes`` rows. Gathers would be shorter to write,
but take 60 ns instead of 20 per row of a six-joint arm's inverse dynamics on processors with slow (patched) gathers.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixd.codegen.llvm.ir import Code, Type, Value


def tiles(size: int, lanes: int, shift: int = 0) -> list[tuple[int, int]]:
    """(first entry, width) of the tiles that cover an array of ``size`` entries; full ones begin at entry ``shift``."""
    found, first = [], 0
    while first < size:
        end = size if first >= shift else shift
        width = lanes
        while width > end - first:
            width //= 2
        found.append((first, width))
        first += width
    return found


def load_tile(code: Code, pointers: Sequence[Value], type: Type, width: int, byte: int, align: int) -> list[Value]:
    """``width`` vectors: entry j of every row, counted from ``byte`` in each row."""
    part = Type(type.kind, width)
    rows = [code.load(part, code.at(p, byte), f"align {align}, !invariant.load !1") for p in pointers]
    # register r holds the rows r, r + width, …, one after the other
    blocks = [concatenate(code, rows[r::width]) for r in range(width)]
    return transpose(code, blocks)


def rows_of_tile(code: Code, columns: Sequence[Value]) -> list[Value]:
    """The inverse of the transposition in :func:`load_tile`: each row's entries from vectors of all rows' entries."""
    width, type = len(columns), columns[0].type
    part = Type(type.kind, width)
    blocks = transpose(code, columns)
    return [_extract(code, blocks[row % width], row // width * width, part) for row in range(type.lanes)]


def store_rows(code: Code, pointers: Sequence[Value], rows: Sequence[Value], byte: int, flags: str) -> None:
    """Store each row's entries at its pointer plus ``byte``."""
    for pointer, row in zip(pointers, rows, strict=True):
        code.do(f"store {row}, {code.at(pointer, byte)}, {flags}")


def prefetch_to_write(code: Code, address: Value) -> None:
    """Prefetch a line of memory that will be written; addresses outside of arrays do no harm."""
    code.module.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    code.do(f"call void @llvm.prefetch.p0({address}, i32 1, i32 3, i32 1)")  # to write, keep it close, data


def transpose(code: Code, registers: Sequence[Value]) -> list[Value]:
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


def concatenate(code: Code, parts: Sequence[Value]) -> Value:
    """One vector of all the parts, joined in pairs."""
    parts = list(parts)
    while len(parts) > 1:
        parts = [_join(code, a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _join(code: Code, a: Value, b: Value) -> Value:
    n = a.type.lanes
    type = Type(a.type.kind, 2 * n)
    if n == 1:
        first = code.emit(type, f"insertelement {type} poison, {a}, i64 0")
        return code.emit(type, f"insertelement {first}, {b}, i64 1")
    return _shuffle(code, a, b, range(2 * n))


def _extract(code: Code, block: Value, first: int, part: Type) -> Value:
    if part.lanes == block.type.lanes:
        return block
    if part.lanes == 1:
        return code.emit(part, f"extractelement {block}, i64 {first}")
    return _shuffle(code, block, block, range(first, first + part.lanes))


def _shuffle(code: Code, a: Value, b: Value, sources: Sequence[int]) -> Value:
    mask = ", ".join(f"i32 {k}" for k in sources)
    return code.emit(Type(a.type.kind, len(sources)), f"shufflevector {a}, {b}, <{len(sources)} x i32> <{mask}>")
