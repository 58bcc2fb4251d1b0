"""Factorisation with branch-induced sparsity  [RBDA section 6.5].

``parent`` is the per-DoF parent array: parent[k] < k is the DoF before k on its branch, -1 at the root.
A matrix with that pattern has H[i, j] = 0 unless one of i, j supports the other; its factors LᵀL and LᵀDL
have the same pattern, so nothing fills in. Only the lower triangle of H is read. Any scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

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
