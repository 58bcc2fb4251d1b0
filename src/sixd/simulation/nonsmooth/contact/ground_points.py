"""Points over rigid grounds: their heights, velocities and accelerations, and forces on them.

Point i has the rows 3i (normal), 3i + 1 and 3i + 2 (tangents). It moves with a frame: its velocity is a map P (3, 6) of
that of the frame's origin, in world axes, P = axes (-[r]× 1) with the arm r from the origin to the point. All functions
are for one state of any scalar type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.algorithms import kinematics
from sixd.algorithms.jacobian import jacobian
from sixd.forces.elements import ZERO_WRENCH, Force, state_slices
from sixd.model.system import System
from sixd.simulation.nonsmooth.rigid_ground import RigidGround
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array
from sixd.spatial.transform import force_at_point, point_velocity, rotate_both


@dataclass(frozen=True, eq=False)
class GroundPoint:
    """A point in a frame of a body, with a radius, over a plane with axes (3, 3): normal and tangents as rows."""

    frame: str
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
    """The points of all rigid grounds among some force elements, their frames, and where their forces are in the
    states u."""

    def __init__(self, system: System, forces: Sequence[Force], sizes: Sequence[int]) -> None:
        self.points: list[GroundPoint] = []
        self.entries: list[int] = []  # of u
        self.sweeps = 1
        for force, own in zip(forces, state_slices(sizes), strict=True):
            if isinstance(force, RigidGround):
                self.entries += range(own.start, own.stop)
                self.sweeps = max(self.sweeps, force.sweeps)
                axes = np.vstack([force.axes[0][None], force.axes[1]])
                for frame, rows in force.points_of(system).items():
                    self.points += [
                        GroundPoint(frame, row[:3], row[3], axes, force.height, force.friction, force.restitution)
                        for row in rows
                    ]
        self.frames = list(dict.fromkeys(p.frame for p in self.points))
        self.frame_of = [self.frames.index(p.frame) for p in self.points]
        self.width = 3 if len(self.frames) == len(self.points) else 6  # rows of a frame

    def __len__(self) -> int:
        return len(self.points)

    def places(self, system: System, q: Array) -> tuple[Array, Array]:
        """Return the heights (k,) [m] over the ground, and the arms (k, 3)."""
        poses = [system.apply("pose", kinematics.pose, q, frame=name) for name in self.frames]
        own = [poses[f] for f in self.frame_of]
        arms = [p.arm(T) for p, T in zip(self.points, own, strict=True)]
        heights = [p.axes[0] @ (T[:3, 3] + r) - p.height for p, T, r in zip(self.points, own, arms, strict=True)]
        return np.array(heights), np.array(arms)

    def paths(self, system: System, q: Array, qd: Array) -> Array:
        """Return the coordinates (k, 2) [m] of the points along the tangents, and the velocities (k, 2) [m/s] of the
        lowest points of balls about their centres: (k, 4)."""
        result = []
        for p, f in zip(self.points, self.frame_of, strict=True):
            T = system.apply("pose", kinematics.pose, q, frame=self.frames[f])
            roll = np.zeros(2, dtype=int)
            if p.radius:
                v = system.apply("velocity", kinematics.velocity, q, qd, frame=self.frames[f], expressed_in="aligned")
                roll = p.axes[1:] @ (skew(v[:3]) @ (p.axes[0] * -p.radius))
            result.append(np.concatenate([p.axes[1:] @ (T[:3, 3] + p.arm(T)), roll]))
        return np.array(result)

    @property
    def size(self) -> int:
        """The number of rows of all frames."""
        return self.width * len(self.frames)

    def rows(self, system: System, q: Array, arms: Array) -> Array:
        """Return the Jacobians (size, nv) of the frames in world axes, or of their only points along the axes."""
        result = [system.apply("jacobian", jacobian, q, frame=name, expressed_in="aligned") for name in self.frames]
        if self.width == 3:
            own = zip(self.points, result, arms, strict=True)
            result = [p.axes @ (J[3:] - skew(r) @ J[:3]) for p, J, r in own]
        return np.concatenate(result)

    def velocities(self, V: Array, arms: Array) -> Array:
        """Return the velocities (3k,) of the points along their axes, from those of the frames (size,)."""
        if self.width == 3:
            return V
        return np.concatenate([
            p.axes @ point_velocity(V[6 * f : 6 * f + 6], r)
            for p, f, r in zip(self.points, self.frame_of, arms, strict=True)
        ])  # fmt: skip

    def wrenches(self, x: Array, arms: Array) -> Array:
        """Return the impulses or forces x (3k,) of the points as those on the frames' rows (size,)."""
        if self.width == 3:
            return x
        result: list[Any] = [ZERO_WRENCH] * len(self.frames)
        for i, (p, f, r) in enumerate(zip(self.points, self.frame_of, arms, strict=True)):
            result[f] = result[f] + force_at_point(p.axes.T @ x[3 * i : 3 * i + 3], r)
        return np.concatenate(result)

    def accelerations(self, system: System, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """Return the rates (3k,) of the velocities: J qdd + dJ/dt qd, without the centripetal accelerations of the
        points about the frames' origins, and these. The arm of a ball does not turn with it."""
        rates: list[Array] = [np.zeros(0)] * len(self.points)
        inward = list(rates)
        for f, name in enumerate(self.frames):
            options = {"frame": name, "expressed_in": "aligned"}
            v = system.apply("velocity", kinematics.velocity, q, qd, **options)
            a = system.apply("acceleration", kinematics.acceleration, q, qd, qdd, kind="classical", **options)
            T, turning = system.apply("pose", kinematics.pose, q, frame=name), skew(v[:3]) @ skew(v[:3])
            for i, p in enumerate(self.points):
                if self.frame_of[i] == f:
                    rates[i] = p.axes @ point_velocity(a, p.arm(T))
                    inward[i] = turning @ (T[:3, :3] @ p.position)
        return np.concatenate(rates), np.concatenate(inward)

    def joint_forces(self, system: System, q: Array, force: Array) -> Array:
        """Return the joint forces (nv,) of forces (3k,) [N] along the points' axes. From the wrench of all points of a
        frame in its own axes: 0.9 times the operations of external forces in forward dynamics (go2)."""
        _, arms = self.places(system, q)
        tau = np.zeros(system.nv, dtype=int)
        for f, name in enumerate(self.frames):
            wrench: Array = ZERO_WRENCH
            for i, p in enumerate(self.points):
                if self.frame_of[i] == f:
                    wrench = wrench + force_at_point(p.axes.T @ force[3 * i : 3 * i + 3], arms[i])
            R = system.apply("pose", kinematics.pose, q, frame=name)[:3, :3]
            J = system.apply("jacobian", jacobian, q, frame=name)
            tau = tau + J.T @ rotate_both(R.T, wrench)
        return tau

    def to_axes(self, force: Array) -> Array:
        """Return forces (3k,) in world axes along the points' axes instead."""
        return np.concatenate([p.axes @ force[3 * i : 3 * i + 3] for i, p in enumerate(self.points)])

    def to_world(self, force: Array) -> Array:
        """Return forces (3k,) along the points' axes in world axes instead."""
        return np.concatenate([p.axes.T @ force[3 * i : 3 * i + 3] for i, p in enumerate(self.points)])
