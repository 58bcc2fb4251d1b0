"""The normal form of a SymPy expression: equal functions get identical expressions.

Every angle is expanded in the coarsest base angle of which it is a whole multiple, or not at all if its multiples are
too large. Where a ring of small multiples does not suffice, a ring of waves determines that base angle: in exponentials
a product of sines and cosines stays a short sum, and terms cancel before the expansion.
"""

from __future__ import annotations

import math
from typing import Any

from sixd.lazy import Expr, sympy
from sixd.symbolic.arguments import ExprLike
from sixd.symbolic.ring.angles import LARGEST_MULTIPLE, UntameAngle, base_angle
from sixd.symbolic.ring.fourier import AngleGroup, harmonics
from sixd.symbolic.ring.generators import square_root
from sixd.symbolic.ring.poly import Poly, Terms
from sixd.symbolic.ring.ring import ExponentError, Ring


def canonical(*expressions: ExprLike) -> Any:
    """SymPy expressions in the ring's normal form; one expression, or a tuple of several.

    Equal polynomials in symbols, exact numbers, and sines and cosines of rational combinations of symbols become
    identical expressions, unequal ones do not.
    """
    results = tuple(_canonical(e) for e in expressions)
    return results[0] if len(results) == 1 else results


def _canonical(expr: Expr) -> Any:
    """The normal form of one expression; exponents get as many bits as they need."""
    expr, bits = sympy.sympify(expr), 8
    while True:
        try:
            return _normal(expr, bits).to_sympy()
        except ExponentError:
            bits *= 2


def _normal(expr: Expr, bits: int) -> Poly:
    """The element of some ring that represents the function, the same however the function is written."""
    try:
        poly = Ring(bits=bits, kind="tame").convert(expr)
        # the largest multiple of a base angle in the polynomial
        monomials = [dict(poly.ring.exponents(k)) for k in poly.terms]
        degrees = [p.get(i, 0) + p.get(i + 1, 0) for p in monomials for i in poly.ring.angles.values()]
        if max(degrees, default=0) <= LARGEST_MULTIPLE:
            return poly
    except UntameAngle:
        pass
    # roots or inverses of expressions: their rules are for sines and cosines
    powers = [p for p in expr.atoms(sympy.Pow) if not (p.exp.is_Integer and p.exp > 0) and not p.base.is_number]
    if powers or expr.has(sympy.tan, sympy.cot, sympy.sec, sympy.csc):
        return _with_coarsest_angles(Ring(bits=bits).convert(expr))
    waves, target = Ring(bits=bits, kind="waves", argument_form=_canonical), Ring(bits=bits)
    result = _without_waves(waves.convert(expr), target)
    target.inexact |= waves.inexact
    return result


def _with_coarsest_angles(poly: Poly) -> Poly:
    """The same function by sin q and cos q where sin(q/2) and cos(q/2) are not needed; in a ring of its own."""
    poly = poly.normalized()
    ring = poly.ring
    fine = [i for i in ring.angles.values() if ring.generators[i].unit.numerator == 1 != ring.generators[i].unit]
    if not fine:
        return poly
    # harmonics of an angle that are all multiples of 2 q/2 are harmonics of q
    group = AngleGroup(ring, fine)
    table, power = harmonics(poly.terms, group)
    total = [
        Poly(ring, {rest: v}, poly.den << power).to_sympy(exact=True) * group.to_sympy(harmonic)
        for (rest, harmonic), v in table.items()
    ]
    coarse = Ring(bits=ring.bits)
    result = coarse.convert(sympy.Add(*total))
    coarse.inexact |= ring.inexact
    return result


# from exponentials to sines and cosines -------------------------------------------------------------------


def _without_waves(poly: Poly, target: Ring) -> Poly:
    """The element of a ring of waves in a ring of sines and cosines."""
    poly = poly.normalized()
    ring, bits, ones = poly.ring, poly.ring.bits, (1 << poly.ring.bits) - 1
    angles = list(ring.angles.values())
    coefficients: dict[tuple[int, ...], Terms] = {}
    for k, v in poly.terms.items():
        n, rest = [], k
        for z in angles:
            up, down = (k >> (bits * z)) & ones, (k >> (bits * (z + 1))) & ones
            n.append(up - down)
            rest -= (up + (down << bits)) << (bits * z)
        coefficients.setdefault(tuple(n), {})[rest] = v

    if not coefficients:
        return target.zero
    bases = [_base(ring, z, {abs(n[j]) for n in coefficients}, target) for j, z in enumerate(angles)]
    return _summed(poly, coefficients, bases, target)


def _base(ring: Ring, z: int, multiples: set[int], target: Ring) -> Poly:
    """The angle of z in the target ring, with the coarsest base angle that serves all multiples of it."""
    g = ring.generators[z]
    base = target.convert(g.base.to_sympy(exact=True))
    (key,) = base.terms
    coarsest = math.gcd(g.unit.denominator, *multiples)
    if max(multiples) > LARGEST_MULTIPLE * coarsest:
        target.wide.add(key)
    elif any(multiples):
        base_angle(target, (key, None), g.unit * coarsest)
    return base * target.constant(g.unit)


def _summed(poly: Poly, coefficients: dict[tuple[int, ...], Terms], bases: list[Poly], target: Ring) -> Poly:
    """Σ p zⁿ + q z⁻ⁿ = Σ (p + q) cos(n a) + i (p - q) sin(n a)."""

    i, total = square_root(target, target.constant(-1)), target.zero
    for n in sorted(coefficients):
        opposite = tuple(-m for m in n)
        if n < opposite:
            continue
        angle = sum((base * m for base, m in zip(bases, n, strict=True)), target.zero)
        s, c = target.sin_cos(angle)
        pair = (Poly(poly.ring, coefficients.get(m, {}), poly.den).to_sympy(exact=True) for m in (n, opposite))
        p, q = map(target.convert, pair)
        total = total + (p * (c + i * s) if n == opposite else (p + q) * c + i * (p - q) * s)
    return total
