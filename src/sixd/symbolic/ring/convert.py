"""From SymPy expressions to ring elements.

An expression that is not a polynomial in symbols, sines, cosines, roots and inverses becomes an opaque generator, its
arguments in a normal form.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sixd.errors import ScalarTypeError
from sixd.lazy import Basic, Expr, sympy
from sixd.symbolic.ring.generators import inverse, square_root
from sixd.symbolic.ring.poly import Poly

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring


def convert(ring: Ring, expr: Expr) -> Poly:
    """The element of a SymPy expression."""
    element = ring.memo.get(expr)
    if element is None:
        if not isinstance(expr, sympy.Expr) or expr.is_commutative is False:
            raise ScalarTypeError(f"convert: got {expr!r}, expected a commutative SymPy expression.")
        element = ring.memo[expr] = _converted(ring, expr)
    return element


def _converted(ring: Ring, expr: Expr) -> Poly:
    if isinstance(expr, sympy.Symbol):
        return ring.symbol(expr)
    if isinstance(expr, sympy.Rational):
        return ring.constant(Fraction(int(expr.p), int(expr.q)))
    if isinstance(expr, sympy.Float):
        return ring.convert(float(expr)) if expr._prec <= 53 else ring.decimal(str(expr))
    if isinstance(expr, sympy.Add):
        return _balanced([convert(ring, a) for a in expr.args], Poly.__add__)
    if isinstance(expr, sympy.Mul):
        return _balanced([convert(ring, a) for a in expr.args], Poly.__mul__)
    if isinstance(expr, sympy.Pow):
        return _power(ring, expr)
    if isinstance(expr, (sympy.sin, sympy.cos)):
        s, c = ring.sin_cos(convert(ring, expr.args[0]))
        return s if isinstance(expr, sympy.sin) else c
    if isinstance(expr, (sympy.tan, sympy.cot, sympy.sec, sympy.csc)):
        return convert(ring, plain_angles(expr))
    if expr is sympy.I:
        return square_root(ring, ring.constant(-1))
    if (expr.is_number and expr.is_finite is False) or expr is sympy.nan:
        raise ScalarTypeError(f"convert: got {expr}, expected a finite expression.")
    return _opaque(ring, expr)


def _balanced(items: list[Poly], operation: Callable[[Poly, Poly], Poly]) -> Poly:
    """Sum or product in a balanced tree: long sums are not copied term by term."""
    while len(items) > 1:
        pairs = [operation(a, b) for a, b in zip(items[::2], items[1::2], strict=False)]
        items = pairs + items[2 * len(pairs) :]
    return items[0]


def plain_angles(expr: Expr) -> Any:
    """tan, cot, sec and csc as fractions of sine and cosine."""
    sin, cos = sympy.sin, sympy.cos
    table = {
        sympy.tan: lambda x: sin(x) / cos(x),
        sympy.cot: lambda x: cos(x) / sin(x),
        sympy.sec: lambda x: 1 / cos(x),
        sympy.csc: lambda x: 1 / sin(x),
    }
    for kind, change in table.items():
        if expr.has(kind):
            expr = expr.replace(kind, change)
    return expr


def _power(ring: Ring, expr: Expr) -> Poly:
    """base ** exponent for rational exponents: the whole part, times a root for the remainder."""
    base, exponent = expr.args
    if not isinstance(exponent, sympy.Rational):
        return _opaque(ring, expr)
    inner = convert(ring, base)
    whole = int(sympy.floor(exponent))
    left = exponent - whole
    result = ring.one
    if whole:
        result = inner**whole if whole > 0 else inverse(ring, inner) ** -whole
    if left == 0:
        return result
    if left == sympy.Rational(1, 2):
        value = inner.lowest_terms()
        number = value.number
        if number is not None and number > 0:
            return result * ring.root(number)
        # √(n p/d) = √(n d p)/d for d > 0
        d = value.den
        return result * square_root(ring, Poly(ring, {k: v * d for k, v in value.terms.items()})) / d
    root = _opaque(ring, sympy.Pow(inner.to_sympy(), sympy.Rational(1, left.q)))
    return result * root ** int(left.p)


def _opaque(ring: Ring, expr: Expr) -> Poly:
    """A generator for the expression, its arguments in a normal form."""
    from sympy.core.function import AppliedUndef

    if not isinstance(expr, (sympy.Function, sympy.Pow)) or isinstance(expr, AppliedUndef):
        return ring.opaque(expr)
    tidy = expr.func(*(_normal_argument(ring, a) for a in expr.args))
    return ring.opaque(tidy) if tidy.func == expr.func else convert(ring, tidy)


def _normal_argument(ring: Ring, arg: Basic) -> Any:
    if isinstance(arg, sympy.Expr):
        return ring.argument_form(arg) if ring.argument_form is not None else convert(ring, arg).to_sympy()
    return arg.func(*(_normal_argument(ring, a) for a in arg.args)) if arg.args else arg
