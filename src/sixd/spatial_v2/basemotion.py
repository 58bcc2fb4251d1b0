"""Conversion between the two descriptions of a floating base's motion.

Joint variables q (6) are those of ``floatbase``: position x, y, z [m] and angles [rad] about x, y, z, with
E = rz(q6) ry(q5) rx(q4). The other description is p (7) = [quaternion; position], or x (13) with the spatial
velocity in fixed base coordinates appended. Angles are singular at q5 = ±π/2; quaternions are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.errors import ShapeError, SingularError
from sixd.io.spatial_v2.matlab import numbers, vector
from sixd.spatial.rotation import EYE3, rotation_to_euler
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial_v2.rotation import rq, rqd, rx, ry, rz

_NEAR_SINGULAR = 1e-12  # smallest abs(cos q5) for which rates are computed


def fbkin(first: ArrayLike, second: ArrayLike | None = None, third: ArrayLike | None = None) -> Any:
    """Convert the motion of a floating base between joint variables and quaternion form.

    ==========================  =====================  ==========================================
    call                        returns                where
    ==========================  =====================  ==========================================
    ``fbkin(q)``                p (7,)                 q (6,)
    ``fbkin(q, qd)``            x (13,)
    ``fbkin(q, qd, qdd)``       (x, xd)                xd (13,) is dx/dt
    ``fbkin(p)``                q (6,)                 p (7,)
    ``fbkin(x)``                (q, qd)                x (13,)
    ``fbkin(x, xd)``            (q, qd, qdd)           only the acceleration xd[7:] is read
    ==========================  =====================  ==========================================

    The returned angles have q5 in [-π/2, π/2], q4 and q6 in [-π, π]. At q5 = ±π/2 the angles are still correct (q4 is
    0), but their rates do not exist.
    """
    start = vector("fbkin", "first argument", first, 6, 7, 13)
    if start.size == 6:
        qd = None if second is None and third is None else vector("fbkin", "qd", second, 6)
        return _to_quaternion(start, qd, None if third is None else vector("fbkin", "qdd", third, 6))
    q = _angles(start)
    if start.size == 7:
        return q
    return (q, *_rates(start, q, None if second is None else vector("fbkin", "xd", second, 13)))


def fbanim(X: ArrayLike, Qr: ArrayLike | None = None) -> Array:
    """Return joint data 6×N for animating a floating base from its states X, 13×N or 7×N (or 13×1×N, 7×1×N).

    Angles are unwrapped, so that they do not jump by π or 2π; no angle may change by π/2 or more from one sample to
    the next. Rows of ``Qr``, n×N or n×1×N, the other joints' data, are appended.
    """
    states = _samples("X", X)
    if len(states) not in (7, 13):
        raise ShapeError(f"fbanim: X has {len(states)} rows, expected 7 or 13, one column per sample.")
    Q = np.array([_angles(x) for x in states.T]).reshape(-1, 6).T
    for k in range(1, Q.shape[1]):
        Q[3:, k] = _nearest(Q[3:, k], Q[3:, k - 1])
    if Qr is None:
        return Q
    rest = _samples("Qr", Qr)
    if rest.shape[1] != Q.shape[1]:
        raise ShapeError(f"fbanim: Qr has {rest.shape[1]} samples, X {Q.shape[1]}; expected the same number.")
    return np.concatenate([Q, rest])


def _to_quaternion(q: Array, qd: Array | None = None, qdd: Array | None = None) -> Any:
    r = q[:3]
    p = np.concatenate([rq(rz(q[5]) @ ry(q[4]) @ rx(q[3])), r])
    if qd is None:
        return p
    J, J_rate = _axes(q[3:], qd[3:])
    w = J @ qd[3:]
    x = np.concatenate([p, w, qd[:3] + np.cross(r, w)])
    if qdd is None:
        return x
    w_rate = J @ qdd[3:] + J_rate @ qd[3:]
    a = qdd[:3] + np.cross(qd[:3], w) + np.cross(r, w_rate)
    return x, np.concatenate([rqd(w, p[:4]), qd[:3], w_rate, a])


def _angles(x: Array) -> Array:
    """Return q (6,) of [quaternion; position; …]: R = Eᵀ is a product of rotations about the moving x, y and z axes."""
    return np.concatenate([x[4:7], rotation_to_euler("XYZ", rq(x[:4]).T)])


def _rates(x: Array, q: Array, xd: Array | None = None) -> tuple[Array, ...]:
    """Return (qd,) or, with xd, (qd, qdd) of the base at x."""
    if abs(np.cos(q[4])) < _NEAR_SINGULAR:
        raise SingularError(
            "fbkin: q5 is ±π/2, where the rates of the angles do not exist. Use the quaternion form, or convert only "
            "the position: fbkin(x[:7])."
        )
    r, w, v = x[4:7], x[7:10], x[10:]
    J, _ = _axes(q[3:], np.zeros(3))
    qd = np.concatenate([v - np.cross(r, w), np.linalg.solve(J, w)])
    if xd is None:
        return (qd,)
    w_rate, a = xd[7:10], xd[10:]
    _, J_rate = _axes(q[3:], qd[3:])
    angular = np.linalg.solve(J, w_rate - J_rate @ qd[3:])
    return qd, np.concatenate([a - np.cross(qd[:3], w) - np.cross(r, w_rate), angular])


def _axes(angles: Array, rates: Array) -> tuple[Array, Array]:
    """Return the axes of the three rotations as columns in base coordinates, and their rates: ω = J θ̇."""
    first = rx(angles[0])
    axes = [EYE3[0].astype(float), first.T @ EYE3[1], (ry(angles[1]) @ first).T @ EYE3[2]]
    carrier = [np.zeros(3), rates[0] * axes[0], rates[0] * axes[0] + rates[1] * axes[1]]
    return np.array(axes).T, np.array([np.cross(w, axis) for w, axis in zip(carrier, axes, strict=True)]).T


def _samples(name: str, value: Any) -> Array:
    x = numbers("fbanim", name, value)
    if x.ndim == 3 and x.shape[1] == 1:
        x = x[:, 0, :]
    if x.ndim == 1:
        x = x[:, None] if name == "X" else x[None, :]
    if x.ndim != 2:
        raise ShapeError(f"fbanim: {name} has shape {x.shape}, expected rows×N or rows×1×N.")
    return x


def _nearest(angles: Array, before: Array) -> Array:
    """Return, of all angles that describe the same orientation, those nearest to ``before``."""
    a, b, c = angles
    candidates = np.array([(a, b, c), (a + np.pi, np.pi - b, c + np.pi)])
    candidates = candidates - 2 * np.pi * np.round((candidates - before) / (2 * np.pi))
    # the two candidates differ by π in the outer angles: only these are compared
    return min(candidates, key=lambda t: abs(t[0] - before[0]) + abs(t[2] - before[2]))
