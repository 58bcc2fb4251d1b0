"""The smallest x with uⱼ·x = rⱼ, by modified Gram-Schmidt without square roots, for any scalar.

The inner product is a·b = Σ w a b with positive weights w. The result has the accuracy of an orthogonal
factorisation: errors grow with the condition of the uⱼ, not with its square as in the normal equations (Å. Björck,
*Numerical Methods for Least Squares Problems*, 2.4.4: x is built from the last vector to the first, each step
correcting the error of the previous ones). Where the uⱼ are dependent, a fixed number of steps picks the most
independent one by selects: no branch depends on a value. If their number differs from state to state, the last steps
are optional: one that finds no clearly independent vector adds zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from sixd.spatial.scalar import Array, Scalar, maximum, minimum, where


class RankLimits(NamedTuple):
    """Limits beyond which vectors are not accepted as a basis, as fractions of squared norms.

    ``dependent``: a vector is dependent if less than this fraction is left after its components along the others are
    subtracted; at 1e-13 its angle to them is 3e-7 rad, and results have lost half of their digits. ``vanished``: a
    vector vanishes below this fraction of its usual square, as a row of A does in a dead centre; rounding leaves 1e-32
    in float64, 1e-14 in float32. ``surplus``: a vector that should depend on the basis has more than this fraction
    outside it; an assembly error of 0.01 rad leaves as much. ``double``: the square of a row with a double root is less
    than this fraction of its square elsewhere; for coordinates near 100, rounding leaves 1e-12, and 1e-5 in float32.
    """

    dependent: float = 1e-13
    vanished: float = 1e-24
    surplus: float = 1e-4
    double: float = 1e-8


EXACT = RankLimits()
COARSE = RankLimits(dependent=1e-9, vanished=1e-11, surplus=1e-3, double=1e-4)  # for float32


class OrthogonalBasis(NamedTuple):
    """Orthogonal vectors v_s (n,) with u_j = Σ v_s R_s[j]; y_s are the products v_s·x that x must have.

    ``own`` are numbers above 1 as long as the vectors are within the limits. ``absent`` are, for each of the last,
    optional steps, 1 if it added zeros and 0 if it added a vector. ``left``: r_j - Σ y_s R_s[j], the residuals that x
    leaves, if the u_j may be dependent.
    """

    v: list[Array]
    inverse: list[Scalar]  # 1/(v_s·v_s)
    R: list[list[Scalar]]
    y: list[Scalar]
    own: list[Scalar]
    absent: list[Scalar]
    left: list[Scalar]

    def smallest(self, weight: Array) -> tuple[Array, list[Scalar]]:
        """x (n,) = Σ v_s t_s, and the coefficients t."""
        x: Array = np.zeros(len(weight), dtype=int)
        t: list[Scalar] = [0] * len(self.v)
        for s in reversed(range(len(self.v))):
            t[s] = (self.y[s] - inner(self.v[s], x, weight)) * self.inverse[s]
            x = x + self.v[s] * t[s]
        return x, t

    def margin(self) -> Scalar:
        """A number above 0 if the vectors are within the limits."""
        return reduce(minimum, self.own) - 1

    def add(self, v: Array, y: Scalar, square: Scalar, before: Scalar, usual: Scalar, limits: RankLimits) -> Scalar:
        """Append v, whose square was ``before`` prior to orthogonalization; return 1/(v·v)."""
        self.v.append(v)
        self.inverse.append(1 / square)
        self.y.append(y)
        self.own.extend([square / (before * limits.dependent), before / (usual * limits.vanished)])
        return self.inverse[-1]

    def add_if(self, v: Array, y: Scalar, square: Scalar, needed: Scalar) -> None:
        """Append v if v·v = ``square`` is above ``needed``, else zeros."""
        clear = square > needed
        self.v.append(where(clear, v, np.zeros(len(v), dtype=int)))
        self.inverse.append(where(clear, 1 / where(clear, square, 1), 0))
        self.y.append(where(clear, y, 0))
        self.absent.append(where(clear, 0, 1))


def inner(x: Array, y: Array, weight: Array) -> Scalar:
    """Σ w x y."""
    return (x * weight) @ y


def orthogonalize(
    u: Sequence[Array],
    r: Sequence[Scalar],
    weight: Array,
    usual: Sequence[float] | Array,
    limits: RankLimits = EXACT,
) -> OrthogonalBasis:
    """A basis of independent vectors u, in their order; ``usual`` are their usual squares."""
    u, r, k = list(u), list(r), len(u)
    before = [inner(x, x, weight) for x in u]
    basis = OrthogonalBasis([], [], [], [], [], [], [])
    for s in range(k):
        square = inner(u[s], u[s], weight) if s else before[s]
        inverse = basis.add(u[s], r[s], square, before[s], usual[s], limits)
        row: list[Scalar] = [0] * s + [1]
        for j in range(s + 1, k):
            row.append(inner(u[s], u[j], weight) * inverse)
            u[j] = u[j] - u[s] * row[j]
            r[j] = r[j] - r[s] * row[j]
        basis.R.append(row)
    return basis


def orthogonalize_dependent(
    u: Sequence[Array],
    r: Sequence[Scalar],
    weight: Array,
    usual: Sequence[float] | Array,
    rank: int,
    limits: RankLimits = EXACT,
    least: int | None = None,
    slack: Scalar = 0,
) -> OrthogonalBasis:
    """A basis of ``rank`` of the vectors u: each step picks the one with the largest part outside the basis.

    Steps after ``least`` are optional: they need a part above the limits, and above ``slack`` times the usual square.
    """
    u, r = list(u), list(r)
    basis = OrthogonalBasis([], [], [], [], [], [], [])
    before = [inner(x, x, weight) for x in u]
    for step in range(rank):
        squares = [inner(x, x, weight) for x in u]
        v, y, square, most = u[0], r[0], squares[0], squares[0] / usual[0]
        whole, size = before[0], usual[0]
        for j in range(1, len(u)):
            part = squares[j] / usual[j]
            larger = part > most
            v, y = where(larger, u[j], v), where(larger, r[j], y)
            square, most = where(larger, squares[j], square), where(larger, part, most)
            whole, size = where(larger, before[j], whole), where(larger, usual[j], size)
        if least is None or step < least:
            basis.add(v, y, square, whole, size, limits)
        else:
            basis.add_if(v, y, square, maximum(whole * limits.dependent, maximum(slack, limits.vanished) * size))
        v, y, inverse = basis.v[-1], basis.y[-1], basis.inverse[-1]
        row = [inner(v, x, weight) * inverse for x in u]
        u = [x - v * c for x, c in zip(u, row, strict=True)]
        r = [x - y * c for x, c in zip(r, row, strict=True)]
        basis.R.append(row)
    # a vector that is left over must lie in the span of the basis
    for x, size in zip(u, usual, strict=True):
        basis.own.append(2 - inner(x, x, weight) / (size * limits.surplus))
    basis.left.extend(r)
    return basis


def back_substitute(R: list[list[Scalar]], t: list[Scalar]) -> Array:
    """λ with R λ = t for a unit upper triangle R."""
    lam: list[Scalar] = list(t)
    for s in reversed(range(len(t))):
        for j in range(s + 1, len(t)):
            lam[s] = lam[s] - lam[j] * R[s][j]
    return np.array(lam)
