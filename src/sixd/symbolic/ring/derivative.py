"""Derivatives of ring elements, through every generator that depends on the symbol.

All symbols count as real, whatever their assumptions: the derivative of Abs(x) is sign(x).
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from sixd.lazy import Expr, Symbol, sympy
from sixd.symbolic.ring.generators import Generator, inverse
from sixd.symbolic.ring.poly import Poly


def derivative(poly: Poly, symbol: Symbol) -> Poly:
    """∂ poly/∂ symbol = Σ ∂ poly/∂ generator · ∂ generator/∂ symbol."""
    ring, total = poly.ring, poly.ring.zero
    ones = (1 << ring.bits) - 1
    for i, _ in ring.exponents(reduce(or_, poly.terms, 0)):
        if (i, symbol) not in ring.partials:
            ring.partials[i, symbol] = _partial(ring.element(i), ring.generators[i], symbol)
        inner = ring.partials[i, symbol]
        if inner.terms:
            shift = ring.bits * i
            outer = {k - (1 << shift): v * e for k, v in poly.terms.items() if (e := (k >> shift) & ones)}
            total = total + Poly(ring, outer, poly.den) * inner
    return total


def _partial(x: Poly, g: Generator, symbol: Symbol) -> Poly:
    """∂ generator/∂ symbol; ``x`` is the generator as an element."""
    ring = x.ring
    if g.kind in ("symbol", "opaque"):
        if g.expr == symbol:
            return ring.one
        return ring.zero if g.kind == "symbol" else ring.convert(real_derivative(g.expr, symbol))
    inner = derivative(g.base, symbol)
    if not inner.terms:
        return ring.zero
    if g.kind == "inverse":
        return -(x * x) * inner
    if g.kind == "root":
        return inner * x * inverse(ring, g.base * 2)
    outer = ring.element(g.partner) * ring.constant(g.unit)
    return inner * (outer if g.kind == "sin" else -outer)


def real_derivative(expr: Expr, symbol: Symbol) -> Any:
    """∂ expr/∂ symbol of a SymPy expression of real symbols."""
    if not expr.has(*_real_functions()):
        return expr.diff(symbol)
    real = _real_symbols(expr)
    result = expr.xreplace(real).diff(real.get(symbol, symbol))
    # from Max and Min: sign has a value at any number
    result = result.replace(sympy.Heaviside, lambda x, *_: (1 + sympy.sign(x)) / 2)
    return result.xreplace({dummy: s for s, dummy in real.items()})


def as_real(expr: Expr) -> Any:
    """The expression simplified for real symbols: Abs(x)² is x², re(x) is x."""
    if not expr.has(*_real_functions()):
        return expr
    real = _real_symbols(expr)
    return expr.xreplace(real).xreplace({dummy: s for s, dummy in real.items()})


def _real_functions() -> tuple[Expr, ...]:
    """Functions whose derivatives SymPy writes differently for complex symbols."""
    names = ("Abs", "sign", "Max", "Min", "Heaviside", "re", "im", "conjugate", "arg")
    return tuple(getattr(sympy, name) for name in names)


def _real_symbols(expr: Expr) -> dict[Expr, Expr]:
    """A real symbol for each symbol that is not declared real."""
    return {s: sympy.Dummy(s.name, real=True) for s in expr.free_symbols if s.is_real is not True}
