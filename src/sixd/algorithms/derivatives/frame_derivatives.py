"""Derivatives of the velocity and acceleration of a frame.

In the frame's own coordinates a DoF s of a joint on the way changes the velocity v by xi and the acceleration by
eta - v × xi; its qd changes them by s and zeta - v × s (rnea_derivatives.py, without gravity). Other coordinates rotate
or move with the frame as q changes, by the twist s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.algorithms.derivatives.joint_derivatives import columns, joint_changes
from sixd.algorithms.kinematics import ZERO6, express
from sixd.model.model import Model
from sixd.spatial.rotation import ZERO3, skew
from sixd.spatial.scalar import Array, common_dtype
from sixd.spatial.transform import blocks, crm, transform_from_pose


class VelocityDerivatives(NamedTuple):
    """Derivatives of a frame's velocity with respect to q and qd (the Jacobian), (…, 6, nv) each; row: of what."""

    q: Array
    qd: Array


class AccelerationDerivatives(NamedTuple):
    """Derivatives of a frame's acceleration with respect to q, qd and qdd (the Jacobian), (…, 6, nv) each."""

    q: Array
    qd: Array
    qdd: Array


class _FrameMotion(NamedTuple):
    """X_FW, v and a (6,) of a frame F in its coordinates, and (6, nv): s, xi, eta and zeta of every DoF there."""

    X_FW: Array
    v: Array
    a: Array
    J: Array
    xi: Array
    eta: Array
    zeta: Array


def velocity_derivatives(
    model: Model, q: Array, qd: Array, frame: str, *, expressed_in: str = "body"
) -> VelocityDerivatives:
    """Derivatives of ``velocity`` in the tangent space at q."""
    m = _frame_motion(model, q, qd, np.zeros(model.nv, dtype=int), frame)
    return VelocityDerivatives(_expressed(m, m.v, m.xi, expressed_in), express(m.J, m.X_FW, expressed_in))


def acceleration_derivatives(
    model: Model, q: Array, qd: Array, qdd: Array, frame: str, *, kind: str = "spatial", expressed_in: str = "body"
) -> AccelerationDerivatives:
    """Derivatives of ``acceleration`` in the tangent space at q."""
    m = _frame_motion(model, q, qd, qdd, frame)
    a_q = _expressed(m, m.a, m.eta - crm(m.v) @ m.xi, expressed_in)
    a_qd = express(m.zeta - crm(m.v) @ m.J, m.X_FW, expressed_in)
    J = express(m.J, m.X_FW, expressed_in)
    if kind == "classical":  # the product ω × v
        v = express(m.v, m.X_FW, expressed_in)
        a_q = a_q + _product_derivatives(v, _expressed(m, m.v, m.xi, expressed_in))
        a_qd = a_qd + _product_derivatives(v, J)
    return AccelerationDerivatives(a_q, a_qd, J)


def _frame_motion(model: Model, q: Array, qd: Array, qdd: Array, frame: str) -> _FrameMotion:
    """The frame's motion, and what each DoF changes of it, in its own coordinates; outward along its branch."""
    f = model.frame(frame, "velocity_derivatives")
    X_FW, v, a = np.eye(6, dtype=int), ZERO6, ZERO6
    rows = np.zeros((4, 6, model.nv), dtype=object)  # s, xi, eta, zeta of all DoF, in the body's coordinates
    for i in model.tree.ancestors(f.body):
        joint, qi, iv = model.joints[i], q[model.iq[i]], model.iv[i]
        X, S = joint.transform(qi) @ model.X_tree[i], joint.subspace(qi)
        X_FW, v_p, a_p, vJ = X @ X_FW, X @ v, X @ a, S @ qd[iv]
        v = v_p + vJ
        a = a_p + S @ qdd[iv] + joint.bias(qi, qd[iv]) + crm(v) @ vJ
        own = joint_changes(joint, S, qi, qd[iv], qdd[iv], v_p, a_p, v)
        rows = np.array([X @ x for x in rows], dtype=object)
        for row, x in zip(rows, (S, own.xi, own.eta, own.zeta), strict=True):
            row[:, iv] = x
    X_FB = transform_from_pose(f.pose)
    kind = common_dtype([q, qd, qdd, X_FW, v, a])
    J, xi, eta, zeta = ((X_FB @ x).astype(kind) for x in rows)
    return _FrameMotion(X_FB @ X_FW, X_FB @ v, X_FB @ a, J, xi, eta, zeta)


def _expressed(m: _FrameMotion, x: Array, change: Array, expressed_in: str) -> Array:
    """Derivatives (6, nv) of x (6,) in the chosen coordinates, from those in the frame's own, ``change``."""
    if expressed_in == "aligned":
        W = [skew(s[:3]) for s in m.J.T]  # the axes rotate with the frame
        change = change + columns([blocks(w, ZERO3, ZERO3, w) @ x for w in W])
    elif expressed_in == "world":
        change = change + columns([crm(s) @ x for s in m.J.T])
    return express(change, m.X_FW, expressed_in)


def _product_derivatives(v: Array, changes: Array) -> Array:
    """Derivatives (6, nv) of [0; ω × v], from those of v (6,)."""
    return np.concatenate([np.zeros_like(changes[:3]), skew(v[:3]) @ changes[3:] - skew(v[3:]) @ changes[:3]])
