"""The order of terms and factors in textbooks: accelerations first in a sum, rates last in a product."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sixd.lazy import Expr, sympy


class Order:
    """Orders terms and factors; ``rates`` has 1 for each symbol of a velocity and 2 for each of an acceleration."""

    def __init__(self, rates: Mapping[Expr, int]) -> None:
        self.rates = rates

    def degree(self, x: Expr) -> int:
        """2 for expressions with accelerations, 1 with velocities, else 0."""
        return max((self.rates.get(s, 0) for s in x.free_symbols), default=0)

    def terms(self, expr: Expr) -> list[Expr]:
        """The terms of a sum: those with accelerations first, then those with velocities."""
        return sorted(expr.as_ordered_terms(), key=self.degree, reverse=True)

    def factors(self, factors: Iterable[Expr]) -> list[Expr]:
        """Numbers, letters, sums, sines and cosines, rates."""
        return sorted(factors, key=self._rank)

    def _rank(self, factor: Expr) -> int:
        if factor.is_Number:
            return 0
        if self.degree(factor):
            return 4
        return 2 if factor.is_Add else 3 if factor.has(sympy.sin, sympy.cos) else 1
