"""Forms of one polynomial: products of sines and cosines, or sines and cosines of sums of parallel angles.

A form is a dict of packed monomials over a denominator, whose atoms are the ring's generators and, after them,
harmonics of groups of parallel angles. Does not know SymPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from sixd.symbolic.ring.fourier import AngleGroup, Harmonic, harmonics
from sixd.symbolic.ring.poly import Terms, added
from sixd.symbolic.ring.ring import Ring
from sixd.symbolic.writing.pairing import paired


class Atoms:
    """The ring's generators and, numbered after them, harmonics of the groups of parallel angles."""

    def __init__(self, ring: Ring, groups: Sequence[Sequence[int]]) -> None:
        self.ring, self.first = ring, len(ring.generators)
        self.groups = [AngleGroup(ring, cosines) for cosines in groups]
        grouped = {i for cosines in groups for i in cosines}
        self._others = [AngleGroup(ring, [i]) for i in sorted(set(ring.angles.values()) - grouped)]
        self.harmonics: list[tuple[AngleGroup, Harmonic]] = []
        self._number: dict[tuple[int, Harmonic], int] = {}
        ones = (1 << ring.bits) - 1
        self.angles = sum(ones << (ring.bits * i) for i, g in enumerate(ring.generators) if g.kind in ("cos", "sin"))

    def unit(self, group: AngleGroup, harmonic: Harmonic) -> int:
        """Packed monomial of a harmonic."""
        n, odd = harmonic
        used = [k for k, m in enumerate(n) if m]
        if not used:
            return 0
        if len(used) == 1 and n[used[0]] == 1:
            return 1 << (group.shifts[used[0]] + (self.ring.bits if odd else 0))
        name = (id(group), harmonic)
        if name not in self._number:
            i = self._number[name] = self.first + len(self.harmonics)
            self.harmonics.append((group, harmonic))
            self.angles |= ((1 << self.ring.bits) - 1) << (self.ring.bits * i)
        return 1 << (self.ring.bits * self._number[name])

    def summed(self, terms: Terms, den: int, *, everywhere: bool = False) -> tuple[Terms, int]:
        """The form in sums of angles, for groups with two or more angles in it; with ``everywhere`` also in multiples
        of the other angles, cos 2q for cos² q.
        """
        support = reduce(or_, terms, 0)
        pair = (1 << 2 * self.ring.bits) - 1
        for group in self.groups + (self._others if everywhere else []):
            used = sum(bool((support >> s) & pair) for s in group.shifts)
            if used > 1 or (used and len(group.shifts) == 1):
                table, power = harmonics(terms, group)
                terms, den = self._paired(table, group), den << power
        return terms, den

    def has_multiples(self, terms: Terms) -> bool:
        """Whether sines or cosines of multiples of single angles occur, such as cos 2q."""
        support = reduce(or_, terms, 0) >> (self.ring.bits * self.first)
        ones = (1 << self.ring.bits) - 1
        single = [sum(map(bool, n)) == 1 for _, (n, _) in self.harmonics]
        return any(one and (support >> (self.ring.bits * i)) & ones for i, one in enumerate(single))

    def _paired(self, table: dict[tuple[int, Harmonic], int], group: AngleGroup) -> Terms:
        """The harmonics joined to products where that saves terms, separately for each product of the other angles."""
        contexts: dict[int, dict[Harmonic, Terms]] = {}
        for (rest, harmonic), v in table.items():
            series = contexts.setdefault(rest & self.angles, {})
            series.setdefault(harmonic, {})[rest & ~self.angles] = v
        out: Terms = {}
        for context, series in contexts.items():
            for wave, terms in paired(series).items():
                key = context + sum(self.unit(group, h) for h in wave)
                out.update({k + key: v for k, v in terms.items()})
        return out

    def squared(self, terms: Terms, *, singly: bool = False) -> Terms:
        """The form with 1 or cos² of single angles replaced by sin² where that leaves fewer terms.

        Whole coefficients are replaced, or with ``singly`` each of their terms: a - a cos² is a sin² also among other
        terms. That leaves the fewest terms, though not always the fewest operations.
        """
        bits = self.ring.bits
        ones = (1 << bits) - 1
        for c, s in [(i, g.partner) for i, g in enumerate(self.ring.generators) if g.kind == "cos"]:
            if any((k >> (bits * c)) & ones >= 2 for k in terms):
                terms = (self._with_single_sines if singly else self._with_sines)(terms, bits * c, bits * s)
        return terms

    def _with_single_sines(self, terms: Terms, c: int, s: int) -> Terms:
        out, ones = dict(terms), (1 << self.ring.bits) - 1
        for high in [k for k in sorted(terms) if (k >> c) & ones >= 2 and not (k >> s) & ones]:
            low = high - (2 << c)
            if low in out and out[low] + out[high] == 0:
                out[low + (2 << s)] = out.pop(low)
                del out[high]
        return out

    def _with_sines(self, terms: Terms, c: int, s: int) -> Terms:
        contexts: dict[int, Terms] = {}
        for k, v in terms.items():
            contexts.setdefault(k & self.angles, {})[k & ~self.angles] = v
        ones = (1 << self.ring.bits) - 1
        for high in [k for k in sorted(contexts) if (k >> c) & ones >= 2 and not (k >> s) & ones]:
            low = high - (2 << c)
            a, b = contexts.get(low), contexts[high]  # a + b cos²
            if not a or not b:
                continue
            both, sine = added(a, b), low + (2 << s)
            if len(both) < len(b) and len(b) >= len(a):  # a sin² + (a + b) cos²
                contexts[low], contexts[high], contexts[sine] = {}, both, a
            elif len(both) < len(a):  # (a + b) - b sin²
                contexts[low], contexts[high], contexts[sine] = both, {}, {k: -v for k, v in b.items()}
        return {context + k: v for context, part in contexts.items() for k, v in part.items()}
