"""Solutions of linear systems whose zeros are known, symmetric or not, from the last row up, without pivoting.

The pattern of a tree does not fill in; any other pattern may. Any scalar. ``factors`` keeps the factors for several
right-hand sides; ``solve_entries`` solves for one, with fewer operations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.linear.tree import Entries, Metric, reciprocal
from sixd.spatial.scalar import Array, is_zero


class Factors(NamedTuple):
    """A = U diag(d) L (n, n): U and L are unit triangles, upper and lower; ``weight`` is 1/d. Zeros are the int 0."""

    U: Array
    d: Array
    L: Array
    weight: Array

    def solve(self, b: Array) -> Array:
        """A⁻¹ b (n,)."""
        y, n = list(b), len(b)
        for i in reversed(range(n)):
            for j in range(i):
                if not is_zero(self.U[j, i]):
                    y[j] = y[j] - self.U[j, i] * y[i]
        x: list[Any] = []
        for i in range(n):
            total = y[i] * self.weight[i]
            for j in range(i):
                if not is_zero(self.L[i, j]):
                    total = total - self.L[i, j] * x[j]
            x.append(total)
        return np.array(x)

    @property
    def pattern(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each row of L, less the diagonal, that are not zero, from the last to the first."""
        n = len(self.L)
        return tuple(tuple(j for j in reversed(range(i)) if not is_zero(self.L[i, j])) for i in range(n))


def factors(A: Array, *, is_symmetric: bool = False) -> Factors:
    """Factors without pivoting, from the last row up, so that the pattern of a tree does not fill in.

    Entries of A that are the number 0 are left out. Of a symmetric A the lower triangle is read.
    """
    n = len(A)
    rows = [list(row) for row in A]
    U, L, d, weight = np.eye(n, dtype=object), np.eye(n, dtype=object), [0] * n, [0] * n
    for k in reversed(range(n)):
        d[k] = rows[k][k]
        weight[k] = reciprocal(d[k])  # one division per pivot
        left = [j for j in range(k) if not is_zero(rows[k][j])]
        above = left if is_symmetric else [i for i in range(k) if not is_zero(rows[i][k])]
        for j in left:
            L[k, j] = rows[k][j] * weight[k]
        for i in above:
            U[i, k] = L[k, i] if is_symmetric else rows[i][k] * weight[k]
            for j in left if not is_symmetric else left[: left.index(i) + 1]:
                rows[i][j] = rows[i][j] - U[i, k] * rows[k][j]
    return Factors(U, np.array(d), L, np.array(weight))


def metric_of(factors: Factors) -> Metric:
    """The factors of a symmetric matrix as a metric, with the zeros of the matrix instead of a tree's."""
    return Metric(factors.L, factors.weight, factors.pattern)


def solve_entries(A: Entries, b: list[Any], *, is_symmetric: bool = False) -> Array:
    """A⁻¹ b (n,) from the entries of A that are not zero, which are overwritten.

    Of a symmetric A only the lower triangle is read.
    """
    n, y = len(b), list(b)
    inverse: list[Any] = [0] * n
    for i in reversed(range(n)):
        inverse[i] = 1 / A[i, i]
        left = [j for j in range(i) if (i, j) in A]
        for j in left if is_symmetric else [j for j in range(i) if (j, i) in A]:
            factor = A[(i, j) if is_symmetric else (j, i)] * inverse[i]
            for m in left:
                if m <= j or not is_symmetric:
                    A[j, m] = A.get((j, m), 0) - factor * A[i, m]
            y[j] = y[j] - factor * y[i]
    x: list[Any] = []
    for i, total in enumerate(y):
        x.append((total - sum(A[i, j] * x[j] for j in range(i) if (i, j) in A)) * inverse[i])
    return np.array(x)
