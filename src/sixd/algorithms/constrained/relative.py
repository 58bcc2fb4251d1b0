"""One frame seen from another: pose, velocity and acceleration of frame B in the axes of frame A.

Only the joints between the two frames are used; those that carry both are left out, so that a loop far from the root
costs as much as one at the root. C is the last body that carries both frames. p is B's origin in A, R = R_AB, w the
angular velocity of B against A, all in A's axes; their rates are those of the components.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.algorithms.kinematics import ZERO6, path
from sixd.model.model import Model
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array
from sixd.spatial.transform import crm, pose_from_transform, transform_from_pose


class RelativeMotion(NamedTuple):
    """R (3, 3), p, w, dp/dt, and at qdd = 0 dw/dt and d²p/dt², each (3,)."""

    R: Array
    p: Array
    w: Array
    pd: Array
    wd: Array
    pdd: Array


def branches(model: Model, frame_a: str, frame_b: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The bodies from each frame's body up to C, C excluded."""
    a, b = (path(model, model.frame(f, "constraint").body) for f in (frame_a, frame_b))
    return tuple(i for i in a if i not in b), tuple(i for i in b if i not in a)


def relative_pose(model: Model, q: Array, frame_a: str, frame_b: str) -> tuple[Array, Array]:
    """R = R_AB (3, 3) and p (3,), the origin of B in A."""
    sides = zip((frame_a, frame_b), branches(model, frame_a, frame_b), strict=True)
    X_AC, X_BC = (_transform(model, q, frame, bodies) for frame, bodies in sides)
    return _pose(X_AC, X_BC)


def relative_jacobian(model: Model, q: Array, frame_a: str, frame_b: str) -> tuple[Array, Array, Array, Array]:
    """R, p, and the matrices J_w, J_p (3, nv) with w = J_w qd and dp/dt = J_p qd."""
    sides = zip((frame_a, frame_b), branches(model, frame_a, frame_b), strict=True)
    (X_AC, J_A), (X_BC, J_B) = (_jacobian(model, q, frame, bodies) for frame, bodies in sides)
    R, p = _pose(X_AC, X_BC)
    J_w = R @ J_B[:3] - J_A[:3]
    # the velocity of B's origin less that of the coincident point of A
    J_p = R @ J_B[3:] - J_A[3:] + skew(p) @ J_A[:3]
    return R, p, J_w, J_p


def relative_motion(model: Model, q: Array, qd: Array, frame_a: str, frame_b: str) -> RelativeMotion:
    """Pose and velocity of frame B against A, and the velocity-dependent part of the acceleration."""
    sides = zip((frame_a, frame_b), branches(model, frame_a, frame_b), strict=True)
    (X_AC, v_A, a_A), (X_BC, v_B, a_B) = (_motion(model, q, qd, frame, bodies) for frame, bodies in sides)
    R, p = _pose(X_AC, X_BC)
    w_A, w_B = skew(v_A[:3]), R @ v_B[:3]
    w = w_B - v_A[:3]
    pd = R @ v_B[3:] - v_A[3:] - w_A @ p
    wd = R @ a_B[:3] - a_A[:3] - w_A @ w_B
    # accelerations of the two origins as points, then relative to the rotating frame A
    of_A, of_B = (a[3:] + skew(v[:3]) @ v[3:] for a, v in ((a_A, v_A), (a_B, v_B)))
    pdd = R @ of_B - of_A - skew(a_A[:3]) @ p - w_A @ (pd * 2) - w_A @ (w_A @ p)
    return RelativeMotion(R, p, w, pd, wd, pdd)


def _pose(X_AC: Array, X_BC: Array) -> tuple[Array, Array]:
    T_CA, T_CB = pose_from_transform(X_AC), pose_from_transform(X_BC)
    R_CA = T_CA[:3, :3]
    return R_CA.T @ T_CB[:3, :3], R_CA.T @ (T_CB[:3, 3] - T_CA[:3, 3])


def _transform(model: Model, q: Array, frame: str, bodies: tuple[int, ...]) -> Array:
    X_FC = transform_from_pose(model.frame(frame).pose)
    for i in bodies:
        X_FC = X_FC @ (model.joints[i].transform(q[model.iq[i]]) @ model.X_tree[i])
    return X_FC


def _jacobian(model: Model, q: Array, frame: str, bodies: tuple[int, ...]) -> tuple[Array, Array]:
    """X_FC and J (6, nv) of the frame against C, in its own coordinates."""
    X = transform_from_pose(model.frame(frame).pose)
    blocks = [np.zeros((6, model.joints[i].nv), dtype=int) for i in (0, *model.bodies)]
    for i in bodies:
        joint, qi = model.joints[i], q[model.iq[i]]
        blocks[i] = X @ joint.subspace(qi)
        X = X @ (joint.transform(qi) @ model.X_tree[i])
    return X, np.concatenate(blocks, axis=1)


def _motion(model: Model, q: Array, qd: Array, frame: str, bodies: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """X_FC, spatial velocity and spatial acceleration at qdd = 0 of the frame against C, in its own coordinates."""
    X_FC, v, a = np.eye(6, dtype=int), ZERO6, ZERO6
    for i in reversed(bodies):
        joint, qi, qdi = model.joints[i], q[model.iq[i]], qd[model.iv[i]]
        X, vJ = joint.transform(qi) @ model.X_tree[i], joint.subspace(qi) @ qdi
        X_FC = X @ X_FC
        v = X @ v + vJ
        a = X @ a + joint.bias(qi, qdi) + crm(v) @ vJ
    X_FB = transform_from_pose(model.frame(frame).pose)
    return X_FB @ X_FC, X_FB @ v, X_FB @ a
