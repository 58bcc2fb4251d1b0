"""How far solids can move relative to each other: bounds for pieces of a motion, from its velocity and lever arms.

Along a geodesic with the velocity dq every joint turns at a constant rate |ω| and slides at |v|. A point at the distance
r from the joint's axis (from its origin, for joints that turn about several axes) moves by at most |ω| r + |v| in the
frame before the joint. So the pose at one configuration of a piece bounds the motion within all of it: the motions of
the joints between two solids add up, however these joints move each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sixd.api.frames import body_poses
from sixd.collision.solids import SolidPairs
from sixd.errors import ModelError
from sixd.model.joints import Joint
from sixd.model.model import Model
from sixd.spatial.scalar import Array

_SAMPLES = 8  # configurations at which the subspace of a joint is compared


@dataclass(frozen=True, eq=False)
class JointSpeed:
    """How a joint's velocity moves it: lengths (nv,) of the angular and linear columns of S, and the fixed axis of its
    rotation in its successor frame, zero if it has none."""

    angular: Array
    linear: Array
    axis: Array
    quaternion: bool

    def rates(self, dq: Array) -> tuple[Array, Array]:
        """Return bounds |ω| and |v|, each (n,), for velocities (n, nv)."""
        if self.quaternion:  # columns of S are orthogonal
            return tuple(np.linalg.norm(dq * k, axis=1) for k in (self.angular, self.linear))  # type: ignore[return-value]
        return np.abs(dq) @ self.angular, np.abs(dq) @ self.linear


class MotionBounds:
    """Bounds of the motion of pairs of solids (``placed`` (solids, 12) in the frames of their bodies)."""

    def __init__(self, where: str, model: Model, solids: SolidPairs, placed: Array) -> None:
        self.model, nb = model, model.nb
        self.speeds = [_joint_speed(where, model, i) for i in model.bodies]
        self.axes = np.array([speed.axis for speed in self.speeds]).reshape(nb, 3)
        self.turning = (self.axes != 0).any(axis=1)
        self.bodies = np.array([solid.body for solid in solids.solids], dtype=int)
        self.centers = placed[:, 9:]
        self.radii = np.minimum([solid.bounds[3] for solid in solids.solids], 1e15)
        support = np.zeros((nb + 1, nb), dtype=bool)  # joints that carry a body
        for i in model.bodies:
            support[i] = support[model.parent[i]]
            support[i, i - 1] = True
        self.support = support[self.bodies].astype(float)
        first, second = np.array(solids.pairs, dtype=int).reshape(-1, 2).T
        # the sums over joints after the last common ancestor: of joints in its subtree, whose numbers are larger
        common = (support[self.bodies[first]] & support[self.bodies[second]]) * np.arange(1, nb + 1)
        ancestor = common.max(axis=1, initial=0)
        self.places = first * (nb + 1) + ancestor, second * (nb + 1) + ancestor

    def of_pairs(self, q: Array, dq: Array) -> Array:
        """Return bounds (n, pairs) [m] of relative motions through q (n, nq) at the velocity dq (n, nv), in unit time.

        In the time h the motion from q is at most h times as large.
        """
        n, nb = len(q), self.model.nb
        poses = np.asarray(body_poses(self.model, q)).reshape(n, nb, 4, 4)
        whole = np.concatenate([np.broadcast_to(np.eye(4), (n, 1, 4, 4)), poses], axis=1)[:, self.bodies]
        centers = (whole[..., :3, :3] @ self.centers[:, :, None])[..., 0] + whole[..., :3, 3]
        rates = [speed.rates(dq[:, self.model.iv[i]]) for i, speed in zip(self.model.bodies, self.speeds, strict=True)]
        omega, v = (np.array(x).reshape(nb, n).T for x in zip(*rates, strict=True))

        away = centers[:, :, None] - poses[:, None, :, :3, 3]  # (n, solids, joints, 3)
        square = np.einsum("nsjk,nsjk->nsj", away, away)
        axes = np.einsum("njkl,jl->njk", poses[..., :3, :3], self.axes)
        along = np.einsum("nsjk,njk->nsj", away, axes)
        levers = np.sqrt(np.maximum(square - along * along, 0.0)) + self.radii[:, None]
        moved = (levers * omega[:, None] + v[:, None]) * self.support
        sums = np.zeros((n, len(self.bodies), nb + 1))
        sums[..., :-1] = np.cumsum(moved[..., ::-1], axis=-1)[..., ::-1]
        flat = sums.reshape(n, -1)
        found: Array = flat[:, self.places[0]] + flat[:, self.places[1]]
        return found


def _joint_speed(where: str, model: Model, i: int) -> JointSpeed:
    """Return how a joint moves; raise if the columns of its S change their length with q."""
    joint = model.joints[i]
    rng = np.random.default_rng(0)
    inf = np.full(joint.nq, np.inf)
    samples = np.array([_subspace(joint, joint.random(rng, -inf, inf)) for _ in range(_SAMPLES)])
    lengths = np.linalg.norm(samples.reshape(_SAMPLES, 2, 3, joint.nv), axis=2)
    if np.ptp(lengths, axis=0).max(initial=0.0) > 1e-9:  # rounding of unit quaternions and axes
        raise ModelError(
            f"{where}: the velocity of joint {model.joint_names[i - 1]!r} at a unit rate changes with q, expected a "
            f"constant one. The motion of its bodies has no known bound: replace the joint, or lock it."
        )
    angular, linear = lengths[0]
    columns = samples[:, :3].transpose(0, 2, 1)[:, angular > 0].reshape(-1, 3)
    axis = np.zeros(3)
    if len(columns) and np.linalg.matrix_rank(columns, tol=1e-9) == 1:
        axis = columns[0] / np.linalg.norm(columns[0])
    return JointSpeed(angular, linear, axis, joint.has_quaternion)


def _subspace(joint: Joint, q: Array) -> Array:
    return np.asarray(joint.subspace(q), dtype=float).reshape(6, joint.nv)
