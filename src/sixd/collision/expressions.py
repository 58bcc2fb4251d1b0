"""Closed forms of distances as SymPy expressions, without the thresholds that protect numbers from rounding.

A distance is traced once for two kinds of solids. Its operations are then done on expressions; of a choice whose
condition is known only one side is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from sixd.algorithms.distance.closed_forms import Nearest
from sixd.algorithms.distance.pairs import CLOSED, PAIRS
from sixd.model.parts import SHAPE_SIZES
from sixd.spatial.scalar import Array, exact, is_sympy
from sixd.trace.expr import Expr
from sixd.trace.ops import Op
from sixd.trace.program import Program, trace
from sixd.trace.replay import apply, shaped

SYMBOLIC = ("sphere", "capsule", "plane")  # kinds whose distances are short expressions
_SQUARE, _SMALL = (
    1e-15,
    1e-8,
)  # squares of lengths are compared with less than the first, angles with less than the second
_ZERO = 1e-9  # what is smaller at both samples is zero for all values of the symbols


def symbolic_nearest(kinds: tuple[str, str], arguments: Sequence[Any]) -> Nearest:
    """Return the distance of a pair of ``SYMBOLIC`` kinds from sizes and placements that hold symbols.

    Lengths are positive, and axes skew, unless they are zero or parallel for all values of the symbols.
    """
    entries = [_with_integers(x) for array in arguments for x in exact(np.asarray(array, dtype=object)).ravel()]
    return Nearest(*_Expressions(_traced(kinds), entries).results())


def _with_integers(x: Any) -> Any:
    """Return an expression without floats such as 1.0."""
    if not is_sympy(x):
        return x
    import sympy

    return x.xreplace({number: sympy.Integer(int(number)) for number in x.atoms(sympy.Float) if number == int(number)})


@cache
def _traced(kinds: tuple[str, str]) -> Program:
    assert kinds in CLOSED or kinds[::-1] in CLOSED
    shapes: dict[str, tuple[int, ...]] = {}
    for side, kind in zip("ab", kinds, strict=True):
        shapes |= {f"size_{side}": (len(SHAPE_SIZES[kind]),), f"E_{side}": (3, 3), f"p_{side}": (3,)}
    return trace(lambda *x: tuple(PAIRS[kinds](*x)), shapes)


class _Expressions:
    """The operations of a program on expressions, and on two samples of numbers for their symbols."""

    def __init__(self, program: Program, inputs: Sequence[Any]) -> None:
        import sympy

        self._sympy, self._outputs = sympy, program.outputs
        entries = [e.index for slot in program.inputs for e in slot.entries]
        self._made: dict[int, Any] = dict(zip(entries, inputs, strict=True))
        self._samples = dict(zip(entries, _sampled(inputs), strict=True))
        with np.errstate(all="ignore"):
            for node in program.nodes:
                if node.is_const:
                    self._samples[node.index] = np.full(2, node.value)
                elif node.op is not Op.INPUT:
                    self._samples[node.index] = node.op.on_floats(*(self._samples[a.index] for a in node.args))

    def results(self) -> tuple[Any, ...]:
        """Return the outputs."""
        return tuple(shaped([self._of(e) for e in slot.entries], slot.shape) for slot in self._outputs)

    def _of(self, node: Expr) -> Any:
        if node.index not in self._made:
            self._made[node.index] = self._make(node)
        return self._made[node.index]

    def _make(self, node: Expr) -> Any:
        sympy = self._sympy
        if node.is_const:
            quarters = node.value * 4
            return sympy.Rational(int(quarters), 4) if float(quarters).is_integer() else sympy.Float(node.value)
        if node.op is Op.SELECT:
            condition, a, b = node.args
            chosen = self._of(condition)
            if isinstance(chosen, bool):
                return self._of(a if chosen else b)
            return sympy.Piecewise((self._of(a), chosen), (self._of(b), True), evaluate=False)
        if node.op in (Op.LT, Op.LE, Op.EQ):
            return self._compared(node)
        arguments = [self._of(a) for a in node.args]
        if node.op.boolean:
            return self._combined(node.op, arguments)
        if node.op in (Op.MIN, Op.MAX):  # without comparing long expressions
            if not any(getattr(x, "free_symbols", ()) for x in arguments):
                return (min if node.op is Op.MIN else max)(arguments)
            return (sympy.Min if node.op is Op.MIN else sympy.Max)(*arguments, evaluate=False)
        return apply(node.op, *arguments)

    def _compared(self, node: Expr) -> Any:
        """Return a comparison: a bool where it is known."""
        functions: dict[Op, Callable[..., Any]] = {Op.LT: self._sympy.Lt, Op.LE: self._sympy.Le, Op.EQ: self._sympy.Eq}
        a, b = node.args
        threshold, other = (a, b) if a.is_const else (b, a)
        numbers = [self._samples[x.index] for x in node.args]
        small = threshold.is_const and 0 < abs(threshold.value) < _SMALL
        if small and (abs(self._samples[other.index]) < _ZERO).all():
            return bool(node.op.on_floats(0.0 if a is other else a.value, 0.0 if b is other else b.value))
        if small and abs(threshold.value) < _SQUARE:
            return bool(node.op.on_floats(*numbers)[0])
        sides = [self._sympy.Integer(0) if small and x is threshold else self._of(x) for x in node.args]
        if not any(getattr(x, "free_symbols", ()) for x in sides):
            return bool(functions[node.op](*sides))
        return functions[node.op](*sides, evaluate=False)

    def _combined(self, op: Op, conditions: Sequence[Any]) -> Any:
        """Return conditions that are combined by NOT, AND or OR."""
        sympy = self._sympy
        function = {Op.NOT: sympy.Not, Op.AND: sympy.And, Op.OR: sympy.Or}[op]
        result = function(*conditions)
        return bool(result) if result in (sympy.true, sympy.false) else result


def _sampled(entries: Sequence[Any]) -> list[Array]:
    """Return two values (2,) of each expression, for sample values of the symbols."""
    symbols = sorted(set().union(*(x.free_symbols for x in entries if is_sympy(x))), key=str)
    samples = [{s: 0.3 + 0.37 * (k + 1) * by for k, s in enumerate(symbols)} for by in (1, 1.618)]
    return [np.array([float(x.evalf(subs=at)) if is_sympy(x) else float(x) for at in samples]) for x in entries]
