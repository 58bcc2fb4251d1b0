"""Points over rigid grounds: their heights, velocities and accelerations, and forces on them.

Point i has the rows 3i (normal), 3i + 1 and 3i + 2 (tangents). It moves with a frame: its velocity is a map P (3, 6) of
that of the frame, in world axes about one origin for the bodies of a tree, P = axes (-[r]× 1) with the arm r from there
to the point. All functions are for one state of any scalar type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms import kinematics
from sixd.algorithms.constrained.contact import origin_of
from sixd.algorithms.jacobian import jacobian
from sixd.forces.elements import Force, state_slices, tree_of
from sixd.model.system import System
from sixd.simulation.nonsmooth.rigid_ground import RigidGround
from sixd.simulation.problem import FRICTION, RESTITUTION
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array, Scalar
from sixd.spatial.transform import force_at_point, point_velocity, rotate_both
from sixd.trace.stages import Into, Rows, Stages


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


class Surface(NamedTuple):
    """The coefficients of friction (k,) and of restitution (k,) of the points: floats, or constants of a problem."""

    friction: Array
    restitution: Array

    @property
    def bounces(self) -> bool:
        """Whether a point may rebound."""
        return self.restitution.dtype == object or bool(self.restitution.any())


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
        every = np.array([p.axes for p in self.points])
        self.axes = every[0] if len(every) and (every == every[0]).all() else None  # None: of each point its own

    def __len__(self) -> int:
        return len(self.points)

    def over(self, stages: Stages, function: Callable[..., Any], *arguments: Any, into: str) -> Any:
        """Return the results of ``function(axes, *arguments)`` for each point; see ``Stages.each_of``. A letter of
        ``into`` is for each result: "o" an array with a row for each point, "f" the same in one dimension, "+" sums by
        frame."""
        k = len(self)
        kinds = {"o": Into(k, range(k)), "f": Into(k, range(k), False, True)}
        kinds["+"] = Into(len(self.frames), self.frame_of, True)
        slots = [kinds[letter] for letter in into]
        if self.axes is not None:
            return stages.each_of(k, partial(function, self.axes), *arguments, into=slots)
        return stages.each_of(k, function, [np.array([p.axes for p in self.points])], *arguments, into=slots)

    def by_frame(self, x: Any) -> Rows:
        """Return an array with a row for each frame as an argument of ``over``."""
        return Rows(x, self.frame_of)

    def velocity(self, axes: Array, V: Array, r: Array) -> Array:
        """Return the velocity (3,) of a point with the arm r by that of its frame."""
        return V if self.width == 3 else axes @ point_velocity(V, r)

    def wrench(self, axes: Array, x: Array, r: Array) -> Array:
        """Return the impulse x (3,) on a point with the arm r as one on its frame."""
        return x if self.width == 3 else force_at_point(axes.T @ x, r)

    def surface(self, constants: Mapping[str, Any]) -> Surface:
        """Return the coefficients of the points; those among the constants replace the grounds' own."""
        friction, restitution = (
            np.array([constants[name]] * len(self)) if name in constants else np.array(own)
            for name, own in (
                (FRICTION, [p.friction for p in self.points]),
                (RESTITUTION, [p.restitution for p in self.points]),
            )
        )
        return Surface(friction, restitution)

    def places(self, system: System, q: Array) -> tuple[Array, Array]:
        """Return the heights (k,) [m] over the ground, and the arms (k, 3)."""
        poses = [system.apply("pose", kinematics.pose, q, frame=name) for name in self.frames]
        own = [poses[f] for f in self.frame_of]
        arms = [p.arm(T) for p, T in zip(self.points, own, strict=True)]
        heights = [p.axes[0] @ (T[:3, 3] + r) - p.height for p, T, r in zip(self.points, own, arms, strict=True)]
        origins = self._origins(system, q)
        arms = [T[:3, 3] - origins[f] + r for T, f, r in zip(own, self.frame_of, arms, strict=True)]
        return np.array(heights), np.array(arms)

    def _origins(self, system: System, q: Array) -> list[Array]:
        """Return the positions (3,) about which the frames' velocities are: the first body of each tree."""
        tree = tree_of("RigidGround", system)
        first = [origin_of(tree, tree.frame(name).body) for name in self.frames]
        names = [tree.body_names[i - 1] if i else "world" for i in first]
        return [system.apply("pose", kinematics.pose, q, frame=name)[:3, 3] for name in names]

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

    def rows(self, system: System, q: Array) -> Array:
        """Return the Jacobians (size, nv) of the frames in world axes, or of their only points along the axes."""
        result = []
        for f, (name, origin) in enumerate(zip(self.frames, self._origins(system, q), strict=True)):
            J = system.apply("jacobian", jacobian, q, frame=name, expressed_in="aligned")
            T = system.apply("pose", kinematics.pose, q, frame=name)
            if self.width == 3:
                p = self.points[self.frame_of.index(f)]
                result.append(p.axes @ (J[3:] - skew(p.arm(T)) @ J[:3]))
            else:
                result.append(np.concatenate([J[:3], J[3:] + skew(T[:3, 3] - origin) @ J[:3]]))
        return np.concatenate(result)

    def velocities(self, V: Array, arms: Array) -> Array:
        """Return the velocities (3k,) of the points along their axes, from those of the frames (size,)."""
        if self.width == 3:
            return V
        return np.concatenate([
            p.axes @ point_velocity(V[6 * f : 6 * f + 6], r)
            for p, f, r in zip(self.points, self.frame_of, arms, strict=True)
        ])  # fmt: skip

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

    def gathered(self, stages: Stages, force: Array) -> Array:
        """Return what constant forces (3k,) along the points' axes do to the frames, wherever these move.

        If a frame has several points: their sum F (3,) in world axes, the moment (3,) that does not change, of the
        radii of balls, and G (3, 3) = Σ p Fᵀ with the positions p in the frame. R G has the other moments.
        """
        if self.width == 3:
            return force

        def gather(axes: Array, force: Array, p: Array, radius: Scalar) -> Array:
            F = axes.T @ force
            return np.concatenate([F, skew(F) @ (axes[0] * radius), np.outer(p, F).ravel()])

        places, radii = (np.array([getattr(p, name) for p in self.points]) for name in ("position", "radius"))
        return self.over(stages, gather, [force], [places], [radii], into="+").ravel()

    def joint_forces(self, system: System, q: Array, gathered: Array) -> Array:
        """Return the joint forces (nv,) of gathered forces. From the wrench of a frame in its own axes: 0.9 times the
        operations of external forces in forward dynamics (go2)."""
        tau = np.zeros(system.nv, dtype=int)
        for f, name in enumerate(self.frames):
            T = system.apply("pose", kinematics.pose, q, frame=name)
            R = T[:3, :3]
            if self.width == 3:
                p = self.points[self.frame_of.index(f)]
                wrench = force_at_point(p.axes.T @ gathered[3 * f : 3 * f + 3], p.arm(T))
            else:
                F, fixed, G = np.split(gathered[15 * f : 15 * f + 15], [3, 6])
                B = R @ G.reshape(3, 3)
                moment = np.array([B[1, 2] - B[2, 1], B[2, 0] - B[0, 2], B[0, 1] - B[1, 0]])
                wrench = np.concatenate([moment + fixed, F])
            J = system.apply("jacobian", jacobian, q, frame=name)
            tau = tau + J.T @ rotate_both(R.T, wrench)
        return tau

    def to_axes(self, force: Array) -> Array:
        """Return forces (3k,) in world axes along the points' axes instead."""
        return np.concatenate([p.axes @ force[3 * i : 3 * i + 3] for i, p in enumerate(self.points)])

    def to_world(self, force: Array) -> Array:
        """Return forces (3k,) along the points' axes in world axes instead."""
        return np.concatenate([p.axes.T @ force[3 * i : 3 * i + 3] for i, p in enumerate(self.points)])
