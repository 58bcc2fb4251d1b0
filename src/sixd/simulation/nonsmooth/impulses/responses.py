"""How velocities respond to impulses on joint rows: by the rows' own matrix W, dense, or by the mass matrix, sparse.

Given which rows are ``free`` (their change of velocity is wanted, their impulse unknown; of the others the impulse is
given), both solve for the rest. Rows and columns that do not take part need no masks: their pivots have the reciprocal
0, and every product with them vanishes. W costs k columns of M⁻¹ once, and k³/3 operations an iteration; M needs
nothing but its own factors, which fill in nowhere on a tree. Which of them is cheaper is found by counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.algorithms.constrained.dynamics import Metric
from sixd.model.sparsity import ltdl
from sixd.spatial.scalar import Array, Scalar, where

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class DenseResponse:
    """W = J M⁻¹ Jᵀ (k, k); the data are W, its lower triangle if it is symmetric, and M⁻¹Jᵀ (nv, k)."""

    k: int
    nv: int
    is_symmetric: bool = True
    by_recursion: bool = True  # the columns are computed by recursions over the bodies, not by the factors of M

    @property
    def shapes(self) -> Shapes:
        """Names and shapes of the data that an iteration reads."""
        return {"W": (len(self._entries),)}

    @property
    def carried(self) -> Shapes:
        """Names and shapes of the results of an iteration."""
        return {"impulse": (self.k,)}

    @property
    def _entries(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self.k) for j in range(i + 1 if self.is_symmetric else self.k)]

    def data(self, J: Array, columns: Array, damping: float) -> list[Array]:
        """Return the data from M⁻¹Jᵀ (nv, k); ``damping``, a part of the mean pivot, is added where W is singular."""
        W = J @ columns
        if damping:
            more = sum(W[i, i] for i in range(self.k)) * (damping / self.k)
            W = W + np.diag([more] * self.k)
        return [np.array([W[entry] for entry in self._entries]), columns]

    def diagonal(self, data: Sequence[Array]) -> Array:
        """Return W_ii (k,)."""
        return np.array([data[0][self._entries.index((i, i))] for i in range(self.k)])

    def _matrix(self, data: Sequence[Array]) -> Array:
        W = np.zeros((self.k, self.k), dtype=object)
        for (i, j), x in zip(self._entries, data[0], strict=True):
            W[i, j] = x
            if self.is_symmetric:
                W[j, i] = x
        return W

    def solve(self, data: Sequence[Array], free: Sequence[Any], wanted: Array, given: Array) -> tuple[Array, ...]:
        """Return the impulses (k,) and the changes of the rows' velocities (k,)."""
        k, W = self.k, self._matrix(data)
        b = wanted - W @ given
        impulse = given + (solve_free if self.is_symmetric else _lu)(W, b, free)
        change = W @ impulse
        return impulse, np.array([where(free[i], wanted[i], change[i]) for i in range(k)])

    def locked_diagonal(self, data: Sequence[Array], locked: Sequence[Any]) -> Array:
        """Return by how much impulses change the velocities of their own rows (k,) while some rows are locked."""
        # minus the response to the impulses that lock these rows
        k, W = self.k, self._matrix(data)
        L, r = _ldl_factors(W, locked)
        found: list[Any] = []
        for i in range(k):
            y: list[Any] = []
            total = W[i, i]
            for m in range(k):
                y.append(W[m, i] - sum(L[m][j] * y[j] for j in range(m)))
                total = total - y[m] * y[m] * r[m]
            found.append(total)
        return np.array(found)

    def change(self, data: Sequence[Array], found: Sequence[Array]) -> Array:
        """Return the change of the velocity (nv,)."""
        return data[1] @ found[0]

    @property
    def data_shapes(self) -> Shapes:
        """Names and shapes of all data."""
        return {**self.shapes, "columns": (self.nv, self.k)}

    def respond(self, data: Sequence[Array], impulse: Array) -> Array:
        """Return the change of the velocity (nv,) by given impulses (k,)."""
        return data[1] @ impulse


