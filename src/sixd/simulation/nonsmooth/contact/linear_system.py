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


def change_of(frames: Sequence[Sequence[Row]], K: Array, f: Array, z: Array, joints: Sequence[JointLaw]) -> Array:
    """Return dz (nv,). ``frames`` has the rows of U of each frame; K (frames, r, r) and f (frames, r) are theirs."""
    A: dict[tuple[int, int], Any] = {(j, j): 1 for j in range(len(z))}
    right = list(-z)
    uses = Counter(j for rows in (*(own[0] for own in frames), *(law.row for law in joints)) for j in rows)
    later = []
    for own, Kn, fn in zip(frames, K, f, strict=True):
        mine, others = ([j for j in own[0] if (uses[j] == 1) == alone] for alone in (True, False))
        local = np.array([[row[j] for j in others] for row in own])
        if mine:
            apart = np.array([[row[j] for j in mine] for row in own])
            KU = Kn @ apart
            T = apart.T @ KU + np.eye(len(mine), dtype=int)
            sides = np.column_stack([apart.T @ Kn, apart.T @ fn - z[mine]])
            solution = np.array(solve_rows(list(map(list, T)), list(map(list, sides))))
            Kn, fn = Kn - KU @ solution[:, :-1], fn - KU @ solution[:, -1]
            later.append((mine, others, local, solution))
        if others:
            KU, Uf = Kn @ local, local.T @ fn
            for a, j in enumerate(others):
                right[j] = right[j] + Uf[a]
                for e, i in enumerate(others):
                    A[j, i] = A.get((j, i), 0) + local[:, a] @ KU[:, e]
    for row, left, D in joints:
        for j, a in row.items():
            right[j] = right[j] + a * left
            for e, d in row.items():
                A[j, e] = A.get((j, e), 0) + a * D * d
    rest = sorted(set(range(len(z))).difference(*(mine for mine, *_ in later)))
    at = {j: n for n, j in enumerate(rest)}
    dz = np.zeros(len(z), dtype=object)
    dz[rest] = solve_entries({(at[j], at[i]): x for (j, i), x in A.items() if j in at}, [right[j] for j in rest])
    for mine, others, local, solution in later:
        dz[mine] = solution[:, -1] - solution[:, :-1] @ (local @ dz[others])
    return dz


def product(row: Row, z: Any) -> Any:
    """Return a row of U times z (nv,)."""
    return sum(a * z[j] for j, a in row.items())
