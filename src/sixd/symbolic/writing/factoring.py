"""Factoring of sums: common factors are factored out, the most profitable first, and equal brackets joined.

Works on packed monomials {key: whole number} in atoms of known cost; the cost of a sum is the operations that
``sympy.count_ops`` would count. A bracket is an atom from then on, so that brackets get common factors too. Knows
neither SymPy nor robots.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain

from sixd.symbolic.ring.poly import Terms, exponents

_MOST_IN_ROOT, _MOST_IN_SQUARE = 4, 10  # terms of a + b + c + d, and of its square


@dataclass(slots=True, eq=False)
class Bracket:
    """A factored sum without a common number: atoms numbered from ``first`` are the ``parts``, brackets inside it."""

    terms: Terms
    first: int
    parts: list[Bracket]
    largest: int  # coefficient before factoring
    cost: int


class Factoring:
    """Factors sums over atoms packed with ``bits`` bits each; ``cost(i)`` is the number of operations in atom i."""

    def __init__(self, bits: int, cost: Callable[[int], int], count: Callable[[], int]) -> None:
        self.bits, self.cost, self.count = bits, cost, count
        self.atoms = cache(self._atoms_of)
        self._brackets: dict[tuple[frozenset[tuple[int, int]], int], Bracket] = {}

    # monomials ------------------------------------------------------------------------------------------

    def _atoms_of(self, key: int) -> tuple[int, ...]:
        return tuple(i for i, _ in exponents(key, self.bits))

    def exponent(self, key: int, i: int) -> int:
        """The exponent of atom i."""
        return (key >> (self.bits * i)) & ((1 << self.bits) - 1)

    def common(self, terms: Terms) -> int:
        """The largest monomial that divides all terms."""
        keys = iter(terms)
        shared = set(self.atoms(next(keys)))
        for k in keys:
            shared.intersection_update(self.atoms(k))
            if not shared:
                return 0
        return sum(min(self.exponent(k, i) for k in terms) << (self.bits * i) for i in shared)

    # sums -----------------------------------------------------------------------------------------------

    def bracket(self, terms: Terms, collect: int = 0, parts: Sequence[Bracket] = ()) -> Bracket:
        """The factored sum.

        ``collect`` is a mask of atoms to collect by first; ``parts`` are brackets that occur in the terms as atoms.
        """
        first = self.count()
        if any(k >> (self.bits * first) for k in terms):
            return _FactoredSum(self, terms, first, parts).factored(collect)
        name = (frozenset(terms.items()), collect)
        bracket = self._brackets.get(name)
        if bracket is None:
            bracket = self._brackets[name] = _FactoredSum(self, terms, first, ()).factored(collect)
        return bracket


class _FactoredSum:
    """A sum that is being factored: its terms, and its brackets so far, which are atoms too."""

    def __init__(self, factoring: Factoring, terms: Terms, first: int, parts: Sequence[Bracket]) -> None:
        self.f, self.bits, self.first = factoring, factoring.bits, first
        self.terms, self.parts = dict(terms), list(parts)
        self.largest = max(map(abs, terms.values()), default=0)
        self.counts = Counter(chain.from_iterable(map(factoring.atoms, terms)))
        self.known: dict[frozenset[tuple[int, int]], tuple[int, int]] = {}  # sum -> its number and monomial

    def cost(self, i: int) -> int:
        """Operations in an atom."""
        return self.f.cost(i) if i < self.first else self.parts[i - self.first].cost

    def factored(self, collect: int) -> Bracket:
        """The bracket after all factors that save operations."""
        if len(self.terms) > 1 and self.f.common(self.terms):
            self._factor_out(dict(self.terms), collect)
        elif root := _square_root(self.terms, self.bits):
            factor, atom = self._atom(root, collect)
            self.terms = {2 * atom: factor * factor}
        else:
            self._collect(collect)
            while (best := self._best()) is not None:
                shift, ones = self.bits * best, (1 << self.bits) - 1
                chosen = {k: v for k, v in self.terms.items() if (k >> shift) & ones}
                self._factor_out(chosen, others=True)
        return Bracket(self.terms, self.first, self.parts, self.largest, self._operations())

    def _collect(self, mask: int) -> None:
        """Collect terms with the same monomial of the mask in brackets."""
        parts: dict[int, Terms] = {}
        for k, v in self.terms.items():
            parts.setdefault(k & mask, {})[k] = v
        for shared, chosen in parts.items():
            if shared and len(chosen) > 1:
                self._factor_out(chosen)

    def _best(self) -> int | None:
        """The atom in several terms that saves most operations if it is factored out; None if no atom saves any.

        Ties go to the atom in most terms, then to one with the same exponent in all of them.
        """
        gains = sorted((((n - 1) * (self.cost(i) + 1), n, i) for i, n in self.counts.items() if n > 1), reverse=True)
        top = [i for gain, n, i in gains if (gain, n) == gains[0][:2]]
        if len(top) > 1 or (gains and gains[0][0] == 1):
            even = next((i for i in top if not self._mixed(i)), None)
            if even is not None or gains[0][0] == 1:
                return even
        return top[0] if top else None

    def _mixed(self, i: int) -> bool:
        """Whether atom i has several exponents: a² + a b + b² is not factored if that saves only one operation."""
        return len({e for k in self.terms if (e := self.f.exponent(k, i))}) > 1

    def _factor_out(self, chosen: Terms, collect: int = 0, *, others: bool = False) -> None:
        """Replace the chosen terms by their common monomial times a bracket; with ``others`` its multiples too."""
        common = self.f.common(chosen)
        content, inner = primitive({k - common: v for k, v in chosen.items()})
        self._remove(chosen)
        multiples = {common: content}
        lead = max(inner)
        for k in [k for k in self.terms if divides(lead, k, self.bits)] if others else ():
            factor, left = divmod(self.terms.get(k, 0), inner[lead])
            m = k - lead
            if factor and not left and all(self.terms.get(m + i) == factor * v for i, v in inner.items()):
                multiples[m] = factor
                self._remove([m + i for i in inner])
        factor, atom = self._atom(inner, collect)
        for m, v in multiples.items():
            total = self.terms.get(m + atom, 0) + v * factor
            self._remove([m + atom] if m + atom in self.terms else [])
            if total:
                self.terms[m + atom] = total
                self.counts.update(self.f.atoms(m + atom))

    def _remove(self, keys: Iterable[int]) -> None:
        keys = list(keys)
        self.counts.subtract(chain.from_iterable(map(self.f.atoms, keys)))
        for k in keys:
            del self.terms[k]

    def _atom(self, inner: Terms, collect: int) -> tuple[int, int]:
        """(number, packed monomial) equal to a sum: a new atom, or the product that the sum factors into."""
        name = frozenset(inner.items())
        if name not in self.known:
            bracket = self.f.bracket(inner, collect, self.parts)
            if len(bracket.terms) == 1:
                ((key, v),) = bracket.terms.items()
                self.known[name] = (v, self._here(key, bracket))
            else:
                self.known[name] = (1, 1 << (self.bits * (self.first + self._number(bracket))))
        return self.known[name]

    def _here(self, key: int, bracket: Bracket) -> int:
        """A monomial of a bracket in the numbering of this sum."""
        out = key & ((1 << (self.bits * bracket.first)) - 1)
        for i in self.f.atoms(key - out):
            number = self._number(bracket.parts[i - bracket.first])
            out += self.f.exponent(key, i) << (self.bits * (self.first + number))
        return out

    def _number(self, bracket: Bracket) -> int:
        if bracket not in self.parts:
            self.parts.append(bracket)
        return self.parts.index(bracket)

    def _operations(self) -> int:
        total = max(len(self.terms) - 1, 0)
        for k, v in self.terms.items():
            atoms = self.f.atoms(k)
            total += sum(self.cost(i) + (self.f.exponent(k, i) > 1) for i in atoms)
            total += max(len(atoms) - 1 + (abs(v) != 1), 0)
        return total


def primitive(terms: Terms) -> tuple[int, Terms]:
    """(content, terms/content) without a common factor; at most half of the signs negative, if half not the first."""
    content = math.gcd(*terms.values())
    negative = sum(v < 0 for v in terms.values())
    if 2 * negative > len(terms) or (2 * negative == len(terms) and terms[min(terms)] < 0):
        content = -content
    return content, {k: v // content for k, v in terms.items()} if content != 1 else terms


def divides(a: int, b: int, bits: int) -> bool:
    """Whether the monomial a divides b."""
    guard = _guards(max(a, b).bit_length(), bits)
    return ((b | guard) - a) & guard == guard


@lru_cache
def _guards(length: int, bits: int) -> int:
    return sum(1 << (bits * (i + 1) - 1) for i in range(length // bits + 1))


def _square_root(terms: Terms, bits: int) -> Terms | None:
    """The sum of two to four terms whose square this is, or None; the schoolbook method on packed monomials."""
    if not 3 <= len(terms) <= _MOST_IN_SQUARE:
        return None
    odd = _guards(max(terms).bit_length(), bits) >> (bits - 1)
    for k in (max(terms), min(terms)):
        if k & odd or terms[k] < 0 or math.isqrt(terms[k]) ** 2 != terms[k]:
            return None
    left = dict(terms)
    lead = max(terms) >> 1
    root = {lead: math.isqrt(left.pop(2 * lead))}
    while left and len(root) < _MOST_IN_ROOT:
        k = max(left)
        v, rest = divmod(left[k], 2 * root[lead])
        if rest or not divides(lead, k, bits):
            return None
        # (root + v m)² = root² + 2 v m root + v² m²
        m = k - lead
        for i, x in [*((i, 2 * x) for i, x in root.items()), (m, v)]:
            left[i + m] = left.get(i + m, 0) - v * x
        left = {i: x for i, x in left.items() if x}
        root[m] = v
    return None if left else root
