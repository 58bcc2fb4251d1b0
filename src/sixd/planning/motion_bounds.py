"""How far solids can move relative to each other: bounds for pieces of a motion, from its velocity and lever arms.

Along a geodesic with the velocity dq every joint rotates at a constant rate |ω| and slides at |v|. A point at the
distance r from the joint's axis (from its origin, for joints with several axes) moves by at most |ω| r + |v| in the
frame before the joint. So the pose at one configuration of a piece bounds the motion within all of it: the motions of
the joints between two solids add up, however these joints move each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sixd.algorithms.kinematics import body_poses
from sixd.body_marks import listening
from sixd.collision.solids import SolidPairs
from sixd.engine.artifact import make_rollout, recipe_key
from sixd.errors import ModelError
from sixd.model.joints import Joint
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.slow_work import watched
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, sqrt
from sixd.trace.program import trace
from sixd.trace.recipe import Recipe
from sixd.trace.stages import Stages

_SAMPLES = 8  # configurations at which the subspace of a joint is compared


@dataclass(frozen=True, eq=False)
class JointSpeed:
    """How a joint's velocity moves it: lengths (nv,) of the angular and linear columns of S, and the fixed axis of its
    rotation in its successor frame, zero if it has none."""

    angular: Array
    linear: Array
    axis: Array
    quaternion: bool

    def rates(self, dq: Array) -> tuple[Scalar, Scalar]:
        """Return bounds |ω| and |v| for a velocity (nv,)."""
        if self.quaternion:  # columns of S are orthogonal
            turn, slide = dq * self.angular, dq * self.linear
            return sqrt(turn @ turn), sqrt(slide @ slide)
        size = np.array([absolute(x) for x in dq])
        return size @ self.angular, size @ self.linear


class MotionBounds:
    """Bounds of the motion of pairs of solids (``placed`` (solids, 12) in the frames of their bodies), compiled."""

    def __init__(self, where: str, model: Model, solids: SolidPairs, placed: Array) -> None:
        self.where, self.model, self.solids = where, model, solids
        self.radii = np.minimum([solid.bounds[3] for solid in solids.solids], 1e15)
        self.centers = placed[:, 9:]
        self.code: Any = None
        for solid in solids.solids:
            if solid.body and not np.isfinite(solid.bounds[3]):
                raise ModelError(
                    f"{where}: {solid.name!r} is a plane on a body that moves, expected it in the world: its motion "
                    f"has no bound. Replace it by a box, or leave its pairs out."
                )
        if solids.pairs:
            self.code = remember(model, ("motion bounds", solids.key), self._compiled)

    def of_pairs(self, q: Array, dq: Array) -> Array:
        """Return bounds (n, pairs) [m] of relative motions through q (n, nq) at the velocity dq (n, nv), in unit time.

        In the time h the motion from q is at most h times as large.
        """
        if self.code is None or not len(q):
            return np.zeros((len(q), len(self.solids.pairs)))
        inputs = [np.ascontiguousarray(x, dtype=float) for x in (q, dq, self.centers[None], self.radii[None])]
        (rows,) = self.code(np.ones(1), inputs)
        found: Array = rows.reshape(len(q), -1)
        return found

    def _compiled(self) -> Any:
        model, solids = self.model, self.solids
        speeds = [_joint_speed(self.where, model, i) for i in model.bodies]
        n = len(solids.solids)
        shapes: dict[str, tuple[int, ...]] = {"q": (model.nq,), "dq": (model.nv,), "centers": (n, 3), "radii": (n,)}
        with watched(f"compiling {self.where} for {model.name!r}"):
            stages = Stages("float64")
            inputs = [stages.input(name, shape) for name, shape in shapes.items()]
            with listening(stages.graph):
                program = trace(partial(pair_motions, model, solids, speeds), shapes, stages.graph.dtype)
                (name,) = stages.store({"motions": stages(program, *inputs)})
            recipe = Recipe(stages.memory, (), tuple(shapes), tuple(stages.works), (), recorded=(name,))
            key = recipe_key(recipe, "float64")
            return make_rollout(recipe, key, self.where, "motion bounds", model.name, "float64")


def pair_motions(
    model: Model, solids: SolidPairs, speeds: list[JointSpeed], q: Array, dq: Array, centers: Array, radii: Array
) -> Array:
    """The bounds (pairs,) of one state: sums over the joints between the bodies of a pair and their last common one."""
    T = [np.eye(4, dtype=int), *body_poses(model, q)]
    rates = [speed.rates(dq[model.iv[i]]) for i, speed in zip(model.bodies, speeds, strict=True)]
    # up to and including the joint k: of the solid relative to the body before it
    moved: list[dict[int, Scalar]] = []
    for solid, own, radius in zip(solids.solids, centers, radii, strict=True):
        center = T[solid.body][:3, :3] @ own + T[solid.body][:3, 3]
        sums: dict[int, Scalar] = {solid.body: 0}
        k, total = solid.body, 0
        while k:
            omega, v = rates[k - 1]
            away = center - T[k][:3, 3]
            along = T[k][:3, :3] @ speeds[k - 1].axis @ away if speeds[k - 1].axis.any() else 0
            lever = sqrt(maximum(away @ away - along * along, 0)) + radius
            total = total + omega * lever + v
            k = model.parent[k]
            sums[k] = total
        moved.append(sums)
    found = []
    for i, j in solids.pairs:
        common = max(moved[i].keys() & moved[j].keys())
        found.append(moved[i][common] + moved[j][common])
    return np.array(found)


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
