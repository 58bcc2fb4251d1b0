"""How velocities respond to impulses on k rows: by the rows' own matrix W, dense, or by the mass matrix, sparse.

Each solves a mixed problem: of the rows that are ``free`` the change of velocity is prescribed and the impulse is
unknown; of the others the impulse is prescribed. W costs k columns of M⁻¹ once, and k³/3 operations an iteration; M
needs only its own factors, which do not fill in on a tree. Callers count operations and choose the cheaper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sixd.algorithms.linear.dense import factors_free, solve_free, solve_free_lu
from sixd.algorithms.linear.tree import Branches, Metric, branches, eliminate_tree, inverse_diagonal, ltdl
from sixd.spatial.scalar import Array, where

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

    def solve(self, data: Sequence[Array], free: Sequence[Any], wanted: Array, prescribed: Array) -> tuple[Array, ...]:
        """Return the impulses (k,) and the changes of the rows' velocities (k,)."""
        k, W = self.k, self._matrix(data)
        b = wanted - W @ prescribed
        impulse = prescribed + (solve_free if self.is_symmetric else solve_free_lu)(W, b, free)
        change = W @ impulse
        return impulse, np.array([where(free[i], wanted[i], change[i]) for i in range(k)])

    def locked_diagonal(self, data: Sequence[Array], locked: Sequence[Any]) -> Array:
        """Return by how much impulses change the velocities of their own rows (k,) while some rows are locked."""
        # W_ii minus the response to the impulses that lock these rows
        k, W = self.k, self._matrix(data)
        L, r = factors_free(W, locked)
        diagonal: list[Any] = []
        for i in range(k):
            y: list[Any] = []
            total = W[i, i]
            for m in range(k):
                y.append(W[m, i] - sum(L[m][j] * y[j] for j in range(m)))
                total = total - y[m] * y[m] * r[m]
            diagonal.append(total)
        return np.array(diagonal)

    def change(self, data: Sequence[Array], results: Sequence[Array]) -> Array:
        """Return the change of the velocity (nv,) from the results of an iteration."""
        return data[1] @ results[0]

    @property
    def data_shapes(self) -> Shapes:
        """Names and shapes of all data."""
        return {**self.shapes, "columns": (self.nv, self.k)}

    def respond(self, data: Sequence[Array], impulse: Array) -> Array:
        """Return the change of the velocity (nv,) by impulses (k,)."""
        return data[1] @ impulse


@dataclass(frozen=True)
class SparseResponse:
    """The mass matrix with the sparsity of the tree; each row is a DoF.

    The data are M's entries, W_ii (k,), and the entries of the factors LᵀDL, with 1/D on the diagonal.
    """

    dofs: tuple[int, ...]
    parent: tuple[int, ...]

    @property
    def k(self) -> int:
        """Number of rows."""
        return len(self.dofs)

    @property
    def shapes(self) -> Shapes:
        """Names and shapes of the data that an iteration reads."""
        return {"M": (len(self.entries),)}

    @property
    def carried(self) -> Shapes:
        """Names and shapes of the results of an iteration."""
        return {"impulse": (self.k,), "change": (len(self.parent),)}

    @cached_property
    def branch(self) -> Branches:
        """The DoF that carry each DoF."""
        return branches(self.parent)

    @cached_property
    def entries(self) -> list[tuple[int, int]]:
        """Rows and columns of the entries of M that are stored."""
        return [(i, j) for i, path in enumerate(self.branch) for j in (i, *path)]

    def data(self, M: Array) -> list[Array]:
        """Return the data from the mass matrix (nv, nv)."""
        L, D = ltdl(M, self.parent)
        weight = [1 / d for d in D]
        diagonal = self._own(inverse_diagonal(L, weight, self.branch))
        factors = [weight[i] if i == j else L[i, j] for i, j in self.entries]
        return [np.array([M[entry] for entry in self.entries]), diagonal, np.array(factors)]

    def diagonal(self, data: Sequence[Array]) -> Array:
        """Return W_ii (k,)."""
        return data[1]

    def locked_diagonal(self, data: Sequence[Array], locked: Sequence[Any]) -> Array:
        """Return by how much impulses change the velocities of their own rows (k,) while some rows are locked."""
        A = dict(zip(self.entries, data[0], strict=True))
        weight = eliminate_tree(A, self.branch, dict(zip(self.dofs, locked, strict=True)))
        return self._own(inverse_diagonal(A, weight, self.branch))

    def _own(self, values: Sequence[Any]) -> Array:
        """The values (k,) of the rows among those (nv,) of all DoF."""
        return np.array([values[i] for i in self.dofs])

    def solve(self, data: Sequence[Array], free: Sequence[Any], wanted: Array, prescribed: Array) -> tuple[Array, ...]:
        """Return the impulses (k,), the changes of the rows' velocities (k,), and that of the whole velocity (nv,)."""
        n, M = len(self.parent), dict(zip(self.entries, data[0], strict=True))
        x: list[Any] = [0] * n
        b: list[Any] = [0] * n
        for k, i in enumerate(self.dofs):
            x[i], b[i] = where(free[k], wanted[k], 0), prescribed[k]
        b = [b[i] - y for i, y in enumerate(self._times(M, x))]
        A = dict(M)
        weight = eliminate_tree(A, self.branch, dict(zip(self.dofs, free, strict=True)), b)
        rest: list[Any] = []
        for i, path in enumerate(self.branch):
            rest.append(b[i] * weight[i] - sum(A[i, j] * rest[j] for j in path))
        change = [x[i] + rest[i] for i in range(n)]
        force = self._times(M, change)
        impulse = [where(free[k], force[i], prescribed[k]) for k, i in enumerate(self.dofs)]
        return np.array(impulse), self._own(change), np.array(change)

    def _times(self, M: dict[tuple[int, int], Any], x: Sequence[Any]) -> list[Any]:
        y: list[Any] = [0] * len(x)
        for (i, j), a in M.items():
            y[i] = y[i] + a * x[j]
            if i != j:
                y[j] = y[j] + a * x[i]
        return y

    def change(self, data: Sequence[Array], results: Sequence[Array]) -> Array:
        """Return the change of the velocity (nv,)."""
        return results[1]

    @property
    def data_shapes(self) -> Shapes:
        """Names and shapes of all data."""
        return {**self.shapes, "diagonal": (self.k,), "factors": (len(self.entries),)}

    def respond(self, data: Sequence[Array], impulse: Array) -> Array:
        """Return the change of the velocity (nv,) by impulses (k,)."""
        n = len(self.parent)
        L, weight = np.zeros((n, n), dtype=object), np.zeros(n, dtype=object)
        for (i, j), x in zip(self.entries, data[2], strict=True):
            if i == j:
                weight[i] = x
            else:
                L[i, j] = x
        b: list[Any] = [0] * n
        for i, x in zip(self.dofs, impulse, strict=True):
            b[i] = x
        return Metric(L, weight, self.branch).solve(np.array(b))
