"""Records of rollouts in the memory of a GPU: a warp reads and writes those of its 32 rows together.

The records of a row lie one after the other, so that neighbouring rows are far apart. A warp copies up to 128 bytes of
the record of each of its rows to or from shared memory, neighbouring entries by neighbouring threads, and each thread
reads its own row's entries there. Single numbers are accessed directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sixd.codegen.llvm.ir import WORD, FunctionBody, Type, Value
from sixd.codegen.nvptx.launch import WARP
from sixd.codegen.nvptx.memory import INDEX, KNOWN, LINE, SHARED, copy_rows, own_slot, pitch, wait


def tile_bytes(width: int, type: Type) -> int:
    """The shared memory that a warp needs for records of up to so many entries [bytes]."""
    return WARP * pitch(min(width, LINE // type.bytes)) * type.bytes


class ArrayRecords:
    """Access to the records of the arrays of a kernel.

    The code has ``%a0``, ``%a1``, … the addresses of the arrays, ``%r0``, … the distances of their rows [entries],
    ``%n`` the number of rows, ``%number`` the thread's and ``%row`` the row that it computes, ``%first`` the warp's
    first row, ``%last`` its last one, counted from there, ``%lane`` the thread's number in the warp, and ``%tile`` the
    warp's shared memory.
    """

    def __init__(self, code: FunctionBody, type: Type) -> None:
        self.code, self.type, self.size = code, type, type.bytes

    def load(self, k: int, record: Value | int, count: int) -> Iterator[Value]:
        """Load the entries of a record of array k, which has ``count`` of them."""
        code = self.code
        if count == 1:
            yield code.load(self.type, self._own(k, record), f"align {self.size}, {KNOWN}")
            return
        for first, width in self._parts(count):
            wait(code)
            self._copy(k, record * count + first, width, inward=True)
            wait(code)
            for slot in self._row_of_tile(width):
                yield code.load(self.type, slot, f"align {self.size}")

    def store(self, k: int, record: Value | int, count: int, get: Callable[[int], Value]) -> None:
        """Store the entries ``get(0)``, ``get(1)``, … of a record of array k."""
        code = self.code
        if count == 1:
            code.do(f"store {get(0)}, {self._own(k, record)}, align {self.size}")
            return
        for first, width in self._parts(count):
            wait(code)
            for j, slot in enumerate(self._row_of_tile(width)):
                code.do(f"store {get(first + j)}, {slot}, align {self.size}")
            wait(code)
            self._copy(k, record * count + first, width, inward=False)

    def count_once(self) -> Value:
        """1 in the thread that counts for a row: threads after the last row compute that again."""
        counts = Value(self.code, WORD, "%number").compare("slt", Value(self.code, WORD, "%n"))
        return self.code.emit(WORD, f"zext {counts} to i64")

    def any(self, condition: Value) -> Value:
        """Whether a truth value holds in any thread of the block, which wait for each other."""
        code = self.code
        code.module.declare("declare i32 @llvm.nvvm.barrier0.or(i32)")
        number = code.emit(INDEX, f"zext {condition} to i32")
        return code.emit(INDEX, f"call i32 @llvm.nvvm.barrier0.or({number})").compare("ne", 0)

    def align(self) -> None:
        """Wait for the other threads of the block: the same code is then in the SM's cache for all of them."""
        self.code.module.declare("declare void @llvm.nvvm.barrier0()")
        self.code.do("call void @llvm.nvvm.barrier0()")

    def _parts(self, count: int) -> list[tuple[int, int]]:
        """First entry and width of the parts of a record."""
        most = LINE // self.size
        return [(first, min(most, count - first)) for first in range(0, count, most)]

    def _own(self, k: int, record: Value | int) -> Value:
        """The address of a record of one entry of the thread's row."""
        start = Value(self.code, WORD, "%row") * Value(self.code, WORD, f"%r{k}")
        return self.code.at(f"%a{k}", (start + record) * self.size)

    def _copy(self, k: int, first: Value | int, width: int, *, inward: bool) -> None:
        """Copy ``width`` entries, from ``first`` on, of the warp's rows of array k to or from the tile."""
        code, distance = self.code, Value(self.code, WORD, f"%r{k}")
        array = code.at(f"%a{k}", (Value(code, WORD, "%first") * distance + first) * self.size)
        tile = Value(code, SHARED, "%tile")
        copy_rows(code, self.type, array, distance, tile, width, inward=inward)

    def _row_of_tile(self, width: int) -> list[Value]:
        """The addresses in the tile of the entries of the thread's row."""
        return [own_slot(self.code, width, self.size, j) for j in range(width)]
