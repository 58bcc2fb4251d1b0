"""The inner loop of a NumPy generalised ufunc: a vector of rows at a time.

The last vector ends with the last row, and repeats rows of the one before; of fewer rows than lanes, the last fills the
spare lanes. So nothing outside the arrays is touched, and every row is computed by the same instructions.
"""

from __future__ import annotations

from functools import cache

from sixd.codegen.context import offset
from sixd.codegen.ir import Code, Module, Type, Value
from sixd.codegen.llvm import BYTES, KINDS, Body
from sixd.codegen.tiles import load_tile, store_tile, tiles
from sixd.trace.program import Program, Slot

WORD, POINTER = Type("i64"), Type("ptr")
WIDE = '"min-legal-vector-width"="512" "prefer-vector-width"="512"'


def emit_loop(program: Program, dtype: str, lanes: int, limit: float, has_fma: bool = True) -> str:
    """The module with ``void loop(char **args, long *dimensions, long *steps, void *context)``.

    Rows whose outputs have a sum of squares above ``limit``, or NaN, are told of by adding 1 to the context's count.
    """
    module = Module(has_fma)
    code = Code(module)
    type = Type(KINDS[dtype], lanes)
    flag = type.of("i1")
    slots = (*program.inputs, *program.outputs)

    count = _word(code, "%dims", 0, WORD)
    code.do(f"br i1 {(count.compare('sgt', 0)).text}, label %start, label %done")
    code.begin("start")
    bases = [_word(code, "%args", k, POINTER) for k in range(len(slots))]
    steps = [_word(code, "%steps", k, WORD) for k in range(len(slots))]
    spare = [code.intrinsic("smin", code.const(lane, WORD), count - 1) for lane in range(lanes)]
    shifts = [[lane * step for lane in spare] for step in steps]
    final = count - lanes
    code.do("br label %rows")

    code.begin("rows")
    row = code.emit(WORD, "phi i64 [ 0, %start ], [ %next, %end ]")
    seen = code.emit(flag, f"phi {flag} [ {code.const(0, flag).text}, %start ], [ %seen, %end ]")
    memory = _Memory(code, type, slots, len(program.inputs))
    for base, step, shift in zip(bases, steps, shifts, strict=True):
        first = code.emit(POINTER, f"getelementptr i8, {base}, {row * step}")
        memory.rows.append([code.emit(POINTER, f"getelementptr i8, {first}, {s}") for s in shift])
    suspect = Body(program, code, type).write(memory.load, memory.store, limit)
    code.do("br label %end")

    code.begin("end")
    code.do(f"%seen = or {seen}, {suspect.text}")
    after = row + lanes
    nearest = code.intrinsic("smin", after, final)
    code.do(f"%next = add {nearest}, 0")
    code.do(f"br i1 {after.compare('slt', count).text}, label %rows, label %finish")

    code.begin("finish")
    some = code.any(Value(code, flag, "%seen"))
    code.do(f"br i1 {some.text}, label %tell, label %done")
    code.begin("tell")
    code.do(f"%counter = getelementptr i8, ptr %context, i64 {offset('count')}")
    code.do("%before = atomicrmw add ptr %counter, i64 1 monotonic")
    code.do("br label %done")
    code.begin("done")
    code.do("ret void")
    module.define("loop", f"void @loop(ptr %args, ptr %dims, ptr %steps, ptr %context) {WIDE}", code)
    return str(module)


class _Memory:
    """Loads and stores of one vector of rows; a tile is loaded when first asked for, stored when complete."""

    def __init__(self, code: Code, type: Type, slots: tuple[Slot, ...], inputs: int) -> None:
        self.code, self.type, self.inputs = code, type, inputs
        self.size = BYTES[type.kind]
        self.rows: list[list[Value]] = []  # of each array, a pointer to each row
        self.tiles = [_places(len(slot.entries), type.lanes) for slot in slots]
        self.known: dict[tuple[int, int], dict[int, Value]] = {}

    def load(self, k: int, j: int) -> Value:
        """Entry j of input k."""
        first, width = self.tiles[k][j]
        if (k, first) not in self.known:
            columns = load_tile(self.code, self.rows[k], self.type, width, first * self.size, self.size)
            self.known[k, first] = dict(enumerate(columns, first))
        return self.known[k, first][j]

    def store(self, k: int, j: int, value: Value) -> None:
        """Entry j of output k."""
        k += self.inputs
        first, width = self.tiles[k][j]
        columns = self.known.setdefault((k, first), {})
        columns[j] = value
        if len(columns) == width:
            store_tile(self.code, self.rows[k], [columns[first + i] for i in range(width)], first * self.size, self.size)


@cache
def _places(size: int, lanes: int) -> tuple[tuple[int, int], ...]:
    """The tile (first entry, width) of each entry."""
    return tuple((first, width) for first, width in tiles(size, lanes) for _ in range(width))


def _word(code: Code, base: str, k: int, type: Type) -> Value:
    place = code.emit(POINTER, f"getelementptr i8, ptr {base}, i64 {8 * k}")
    return code.emit(type, f"load {type}, {place}, align 8")
