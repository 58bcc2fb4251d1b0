"""The linear system of an iteration: (1 + Uᵀ K U) dz = Uᵀ f - z, from the rows of frames and of joints.

Frames have a matrix K and a vector f each. Columns of U that no other frame has, those of a leg, are eliminated first,
frame by frame, as articulated bodies are: dz = T⁻¹ (Uᵀ (f - K V) - z) with T = 1 + Uᵀ K U of these columns, where V is
the velocity of the frame by the others. What is left has the zeros of the tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.linear.dense import solve_rows
from sixd.algorithms.linear.patterns import solve_entries
from sixd.spatial.scalar import Array

Row = dict[int, Any]  # of U: columns to entries


class JointLaw(NamedTuple):
    """A law x = left - D du of a joint row."""

    row: Row
    left: Any
    D: Any


class _Eliminated(NamedTuple):
    """Columns of one frame alone, and what their change follows from: the changes of the frame's other columns."""

    columns: list[int]
    others: list[int]
    local: Array
    solution: Array

    def fill(self, dz: Array) -> None:
        """Set the changes of these columns, from those of the others."""
        V = self.local @ dz[self.others]
        dz[self.columns] = self.solution[:, -1] - self.solution[:, :-1] @ V


class _System:
    """A matrix and a right side by their entries that are not zero."""

    def __init__(self, z: Array) -> None:
        self.z, self.right = z, list(-z)
        self.A: dict[tuple[int, int], Any] = {(j, j): 1 for j in range(len(z))}
        self.apart: list[_Eliminated] = []

    def add_frame(self, rows: Sequence[Row], K: Array, f: Array, alone: set[int]) -> None:
        """Add a frame; its columns ``alone`` are eliminated."""
        others = [j for j in rows[0] if j not in alone]
        local = np.array([[row[j] for j in others] for row in rows])
        if alone:
            columns = sorted(alone)
            U = np.array([[row[j] for j in columns] for row in rows])
            KU = K @ U
            T = U.T @ KU + np.eye(len(columns), dtype=int)
            sides = np.column_stack([U.T @ K, U.T @ f - self.z[columns]])
            solution = np.array(solve_rows(list(map(list, T)), list(map(list, sides))))
            K, f = K - KU @ solution[:, :-1], f - KU @ solution[:, -1]
            self.apart.append(_Eliminated(columns, others, local, solution))
        if others:
            KU, Uf = K @ local, local.T @ f
            for a, j in enumerate(others):
                self.right[j] = self.right[j] + Uf[a]
                for e, i in enumerate(others):
                    self.A[j, i] = self.A.get((j, i), 0) + local[:, a] @ KU[:, e]

    def add_joint(self, law: JointLaw) -> None:
        """Add a joint row."""
        for j, a in law.row.items():
            self.right[j] = self.right[j] + a * law.left
            for e, d in law.row.items():
                self.A[j, e] = self.A.get((j, e), 0) + a * law.D * d

    def solve(self) -> Array:
        """Return dz (nv,)."""
        rest = sorted(set(range(len(self.z))).difference(*(part.columns for part in self.apart)))
        at = {j: n for n, j in enumerate(rest)}
        dz = np.zeros(len(self.z), dtype=object)
        entries = {(at[j], at[i]): x for (j, i), x in self.A.items() if j in at}
        dz[rest] = solve_entries(entries, [self.right[j] for j in rest])
        for part in self.apart:
            part.fill(dz)
        return dz


def change_of(frames: Sequence[Sequence[Row]], K: Array, f: Array, z: Array, joints: Sequence[JointLaw]) -> Array:
    """Return dz (nv,). ``frames`` has the rows of U of each frame; K (frames, r, r) and f (frames, r) are theirs."""
    uses = Counter(j for row in (*(own[0] for own in frames), *(law.row for law in joints)) for j in row)
    system = _System(z)
    for rows, own_K, own_f in zip(frames, K, f, strict=True):
        system.add_frame(rows, own_K, own_f, {j for j in rows[0] if uses[j] == 1})
    for law in joints:
        system.add_joint(law)
    return system.solve()


def product(row: Row, z: Any) -> Any:
    """Return a row of U times z (nv,)."""
    return sum(a * z[j] for j, a in row.items())
