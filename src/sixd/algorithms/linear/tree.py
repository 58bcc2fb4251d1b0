"""Factorizations with the sparsity of a tree  [RBDA section 6.5].

``parent`` is the per-DoF parent array: parent[k] < k is the DoF before k on its branch, -1 at the root. A matrix with
that pattern has H[i, j] = 0 unless one of i, j supports the other. Its factors LᵀL and LᵀDL have the same pattern:
nothing fills in. Only the lower triangle of H is read. Any scalar.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sixd.spatial.scalar import Array, Scalar, is_zero, sqrt, where

Branches = tuple[tuple[int, ...], ...]
Entries = MutableMapping[tuple[int, int], Any]  # of a matrix, by row and column


def branches(parent: Sequence[int]) -> Branches:
    """Return, for each DoF, those that carry it: from its parent to the root."""
    branch: list[tuple[int, ...]] = []
    for p in parent:
        branch.append((p, *branch[p]) if p >= 0 else ())
    return tuple(branch)


# factors -----------------------------------------------------------------------------------------


def ltl(H: Array, parent: Sequence[int]) -> Array:
    """Lower-triangular L with LᵀL = H  [RBDA Table 6.3]."""
    n, branch = len(H), branches(parent)
    rows = [[H[i, j] if j <= i else 0 for j in range(n)] for i in range(n)]
    for k in reversed(range(n)):
        path = branch[k]
        rows[k][k] = sqrt(rows[k][k])
        for i in path:
            rows[k][i] = rows[k][i] / rows[k][k]
        for at, i in enumerate(path):
            for j in path[at:]:
                rows[i][j] = rows[i][j] - rows[k][i] * rows[k][j]
    return np.array(rows).reshape(n, n)


def ltdl(H: Array, parent: Sequence[int]) -> tuple[Array, Array]:
    """Unit lower-triangular L and diagonal D (n,) with Lᵀ diag(D) L = H; needs no square root."""
    n = len(H)
    A = {(i, j): H[i, j] for i in range(n) for j in range(i + 1)}
    eliminate_tree(A, branches(parent))
    rows = [[1 if i == j else A.get((i, j), 0) for j in range(n)] for i in range(n)]
    return np.array(rows).reshape(n, n), np.array([A[i, i] for i in range(n)])


def eliminate_tree(
    A: Entries, branch: Branches, held: Mapping[int, Any] | None = None, b: list[Any] | None = None
) -> list[Any]:
    """Replace the lower triangle A of H by L and, on its diagonal, D, and b (n,) by L⁻ᵀb; return 1/D (n,).

    Where the flag ``held[i]`` is set, row and column i are left out: their 1/D is 0.
    """
    weight: list[Any] = [0] * len(branch)
    for i in reversed(range(len(branch))):
        weight[i] = reciprocal(A[i, i])  # one division per pivot
        if held is not None and i in held:
            weight[i] = where(held[i], 0, weight[i])
        for at, j in enumerate(branch[i]):
            a = A[i, j] * weight[i]
            for m in branch[i][at:]:
                A[j, m] = A[j, m] - a * A[i, m]
            if b is not None:
                b[j] = b[j] - a * b[i]
            A[i, j] = a
    return weight


def reciprocal(x: Scalar) -> Scalar:
    """Return 1/x, exact for whole numbers; infinity for zero, where Python's own numbers raise."""
    if is_zero(x):
        return np.inf
    return Fraction(1, int(x)) if isinstance(x, (int, np.integer)) else 1 / x


class Metric(NamedTuple):
    """M = Lᵀ diag(1/w) L with the sparsity of a tree; ``branch`` lists the DoF that carry each DoF."""

    L: Array
    weight: Array
    branch: Branches

    def lower(self, a: Array) -> Array:
        """L⁻ᵀ a (n,)."""
        u = list(a)
        for i in reversed(range(len(u))):
            for j in self.branch[i]:
                u[j] = u[j] - u[i] * self.L[i, j]
        return np.array(u)

    def raised(self, z: Array) -> Array:
        """L⁻¹ z (n,)."""
        x: list[Scalar] = []
        for i in range(len(z)):
            total = z[i]
            for j in self.branch[i]:
                total = total - x[j] * self.L[i, j]
            x.append(total)
        return np.array(x)

    def solve(self, B: Array) -> Array:
        """M⁻¹ B for B (n,), or for the columns of B (n, m)."""
        if B.ndim == 1:
            return self.raised(self.lower(B) * self.weight)
        return np.array([self.solve(b) for b in B.T]).reshape(B.shape[1], len(B)).T


def tree_metric(H: Array, parent: Sequence[int]) -> Metric:
    """The factors of H (n, n) as a metric."""
    L, D = ltdl(H, parent)
    return Metric(L, np.array([reciprocal(d) for d in D]), branches(parent))


def inverse_diagonal(L: Any, weight: Sequence[Any], branch: Branches) -> list[Any]:
    """The diagonal (n,) of (LᵀDL)⁻¹ with the entries L[i, j] and the weights 1/D.

    Computes the entries of the inverse on the pattern of L, from the roots to the leaves (Takahashi's equations).
    """
    Z: dict[tuple[int, int], Any] = {}
    for i, path in enumerate(branch):
        for j in path:
            Z[i, j] = Z[j, i] = -sum(L[i, m] * Z[m, j] for m in path)
        Z[i, i] = weight[i] - sum(L[i, m] * Z[m, i] for m in path)
    return [Z[i, i] for i in range(len(branch))]


# products and solutions --------------------------------------------------------------------------


def multiply_h(H: Array, parent: Sequence[int], x: Array) -> Array:
    """H x from the lower triangle of a symmetric H."""
    y = [H[i, i] * x[i] for i in range(len(x))]
    for i, path in enumerate(branches(parent)):
        for j in path:
            y[i] = y[i] + H[i, j] * x[j]
            y[j] = y[j] + H[i, j] * x[i]
    return np.array(y)


def multiply_l(L: Array, parent: Sequence[int], x: Array) -> Array:
    """L x."""
    rows = enumerate(branches(parent))
    return np.array([sum((L[i, j] * x[j] for j in path), L[i, i] * x[i]) for i, path in rows])


def multiply_lt(L: Array, parent: Sequence[int], x: Array) -> Array:
    """Lᵀ x."""
    y = [L[i, i] * x[i] for i in range(len(x))]
    for i, path in enumerate(branches(parent)):
        for j in path:
            y[j] = y[j] + L[i, j] * x[i]
    return np.array(y)


def solve_l(L: Array, parent: Sequence[int], x: Array) -> Array:
    """L⁻¹ x."""
    y: list[Any] = []
    for i, path in enumerate(branches(parent)):
        total = x[i]
        for j in path:
            total = total - y[j] * L[i, j]
        y.append(total / L[i, i])
    return np.array(y)


def solve_lt(L: Array, parent: Sequence[int], x: Array) -> Array:
    """L⁻ᵀ x."""
    y, branch = list(x), branches(parent)
    for i in reversed(range(len(y))):
        y[i] = y[i] / L[i, i]
        for j in branch[i]:
            y[j] = y[j] - y[i] * L[i, j]
    return np.array(y)
