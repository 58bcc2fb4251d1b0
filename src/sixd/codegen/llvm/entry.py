"""The code of one row: the function ``entry``, scalar instructions on the data of arrays that were checked before.

The sines and cosines of joint angles are computed together, in vectors, which have the same bits: a humanoid's inverse
dynamics takes 0.66 us instead of 0.78. Arrays are checked, and results made, by ``sixd.codegen.llvm.evaluation``, which
calls this code by a pointer.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixd.codegen.llvm.body import KINDS, Body, Memory
from sixd.codegen.llvm.ir import ATTRIBUTES, POINTER, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.rolled import define_rolled, entries_memory, is_large
from sixd.codegen.llvm.rows import Entries
from sixd.codegen.llvm.vector_math import FUNCTIONS
from sixd.trace.expr import Expr
from sixd.trace.ops import Op
from sixd.trace.program import Program


def emit_entry(program: Program, dtype: str, limit: float, has_fma: bool = True, lanes: int = 1) -> str:
    """The module with ``bool entry(char **arrays, void *context)``: one row, and whether its result is suspect.

    ``arrays``: the data of the inputs, then of the outputs, which overlap nothing. ``lanes``: the floats of a vector.
    """
    module = Module(has_fma)
    code = FunctionBody(module)
    type = Type(KINDS[dtype])
    if is_large(program):
        together = lanes if has_fma else 1
        define_rolled(module, "row", program, type, limit, entries_memory(program, type), together)
        suspect: Value | None = code.emit(Type("i1"), "call i1 @row(ptr %arrays, ptr %context, i1 false)")
    else:
        slots = (*program.inputs, *program.outputs)
        data = [code.load(POINTER, code.at("%arrays", 8 * k), "align 8") for k in range(len(slots))]
        inputs, outputs = data[: len(program.inputs)], data[len(program.inputs) :]
        row = Entries(code, type, program, inputs, outputs, flags=", !invariant.load !1")
        row.fill_zeros()
        suspect = _SingleState(program, code, type, row, inputs, lanes if has_fma else 1).write(limit)
    assert suspect is not None
    code.do(f"ret {suspect}")
    module.define("entry", f"zeroext i1 @entry(ptr %arrays, ptr %context) nounwind {ATTRIBUTES}", code)
    return str(module)


class _SingleState(Body):
    """The body of one row; sines and cosines of inputs are computed first, and read from memory where they are used."""

    def __init__(
        self, program: Program, code: FunctionBody, type: Type, memory: Memory, inputs: Sequence[Value], lanes: int
    ) -> None:
        super().__init__(program, code, type, memory)
        self.ready: dict[int, Value] = {}  # addresses
        wanted: dict[int, dict[Op, Expr]] = {}
        for node in program.nodes:
            if node.op in (Op.SIN, Op.COS) and node.args[0].op is Op.INPUT:
                wanted.setdefault(node.args[0].index, {})[node.op] = node
        angles = [
            (k, j, wanted[e.index])
            for k, slot in enumerate(program.inputs)
            for j, e in enumerate(slot.entries)
            if e.index in wanted
        ]
        for first in range(0, len(angles) if lanes > 1 else 0, lanes):
            part = angles[first : first + lanes]
            if len(part) > 1:
                self._compute(part, inputs)

    def _compute(self, angles: list[tuple[int, int, dict[Op, Expr]]], inputs: Sequence[Value]) -> None:
        code, size = self.code, self.type.bytes
        width = 1 << (len(angles) - 1).bit_length()
        vector = Type(self.type.kind, width)
        x = _gather(code, vector, [code.at(inputs[k], size * j) for k, j, _ in angles], [a[:2] for a in angles])
        for op in (Op.SIN, Op.COS):
            if any(op in uses for _, _, uses in angles):
                memory = Value(code, POINTER, f"%{op.word}{len(self.ready)}")
                code.first_lines.append(f"  {memory.text} = alloca {vector}, align {vector.bytes}")
                code.do(f"store {FUNCTIONS[op](code, x)}, {memory}, align {vector.bytes}")
                for lane, (_, _, uses) in enumerate(angles):
                    if op in uses:
                        self.ready[uses[op].index] = code.at(memory, size * lane)

    def _operation(self, node: Expr, product: Expr | None) -> Value:
        if node.index in self.ready:
            return self.code.load(self.type, self.ready[node.index], f"align {self.type.bytes}")
        return super()._operation(node, product)


def _gather(code: FunctionBody, vector: Type, addresses: list[Value], indices: list[tuple[int, int]]) -> Value:
    """A vector of the numbers at these addresses, then zeros; ``indices`` show which are neighbours."""
    size, lanes = Type(vector.kind).bytes, vector.lanes
    flags = f"align {size}, !invariant.load !1"
    result, first = code.const(0.0, vector), 0
    while first < len(addresses):
        k, j = indices[first]
        width = 1
        while indices[first : first + 2 * width] == [(k, j + i) for i in range(2 * width)]:
            width *= 2
        part = code.load(Type(vector.kind, width), addresses[first], flags)
        if width == lanes:
            return part
        if width == 1:
            result = code.emit(vector, f"insertelement {result}, {part}, i32 {first}")
        else:
            mask = ", ".join(f"i32 {min(i, width - 1)}" for i in range(lanes))
            wide = code.emit(vector, f"shufflevector {part}, {part}, <{lanes} x i32> <{mask}>")
            chosen = [lanes + i - first if first <= i < first + width else i for i in range(lanes)]
            mask = ", ".join(f"i32 {i}" for i in chosen)
            result = code.emit(vector, f"shufflevector {result}, {wide}, <{lanes} x i32> <{mask}>")
        first += width
    return result
