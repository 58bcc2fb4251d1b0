"""Base parameters in closed form: the recursion of ``observable`` on the elements of a ring.

Joints have symbols as coordinates. Rows hold for all configurations if they hold for the coefficient of every product
of sines, cosines and coordinates; the coefficients are rational numbers, or SymPy expressions in the model's symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sixd.identification.structure.observable import Arithmetic, JointSample
from sixd.lazy import Expr, sympy
from sixd.model.model import Model
from sixd.spatial.scalar import Array, object_array
from sixd.symbolic.echelon import cleared, is_zero, tidy
from sixd.symbolic.equations.ring_model import ring_coordinates, ring_system
from sixd.symbolic.ring.poly import Poly
from sixd.symbolic.ring.ring import Ring

if TYPE_CHECKING:
    Coefficient: TypeAlias = int | Fraction | Expr


class Elements(Arithmetic):
    """Elements of a ring: joints at symbolic configurations, ranks at generic values of the model's symbols."""

    def __init__(self, model: Model) -> None:
        self.ring, self.model = Ring(), model
        self.zero = self.ring.zero
        self._symbols = [sympy.Dummy(f"q{k}") for k in range(model.nq)]
        numbers = ring_system(model, self.ring)
        assert isinstance(numbers, Model)
        self._X_tree = numbers.X_tree
        self._q = ring_coordinates(model, model, self.ring, self._symbols)

    def reference(self, i: int) -> Array:
        """X_ip at the neutral configuration."""
        joint = self.model.joints[i]
        return self.ring.array(joint.transform(joint.neutral())) @ self._X_tree[i]

    def motions(self, i: int) -> Iterator[JointSample]:
        """The joint at its symbols."""
        joint, q = self.model.joints[i], self._q[self.model.iq[i]]
        rates = joint.is_vector_space
        moved = q - self.ring.array(joint.neutral()) if rates else np.zeros(joint.nv, dtype=int)
        X = self.ring.array(joint.transform(q)) @ self._X_tree[i]
        yield JointSample(X, self.ring.array(joint.subspace(q)), moved)

    def unit(self, row: Array) -> float:
        """1: exact numbers need no scaling."""
        return 1

    def basis(self, rows: Array, size: float = 0.0) -> Array:
        """Rows in echelon form, without denominators."""
        reduced, _ = eliminate(self.coefficients(rows), range(rows.shape[1]))
        whole = [row if _is_rational(row) else cleared(row) for row in reduced]
        return object_array([self.ring.convert(x) for row in whole for x in row], (len(whole), rows.shape[1]))

    def coefficients(self, rows: Array) -> list[list[Coefficient]]:
        """The different rows of coefficients of products of the joints' coordinates, without rows of zeros."""
        mask = self._mask()
        distinct: dict[tuple[Coefficient, ...], None] = {}
        for row in rows:
            parts: dict[int, dict[int, dict[int, int]]] = {}
            elements = [self.ring.convert(x).normalized() for x in row]
            for j, element in enumerate(elements):
                for key, value in element.terms.items():
                    parts.setdefault(key & mask, {}).setdefault(j, {})[key & ~mask] = value
            for part in parts.values():
                new = [self._number(Poly(self.ring, part.get(j, {}), e.den)) for j, e in enumerate(elements)]
                distinct.setdefault(tuple(new))
        if all(map(_is_rational, distinct)):
            return [list(row) for row in distinct]
        # SymPy's numbers throughout
        return [[sympy.Rational(x) if isinstance(x, (int, Fraction)) else x for x in row] for row in distinct]

    def _number(self, poly: Poly) -> Coefficient:
        """An element without coordinates as a fraction, or as a SymPy expression of the model's symbols."""
        value = poly.number
        return poly.to_sympy(exact=True) if value is None else value

    def _mask(self) -> int:
        """The bits of all generators that depend on coordinates of joints."""
        ring, ones = self.ring, (1 << self.ring.bits) - 1
        mask = sum(ones << (ring.bits * ring.index[s]) for s in self._symbols if s in ring.index)
        for i, generator in enumerate(ring.generators):
            if generator.base is not None and any(key & mask for key in generator.base.terms):
                mask |= ones << (ring.bits * i)
        return mask


def eliminate(rows: Sequence[Sequence[Coefficient]], order: Sequence[int]) -> tuple[list[list[Coefficient]], list[int]]:
    """Rows of fractions or of SymPy expressions in reduced form, and their pivots, with columns in this order.

    Row k has 1 in column ``pivots[k]``, where the others have 0; a column has a pivot if it is independent of those
    before it.
    """
    left = [list(row) for row in rows]
    done: list[list[Coefficient]] = []
    pivots: list[int] = []
    exact = all(_is_rational(row) for row in left)

    def combined(row: list[Coefficient], pivot: list[Coefficient], factor: Coefficient) -> list[Coefficient]:
        new = [a - factor * b if b != 0 else a for a, b in zip(row, pivot, strict=True)]
        return new if exact else [a if b == 0 else tidy(a) for a, b in zip(new, pivot, strict=True)]

    for j in order:
        at = next((k for k, row in enumerate(left) if row[j] != 0 and (exact or not is_zero(row[j]))), None)
        if at is None:
            continue
        row = left.pop(at)
        row = [x / row[j] if exact or x == 0 else tidy(x / row[j]) for x in row]
        left = [combined(other, row, other[j]) if other[j] != 0 else other for other in left]
        done = [combined(other, row, other[j]) if other[j] != 0 else other for other in done]
        left = [other for other in left if any(x != 0 for x in other)]
        done.append(row)
        pivots.append(j)
    return done, pivots


def _is_rational(row: Sequence[Coefficient]) -> bool:
    return all(isinstance(x, (int, Fraction)) for x in row)
