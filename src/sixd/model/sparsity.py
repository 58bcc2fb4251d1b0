"""Factorisation with branch-induced sparsity  [RBDA section 6.5].

``parent`` is the per-DoF parent array: parent[k] < k is the DoF before k on its branch, -1 at the root.
A matrix with that pattern has H[i, j] = 0 unless one of i, j supports the other; its factors LᵀL and LᵀDL
have the same pattern, so nothing fills in. Only the lower triangle of H is read. Any scalar. ``factors`` takes any
pattern of zeros, symmetric or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sixd.spatial.scalar import Array, is_zero, sqrt


def expand_parent(parent: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
    """Return the per-DoF parent array of bodies with ``counts[i]`` freedoms each  [RBDA Table 6.4].

    ``parent`` and ``counts`` have an entry for the world first (its count is not read).

    >>> expand_parent([-1, 0, 1, 1], [0, 2, 1, 3])
    (-1, 0, 1, 1, 3, 4)
    """
    last = [-1]  # the last DoF of each body, or of its nearest ancestor that has one
    expanded: list[int] = []
    for i in range(1, len(parent)):
        before = last[parent[i]]
        for _ in range(counts[i]):
            expanded.append(before)
            before = len(expanded) - 1
        last.append(before)
    return tuple(expanded)


def _branch(parent: Sequence[int], k: int) -> list[int]:
    path = []
    while (k := parent[k]) >= 0:
        path.append(k)
    return path


def ltl(H: Array, parent: Sequence[int]) -> Array:
    """Lower-triangular L with LᵀL = H  [RBDA Table 6.3]."""
    n = len(H)
    rows = [[H[i, j] if j <= i else 0 for j in range(n)] for i in range(n)]
    for k in reversed(range(n)):
        path = _branch(parent, k)
        rows[k][k] = sqrt(rows[k][k])
        for i in path:
            rows[k][i] = rows[k][i] / rows[k][k]
        for at, i in enumerate(path):
            for j in path[at:]:
                rows[i][j] = rows[i][j] - rows[k][i] * rows[k][j]
    return np.array(rows).reshape(n, n)


def reciprocal(x: Any) -> Any:
    """Return 1/x, exact for whole numbers; infinity for zero, where Python's own numbers raise."""
    if is_zero(x):
        return np.inf
    return Fraction(1, int(x)) if isinstance(x, (int, np.integer)) else 1 / x


def ltdl(H: Array, parent: Sequence[int]) -> tuple[Array, Array]:
    """Unit lower-triangular L and diagonal D (n,) with Lᵀ diag(D) L = H; needs no square root."""
    n = len(H)
    rows = [[H[i, j] if j <= i else 0 for j in range(n)] for i in range(n)]
    D: list[Any] = [None] * n
    for k in reversed(range(n)):
        path = _branch(parent, k)
        D[k], rows[k][k] = rows[k][k], 1
        inverse = reciprocal(D[k])  # one division per pivot
        for at, i in enumerate(path):
            a = rows[k][i] * inverse
            for j in path[at:]:
                rows[i][j] = rows[i][j] - a * rows[k][j]
            rows[k][i] = a
    return np.array(rows).reshape(n, n), np.array(D)


def multiply_h(H: Array, parent: Sequence[int], x: Array) -> Array:
    """H x from the lower triangle of a symmetric H."""
    y = [H[i, i] * x[i] for i in range(len(x))]
    for i in range(len(x)):
        for j in _branch(parent, i):
            y[i] = y[i] + H[i, j] * x[j]
            y[j] = y[j] + H[i, j] * x[i]
    return np.array(y)


def multiply_l(L: Array, parent: Sequence[int], x: Array) -> Array:
    """L x."""
    return np.array([sum((L[i, j] * x[j] for j in _branch(parent, i)), L[i, i] * x[i]) for i in range(len(x))])


def multiply_lt(L: Array, parent: Sequence[int], x: Array) -> Array:
    """Lᵀ x."""
    y = [L[i, i] * x[i] for i in range(len(x))]
    for i in range(len(x)):
        for j in _branch(parent, i):
            y[j] = y[j] + L[i, j] * x[i]
    return np.array(y)


def solve_l(L: Array, parent: Sequence[int], x: Array) -> Array:
    """L⁻¹ x."""
    y: list[Any] = []
    for i in range(len(x)):
        total = x[i]
        for j in _branch(parent, i):
            total = total - y[j] * L[i, j]
        y.append(total / L[i, i])
    return np.array(y)


def solve_lt(L: Array, parent: Sequence[int], x: Array) -> Array:
    """L⁻ᵀ x."""
    y = list(x)
    for i in reversed(range(len(y))):
        y[i] = y[i] / L[i, i]
        for j in _branch(parent, i):
            y[j] = y[j] - y[i] * L[i, j]
    return np.array(y)


# matrices whose zeros are known, symmetric or not ------------------------------------------------


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
