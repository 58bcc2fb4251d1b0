"""Points over rigid grounds: their heights, the rows of their velocities, and impulses on them.

Point i has the rows 3i (normal), 3i + 1 and 3i + 2 (tangents). All functions are for one row of any scalar type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.algorithms import kinematics
from sixd.algorithms.constrained.dynamics import Metric, impulse_rows
from sixd.algorithms.constrained.least_norm import Limits
from sixd.algorithms.jacobian import jacobian
from sixd.forces.elements import ZERO_WRENCH, Applied, Force
from sixd.forces.rigid_ground import RigidGround
from sixd.model.system import System
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array, is_zero, sqrt
from sixd.spatial.transform import force_at_point


@dataclass(frozen=True, eq=False)
class GroundPoint:
    """A point in a frame of a body, with a radius, over a plane with axes (3, 3): normal and tangents as rows."""

    frame: str
    body: int
    position: Array
    radius: float
    axes: Array
    height: float
    friction: float
    restitution: float

    def arm(self, T: Array) -> Array:
        """Return the vector (3,) from the frame's origin, at the pose T (4, 4), to the lowest point; world axes."""
        return T[:3, :3] @ self.position - self.axes[0] * self.radius


class GroundPoints:
    """The points of all rigid grounds among some force elements, and where their forces are in the states u."""

    def __init__(self, system: System, forces: Sequence[Force], sizes: Sequence[int]) -> None:
        self.points: list[GroundPoint] = []
        self.entries: list[int] = []  # of u
        self.sweeps = 0
        first = 0
        for force, size in zip(forces, sizes, strict=True):
            if isinstance(force, RigidGround):
                self.entries += range(first, first + size)
                self.sweeps = max(self.sweeps, force.sweeps)
                axes = np.vstack([force.axes[0][None], force.axes[1]])
                for frame, rows in force.points_of(system).items():
                    body = system.frame(frame, "RigidGround").body
                    self.points += [
                        GroundPoint(frame, body, row[:3], row[3], axes, force.height, force.friction, force.restitution)
                        for row in rows
                    ]
            first += size

    def __len__(self) -> int:
        return len(self.points)

    def height(self, system: System, q: Array) -> Array:
        """Return the heights (k,) [m] over the ground."""
        poses = self._poses(system, q)
        return np.array([p.axes[0] @ (poses[p.frame][:3, 3] + p.arm(poses[p.frame])) - p.height for p in self.points])

    def rows(self, system: System, q: Array) -> Array:
        """Return J (3k, nv): the velocities of the points along their axes are J qd."""
        poses, found = self._poses(system, q), []
        frames = {
            p.frame: system.apply("jacobian", jacobian, q, frame=p.frame, expressed_in="aligned") for p in self.points
        }
        for p in self.points:
            J = frames[p.frame]
            found += list(p.axes @ (J[3:] - skew(p.arm(poses[p.frame])) @ J[:3]))
        return np.array(found)

    def applied(self, system: System, q: Array, force: Array) -> Applied:
        """Return the effect of forces (3k,) [N] along the points' axes."""
        poses, f_ext = self._poses(system, q), [ZERO_WRENCH] * system.nb
        for i, p in enumerate(self.points):
            position = poses[p.frame][:3, 3] + p.arm(poses[p.frame])
            wrench = force_at_point(p.axes.T @ force[3 * i : 3 * i + 3], position)
            f_ext[p.body - 1] = f_ext[p.body - 1] + wrench
        return Applied(None, np.array(f_ext))

    def to_axes(self, force: Array) -> Array:
        """Return forces (3k,) in world axes along the points' axes instead."""
        return np.concatenate([p.axes @ force[3 * i : 3 * i + 3] for i, p in enumerate(self.points)])

    def to_world(self, force: Array) -> Array:
        """Return forces (3k,) along the points' axes in world axes instead."""
        return np.concatenate([p.axes.T @ force[3 * i : 3 * i + 3] for i, p in enumerate(self.points)])

    def _poses(self, system: System, q: Array) -> dict[str, Array]:
        names = dict.fromkeys(p.frame for p in self.points)
        return {name: system.apply("pose", kinematics.pose, q, frame=name) for name in names}


class PointResponse:
    """How the points' velocities respond to impulses on them, with the zeros of the tree: J W Jᵀ = U Uᵀ.

    z (nv,) = Uᵀl collects impulses l (3k,): they change the points' velocities by U z, and qd by ``change(…, z)``. The
    entries of U and L that are not zero for every q are listed in order; a sweep over all points in z costs two
    operations for each of U, where the matrix U Uᵀ has (3k)² entries (go2 with 16 points: 432 against 2,304).
    """

    def __init__(self, system: System, points: GroundPoints, limits: Limits) -> None:
        self.points, self.limits, self.nv = points, limits, system.nv
        self.pattern: list[list[int]] = []  # of each row of U
        self.branch: tuple[tuple[int, ...], ...] = ()

    def data(self, system: System, q: Array, J: Array) -> tuple[Array, Array, Array]:
        """Return the entries of U, those of L, and the roots of the weights (nv,)."""
        metric, rows = impulse_rows(system, q, J, self.limits)
        root = np.array([sqrt(w) for w in metric.weight])
        U = rows * root
        self.pattern = [[j for j, x in enumerate(row) if not is_zero(x)] for row in U]
        # the three rows of a point have the same entries
        for i in range(0, len(U), 3):
            self.pattern[i : i + 3] = [sorted({*self.pattern[i], *self.pattern[i + 1], *self.pattern[i + 2]})] * 3
        self.branch = metric.branch
        L = [metric.L[i, j] for i in range(self.nv) for j in self.branch[i]]
        return np.array([U[i, j] for i, js in enumerate(self.pattern) for j in js]), np.array(L), root

    def sparse_rows(self, entries: Array) -> list[dict[int, Any]]:
        """Return the rows of U as maps from columns to entries."""
        found, first = [], 0
        for js in self.pattern:
            found.append(dict(zip(js, entries[first : first + len(js)], strict=True)))
            first += len(js)
        return found

    def collected(self, entries: Array, impulse: Array) -> Array:
        """Return z (nv,) of impulses (3k,)."""
        z: list[Any] = [0] * self.nv
        for row, x in zip(self.sparse_rows(entries), impulse, strict=True):
            for j, a in row.items():
                z[j] = z[j] + a * x
        return np.array(z)

    def change(self, L: Array, root: Array, z: Array) -> Array:
        """Return the change of qd (nv,)."""
        full = np.zeros((self.nv, self.nv), dtype=object)
        at = 0
        for i in range(self.nv):
            for j in self.branch[i]:
                full[i, j] = L[at]
                at += 1
        return Metric(full, root, self.branch).raised(z * root)
