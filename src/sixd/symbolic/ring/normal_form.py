"""The normal form of expressions with many multiples or fractions of angles, by way of exponentials.

cos(45 q/18) is a polynomial of degree 45 in cos(q/18), but two terms in z = exp(i q/18): here a product of sines and
cosines stays a short sum, and what cancels does so before anything is written out.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sixd.symbolic.ring.generators import Generator, square_root
from sixd.symbolic.ring.poly import Poly, Terms

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring

LARGEST_MULTIPLE = 30  # of its base angle up to which an angle is written out in the normal form


def sin_cos(ring: Ring, key: int, factor: Fraction) -> tuple[Poly, Poly]:
    """(sin, cos) of factor · monomial: (zⁿ ∓ z⁻ⁿ)/2i and /2, n = factor/unit."""
    z = ring.angles.get((key, None))
    unit = Fraction(1) if z is None else ring.generators[z].unit
    finest = Fraction(1, math.lcm(unit.denominator, factor.denominator))
    if z is None or finest != unit:
        z = _refined(ring, key, z, finest, int(unit / finest))
    n = int(factor / finest)
    up, down = ring.element(z) ** abs(n), ring.element(z + 1) ** abs(n)
    i = square_root(ring, ring.constant(-1))
    return i * (down - up) * (1 if n > 0 else -1) / 2, (up + down) / 2


def _refined(ring: Ring, key: int, old: int | None, unit: Fraction, ratio: int) -> int:
    """z = exp(i unit · monomial) and, after it, its inverse; an older z is a power of the new one from now on."""
    base, new = Poly(ring, {key: 1}), len(ring.generators)
    ring.add(("up", key, unit), Generator("up", base=base, unit=unit, partner=new + 1))
    ring.add(("down", key, unit), Generator("down", base=base, unit=unit, partner=new))
    if old is not None:
        ring.set_rule(old, 1, {ratio << (ring.bits * new): 1})
        ring.set_rule(old + 1, 1, {ratio << (ring.bits * (new + 1)): 1})
        ring.retired = True
    ring.angles[key, None] = new
    return new


def cancelled(ring: Ring, terms: Terms) -> Terms:
    """The terms with z · z⁻¹ = 1."""
    ones, out = (1 << ring.bits) - 1, dict[int, int]()
    for k, v in terms.items():
        for z in ring.angles.values():
            shift = ring.bits * z
            both = min((k >> shift) & ones, (k >> (shift + ring.bits)) & ones)
            k -= both * (1 + (1 << ring.bits)) << shift
        out[k] = out.get(k, 0) + v
    return {k: v for k, v in out.items() if v}


def written_out(poly: Poly, target: Ring) -> Poly:
    """The element of a ring of exponentials in a ring of sines and cosines."""
    poly = poly.settled()
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
    """The angle of z in the target ring, which is told the coarsest base angle that serves all multiples of it."""
    from sixd.symbolic.ring.angles import base_angle

    g = ring.generators[z]
    assert g.base is not None
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
        p, q = (_moved(poly, coefficients.get(m, {}), target) for m in (n, opposite))
        total = total + (p * (c + i * s) if n == opposite else (p + q) * c + i * (p - q) * s)
    return total


def _moved(poly: Poly, terms: Terms, target: Ring) -> Poly:
    result: Any = target.convert(Poly(poly.ring, terms, poly.den).to_sympy(exact=True))
    return result