def _reciprocal(d: Scalar, counts: Any) -> Scalar:
    return where(counts, 1 / d, 0)


def _ldl_factors(W: Array, free: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
    """Return L and the reciprocals of the pivots, 0 except in free rows, of W = LDLᵀ; the lower triangle is read.

    What is left of W is updated after each pivot: sums over all pivots before would each be one long chain.
    """
    n = len(W)
    left = [[W[i, j] for j in range(i + 1)] for i in range(n)]
    L: list[list[Any]] = [[0] * n for _ in range(n)]
    r: list[Any] = []
    for j in range(n):
        r.append(_reciprocal(left[j][j], free[j]))
        for i in range(j + 1, n):
            L[i][j] = left[i][j] * r[j]
            for m in range(j + 1, i + 1):
                left[i][m] = left[i][m] - L[i][j] * left[m][j]
    return L, r


def solve_free(W: Array, b: Array, free: Sequence[Any]) -> Array:
    """Return x (k,), 0 except in free rows, with (W x)ᵢ = bᵢ there, by LDLᵀ."""
    n = len(b)
    L, r = _ldl_factors(W, free)
    y: list[Any] = []
    for i in range(n):
        y.append(b[i] - sum(L[i][m] * y[m] for m in range(i)))
    x: list[Any] = [0] * n
    for i in reversed(range(n)):
        x[i] = y[i] * r[i] - sum(L[m][i] * x[m] for m in range(i + 1, n))
    return np.array(x)


def _lu(W: Array, b: Array, free: Sequence[Any]) -> Array:
    """The same for a matrix that is not symmetric, by LU without exchanges."""
    n = len(b)
    A, y = [list(row) for row in W], list(b)
    r: list[Any] = []
    for j in range(n):
        r.append(_reciprocal(A[j][j], free[j]))
        for i in range(j + 1, n):
            factor = A[i][j] * r[j]
            for m in range(j + 1, n):
                A[i][m] = A[i][m] - factor * A[j][m]
            y[i] = y[i] - factor * y[j]
    x: list[Any] = [0] * n
    for i in reversed(range(n)):
        x[i] = (y[i] - sum(A[i][m] * x[m] for m in range(i + 1, n))) * r[i]
    return np.array(x)


@dataclass(frozen=True)
class SparseResponse:
    """The mass matrix with the sparsity of the tree; each row is a freedom.

    The data are M's entries, W_ii (k,), and the entries of the factors LᵀDL, with 1/D on the diagonal.
    """

    freedoms: tuple[int, ...]
    parent: tuple[int, ...]

    @property
    def k(self) -> int:
        """Number of rows."""
        return len(self.freedoms)

    @property
    def shapes(self) -> Shapes:
        """Names and shapes of the data that an iteration reads."""
        return {"M": (len(self._entries),)}

    @property
    def carried(self) -> Shapes:
        """Names and shapes of the results of an iteration."""
        return {"impulse": (self.k,), "change": (len(self.parent),)}

    def _branch(self, i: int) -> list[int]:
        path = []
        while (i := self.parent[i]) >= 0:
            path.append(i)
        return path

    @property
    def _entries(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(len(self.parent)) for j in (i, *self._branch(i))]

    def data(self, M: Array) -> list[Array]:
        """Return the data from the mass matrix (nv, nv)."""
        L, D = ltdl(M, self.parent)
        weight = [1 / d for d in D]
        diagonal = self._inverse_diagonal(L, weight)
        factors = [weight[i] if i == j else L[i, j] for i, j in self._entries]
        return [np.array([M[entry] for entry in self._entries]), diagonal, np.array(factors)]

    def diagonal(self, data: Sequence[Array]) -> Array:
        """Return W_ii (k,)."""
        return data[1]

    def locked_diagonal(self, data: Sequence[Array], locked: Sequence[Any]) -> Array:
        """Return by how much impulses change the velocities of their own rows (k,) while some rows are locked."""
        M = dict(zip(self._entries, data[0], strict=True))
        A, r = self._factors(M, [0] * len(self.parent), locked)
        return self._inverse_diagonal(A, r)

    def solve(self, data: Sequence[Array], free: Sequence[Any], wanted: Array, given: Array) -> tuple[Array, ...]:
        """Return the impulses (k,), the changes of the rows' velocities (k,), and that of the whole velocity (nv,)."""
        n, rows = len(self.parent), dict(zip(self.freedoms, range(self.k), strict=True))
        M = dict(zip(self._entries, data[0], strict=True))
        x: list[Any] = [0] * n
        b: list[Any] = [0] * n
        for i, k in rows.items():
            x[i], b[i] = where(free[k], wanted[k], 0), given[k]
        b = [b[i] - y for i, y in enumerate(self._times(M, x))]
        A, r = self._factors(M, b, free)
        rest: list[Any] = []
        for i in range(n):
            rest.append(b[i] * r[i] - sum(A[i, j] * rest[j] for j in self._branch(i)))
        change = [x[i] + rest[i] for i in range(n)]
        force = self._times(M, change)
        impulse = [where(free[k], force[i], given[k]) for i, k in rows.items()]
        return np.array(impulse), np.array([change[i] for i in rows]), np.array(change)

    def _factors(self, M: dict[tuple[int, int], Any], b: list[Any], free: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return L and 1/D of M = LᵀDL without the rows and columns that are free, and replace b by L⁻ᵀb."""
        rows, A = dict(zip(self.freedoms, range(self.k), strict=True)), dict(M)
        r: list[Any] = [0] * len(self.parent)
        for i in reversed(range(len(r))):
            path = self._branch(i)
            r[i] = where(free[rows[i]], 0, 1 / A[i, i]) if i in rows else 1 / A[i, i]
            for at, j in enumerate(path):
                a = A[i, j] * r[i]
                for m in path[at:]:
                    A[j, m] = A[j, m] - a * A[i, m]
                b[j] = b[j] - a * b[i]
                A[i, j] = a
        return A, r

    def _inverse_diagonal(self, L: Any, weight: Sequence[Any]) -> Array:
        """Return the entries (k,) of the diagonal of (LᵀDL)⁻¹ that belong to rows; ``weight`` is 1/D.

        The entries on the pattern of L from the roots to the leaves (Takahashi's equations).
        """
        Z: dict[tuple[int, int], Any] = {}
        for i in range(len(weight)):
            path = self._branch(i)
            for j in path:
                Z[i, j] = Z[j, i] = -sum(L[i, m] * Z[m, j] for m in path)
            Z[i, i] = weight[i] - sum(L[i, m] * Z[m, i] for m in path)
        return np.array([Z[i, i] for i in self.freedoms])

    def _times(self, M: dict[tuple[int, int], Any], x: Sequence[Any]) -> list[Any]:
        y: list[Any] = [0] * len(x)
        for (i, j), a in M.items():
            y[i] = y[i] + a * x[j]
            if i != j:
                y[j] = y[j] + a * x[i]
        return y

    def change(self, data: Sequence[Array], found: Sequence[Array]) -> Array:
        """Return the change of the velocity (nv,)."""
        return found[1]

    @property
    def data_shapes(self) -> Shapes:
        """Names and shapes of all data."""
        return {**self.shapes, "diagonal": (self.k,), "factors": (len(self._entries),)}

    def respond(self, data: Sequence[Array], impulse: Array) -> Array:
        """Return the change of the velocity (nv,) by given impulses (k,)."""
        n = len(self.parent)
        L, weight = np.zeros((n, n), dtype=object), np.zeros(n, dtype=object)
        for (i, j), x in zip(self._entries, data[2], strict=True):
            if i == j:
                weight[i] = x
            else:
                L[i, j] = x
        b: list[Any] = [0] * n
        for i, x in zip(self.freedoms, impulse, strict=True):
            b[i] = x
        return Metric(L, weight, tuple(tuple(self._branch(i)) for i in range(n))).solve(np.array(b))
