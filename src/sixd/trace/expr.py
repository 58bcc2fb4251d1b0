"""Expr: a traced scalar; operations on it add nodes to a graph, which shares equal subexpressions.

Works inside NumPy object arrays, so that algorithms written for floats run on it unchanged. Zeros, ones, signs and
constants are folded as nodes are built; nodes are numbered in the order of creation, arguments first. Independent of
robots and targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from sixd.errors import TraceError
from sixd.spatial.dual import Dual
from sixd.spatial.scalar import object_array
from sixd.trace.ops import Number, Op, add, binary, compare, div, logic, mul, neg, power, select, unary

_CONST = Op.CONST


class Mark(NamedTuple):
    """From node ``start`` on, operations belong to an iteration of a loop over bodies (0: a step along a branch)."""

    start: int
    loop: int
    body: int


class Graph:
    """Nodes of one trace; equal operations on equal arguments are one node. ``dtype`` is that of the compiled code.

    ``marks`` assign operations to the bodies of a mechanism; a large program is compiled in parts by them.
    """

    def __init__(self, dtype: str = "float64") -> None:
        self.dtype, limits = dtype, np.finfo(dtype)
        self._smallest, self._largest = float(limits.tiny), float(limits.max)
        self.nodes: list[Expr] = []
        self.marks: list[Mark] = []
        self._table: dict[tuple[Any, ...], Expr] = {}
        self._constants: dict[float, Expr] = {}
        # whether functions that divide by a matrix define their derivatives implicitly; "forward": for many directions
        self.implicit: bool | str = False

    def visit(self, loop: int, body: int) -> None:
        """Mark that operations from here on belong to that body: the graph is a listener of ``sixd.body_marks``."""
        last = self.marks[-1] if self.marks else Mark(0, 0, 0)
        if loop or body != last.body:
            self.marks.append(Mark(len(self.nodes), loop, body))

    def node(self, op: Op, *args: Expr, value: Any = None) -> Expr:
        """The node of that operation, created if it is new; without folding."""
        key = (op, value, *[a.index for a in args])
        node = self._table.get(key)
        if node is None:
            node = self._table[key] = self._new(op, args, value)
        return node

    def pair(self, op: Op, a: Expr, b: Expr) -> Expr:
        """The node of an operation of two arguments: ``node(op, a, b)`` in half the time."""
        key = (op, None, a.index, b.index)
        node = self._table.get(key)
        if node is None:
            node = self._table[key] = self._new(op, (a, b), None)
        return node

    def symmetric_pair(self, op: Op, a: Expr, b: Expr) -> Expr:
        """The node of a commutative operation: the arguments in one order, constants last, so that equal ones are one
        node."""
        return self.pair(op, b, a) if a.is_const or (a.index > b.index and not b.is_const) else self.pair(op, a, b)

    def const(self, value: float) -> Expr:
        """The node of a number; -0.0 counts as 0.0."""
        value = float(value) + 0.0
        node = self._constants.get(value)
        if node is None:
            node = self._constants[value] = self._new(_CONST, (), value)
        return node

    def _new(self, op: Op, args: tuple[Expr, ...], value: Any) -> Expr:
        made = Expr(self, len(self.nodes), op, args, value)
        self.nodes.append(made)
        return made

    def close(self) -> None:
        """Forget which operations exist: a third of the memory of a large graph. New nodes are no longer shared."""
        self._table.clear()

    def is_normal(self, x: float) -> bool:
        """Whether a number is finite and normal (not zero, not subnormal) in the graph's dtype."""
        return self._smallest <= abs(x) <= self._largest

    def input(self, name: str, shape: tuple[int, ...] = ()) -> Any:
        """An array of inputs of that shape, or one input."""
        entries = [self.node(Op.INPUT, value=(name, k)) for k in range(math.prod(shape))]
        return object_array(entries, shape) if shape else entries[0]

    def lift(self, x: Any) -> Expr:
        """``x`` as a node of this graph."""
        kind = type(x)
        if kind is float or kind is int:  # most are; and most are the zeros and ones of matrices, which are known
            node = self._constants.get(x)
            return node if node is not None else self.const(x)
        if isinstance(x, Expr):
            if x.graph is not self:
                raise TraceError("two traces were mixed: a traced value was kept from one call and used in another.")
            return x
        if isinstance(x, Number) and not isinstance(x, bool):
            return self.const(float(x))
        if isinstance(x, np.ndarray) and x.shape == ():
            return self.lift(x[()])
        raise TraceError(f"a traced value met a {type(x).__name__} ({x!r}), expected a number or a traced value.")

    def entries(self, array: ArrayLike | Expr) -> tuple[Expr, ...]:
        """The elements of an array, or one scalar, as nodes of this graph."""
        return tuple(self.lift(x) for x in np.asarray(array, dtype=object).ravel())


