"""The linear system of an iteration, (M + JᵀKJ) dw = Jᵀf, in one of two ways: K and f are the laws of frames.

- ``TreeSystem``: forward dynamics of articulated bodies with the inertias I + K
  (``sixd.algorithms.constrained.contact``). An iteration of a go2 on 16 points has 8,200 operations so, with the factor
  of M 12,500.
- ``FactorSystem``: with the factor of M, (1 + UᵀKU) dz = Uᵀf. It serves systems that are not trees, and implicit steps,
  whose matrix is not that of bodies alone. Where each frame has one point, K is 3x3: an iteration of a go2 on four
  points has 3,900 operations so, and 4,500 with articulated bodies. Columns of U that no other frame has, those of a
  leg, are eliminated first, frame by frame: dz = T⁻¹ Uᵀ(f - K V) with T = 1 + UᵀKU of these columns, where V is the
  velocity of the frame by the others. What is left has the zeros of the tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from sixd.algorithms.constrained.contact import ContactTree, in_world_axes, jacobians
from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.crba import mass_matrix
from sixd.algorithms.linear.dense import solve_rows
from sixd.algorithms.linear.patterns import solve_entries
from sixd.algorithms.linear.tree import Metric, tree_metric
from sixd.model.model import Model
from sixd.model.system import System
from sixd.simulation.nonsmooth.contact.ground_points import GroundPoints
from sixd.simulation.nonsmooth.contact.sparse_rows import SparseRows
from sixd.spatial.scalar import Array

Row = dict[int, Any]  # of U: columns to entries


class LinearSystem(Protocol):
    """A way to solve the linear system."""

    def known(self, system: System, q: Array) -> tuple[Metric, Array, Array]:
        """Return the factors of M, the Jacobians of the frames, and the entries of what does not change within a
        step, if it is not U."""

    def changes(self, entries: Array, K: Array, f: Array, left: Sequence[Any], D: Sequence[Any]) -> tuple[Array, Array]:
        """Return the changes of the velocities of frames (frames, r) and joint rows (m,).

        K (frames, r, r) and f (frames, r) are the laws of frames, ``left`` and D (m,) those of joint rows.
        """


class TreeSystem:
    """By articulated bodies."""

    def __init__(self, model: Model, points: GroundPoints, dofs: Sequence[int]) -> None:
        self.bodies, self.dofs = [model.frame(name).body for name in points.frames], dofs
        self.tree = ContactTree(model, set(self.bodies), set(dofs))

    def known(self, system: System, q: Array) -> tuple[Metric, Array, Array]:
        """Return M, the Jacobians and the entries of the bodies; see :class:`LinearSystem`."""
        assert isinstance(system, Model)
        S, inertia = in_world_axes(system, q)
        one = [np.eye(6, dtype=int)] * len(S)  # transforms between bodies
        metric = tree_metric(mass_matrix(system, one, S, inertia), system.dof_parent)
        return metric, jacobians(system, S, self.bodies), self.tree.prepare(system, S, inertia).entries

    def changes(self, entries: Array, K: Array, f: Array, left: Sequence[Any], D: Sequence[Any]) -> tuple[Array, Array]:
        """Return the changes of velocities; see :class:`LinearSystem`."""
        of_body: dict[int, tuple[Any, Any]] = {}
        for i, own_K, own_f in zip(self.bodies, K, f, strict=True):
            before = of_body.get(i, (0, 0))
            of_body[i] = before[0] + own_K, before[1] + own_f
        laws = {j: (a, d) for j, a, d in zip(self.dofs, left, D, strict=True)}
        of_body.pop(0, None)  # points of the world do not move
        found = {i: law[0] for i, law in of_body.items()}, {i: law[1] for i, law in of_body.items()}
        dv, dw = self.tree.changes(self.tree.read(entries), *found, laws)
        return np.array([dv.get(i, np.zeros(6, dtype=int)) for i in self.bodies]), np.array([dw[j] for j in self.dofs])


class FactorSystem:
    """With the factor of M."""

    def __init__(self, rows: SparseRows, points: GroundPoints) -> None:
        self.rows, self.points, self.width, self.size = rows, points, points.width, points.size

    def known(self, system: System, q: Array) -> tuple[Metric, Array, Array]:
        """Return M and the Jacobians; see :class:`LinearSystem`."""
        return mass_metric(system, q), self.points.rows(system, q), np.zeros(0)

    def split(self, U: Array) -> tuple[list[list[Row]], list[Row]]:
        """Return the rows of U of each frame, and of the joints."""
        rows = self.rows.rows(U)
        return [rows[i : i + self.width] for i in range(0, self.size, self.width)], rows[self.size :]

    def changes(self, entries: Array, K: Array, f: Array, left: Sequence[Any], D: Sequence[Any]) -> tuple[Array, Array]:
        """Return the changes of velocities; see :class:`LinearSystem`."""
        frames, joints = self.split(entries)
        laws = [JointLaw(row, a, d) for row, a, d in zip(joints, left, D, strict=True)]
        dz = change_of(self.rows.nv, frames, K, f, laws)
        return of_frames(frames, dz), np.array([product(row, dz) for row in joints])


def of_frames(frames: Sequence[Sequence[Row]], z: Array) -> Array:
    """Return the velocities (frames, r) of the frames by z (nv,)."""
    return np.array([[product(row, z) for row in own] for own in frames])


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

    def __init__(self, nv: int) -> None:
        self.right: list[Any] = [0] * nv
        self.A: dict[tuple[int, int], Any] = {(j, j): 1 for j in range(nv)}
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
            sides = np.column_stack([U.T @ K, U.T @ f])
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
        rest = sorted(set(range(len(self.right))).difference(*(part.columns for part in self.apart)))
        at = {j: n for n, j in enumerate(rest)}
        dz = np.zeros(len(self.right), dtype=object)
        entries = {(at[j], at[i]): x for (j, i), x in self.A.items() if j in at}
        dz[rest] = solve_entries(entries, [self.right[j] for j in rest])
        for part in self.apart:
            part.fill(dz)
        return dz


def change_of(nv: int, frames: Sequence[Sequence[Row]], K: Array, f: Array, joints: Sequence[JointLaw]) -> Array:
    """Return dz (nv,). ``frames`` has the rows of U of each frame; K (frames, r, r) and f (frames, r) are theirs."""
    uses = Counter(j for row in (*(own[0] for own in frames), *(law.row for law in joints)) for j in row)
    system = _System(nv)
    for rows, own_K, own_f in zip(frames, K, f, strict=True):
        system.add_frame(rows, own_K, own_f, {j for j in rows[0] if uses[j] == 1})
    for law in joints:
        system.add_joint(law)
    return system.solve()


def product(row: Row, z: Any) -> Any:
    """Return a row of U times z (nv,)."""
    return sum(a * z[j] for j, a in row.items())
