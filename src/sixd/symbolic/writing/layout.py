"""Layout of a factored sum: whether a number stands before a bracket or is multiplied into it, and the cost.

A bracket has whole coefficients without a common factor. In a ring of floats they may be meaningless large numbers:
the number before the bracket is then multiplied into it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sixd.symbolic.writing.factoring import Bracket, Factoring

_LARGEST_WHOLE = 100  # in a ring of floats, whole coefficients up to this stay in a bracket


@dataclass(slots=True)
class Product:
    """n/d · atoms · brackets with exponents; ``key`` packs the atoms."""

    n: int
    d: int
    key: int
    brackets: list[tuple[Sum, int]]


@dataclass(slots=True)
class Sum:
    """A sum of products, and the operations in it."""

    products: list[Product]
    cost: int


class BracketLayout:
    """Lays out brackets; ``number_cost(n, d)`` is the operations that a factor n/d adds to a product."""

    def __init__(self, factoring: Factoring, number_cost: Callable[[int, int], int], inexact: bool) -> None:
        self.f, self.number_cost, self.inexact = factoring, number_cost, inexact

    def sum(self, bracket: Bracket, n: int, d: int) -> Sum:
        """n/d times the bracket."""
        products = [self._product(bracket, k, v * n, d) for k, v in bracket.terms.items()]
        products = [p for product in products for p in _spliced(product)]
        cost = max(len(products) - 1, 0) + all(p.n < 0 for p in products)
        return Sum(products, cost + sum(map(self._cost, products)))

    def _product(self, bracket: Bracket, key: int, n: int, d: int) -> Product:
        plain = key & ((1 << (self.f.bits * bracket.first)) - 1)
        inner = [(bracket.parts[i - bracket.first], self.f.exponent(key, i)) for i in self.f.atoms(key - plain)]
        # the number goes into at most one bracket; other brackets of long numbers are scaled to numbers about 1
        inside = next((b for b, e in inner if e == 1 and not self._whole(b)), None)
        for b, e in inner:
            if b is not inside and not self._whole(b):
                n *= b.largest**e
        if inside is None and len(inner) == 1 and inner[0][1] == 1 and self._cheaper_inside(inner[0][0], n, d):
            inside = inner[0][0]
        out = Product(n, d, plain, [])
        for b, e in inner:
            sign = _sign(b, out.n)
            if b is inside:
                out.brackets.append((self.sum(b, sign * abs(out.n), out.d), e))
                out.n, out.d = (-sign if out.n < 0 else sign), 1
            else:
                out.brackets.append((self.sum(b, sign, 1 if self._whole(b) else b.largest), e))
                out.n *= sign**e
        return out

    def _whole(self, b: Bracket) -> bool:
        return not self.inexact or b.largest <= _LARGEST_WHOLE

    def _cheaper_inside(self, b: Bracket, n: int, d: int) -> bool:
        outside = self.number_cost(n, d) + sum(self._number_cost(k, v, 1) for k, v in b.terms.items())
        return sum(self._number_cost(k, v * n, d) for k, v in b.terms.items()) < outside

    def _number_cost(self, key: int, n: int, d: int) -> int:
        return self.number_cost(n, d) if key else int(bool(n % d) and not self.inexact)

    def _cost(self, p: Product) -> int:
        atoms = self.f.atoms(p.key)
        count = len(atoms) + len(p.brackets)
        total = sum(self.f.cost(i) + (self.f.exponent(p.key, i) > 1) for i in atoms)
        total += sum(b.cost + (e > 1) for b, e in p.brackets)
        return total + count - 1 + self.number_cost(p.n, p.d) if count else int(bool(p.n % p.d) and not self.inexact)


def _sign(b: Bracket, n: int) -> int:
    """-1 if the bracket changes its sign: most of its terms are negative, or half of them and the number before it."""
    negative = 2 * sum(v < 0 for v in b.terms.values())
    return -1 if negative > len(b.terms) or (negative == len(b.terms) and n < 0) else 1


def _spliced(p: Product) -> list[Product]:
    """The products of a bracket with only a number before it, which SymPy would multiply in; else the product."""
    if p.key or len(p.brackets) != 1 or p.brackets[0][1] > 1:
        return [p]
    return [Product(i.n * p.n, i.d * p.d, i.key, i.brackets) for i in p.brackets[0][0].products]