def _unary(op: Op) -> Callable[[Expr], Expr]:
    """Return the method of ``Expr`` for an operation of one argument."""

    def method(self: Expr) -> Expr:
        return unary(op, self)

    return method


class Expr:
    """A traced scalar. Arithmetic, comparisons and the functions of ``sixd.spatial`` return new ones."""

    __slots__ = ("args", "graph", "index", "is_const", "op", "value")

    def __init__(self, graph: Graph, index: int, op: Op, args: tuple[Expr, ...], value: Any) -> None:
        self.graph, self.index, self.op, self.args, self.value = graph, index, op, args, value
        self.is_const = op is _CONST  # an attribute: it is read several times for each operation of a trace

    def is_value(self, x: float) -> bool:
        """Whether it is the constant ``x``."""
        return self.is_const and bool(self.value == x)

    # arithmetic; an array as the other operand loops over its elements. Another traced scalar is the most frequent
    # operand and is checked first ------------------------------------------------------------------------

    def __add__(self, other: object) -> Expr:
        if type(other) is Expr and other.graph is self.graph:
            return add(self, other)
        return NotImplemented if _defers_to(other) else add(self, self.graph.lift(other))

    def __radd__(self, other: object) -> Expr:
        return add(self.graph.lift(other), self)

    def __sub__(self, other: object) -> Expr:
        return NotImplemented if _defers_to(other) else add(self, neg(self.graph.lift(other)))

    def __rsub__(self, other: object) -> Expr:
        return add(self.graph.lift(other), neg(self))

    def __mul__(self, other: object) -> Expr:
        if type(other) is Expr and other.graph is self.graph:
            return mul(self, other)
        return NotImplemented if _defers_to(other) else mul(self, self.graph.lift(other))

    def __rmul__(self, other: object) -> Expr:
        return mul(self.graph.lift(other), self)

    def __truediv__(self, other: object) -> Expr:
        return NotImplemented if _defers_to(other) else div(self, self.graph.lift(other))

    def __rtruediv__(self, other: object) -> Expr:
        return div(self.graph.lift(other), self)

    def __neg__(self) -> Expr:
        return neg(self)

    def __pos__(self) -> Expr:
        return self

    def __pow__(self, exponent: object) -> Expr:
        return power(self, exponent)

    # functions, by the names of sixd.spatial ---------------------------------------------------------

    def sin(self) -> Expr:
        """Sine; a sign moves outward."""
        return neg(self.args[0].sin()) if self.op is Op.NEG else unary(Op.SIN, self)

    def cos(self) -> Expr:
        """Cosine; a sign disappears."""
        return self.args[0].cos() if self.op is Op.NEG else unary(Op.COS, self)

    tan, asin, acos = _unary(Op.TAN), _unary(Op.ASIN), _unary(Op.ACOS)
    sqrt, exp, log = _unary(Op.SQRT), _unary(Op.EXP), _unary(Op.LOG)
    log1p, tanh = _unary(Op.LOG1P), _unary(Op.TANH)
    sign, absolute = _unary(Op.SIGN), _unary(Op.ABS)
    __abs__ = absolute

    def atan2(self, x: object) -> Expr:
        """Angle [rad] in (-pi, pi] of the point (x, self)."""
        return binary(Op.ATAN2, self, self.graph.lift(x))

    def ratan2(self, y: object) -> Expr:
        """``atan2(y, self)`` for a plain number ``y``."""
        return binary(Op.ATAN2, self.graph.lift(y), self)

    def hypot(self, other: object) -> Expr:
        """√(self² + other²)."""
        return binary(Op.HYPOT, self, self.graph.lift(other))

    def minimum(self, other: object) -> Expr:
        """The smaller of two."""
        return binary(Op.MIN, self, self.graph.lift(other))

    def maximum(self, other: object) -> Expr:
        """The larger of two."""
        return binary(Op.MAX, self, self.graph.lift(other))

    # NumPy calls these for its functions of the same names on arrays of objects
    arcsin, arccos, arctan2 = asin, acos, atan2

    def arctan(self) -> Expr:
        """Angle [rad] in [-pi/2, pi/2] whose tangent is this."""
        return self.atan2(1)

    # comparisons are conditions for ``where`` -------------------------------------------------------

    def __lt__(self, other: object) -> Expr:
        return compare(Op.LT, self, self.graph.lift(other))

    def __gt__(self, other: object) -> Expr:
        return compare(Op.LT, self.graph.lift(other), self)

    def __le__(self, other: object) -> Expr:
        return compare(Op.LE, self, self.graph.lift(other))

    def __ge__(self, other: object) -> Expr:
        return compare(Op.LE, self.graph.lift(other), self)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return compare(Op.EQ, self, self.graph.lift(other))

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return ~compare(Op.EQ, self, self.graph.lift(other))

    __hash__ = object.__hash__

    def __and__(self, other: object) -> Expr:
        return logic(Op.AND, self, self.graph.lift(other))

    def __or__(self, other: object) -> Expr:
        return logic(Op.OR, self, self.graph.lift(other))

    def __invert__(self) -> Expr:
        return self.args[0] if self.op is Op.NOT else logic(Op.NOT, self)

    def where(self, a: object, b: object) -> Expr:
        """``a`` where this condition holds, else ``b``."""
        return select(self, self.graph.lift(a), self.graph.lift(b))

    def held(self, like: object = 0) -> Expr:
        """This value with the derivatives of ``like``, zero by default; the node also stops folding.

        ``sixd.trace.derivative.resolved`` replaces it by the value, after differentiation.
        """
        like = self.graph.lift(like)
        return self if self.is_const and like.is_const else self.graph.node(Op.HELD, self, like)

    # conversions that raise: only numbers have them ---------------------------------------------------------

    def __bool__(self) -> NoReturn:
        raise TraceError(
            "a traced value was asked whether it is true: `if`, `and`, `or`, min(), np.minimum, np.clip, np.where and "
            "comparisons of whole arrays cannot use it. Compare element by element, with sixd.where(q[0] > 0, a, "
            "b), sixd.spatial.minimum, maximum, clip, sign or absolute, and &, |, ~ for conditions."
        )

    def _refuse(self, *_: object) -> NoReturn:
        raise TraceError(
            "a traced value was asked for a number: float(), int(), math.*, NumPy's own functions and arrays of floats "
            "need one. Use the functions of sixd.spatial, such as sixd.spatial.sin, and np.zeros_like(q) or "
            "dtype=object for arrays of traced values."
        )

    __float__ = __int__ = __index__ = __complex__ = _refuse

    def __repr__(self) -> str:
        if self.op is Op.CONST:
            return f"{self.value:g}"
        if self.op is Op.INPUT:
            return f"{self.value[0]}[{self.value[1]}]"
        return f"{self.op.word}({', '.join(f'%{a.index}' for a in self.args)})"


def _defers_to(x: object) -> bool:
    """Whether the other operand does the operation: an array, or a dual number, to which this is a constant."""
    return isinstance(x, Dual) or (isinstance(x, np.ndarray) and x.shape != ())
