"""Jacobians of frames, their rates, and the inverse of the operational-space inertia.

J maps qd to the frame's spatial velocity [ω; v]. "body": the frame's axes and origin; "aligned": world axes,
the frame's origin; "world": world axes and origin.
"""

from __future__ import annotations

import numpy as np

from sixd.algorithms.kinematics import ZERO6, express, path
from sixd.algorithms.operational.stack import Stack, stacked
from sixd.algorithms.solve import solve_columns
from sixd.model.model import Model
from sixd.spatial.rotation import ZERO3
from sixd.spatial.scalar import Array, common_dtype
from sixd.spatial.transform import (
    blocks,
    crm,
    inverse_transform,
    mirror_upper,
    rotate_both,
    transform_from_pose,
)


def jacobian(model: Model, q: Array, frame: str | Stack, *, expressed_in: str = "body") -> Array:
    """J (6, nv) of the frame, or the rows (m, nv) of a stack; exact zeros for joints that do not carry it."""
    if not isinstance(frame, str):
        return stacked(jacobian, frame, model, q, expressed_in=expressed_in)
    f = model.frame(frame, "jacobian")
    X = transform_from_pose(f.pose)  # X_Fi, from each body on the way down to the frame
    columns = {}
    for i in path(model, f.body):
        joint, qi = model.joints[i], q[model.iq[i]]
        columns[i] = X @ joint.subspace(qi)
        X = X @ (joint.transform(qi) @ model.X_tree[i])
    return express(_spread(model, columns), X, expressed_in)


def jacobian_rate(model: Model, q: Array, qd: Array, frame: str | Stack, *, expressed_in: str = "body") -> Array:
    """dJ/dt (6, nv) along qd, or the rows (m, nv) of a stack, component by component in the chosen coordinates."""
    if not isinstance(frame, str):
        return stacked(jacobian_rate, frame, model, q, qd, expressed_in=expressed_in)
    f = model.frame(frame, "jacobian_rate")
    X = transform_from_pose(f.pose)
    J, J_dot, v_rel = {}, {}, ZERO6  # v_rel: velocity of F against body i, in F coordinates
    for i in path(model, f.body):
        joint, qi, qdi = model.joints[i], q[model.iq[i]], qd[model.iv[i]]
        J[i] = X @ joint.subspace(qi)
        # a vector fixed in body i, seen from F, rotates against F's own motion
        J_dot[i] = X @ joint.subspace_rate(qi, qdi) - crm(v_rel) @ J[i]
        v_rel = v_rel + J[i] @ qdi
        X = X @ (joint.transform(qi) @ model.X_tree[i])
    J_F, rate, v = _spread(model, J), _spread(model, J_dot), v_rel
    if expressed_in == "body":
        return rate
    if expressed_in == "aligned":  # d/dt (R J) = R (J_dot + ω× J), both halves
        W = crm(v)[:3, :3]
        return rotate_both(X[:3, :3].T, rate + blocks(W, ZERO3, ZERO3, W) @ J_F)
    return inverse_transform(X) @ (rate + crm(v) @ J_F)


def inverse_operational_inertia(model: Model, q: Array, frame: str | Stack, *, expressed_in: str = "body") -> Array:
    """Λ⁻¹ (m, m) = J M⁻¹ Jᵀ: the acceleration of the frames per force on them; exists at singular poses too."""
    J = jacobian(model, q, frame, expressed_in=expressed_in)
    return mirror_upper(J @ solve_columns(model, q, J.T))


def _spread(model: Model, columns: dict[int, Array]) -> Array:
    """(6, nv) with the columns of each body at its DoF, zeros elsewhere."""
    J = np.zeros((6, model.nv), dtype=common_dtype(columns.values()))
    for i, block in columns.items():
        J[:, model.iv[i]] = block
    return J
