"""Points over rigid grounds: their heights, velocities and accelerations, the rows of their velocities, forces on them.

Point i has the rows 3i (normal), 3i + 1 and 3i + 2 (tangents). All functions are for one row of any scalar type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sixd.algorithms import kinematics
from sixd.algorithms.jacobian import jacobian
from sixd.forces.elements import ZERO_WRENCH, Force, state_slices
from sixd.model.system import System
from sixd.simulation.nonsmooth.rigid_ground import RigidGround
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array
from sixd.spatial.transform import force_at_point, rotate_both


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
        for force, own in zip(forces, state_slices(sizes), strict=True):
            if isinstance(force, RigidGround):
                self.entries += range(own.start, own.stop)
                self.sweeps = max(self.sweeps, force.sweeps)
                axes = np.vstack([force.axes[0][None], force.axes[1]])
                for frame, rows in force.points_of(system).items():
                    body = system.frame(frame, "RigidGround").body
                    self.points += [
                        GroundPoint(frame, body, row[:3], row[3], axes, force.height, force.friction, force.restitution)
                        for row in rows
                    ]

    def __len__(self) -> int:
        return len(self.points)

    def heights(self, system: System, q: Array) -> Array:
        """Return the heights (k,) [m] over the ground."""
        poses = self._poses(system, q)
        return np.array([p.axes[0] @ (poses[p.frame][:3, 3] + p.arm(poses[p.frame])) - p.height for p in self.points])

    def rows(self, system: System, q: Array) -> Array:
        """Return J (3k, nv): the velocities of the points along their axes are J qd."""
        poses, result = self._poses(system, q), []
        frames = {
            p.frame: system.apply("jacobian", jacobian, q, frame=p.frame, expressed_in="aligned") for p in self.points
        }
        for p in self.points:
            J = frames[p.frame]
            result += list(p.axes @ (J[3:] - skew(p.arm(poses[p.frame])) @ J[:3]))
        return np.array(result)

    def accelerations(self, system: System, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the rates (3k,) of the velocities J qd: J qdd + dJ/dt qd. The arm of a ball does not turn with it."""
        poses, result = self._poses(system, q), []
        for p in self.points:
            options = {"frame": p.frame, "expressed_in": "aligned"}
            v = system.apply("velocity", kinematics.velocity, q, qd, **options)
            a = system.apply("acceleration", kinematics.acceleration, q, qd, qdd, kind="classical", **options)
            T = poses[p.frame]
            turning = skew(v[:3]) @ (skew(v[:3]) @ (T[:3, :3] @ p.position))
            result.append(p.axes @ (a[3:] + skew(a[:3]) @ p.arm(T) + turning))
        return np.concatenate(result)

    def joint_forces(self, system: System, q: Array, force: Array) -> Array:
        """Return the joint forces (nv,) of forces (3k,) [N] along the points' axes. From the wrench of all points of a
        frame in its own axes: 0.9 times the operations of external forces in forward dynamics (go2)."""
        poses, tau = self._poses(system, q), np.zeros(system.nv, dtype=int)
        for name, T in poses.items():
            wrench: Array = ZERO_WRENCH
            for i, p in enumerate(self.points):
                if p.frame == name:
                    wrench = wrench + force_at_point(p.axes.T @ force[3 * i : 3 * i + 3], p.arm(T))
            J = system.apply("jacobian", jacobian, q, frame=name)
            tau = tau + J.T @ rotate_both(T[:3, :3].T, wrench)
        return tau

    def to_axes(self, force: Array) -> Array:
        """Return forces (3k,) in world axes along the points' axes instead."""
        return np.concatenate([p.axes @ force[3 * i : 3 * i + 3] for i, p in enumerate(self.points)])

    def to_world(self, force: Array) -> Array:
        """Return forces (3k,) along the points' axes in world axes instead."""
        return np.concatenate([p.axes.T @ force[3 * i : 3 * i + 3] for i, p in enumerate(self.points)])

    def _poses(self, system: System, q: Array) -> dict[str, Array]:
        names = dict.fromkeys(p.frame for p in self.points)
        return {name: system.apply("pose", kinematics.pose, q, frame=name) for name in names}
