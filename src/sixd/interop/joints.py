"""Rules that convert one joint's coordinates to those of another program.

A rule has a map of the configuration, an orthogonal matrix A(q) for velocities and (since power is equal) for forces,
and the rate of A for accelerations:

    qd' = A qd,    qdd' = A qdd + dA/dt qd,    tau' = A tau

Arrays are (…, n): whole batches are converted at once. This module depends on joints, not on models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from sixd.spatial.rotation import quaternion_from_rotation, quaternion_multiply, quaternion_to_rotation
from sixd.spatial.scalar import Array, ArrayLike, atan2, cos, sin, sqrt

State = Mapping[str, Array]  # "q", and any of "qd", "qdd", "tau"


class JointConversion(NamedTuple):
    """The conversion of one joint's coordinates; A (…, nv, nv) and ``rate`` (…, nv) = dA/dt qd expect sixd's q, qd."""

    nq: int  # in the other program
    to_q: Callable[[Array], Array]
    from_q: Callable[[Array], Array]
    A: Callable[[Array], Array]
    rate: Callable[[Array, Array], Array] | None = None  # None where A is constant

    def to_other(self, state: State) -> dict[str, Array]:
        """Return sixd's state in the other program's coordinates."""
        q = state["q"]
        A = self.A(q)
        new = {name: _times(A, x) for name, x in state.items() if name != "q"}
        if "qdd" in new and self.rate is not None:
            new["qdd"] = new["qdd"] + self.rate(q, state["qd"])
        return {"q": self.to_q(q), **new}

    def from_other(self, state: State) -> dict[str, Array]:
        """Return the other program's state in sixd's coordinates; A is orthogonal, so its transpose is its inverse."""
        q = self.from_q(state["q"])
        A_T = np.swapaxes(self.A(q), -1, -2)
        new = {name: _times(A_T, x) for name, x in state.items() if name != "q"}
        if "qdd" in new and self.rate is not None:
            new["qdd"] = _times(A_T, state["qdd"] - self.rate(q, new["qd"]))
        return {"q": q, **new}


def _times(A: Array, x: Array) -> Array:
    return (A @ x[..., None])[..., 0]


def _stack(*entries: ArrayLike, axis: int = -1) -> Array:
    return np.stack(np.broadcast_arrays(*entries), axis=axis)


SAME = JointConversion(1, lambda q: q, lambda q: q, lambda q: np.eye(1, dtype=int))
SAME_BALL = JointConversion(4, lambda q: q, lambda q: q, lambda q: np.eye(3, dtype=int))


def _reordered(order: list[int], A: Array) -> JointConversion:
    """Return the rule where the other's entry k is sixd's entry ``order[k]``; the quaternion gets unit length."""
    back = np.argsort(order)

    def to_q(q: Array) -> Array:
        quaternion = q[..., :4]
        if q.dtype != object:  # scaled first, so that its square neither overflows nor underflows
            quaternion = quaternion / np.abs(quaternion).max(axis=-1, keepdims=True)
        length = sqrt((quaternion * quaternion).sum(axis=-1, keepdims=True))
        return np.concatenate([quaternion / length, q[..., 4:]], axis=-1)[..., order]

    return JointConversion(len(order), to_q, lambda q: q[..., back], lambda q: A)


def permuted(order: list[int]) -> JointConversion:
    """Return the rule where the other's entry k is sixd's entry ``order[k]``, both in q and in qd."""
    back, A = np.argsort(order), np.eye(len(order), dtype=int)[order]
    return JointConversion(len(order), lambda q: q[..., order], lambda q: q[..., back], lambda q: A)


def _planar_rule() -> JointConversion:
    """Return the rule from (θ, x, y) and its rate to (x, y, cos θ, sin θ) and (vx, vy, ω) along the body's axes."""

    def to_q(q: Array) -> Array:
        theta, x, y = np.moveaxis(q, -1, 0)
        return _stack(x, y, cos(theta), sin(theta))

    def from_q(q: Array) -> Array:
        x, y, c, s = np.moveaxis(q, -1, 0)
        return _stack(atan2(s, c), x, y)

    def A(q: Array) -> Array:
        c, s = cos(q[..., 0]), sin(q[..., 0])
        return _stack(_stack(0, c, s), _stack(0, -s, c), np.array([1, 0, 0]), axis=-2)

    def rate(q: Array, qd: Array) -> Array:
        vx, vy, w = np.moveaxis(_times(A(q), qd), -1, 0)
        return _stack(w * vy, -w * vx, 0)

    return JointConversion(4, to_q, from_q, A, rate)


SPHERICAL_XYZW = _reordered([1, 2, 3, 0], np.eye(3, dtype=int))
FREE_FLYER = _reordered([4, 5, 6, 1, 2, 3, 0], np.roll(np.eye(6, dtype=int), 3, axis=0))
# an angle that the other program stores as cosine and sine
CONTINUOUS = JointConversion(
    2, lambda q: np.concatenate([cos(q), sin(q)], axis=-1), lambda q: atan2(q[..., 1:], q[..., :1]), SAME.A
)
PLANAR = _planar_rule()


def mujoco_free(T_WP: Array) -> JointConversion:
    """Return the rule from [quaternion, p] in the joint's frame P to [p, quaternion] in the world W.

    Velocities are [ω; v] in sixd and [R_WB v; ω] in MuJoCo.
    """
    R_WP, p_WP = T_WP[:3, :3], T_WP[:3, 3]
    base = quaternion_from_rotation(R_WP)

    def rotated(by: Array, quaternion: Array) -> Array:
        return np.moveaxis(quaternion_multiply(by, np.moveaxis(quaternion, -1, 0)), 0, -1)

    def to_q(q: Array) -> Array:
        return np.concatenate([q[..., 4:] @ R_WP.T + p_WP, rotated(base, q[..., :4])], axis=-1)

    def from_q(q: Array) -> Array:
        return np.concatenate([rotated(base * [1, -1, -1, -1], q[..., 3:]), (q[..., :3] - p_WP) @ R_WP], axis=-1)

    def A(q: Array) -> Array:
        R_PB = np.moveaxis(quaternion_to_rotation(np.moveaxis(q[..., :4], -1, 0)), (0, 1), (-2, -1))
        R = R_WP @ R_PB
        full = np.zeros((*R.shape[:-2], 6, 6), dtype=R.dtype)
        full[..., :3, 3:], full[..., 3:, :3] = R, np.eye(3, dtype=int)
        return full

    def rate(q: Array, qd: Array) -> Array:
        # d/dt (R v) = R v̇ + R ω×v
        w_cross_v = np.cross(qd[..., :3], qd[..., 3:])
        return _times(A(q), np.concatenate([0 * w_cross_v, w_cross_v], axis=-1))

    return JointConversion(7, to_q, from_q, A, rate)
