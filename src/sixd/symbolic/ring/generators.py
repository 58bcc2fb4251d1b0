"""Generators of a ring other than symbols and angles: roots, inverses, opaque expressions.

Roots and inverses have rules: the square of a root is its radicand, an inverse times its base is one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from sixd.errors import SingularError
from sixd.lazy import Expr
from sixd.symbolic.ring.poly import Poly

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring

_LONGEST_RADICAND = 10**12  # above it, in a ring with floats, a root is a rounded number instead of a surd
_SMALL_PRIMES = [p for p in range(2, 100) if all(p % d for d in range(2, p))]


@dataclass(frozen=True, eq=False)
class Generator:
    """A variable of the ring. ``kind`` decides which fields are used.

    symbol, opaque: ``expr``. cos, sin (up, down in a ring of waves): the angle ``unit`` · ``base``, and the number of
    the ``partner``. root: the square root of ``base``. inverse: 1/``base``.
    """

    kind: str
    expr: Any = None
    base: Any = None  # Poly
    unit: Fraction = Fraction(1)
    partner: int = -1


def opaque(ring: Ring, expr: Expr) -> Poly:
    """A SymPy expression as a generator of its own."""
    if expr not in ring.index:
        i = ring.add(expr, Generator("opaque", expr=expr))
        if str(expr) == "pi":
            ring.pi = 1 << (ring.bits * i)
    return ring.element(ring.index[expr])


def root(ring: Ring, value: Fraction) -> Poly:
    """Square root of a rational number that is not negative.

    √(n/d) = √(nd)/d; roots of small primes and of the remaining factor are generators, so that √2 √3 is √6. In a ring
    with floats the root of a long number is rounded to a double, as the number itself was.
    """
    n, d = value.numerator, value.denominator
    if ring.inexact and n * d > _LONGEST_RADICAND and not _is_square(n * d):
        return ring.convert(math.sqrt(value))
    result, left = ring.constant(Fraction(1, d)), n * d
    for p in _SMALL_PRIMES if left else ():
        while not left % (p * p):
            left //= p * p
            result = result * p
        if not left % p:
            left //= p
            result = result * square_root(ring, ring.constant(p))
    return result * (math.isqrt(left) if _is_square(left) else square_root(ring, ring.constant(left)))


def _is_square(n: int) -> bool:
    return math.isqrt(n) ** 2 == n


def square_root(ring: Ring, base: Poly) -> Poly:
    """The generator whose square is ``base``, an element with whole coefficients."""
    assert base.den == 1
    key = ("root", frozenset(base.terms.items()))
    if key not in ring.index:
        ring.set_rule(ring.add(key, Generator("root", base=base)), 2, base.terms)
    return ring.element(ring.index[key])


def inverse(ring: Ring, value: Poly) -> Poly:
    """1/value as an element: the inverses of its number, of its common monomial and of the remaining factor."""
    value = value.normalized().lowest_terms()
    number = value.number
    if number == 0:
        raise SingularError("convert: a divisor is 0 in its normal form, expected a nonzero expression.")
    if number is not None:
        return ring.constant(1 / number)
    lead = _lead(ring, value)
    content = math.gcd(*value.terms.values()) * (1 if value.terms[lead] > 0 else -1)
    common = dict(ring.exponents(lead))
    for k in value.terms:
        own = dict(ring.exponents(k))
        common = {i: min(e, own[i]) for i, e in common.items() if i in own}
    monomial = sum(e << (ring.bits * i) for i, e in common.items())
    result = ring.constant(Fraction(value.den, content))
    for i, e in common.items():
        result = result * _inverse_of(ring, ring.element(i)) ** e
    rest = Poly(ring, {k - monomial: v // content for k, v in value.terms.items()})
    return result if rest.number is not None else result * _inverse_of(ring, rest)


def _inverse_of(ring: Ring, base: Poly) -> Poly:
    """The generator 1/base; 1/(1/x) is x."""
    if len(base.terms) == 1:
        ((i, _),) = ring.exponents(next(iter(base.terms)))
        if ring.generators[i].kind == "inverse":
            return ring.generators[i].base
    key = ("inverse", frozenset(base.terms.items()))
    if key not in ring.index:
        i = ring.add(key, Generator("inverse", base=base))
        lead = _lead(ring, base)
        rest = tuple((k, v) for k, v in base.terms.items() if k != lead)
        ring.inverses.append((1 << (ring.bits * i), lead, base.terms[lead], rest))
    return ring.element(ring.index[key])


def _lead(ring: Ring, base: Poly) -> int:
    """The monomial of a base that is cancelled against its inverse.

    If possible one without generators in the rules of the base's other generators: then the order in which rules are
    applied does not matter. Otherwise the largest, for which rewriting at least terminates.
    """
    bound = reduce(or_, (ring.bound.get(i, 0) for i, _ in ring.exponents(reduce(or_, base.terms))), 0)
    lead = max(base.terms, key=lambda k: (k & ~bound, k & bound))
    return max(base.terms) if lead & bound else lead
