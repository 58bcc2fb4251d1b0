"""How velocities of rows respond to impulses on them, with the zeros of the tree: J W Jᵀ = U Uᵀ.

z (nv,) = Uᵀl collects impulses l (n,): they change the rows' velocities by U z, and qd by ``change(L, root, z)``. Where
each row moves with few DoF, computing in z costs less than with the matrix U Uᵀ: go2 with 16 points has 432
entries in U, and 2,304 in that matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.algorithms.constrained.dynamics import impulse_rows
from sixd.algorithms.constrained.least_norm import RankLimits
from sixd.algorithms.linear.tree import Metric
from sixd.model.system import System
from sixd.spatial.scalar import Array, is_zero, sqrt


class SparseRows:
    """The pattern of U and L: which entries are not zero for every q. It is known once ``data`` has been traced."""

    def __init__(self, nv: int, limits: RankLimits) -> None:
        self.nv, self.limits = nv, limits
        self.pattern: list[list[int]] = []  # of each row of U
        self.branch: tuple[tuple[int, ...], ...] = ()
        self.fixed: Any = None

    @property
    def layout(self) -> tuple[list[list[int]], tuple[tuple[int, ...], ...]]:
        """The patterns of U and L."""
        return self.pattern, self.branch

    def fix(self, *layouts: tuple[list[list[int]], tuple[tuple[int, ...], ...]]) -> None:
        """Use from now on the patterns that contain all of these."""
        patterns, branches = zip(*layouts, strict=True)
        pattern = [sorted(set().union(*rows)) for rows in zip(*patterns, strict=True)]
        branch = tuple(tuple(sorted(set().union(*rows), reverse=True)) for rows in zip(*branches, strict=True))
        self.fixed = pattern, branch

    @property
    def size(self) -> int:
        """Number of entries of U."""
        return sum(map(len, self.pattern))

    def data(
        self, system: System, q: Array, metric: Metric, J: Array, together: int, width: int
    ) -> tuple[Array, Array, Array]:
        """Return the entries of U, those of L, and the roots of the weights (nv,) of a metric. Of the first
        ``together`` rows ``width`` each belong to one frame, and have the same entries."""
        rows = impulse_rows(system, q, metric, J, self.limits)
        root = np.array([sqrt(w) for w in metric.weight])
        U = rows * root
        pattern = [[j for j, x in enumerate(row) if not _vanishes(x)] for row in U]
        for i in range(0, together, width):
            pattern[i : i + width] = [sorted(set().union(*pattern[i : i + width]))] * width
        self.pattern, self.branch = (pattern, metric.branch) if self.fixed is None else self.fixed
        L = [metric.L[i, j] for i in range(self.nv) for j in self.branch[i]]
        return np.array([U[i, j] for i, js in enumerate(self.pattern) for j in js]), np.array(L), root

    def rows(self, entries: Array) -> list[dict[int, Any]]:
        """Return the rows of U as maps from columns to entries."""
        result, first = [], 0
        for js in self.pattern:
            result.append(dict(zip(js, entries[first : first + len(js)], strict=True)))
            first += len(js)
        return result

    def diagonal(self, entries: Array, first: int) -> Array:
        """Return the responses of the rows from ``first`` on to their own impulses."""
        return np.array([sum(a * a for a in row.values()) for row in self.rows(entries)[first:]])

    def collected(self, entries: Array, impulse: Array) -> Array:
        """Return z (nv,) of impulses (n,)."""
        z: list[Any] = [0] * self.nv
        for row, x in zip(self.rows(entries), impulse, strict=True):
            for j, a in row.items():
                z[j] = z[j] + a * x
        return np.array(z)

    def velocities(self, entries: Array, z: Array) -> Array:
        """Return U z (n,)."""
        return np.array([sum(a * z[j] for j, a in row.items()) for row in self.rows(entries)])

    def change(self, L: Array, root: Array, z: Array) -> Array:
        """Return the change of qd (nv,)."""
        full = np.zeros((self.nv, self.nv), dtype=object)
        at = 0
        for i in range(self.nv):
            for j in self.branch[i]:
                full[i, j] = L[at]
                at += 1
        return Metric(full, root, self.branch).raised(z * root)


def _vanishes(x: Any) -> bool:
    """Whether an entry, a number or traced, is zero for every q."""
    return is_zero(x) or (hasattr(x, "is_value") and x.is_value(0))
