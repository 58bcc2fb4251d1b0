"""LLVM code of a program: every operation once, one state per vector lane.

Two forms. ``loop`` is a NumPy generalised ufunc's inner loop over rows, a vector of rows at a time; ``row`` (file
``entry``) evaluates one row in scalar code behind a Python call. Both compute every number by the same instructions, so
that a row's bits do not depend on where it stands. Arrays have contiguous cores; rows may have any stride.
"""

from __future__ import annotations

from collections.abc import Callable

from sixd.codegen.ir import Code, Type, Value
from sixd.codegen.schedule import depth_first, uses
from sixd.codegen.vector_math import FUNCTIONS
from sixd.trace.expr import Expr
from sixd.trace.ops import Op
from sixd.trace.program import Program

KINDS = {"float64": "double", "float32": "float"}
BYTES = {"double": 8, "float": 4}

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


class Body:
    """Writes the operations of a program: ``load`` gives an input's value, ``store`` takes an output's.

    A product that only a sum uses is fused with it. ``suspect`` is a truth value that holds where the sum of the
    squares of all outputs exceeds ``limit``, or is NaN.
    """

    def __init__(self, program: Program, code: Code, type: Type) -> None:
        self.program, self.code, self.type = program, code, type
        self.uses = uses(program)
        self.fused = {a.index for n in program.nodes for a in _fused(n, self.uses)} if code.module.has_fma else set()
        self.values: dict[int, Value] = {}

    def write(
        self,
        load: Callable[[int, int], Value],
        store: Callable[[int, int, Value], None],
        limit: float,
    ) -> Value:
        """Append everything; returns ``suspect``."""
        code, values = self.code, self.values
        inputs = {e.index: (k, j) for k, s in enumerate(self.program.inputs) for j, e in enumerate(s.entries)}
        squares = code.const(0.0, self.type)
        for node, places in depth_first(self.program):
            if node.index in self.fused:
                continue
            if node.op is Op.CONST:
                values[node.index] = code.const(node.value, self.type)
            elif node.op is Op.INPUT:
                values[node.index] = load(*inputs[node.index])
            else:
                values[node.index] = self._operation(node)
            if places:
                value = values[node.index]
                for k, j in places:
                    store(k, j, value)
                if node.op is not Op.CONST:
                    squares = code.fma(value, value, squares)
        return squares.compare("ugt", limit)

    def _operation(self, node: Expr) -> Value:
        code, values = self.code, self.values
        for product in _fused(node, self.uses) if self.fused else ():
            a, b = (values[x.index] for x in product.args)
            other = node.args[1] if product is node.args[0] else node.args[0]
            c = values[other.index]
            if node.op is Op.ADD:
                return code.fma(a, b, c)
            return code.fma(a, b, -c) if product is node.args[0] else code.fma(-a, b, c)
        return TABLE[node.op](code, *(self._argument(node, k) for k in range(len(node.args))))

    def _argument(self, node: Expr, k: int) -> Value:
        a = node.args[k]
        if a.op is Op.CONST and node.op.argument_boolean(k):
            return self.code.const(a.value, self.type.of("i1"))
        return self.values[a.index]


def _fused(node: Expr, uses: dict[int, int]) -> list[Expr]:
    """The product, in a list, that a sum or difference takes into itself, if any."""
    if node.op not in (Op.ADD, Op.SUB):
        return []
    return [a for a in node.args if a.op is Op.MUL and uses[a.index] == 1][:1]
