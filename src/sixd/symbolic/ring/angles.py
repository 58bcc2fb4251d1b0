"""Sines and cosines in a ring: every monomial of an angle has a base angle, of which the others are whole multiples.

sin(q/2) after sin(q) makes q/2 the base angle; earlier elements in sin(q) and cos(q) are rewritten when they are next
used. Multiples and sums of angles are expanded. In a ring of waves the generators of a base angle are not its
cosine and sine but z = exp(i a) and 1/z: cos(45 q/18), of degree 45 in cos(q/18), is two terms in z = exp(i q/18).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from sixd.lazy import sympy
from sixd.symbolic.ring.generators import Generator, square_root
from sixd.symbolic.ring.poly import Poly, Terms

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring

LARGEST_MULTIPLE = 30  # of a base angle that is expanded: cos(30 q) has 16 terms, and its square fits in 7 bits
_LARGEST_TAME = 4  # in a tame ring: products of long polynomials are slow, and exponentials are the alternative


class UntameAngle(Exception):
    """A tame ring met a fraction or a large multiple of an angle."""


def sin_cos(ring: Ring, angle: Poly) -> tuple[Poly, Poly]:
    """(sin, cos) of an element: each of its terms is an angle of its own, or a multiple of one."""
    angle = angle.normalized()
    s, c = ring.zero, ring.one
    for key, v in sorted(angle.terms.items()):
        s1, c1 = _of_term(ring, key, Fraction(v, angle.den))
        s, c = s * c1 + c * s1, c * c1 - s * s1
    return s, c


def _of_term(ring: Ring, key: int, factor: Fraction) -> tuple[Poly, Poly]:
    """(sin, cos) of factor · monomial."""
    if key == ring.pi:
        factor %= 2
        known = _of_pi(ring, factor)
        if known is not None:
            return known
    if ring.kind == "tame" and (factor.denominator > 1 or abs(factor) > _LARGEST_TAME):
        raise UntameAngle
    base = ring.angles.get((key, None))
    unit = Fraction(1) if base is None else ring.generators[base].unit
    finest = Fraction(1, math.lcm(unit.denominator, factor.denominator))
    if ring.kind == "waves":
        if base is None or finest != unit:
            base = _finer_wave(ring, key, base, finest, int(unit / finest))
        return _multiple_of_wave(ring, base, int(factor / finest))
    apart = key in ring.wide or (not key and ring.inexact)  # numbers among floats are not cut into smaller ones
    if apart or abs(factor / finest) > LARGEST_MULTIPLE or unit / finest > LARGEST_MULTIPLE:
        own = base_angle(ring, (key, abs(factor)), abs(factor))  # next to the others: not expanded
        return _multiple(ring, own, 1 if factor > 0 else -1)
    if base is None:
        base = base_angle(ring, (key, None), finest)
    elif finest != unit:
        base = _finer_angle(ring, base, key, finest)
    return _multiple(ring, base, int(factor / finest))


def _of_pi(ring: Ring, factor: Fraction) -> tuple[Poly, Poly] | None:
    """(sin, cos) of factor · pi where they are numbers or roots that SymPy knows; else None."""
    angle = sympy.pi * sympy.Rational(factor.numerator, factor.denominator)
    s, c = sympy.sin(angle), sympy.cos(angle)
    return None if (s + c).has(sympy.sin, sympy.cos) else (ring.convert(s), ring.convert(c))


# by cosine and sine ---------------------------------------------------------------------------------------


def base_angle(ring: Ring, name: tuple[int, Fraction | None], unit: Fraction) -> int:
    """The number of the cosine of unit · monomial; its sine comes after it."""
    if name not in ring.angles:
        base = Poly(ring, {name[0]: 1})
        i = len(ring.generators)
        ring.add(("cos", name[0], unit), Generator("cos", base=base, unit=unit, partner=i + 1))
        ring.add(("sin", name[0], unit), Generator("sin", base=base, unit=unit, partner=i))
        ring.set_rule(i + 1, 2, {0: 1, 2 << (ring.bits * i): -1})
        ring.angles[name] = i
    return ring.angles[name]


def _finer_angle(ring: Ring, old: int, key: int, unit: Fraction) -> int:
    """A finer base angle instead of one in use, whose sine and cosine become polynomials in the finer ones."""
    ratio = int(ring.generators[old].unit / unit)
    del ring.angles[key, None]
    new = base_angle(ring, (key, None), unit)
    s, c = _multiple(ring, new, ratio)
    ring.set_rule(old, 1, c.terms)
    ring.set_rule(old + 1, 1, s.terms)
    ring.retired = True
    return new


def _multiple(ring: Ring, index: int, n: int) -> tuple[Poly, Poly]:
    """(sin, cos) of n times a base angle."""
    if n < 0:
        s, c = _multiple(ring, index, -n)
        return -s, c
    if n == 0:
        return ring.zero, ring.one
    if (index, n) not in ring.multiples:
        s1, c1 = ring.element(index + 1), ring.element(index)
        s, c = _multiple(ring, index, n - 1)
        ring.multiples[index, n] = (s * c1 + c * s1, c * c1 - s * s1)
    return ring.multiples[index, n]


# by exponentials ------------------------------------------------------------------------------------------


def _finer_wave(ring: Ring, key: int, old: int | None, unit: Fraction, ratio: int) -> int:
    """The number of z = exp(i unit · monomial); 1/z comes after it. An older z becomes a power of the new one."""
    base, new = Poly(ring, {key: 1}), len(ring.generators)
    ring.add(("up", key, unit), Generator("up", base=base, unit=unit, partner=new + 1))
    ring.add(("down", key, unit), Generator("down", base=base, unit=unit, partner=new))
    if old is not None:
        ring.set_rule(old, 1, {ratio << (ring.bits * new): 1})
        ring.set_rule(old + 1, 1, {ratio << (ring.bits * (new + 1)): 1})
        ring.retired = True
    ring.angles[key, None] = new
    return new


def _multiple_of_wave(ring: Ring, index: int, n: int) -> tuple[Poly, Poly]:
    """(sin, cos) of n times a base angle: (zⁿ ∓ z⁻ⁿ)/2i and /2."""
    up, down = ring.element(index) ** abs(n), ring.element(index + 1) ** abs(n)
    i = square_root(ring, ring.constant(-1))
    return i * (down - up) * (1 if n > 0 else -1) / 2, (up + down) / 2


def cancel_waves(ring: Ring, terms: Terms) -> Terms:
    """The terms with z · z⁻¹ = 1."""
    ones, out = (1 << ring.bits) - 1, dict[int, int]()
    for k, v in terms.items():
        for z in ring.angles.values():
            shift = ring.bits * z
            both = min((k >> shift) & ones, (k >> (shift + ring.bits)) & ones)
            k -= both * (1 + (1 << ring.bits)) << shift
        out[k] = out.get(k, 0) + v
    return {k: v for k, v in out.items() if v}
