"""Sines and cosines in a ring: every monomial of an angle has a base angle, of which others are whole multiples.

sin(q/2) beside sin(q) makes q/2 the base angle; what was written in sin(q) and cos(q) before is rewritten when it is
next looked at. Multiples and sums of angles are written out.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from sixd.symbolic.ring import normal_form as waves
from sixd.symbolic.ring.generators import Generator
from sixd.symbolic.ring.poly import Poly

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring

# of a base angle that is written out: cos(30 q) has 16 terms, and its square fits in 7 bits
_LARGEST_MULTIPLE = waves.LARGEST_MULTIPLE
_LARGEST_TAME = 4  # where exponentials are the alternative, since products of long polynomials are slow


class UntameAngle(Exception):
    """A multiple or fraction of an angle that had better not be written out at once."""


def sin_cos(ring: Ring, angle: Poly) -> tuple[Poly, Poly]:
    """(sin, cos) of an element."""
    angle = angle.settled()
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
    if ring.kind == "waves":
        return waves.sin_cos(ring, key, factor)
    if ring.kind == "tame" and (factor.denominator > 1 or abs(factor) > _LARGEST_TAME):
        raise UntameAngle
    base = ring.angles.get((key, None))
    unit = Fraction(1) if base is None else ring.generators[base].unit
    finest = Fraction(1, math.lcm(unit.denominator, factor.denominator))
    apart = key in ring.wide or (not key and ring.inexact)  # numbers among floats are not cut into smaller ones
    if apart or abs(factor / finest) > _LARGEST_MULTIPLE or unit / finest > _LARGEST_MULTIPLE:
        own = base_angle(ring, (key, abs(factor)), abs(factor))  # beside the others: not written out
        return _multiple(ring, own, 1 if factor > 0 else -1)
    if base is None:
        base = base_angle(ring, (key, None), finest)
    elif finest != unit:
        base = _refined(ring, base, key, finest)
    return _multiple(ring, base, int(factor / finest))


def _of_pi(ring: Ring, factor: Fraction) -> tuple[Poly, Poly] | None:
    """(sin, cos) of factor · pi where they are numbers or, as SymPy knows, roots."""
    if factor.denominator <= 2:
        quarter, s = int(2 * factor), (0, 1, 0, -1)
        return ring.constant(s[quarter % 4]), ring.constant(s[(quarter + 1) % 4])
    import sympy

    angle = sympy.pi * sympy.Rational(factor.numerator, factor.denominator)
    s, c = sympy.sin(angle), sympy.cos(angle)
    return None if (s + c).has(sympy.sin, sympy.cos) else (ring.convert(s), ring.convert(c))


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


def _refined(ring: Ring, old: int, key: int, unit: Fraction) -> int:
    """A finer base angle in the place of one in use, whose sine and cosine are written out in the finer ones."""
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
