"""Positions, velocities and accelerations of bodies and frames.

Body quantities are in body coordinates; X[i] is X_ip (parent p -> body i), X_iW maps from the world. None of
these accelerations includes gravity.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from sixd.algorithms.operational.stack import Stack, stacked
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import (
    crm,
    inverse_transform,
    pose_from_transform,
    rotate_both,
    transform_from_pose,
)

ZERO6 = np.zeros(6, dtype=int)


class JointKinematics(NamedTuple):
    """Lists over bodies, the world's entry first: X_ip, S, vJ = S qd and cJ = S° qd."""

    X: list[Array]
    S: list[Array]
    vJ: list[Array]
    cJ: list[Array]


def joint_transforms(model: Model, q: Array) -> tuple[list[Array], list[Array]]:
    """X_ip (6, 6) and S (6, nv_i) of every body  [RBDA 4.4]."""
    X, S = [np.eye(6, dtype=int)], [np.zeros((6, 0), dtype=int)]
    for i in model.bodies:
        joint, qi = model.joints[i], q[model.iq[i]]
        X.append(joint.transform(qi) @ model.X_tree[i])
        S.append(joint.subspace(qi))
    return X, S


def joint_kinematics(model: Model, q: Array, qd: Array) -> JointKinematics:
    """Transform, subspace, joint velocity and velocity-product term of every body."""
    X, S = joint_transforms(model, q)
    vJ, cJ = [ZERO6], [ZERO6]
    for i in model.bodies:
        vJ.append(S[i] @ qd[model.iv[i]])
        cJ.append(model.joints[i].bias(q[model.iq[i]], qd[model.iv[i]]))
    return JointKinematics(X, S, vJ, cJ)


def world_transforms(model: Model, X: list[Array]) -> list[Array]:
    """X_iW of every body, from X_ip."""
    X_W = [X[0]]
    for i in model.bodies:
        X_W.append(X[i] @ X_W[model.parent[i]])
    return X_W


def body_velocities(model: Model, kinematics: JointKinematics) -> list[Array]:
    """Spatial velocity v of every body, in its own coordinates."""
    X, _, vJ, _ = kinematics
    v = [ZERO6]
    for i in model.bodies:
        v.append(X[i] @ v[model.parent[i]] + vJ[i])
    return v


def path(model: Model, body: int) -> tuple[int, ...]:
    """The bodies from ``body`` up to the root, itself first."""
    return tuple(reversed(model.tree.ancestors(body)))


def frame_transform(model: Model, q: Array, frame: str, above: Collection[int] = ()) -> Array:
    """X_FW (6, 6): from the world to the frame; or from the first body on its path that is in ``above``."""
    f = model.frame(frame, "pose")
    X_FW = transform_from_pose(f.pose)
    for i in path(model, f.body):
        if i in above:
            break
        X_FW = X_FW @ (model.joints[i].transform(q[model.iq[i]]) @ model.X_tree[i])
    return X_FW


def pose(model: Model, q: Array, frame: str, *, relative_to: str = "world") -> Array:
    """T_RF (4, 4): the pose of the frame in another one, by the joints between the two."""
    if relative_to == "world":
        return pose_from_transform(frame_transform(model, q, frame))
    paths = [path(model, model.frame(name, "pose").body) for name in (frame, relative_to)]
    common = set(paths[0]).intersection(paths[1])  # bodies that carry both: their joints change nothing
    X_FA, X_RA = (frame_transform(model, q, name, common) for name in (frame, relative_to))
    return pose_from_transform(X_FA @ inverse_transform(X_RA))


def body_poses(model: Model, q: Array) -> Array:
    """T_WB (nb, 4, 4) of all bodies."""
    X_W = world_transforms(model, joint_transforms(model, q)[0])
    return np.array([pose_from_transform(X_W[i]) for i in model.bodies]).reshape(model.nb, 4, 4)


def express(x_F: Array, X_FW: Array, expressed_in: str) -> Array:
    """A motion vector or columns (6, …), from the frame F, in "body", "aligned" or "world" coordinates."""
    if expressed_in == "body":
        return x_F
    if expressed_in == "aligned":
        return rotate_both(X_FW[:3, :3].T, x_F)
    return inverse_transform(X_FW) @ x_F


def frame_motion(model: Model, q: Array, qd: Array, qdd: Array, frame: str) -> tuple[Array, Array, Array]:
    """X_FW, spatial velocity and spatial acceleration of the frame, in its own coordinates."""
    f = model.frame(frame, "velocity")
    X_FW, v, a = np.eye(6, dtype=int), ZERO6, ZERO6
    for i in model.tree.ancestors(f.body):
        joint, qi, qdi = model.joints[i], q[model.iq[i]], qd[model.iv[i]]
        X, S = joint.transform(qi) @ model.X_tree[i], joint.subspace(qi)
        vJ = S @ qdi
        X_FW = X @ X_FW
        v = X @ v + vJ
        a = X @ a + S @ qdd[model.iv[i]] + joint.bias(qi, qdi) + crm(v) @ vJ
    X_FB = transform_from_pose(f.pose)
    return X_FB @ X_FW, X_FB @ v, X_FB @ a


def velocity(model: Model, q: Array, qd: Array, frame: str | Stack, *, expressed_in: str = "body") -> Array:
    """Spatial velocity [ω; v] (6,) of the frame, or the rows (m,) of a stack."""
    if not isinstance(frame, str):
        return stacked(velocity, frame, model, q, qd, expressed_in=expressed_in)
    X_FW, v, _ = frame_motion(model, q, qd, np.zeros(model.nv, dtype=int), frame)
    return express(v, X_FW, expressed_in)


def acceleration(
    model: Model,
    q: Array,
    qd: Array,
    qdd: Array,
    frame: str | Stack,
    *,
    kind: str = "spatial",
    expressed_in: str = "body",
) -> Array:
    """Acceleration (6,) of the frame, or the rows (m,) of a stack, spatial or classical: v̇ + ω×v in the linear part."""
    if not isinstance(frame, str):
        return stacked(acceleration, frame, model, q, qd, qdd, kind=kind, expressed_in=expressed_in)
    X_FW, v, a = frame_motion(model, q, qd, qdd, frame)
    v, a = express(v, X_FW, expressed_in), express(a, X_FW, expressed_in)
    if kind == "classical":
        return a + np.concatenate([ZERO6[:3], crm(v)[:3, :3] @ v[3:]])
    return a
