"""Products of sines and cosines of parallel angles as sines and cosines of their sums: cos a cos b = ½ (cos(a+b) + …).

A harmonic is (n, odd): the cosine (or, if ``odd``, the sine) of Σ n_i a_i over the base angles a_i of a group, the
first nonzero n_i positive. Works on packed polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sixd.lazy import sympy
from sixd.symbolic.ring.poly import Terms

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring

Harmonic = tuple[tuple[int, ...], bool]
Series = dict[Harmonic, int]


class AngleGroup:
    """Base angles of one ring that may be added; ``cosines`` are the indices of their cosines."""

    def __init__(self, ring: Ring, cosines: Sequence[int]) -> None:
        self.ring, self.cosines = ring, tuple(cosines)
        field = (1 << 2 * ring.bits) - 1  # cosine and sine are neighbours
        self.shifts = [ring.bits * i for i in self.cosines]
        self.mask = sum(field << s for s in self.shifts)
        self.series = cache(self._series)

    def to_sympy(self, harmonic: Harmonic) -> Any:
        """The sine or cosine as a SymPy expression; SymPy may change sin(a - b) to -sin(b - a)."""
        n, odd = harmonic
        parts = [(m, self.ring.generators[i]) for m, i in zip(n, self.cosines, strict=True)]
        angle = sympy.Add(*(sympy.Rational(m * g.unit) * g.base.to_sympy() for m, g in parts))
        return sympy.sin(angle) if odd else sympy.cos(angle)

    def _series(self, key: int) -> tuple[Series, int]:
        """The harmonics of a monomial in the group's sines and cosines, as whole numbers over 2**power."""
        field, bits = (1 << self.ring.bits) - 1, self.ring.bits
        # coefficients of exp(i n·a): (real, imaginary) parts, as whole numbers over 2**power
        waves: dict[tuple[int, ...], tuple[int, int]] = {(): (1, 0)}
        power = 0
        for shift in self.shifts:
            c, s = (key >> shift) & field, (key >> (shift + bits)) & field
            power += c + s
            one = _one_angle(c, s)
            waves = {
                (*n, m): (a * x - b * y, a * y + b * x) for n, (a, b) in waves.items() for m, (x, y) in one.items()
            }
        out: Series = {}
        for n, (a, b) in waves.items():
            lead = next((m for m in n if m), 0)
            sign = -1 if lead < 0 else 1
            n = tuple(sign * m for m in n)
            if a:
                out[n, False] = out.get((n, False), 0) + a
            if b and lead:
                out[n, True] = out.get((n, True), 0) - sign * b
        return {h: v for h, v in out.items() if v}, power


def _one_angle(c: int, s: int) -> dict[int, tuple[int, int]]:
    """cos**c · sin**s as Σ (x + iy) exp(i m a) / 2**(c + s), for s = 0 or 1."""
    out: dict[int, tuple[int, int]] = {}
    for k in range(c + 1):
        v, m = math.comb(c, k), c - 2 * k
        # sin a = (exp(ia) - exp(-ia)) / 2i
        for step, x, y in ((1, 0, -v), (-1, 0, v)) if s else ((0, v, 0),):
            a, b = out.get(m + step, (0, 0))
            out[m + step] = (a + x, b + y)
    return out


def harmonics(terms: Terms, group: AngleGroup) -> tuple[dict[tuple[int, Harmonic], int], int]:
    """{(rest of the monomial, harmonic): coefficient}, and the power of two that the coefficients are over."""
    mask = group.mask
    split = [(k & ~mask, v, *group.series(k & mask)) for k, v in terms.items()]
    top = max((power for *_, power in split), default=0)
    out: dict[tuple[int, Harmonic], int] = {}
    for rest, v, series, power in split:
        v <<= top - power
        for h, x in series.items():
            key = (rest, h)
            out[key] = out.get(key, 0) + v * x
    return {k: v for k, v in out.items() if v}, top
