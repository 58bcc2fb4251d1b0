"""The operations of a graph, and folding: each function returns the simplest node for an operation on nodes.

Zeros, ones and constants disappear, signs move outward, and the arguments of commutative operations are put in one
order, so that dense textbook code costs no more than code specialised by hand. Constants merge only where the merged
one is finite and normal in the graph's dtype: x c1 c2 = x (c1 c2) then holds up to rounding wherever the left side
stays in range. Structural zeros (x 0, x - x) stay zero even if x is NaN or infinite: decision 2.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import TraceError

if TYPE_CHECKING:
    from sixd.trace.expr import Expr

Number = (int, float, Fraction, np.integer, np.floating)


class Op(Enum):
    """An operation on scalars."""

    CONST = ("const", 0)
    INPUT = ("input", 0)
    ADD = ("add", 2, np.add)
    SUB = ("sub", 2, np.subtract)
    MUL = ("mul", 2, np.multiply)
    DIV = ("div", 2, np.divide)
    NEG = ("neg", 1, np.negative)
    SIN = ("sin", 1, np.sin)
    COS = ("cos", 1, np.cos)
    TAN = ("tan", 1, np.tan)
    ASIN = ("asin", 1, np.arcsin)
    ACOS = ("acos", 1, np.arccos)
    ATAN2 = ("atan2", 2, np.arctan2)
    SQRT = ("sqrt", 1, np.sqrt)
    EXP = ("exp", 1, np.exp)
    LOG = ("log", 1, np.log)
    LOG1P = ("log1p", 1, np.log1p)
    TANH = ("tanh", 1, np.tanh)
    HYPOT = ("hypot", 2, np.hypot)
    ABS = ("abs", 1, np.abs)
    SIGN = ("sign", 1, np.sign)
    MIN = ("min", 2, np.minimum)
    MAX = ("max", 2, np.maximum)
    LT = ("lt", 2, np.less, True)
    LE = ("le", 2, np.less_equal, True)
    EQ = ("eq", 2, np.equal, True)
    NOT = ("not", 1, np.logical_not, True)
    AND = ("and", 2, np.logical_and, True)
    OR = ("or", 2, np.logical_or, True)
    SELECT = ("select", 3, np.where)  # condition, value if true, value if false
    HELD = ("held", 2, lambda value, like: value)  # the first, differentiated as the second; not in programs

    def __init__(self, word: str, arity: int, on_floats: Any = None, boolean: bool = False) -> None:
        self.word = word  # its name in printed graphs and counts
        self.arity = arity  # number of arguments
        self.on_floats = on_floats  # NumPy's function
        self.boolean = boolean  # whether it yields a truth value instead of a number
        self.takes_conditions = word in ("not", "and", "or", "select")  # whether an argument must be a truth value

    __hash__ = object.__hash__  # Enum hashes the name, which is slow: operations are keys of every graph

    def argument_boolean(self, k: int) -> bool:
        """Whether its argument k must be a truth value."""
        return self.takes_conditions and (k == 0 or self is not Op.SELECT)


# as names of the module, for these are compared for each operation of a trace: Op.NEG takes 50 ns to look up
_ADD, _SUB, _MUL, _NEG = Op.ADD, Op.SUB, Op.MUL, Op.NEG


# folding -----------------------------------------------------------------------------------------


def neg(a: Expr) -> Expr:
    """-a."""
    if a.is_const:
        return a.graph.const(-a.value)
    if a.op is _NEG:
        return a.args[0]
    if a.op is _SUB:
        return a.graph.pair(_SUB, a.args[1], a.args[0])
    if a.op is _MUL and a.args[1].is_const:
        return mul(a.args[0], neg(a.args[1]))
    return a.graph.node(_NEG, a)


def add(a: Expr, b: Expr) -> Expr:
    """a + b; a sum with a negative becomes a difference."""
    # zeros first: half of the sums in products of matrices have one
    if a.is_const:
        if b.is_const:
            return a.graph.const(a.value + b.value)
        if a.value == 0:
            return b
    elif b.is_const and b.value == 0:
        return a
    if b.op is _NEG:
        return _difference(a, b.args[0])
    if a.op is _NEG:
        return _difference(b, a.args[0])
    return a.graph.symmetric_pair(_ADD, a, b)


def _difference(a: Expr, b: Expr) -> Expr:
    if a is b:
        return a.graph.const(0.0)
    if a.op is _NEG:
        return neg(add(a.args[0], b))
    return a.graph.pair(_SUB, a, b)


def mul(a: Expr, b: Expr) -> Expr:
    """a b; constants are gathered on the right, signs moved outward."""
    if a.is_const:
        a, b = b, a
    if b.is_const:
        c = b.value
        if a.is_const:
            return a.graph.const(a.value * c)
        if c == 0:
            return b
        if c == 1:
            return a
        if c == -1:
            return neg(a)
        graph = a.graph
        if a.op is _MUL and a.args[1].is_const and graph.is_normal(merged := a.args[1].value * c):
            return mul(a.args[0], graph.const(merged))
        if a.op is _NEG:
            return mul(a.args[0], neg(b))
        return graph.pair(_MUL, a, b)
    if a.op is _NEG:
        return neg(mul(a.args[0], b))
    if b.op is _NEG:
        return neg(mul(a, b.args[0]))
    return a.graph.symmetric_pair(_MUL, a, b)


def div(a: Expr, b: Expr) -> Expr:
    """a / b; division by a constant becomes a product. 0 / b stays: it is NaN at b = 0."""
    if b.is_const and b.value != 0:
        if a.is_const:
            return a.graph.const(a.value / b.value)
        if a.graph.is_normal(inverse := 1 / b.value):
            return mul(a, a.graph.const(inverse))
    if a.op is _NEG:
        return neg(div(a.args[0], b))
    return a.graph.pair(Op.DIV, a, b)


def power(a: Expr, exponent: object) -> Expr:
    """a to a whole power by repeated squaring, or to ±½."""
    if isinstance(exponent, Number) and float(exponent) == 0.5:
        return a.sqrt()
    if isinstance(exponent, Number) and float(exponent) == -0.5:
        return 1 / a.sqrt()
    if not isinstance(exponent, Number) or not float(exponent).is_integer():  # nor is infinity
        raise TraceError(
            f"a traced value was raised to {exponent!r}, expected a whole number or ±0.5. Use exp and log."
        )
    n = int(exponent)
    if n < 0:
        return 1 / power(a, -n)
    result, square = a.graph.const(1.0), a
    while n:
        if n & 1:
            result = mul(result, square)
        square, n = mul(square, square), n >> 1
    return result


def unary(op: Op, a: Expr) -> Expr:
    """A function of one argument, folded if that is a constant."""
    return _fold(op, a) if a.is_const else a.graph.node(op, a)


def binary(op: Op, a: Expr, b: Expr) -> Expr:
    """A function of two arguments, folded if both are constants."""
    symmetric = op in (Op.MIN, Op.MAX)
    if symmetric and a is b:
        return a
    if a.is_const and b.is_const:
        return _fold(op, a, b)
    return a.graph.symmetric_pair(op, a, b) if symmetric else a.graph.pair(op, a, b)


def compare(op: Op, a: Expr, b: Expr) -> Expr:
    """A comparison; of two constants it is the constant 1 or 0."""
    if a.is_const and b.is_const:
        return _fold(op, a, b)
    return a.graph.symmetric_pair(op, a, b) if op is Op.EQ else a.graph.pair(op, a, b)


def logic(op: Op, *args: Expr) -> Expr:
    """not, and, or of conditions."""
    for a in args:
        if not (a.op.boolean or a.is_const):
            raise TraceError(f"a condition was joined with {a!r}, expected another condition such as x < y.")
    return _fold(op, *args) if all(a.is_const for a in args) else args[0].graph.node(op, *args)


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """a where the condition holds, else b."""
    if condition.is_const:
        return a if condition.value else b
    if not condition.op.boolean:
        raise TraceError(f"where: the condition is {condition!r}, expected a comparison such as x < y.")
    return a if a is b else a.graph.node(Op.SELECT, condition, a, b)


def _fold(op: Op, *args: Expr) -> Expr:
    with np.errstate(all="ignore"):
        return args[0].graph.const(float(op.on_floats(*(np.float64(a.value) for a in args))))
