"""LLVM code of a program: every operation once, one state per vector lane.

It is used in three forms: ``loop``, the inner loop of a NumPy generalised ufunc, a vector of rows at a time; ``entry``,
one row in scalar code, called from Python; and ``rollout``, a loop over time. All use the same
instructions, so that a row's bits do not depend on its position. Arrays have contiguous cores; rows may have any
stride.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sixd.codegen.llvm.ir import Code, Type, Value
from sixd.codegen.llvm.schedule import Group, Task, count_uses, fused_product, last_blocks, tasks
from sixd.codegen.llvm.vector_math import FUNCTIONS
from sixd.trace.expr import Expr
from sixd.trace.ops import Op
from sixd.trace.program import Program

KINDS = {"float64": "double", "float32": "float"}

TABLE: dict[Op, Callable[..., Value]] = {
    Op.ADD: lambda code, a, b: a + b,
    Op.SUB: lambda code, a, b: a - b,
    Op.MUL: lambda code, a, b: a * b,
    Op.DIV: lambda code, a, b: a / b,
    Op.NEG: lambda code, a: -a,
    Op.LT: lambda code, a, b: a < b,
    Op.LE: lambda code, a, b: a <= b,
    Op.EQ: lambda code, a, b: a.compare("oeq", b),
    Op.NOT: lambda code, a: ~a,
    Op.AND: lambda code, a, b: a & b,
    Op.OR: lambda code, a, b: a | b,
    Op.SELECT: lambda code, c, a, b: c.where(a, b),
    **FUNCTIONS,
}


# more than LONG tasks are cut into blocks: uncut, a mass matrix of 20,000 operations compiles in 5 s, cut in 2 s;
# shorter code stays whole, since passing values in memory costs up to a tenth of its speed
LONG = 12_000
BLOCK = 500


class Memory(Protocol):
    """Access to a row's entries: groups of entries are loaded and stored together."""

    inputs: list[Group]
    outputs: list[Group]

    def load(self, group: Group) -> list[Value]:
        """Load the entries of an input's group."""

    def store(self, group: Group, values: list[Value]) -> None:
        """Store the entries of an output's group."""


class Body:
    """Writes the operations of a program between loads and stores. A product that only a sum uses is fused with it."""

    def __init__(self, program: Program, code: Code, type: Type, memory: Memory) -> None:
        self.program, self.code, self.type, self.memory = program, code, type, memory
        self.uses = count_uses(program)
        self.values: dict[int, Value] = {}  # of this block
        self.truths: dict[int, Value] = {}  # of all blocks
        self.slots: dict[int, int] = {}  # slots in the work array, of values that later blocks need
        self.free: list[int] = []
        self.size = 0

    def write(self, limit: float | None, leave: str) -> Value | None:
        """Append all operations and return whether a row is suspect: a truth value that holds where the sum of the
        squares of all outputs, and of the weighted sum of the watched nodes, exceeds ``limit`` or is NaN. Without a
        limit return None. ``leave`` is a block at the end of the function."""
        code = self.code
        work = tasks(self.program, self.memory.inputs, self.memory.outputs, code.module.has_fma)
        size = BLOCK if len(work) > LONG else len(work)
        blocks = [work[k : k + size] for k in range(0, len(work), size or 1)]
        last = last_blocks(blocks)
        outputs = {e.index for slot in self.program.outputs for e in slot.entries}
        weights = {node.index: weight for node, weight in self.program.watched if limit is not None}
        squares, watched = code.const(0.0, self.type), code.const(0.0, self.type)
        for b, block in enumerate(blocks):
            if b:
                code.cut(leave)
                self.values.clear()
            for task in block:
                for node, value in zip(task.gives, self._do(task), strict=True):
                    (self.truths if node.op.boolean else self.values)[node.index] = value
                    if node.index in last:
                        self._keep(node.index, value)
                    if limit is not None and node.index in outputs:
                        squares = code.fma(value, value, squares)
                    if node.index in weights:
                        watched = code.fma(value, code.const(weights[node.index], self.type), watched)
            self.free += [self.slots.pop(index) for index in list(self.slots) if last[index] == b]
        if weights:
            squares = code.fma(watched, watched, squares)
        # at the start of the function: the work array, and a condition that LLVM does not know to be true
        code.first_lines.append(f"  %work = alloca [{self.size * self.type.bytes} x i8], align {self.type.bytes}")
        code.first_lines.append("  %always = icmp ne ptr %context, null")
        return None if limit is None else squares.compare("ugt", limit)

    def _do(self, task: Task) -> list[Value]:
        if task.node is not None:
            return [self._operation(task.node)]
        assert task.group is not None
        k, first, width = task.group
        if task.is_load:
            loaded = dict(
                zip(self.program.inputs[k].entries[first : first + width], self.memory.load(task.group), strict=True)
            )
            return [loaded[e] for e in task.gives]
        self.memory.store(task.group, [self._value(e) for e in self.program.outputs[k].entries[first : first + width]])
        return []

    def _keep(self, index: int, value: Value) -> None:
        if not self.free:
            self.free.append(self.size)
            self.size += 1
        self.slots[index] = self.free.pop()
        self.code.do(f"store {value}, {self._address(index)}, align {self.type.bytes}")

    def _address(self, index: int) -> Value:
        return self.code.at("%work", self.slots[index] * self.type.bytes)

    def _value(self, node: Expr) -> Value:
        """The value of a node in this block."""
        if node.op is Op.CONST:
            return self.code.const(node.value, self.type)
        if node.op.boolean:
            return self.truths[node.index]
        if node.index not in self.values:
            address = self._address(node.index)
            self.values[node.index] = self.code.load(self.type, address, f"align {self.type.bytes}")
        return self.values[node.index]

    def _operation(self, node: Expr) -> Value:
        code = self.code
        product = fused_product(node, self.uses) if code.module.has_fma else None
        if product is None:
            return TABLE[node.op](code, *(self._argument(node, k) for k in range(len(node.args))))
        a, b = map(self._value, product.args)
        left, right = node.args
        if product is left:
            c = self._value(right)
            return code.fma(a, b, c if node.op is Op.ADD else -c)
        return code.fma(a if node.op is Op.ADD else -a, b, self._value(left))

    def _argument(self, node: Expr, k: int) -> Value:
        a = node.args[k]
        if a.op is Op.CONST and node.op.argument_boolean(k):
            return self.code.const(a.value, self.type.of("i1"))
        return self._value(a)
