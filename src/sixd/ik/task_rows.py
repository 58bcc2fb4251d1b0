"""What a target asks of a configuration, as rows: errors r (k,) and their Jacobian J (k, nv), on one state.

Errors are in the axes of the frame itself, so that the body Jacobian serves as it is; the target moves, the frame
stands still. Angles enter by rotation vectors. J is not always the derivative of r, but Jᵀr is always the gradient of
½ rᵀr (a rotation vector is an eigenvector of what is left out), and J is the derivative of r where r vanishes: all that
Gauss and Newton need. Pure physics: knows systems, nothing about batches or traces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained.relative import relative_jacobian
from sixd.algorithms.jacobian import jacobian
from sixd.algorithms.kinematics import pose
from sixd.algorithms.momentum import center_of_mass, centroidal_matrix
from sixd.model.joints import Free, Joint, Spherical
from sixd.model.system import System
from sixd.spatial.exponential import log_coupling
from sixd.spatial.rotation import EYE3, frame_along, quaternion_to_rotation, rotation_to_vector, skew
from sixd.spatial.scalar import Array, Scalar, atan2, sin, sqrt, where

_TINY = 1e-36  # keeps 0/0 at 0, below the square of any angle or distance that matters


class TaskRows(NamedTuple):
    """Errors in metres and in radians, each (k,), and their Jacobians (k, nv)."""

    metres: Array
    J_metres: Array
    radians: Array
    J_radians: Array


@dataclass(frozen=True)
class FrameTask:
    """One target of a frame: its kind, and what is fixed when it is compiled.

    ``axis`` (3,) is in the frame's coordinates; ``other`` is the frame that the target is relative to.
    """

    kind: str
    frame: str
    axis: tuple[float, ...] = ()
    other: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Core shape of the target's array."""
        return {"pose": (4, 4), "orientation": (3, 3)}.get(self.kind, (3,))

    def rows(self, system: System, q: Array, target: Array, *, exact: bool = False) -> TaskRows:
        """The errors at a configuration (nq,), and their Jacobians; if ``exact``, derivatives also far from 0."""
        if self.kind == "center of mass":
            c = system.apply("center_of_mass", center_of_mass, q)
            momentum = system.apply("centroidal_matrix", centroidal_matrix, q)
            return _rows(system, c - target, momentum[3:] / total_mass(system))
        R, p, J_w, J_p = self._motion(system, q)
        if self.kind in ("position", "pose"):
            away = R.T @ (p - (target if self.kind == "position" else target[:3, 3]))
            J_away = J_p + skew(away) @ J_w if exact else J_p
            if self.kind == "position":
                return _rows(system, away, J_away)
        if self.kind in ("orientation", "pose"):
            turned = rotation_to_vector(target[:3, :3].T @ R)
            J_w = log_coupling(-turned) @ J_w if exact else J_w
            if self.kind == "orientation":
                return _rows(system, radians=turned, J_radians=J_w)
            return TaskRows(away, J_away, turned, J_w)
        # directions: the rotation from the frame's axis to the one wanted is across the axis and has two components
        across, axis = frame_along(np.array(self.axis))[:, :2].T, np.array(self.axis)
        to = R.T @ (target - p if self.kind == "look at" else target)
        length = sqrt(to @ to + _TINY)
        wanted = to / length
        if self.kind == "look at":  # the line of sight turns as the frame moves, too
            J_w = J_w + skew(wanted) @ J_p / length
        turn = _rotation_between(axis, wanted, across[0])
        J_w = _turning(axis, turn, axis @ wanted) @ J_w if exact else J_w
        return _rows(system, radians=across @ -turn, J_radians=across @ J_w)

    def _motion(self, system: System, q: Array) -> tuple[Array, Array, Array, Array]:
        """R, p of the frame, and the Jacobians (3, nv) of its angular and linear velocity in its own axes."""
        if not self.other:
            T = system.apply("pose", pose, q, frame=self.frame)
            J = system.apply("jacobian", jacobian, q, frame=self.frame, expressed_in="body")
            return T[:3, :3], T[:3, 3], J[:3], J[3:]
        model, full, lift = tree_state(system, q)
        R, p, J_w, J_p = relative_jacobian(model, full, self.other, self.frame)
        J_w, J_p = R.T @ J_w, R.T @ J_p
        return (R, p, J_w, J_p) if lift is None else (R, p, J_w @ lift, J_p @ lift)


def tree_state(system: Any, q: Array) -> tuple[Any, Array, Array | None]:
    """The tree of a system, its configuration, and G with qd = G yd, None if the system is the tree."""
    if not hasattr(system, "coordinates"):
        return system, q, None
    return system.model, system.coordinates(q), system.G(q)


def total_mass(system: Any) -> Any:
    """The mass [kg] of the moving bodies."""
    return getattr(system, "model", system).mass


def _rows(
    system: System,
    metres: Array | None = None,
    J_metres: Array | None = None,
    radians: Array | None = None,
    J_radians: Array | None = None,
) -> TaskRows:
    none, empty = np.zeros(0, dtype=int), np.zeros((0, system.nv), dtype=int)
    return TaskRows(
        none if metres is None else metres, empty if J_metres is None else J_metres,
        none if radians is None else radians, empty if J_radians is None else J_radians,
    )  # fmt: skip


def _rotation_between(a: Array, b: Array, across: Array) -> Array:
    """The rotation vector (3,) of least angle from the unit vector a to b; about ``across`` if b is opposite, or 0."""
    normal = skew(a) @ b
    square, cosine = normal @ normal, a @ b
    sine = sqrt(square + _TINY)
    angle = atan2(sine, cosine)
    lost = (square < 1e-24) & (cosine < 0.5)
    return np.array([where(lost, x * angle, y * (angle / sine)) for x, y in zip(across, normal, strict=True)])


def _turning(a: Array, turn: Array, cosine: Scalar) -> Array:
    """(3, 3): the rate of minus the rotation vector from a to b, for an angular velocity of a against b."""
    square = turn @ turn
    angle = sqrt(square + _TINY)
    small = square < 1e-4
    k = where(small, 1 - square / 3, angle * cosine / sin(angle))
    third = where(small, 1 / 3 + square / 45, (1 - k) / where(small, 1, square))
    return (EYE3 - np.outer(a, a)) * k + np.outer(turn, turn) * third - np.outer(skew(turn) @ a, a)


def posture_error(system: Any, q: Array, posture: Array) -> Array:
    """The way (nv,) from a configuration ``posture`` to q, such that it is the gradient of half its square.

    Of a free joint the rotation vector and the displacement of the origin, in the body's axes.
    """
    parts = []
    for joint, i in joint_slices(system):
        x, wanted = q[i], posture[i]
        if isinstance(joint, Free):
            turned = Spherical().difference(wanted[:4], x[:4])
            parts += [turned, quaternion_to_rotation(x[:4]).T @ (x[4:] - wanted[4:])]
        else:
            parts.append(joint.difference(wanted, x))
    return np.concatenate([np.zeros(0, dtype=int), *parts])


def joint_slices(system: Any) -> list[tuple[Joint, slice]]:
    """The joints of a model, or of a reduced one, with their slices of q."""
    if hasattr(system, "space"):
        return list(zip(system.space.joints, system.space.iq, strict=True))
    if hasattr(system, "joints"):
        return [(system.joints[i], system.iq[i]) for i in system.bodies]
    return []


def squared(x: Array) -> Scalar:
    """x·x, 0 of an empty array."""
    return x @ x if len(x) else 0
