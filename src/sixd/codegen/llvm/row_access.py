"""Access to the arrays of a function of rows: loads and stores of a vector of rows, which transpose them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from sixd.codegen.llvm.ir import WORD, FunctionBody, Type, Value
from sixd.codegen.llvm.loop import row_addresses
from sixd.codegen.llvm.rows import load_tile, rows_of_tile, store_rows, tiles


class RowAccess(Protocol):
    """Access to the rows of the arrays of a function, by the number k of the array, and to their records."""

    def load(self, k: int, record: Value | int, count: int) -> Iterator[Value]:
        """Load the entries of a record of array k, which has ``count`` of them."""

    def store(self, k: int, record: Value | int, count: int, get: Callable[[int], Value]) -> None:
        """Store the entries ``get(0)``, ``get(1)``, … of a record of array k."""

    def count_once(self) -> Value:
        """1 in the code that counts for a row, 0 if the row is computed once more."""


class VectorRows:
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

    def store_long(self, k: int, record: Value | int, count: int, address: Value) -> None:
        """Store the entries at an address as a record of array k, most of them in a loop."""
        code, type = self.code, self.type
        rows, lanes = self._rows(k, record, count), type.lanes

        def tile(first: Value, width: int) -> None:
            entries = [code.load(type, code.at(address, (first + j) * type.bytes), f"align {type.bytes}")
                       for j in range(width)]  # fmt: skip
            for row, x in zip(rows, rows_of_tile(code, entries), strict=True):
                store_rows(code, [(code.at(row, first * self.size), 0, x)], f"align {self.size}")

        code.repeat(code.const(count // lanes, WORD), lambda n: tile(n * lanes, lanes))
        at = count // lanes * lanes
        for first, width in tiles(count - at, lanes):
            tile(code.const(at + first, WORD), width)

    def count_once(self) -> Value:
        return self.code.const(1, WORD)

    def _rows(self, k: int, record: Value | int, count: int) -> list[Value]:
        rows = row_addresses(self.code, k, self.type.lanes)
        return [self.code.at(row, record * (count * self.size)) for row in rows]
