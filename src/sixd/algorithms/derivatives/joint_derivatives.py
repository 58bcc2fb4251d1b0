"""Derivatives of what one joint contributes: its S and cJ, and its spring.

Derivatives with respect to q are along joint velocities: DoF d moves q as the velocity e_d does, in the tangent space.
S' are derivatives of S's components. ∂S/∂q comes from ``subspace_rate``; only ∂cJ/∂q and springs need dual numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.model.joints.base import Joint, _fixed
from sixd.model.joints.verify import has_constant_subspace
from sixd.model.model import Model
from sixd.spatial.dual import derivative
from sixd.spatial.scalar import Array, common_dtype, is_zero
from sixd.spatial.transform import crm


class JointDerivatives(NamedTuple):
    """S' (6, nv) along each DoF, and the derivatives of cJ = S° qd with respect to q and qd, (6, nv) each."""

    S: list[Array]
    cJ_q: Array
    cJ_qd: Array


class JointChanges(NamedTuple):
    """xi and eta with respect to q, zeta to qd, (6, nv) each, in coordinates of the joint's body; S' along each DoF."""

    xi: Array
    eta: Array
    zeta: Array
    S: list[Array]


def joint_changes(
    joint: Joint, S: Array, q: Array, qd: Array, qdd: Array, v_p: Array, a_p: Array, v: Array
) -> JointChanges:
    """How a joint's DoF change the motion of all that it carries: see rnea_derivatives.py.

    ``v_p``, ``a_p`` (6,) are the parent's velocity and acceleration, ``v`` the velocity of the joint's body, in which
    coordinates all are.
    """
    own = joint_derivatives(joint, q, qd)
    turned, raised = columns([D @ qd for D in own.S]), columns([D @ qdd for D in own.S])
    xi = crm(v_p) @ S + turned
    eta = crm(a_p) @ S + crm(v_p) @ xi + crm(v) @ turned + raised + own.cJ_q
    zeta = crm(v_p) @ S + crm(v) @ S + own.cJ_qd
    return JointChanges(xi, eta, zeta, own.S)


def joint_derivatives(joint: Joint, q: Array, qd: Array) -> JointDerivatives:
    """The derivatives of a joint's S and cJ at q (nq,) and qd (nv,)."""
    if has_constant_subspace(joint):
        none = np.zeros((6, joint.nv), dtype=int)
        return JointDerivatives([none] * joint.nv, none, none)
    units = np.eye(joint.nv, dtype=int)
    S = [joint.subspace_rate(q, e) for e in units]
    along = [derivative(lambda x: joint.bias(x, _fixed(qd)), q, joint.configuration_rate(q, e))[1] for e in units]
    return JointDerivatives(S, columns(along), columns([D @ qd for D in S]) + joint.subspace_rate(q, qd))


def passive_derivatives(model: Model, q: Array) -> tuple[Array, Array]:
    """Derivatives (nv, nv) of ``passive_force`` with respect to q and qd; that of dry friction is zero."""
    spring = np.zeros((model.nv, model.nv), dtype=common_dtype([q, model.stiffness]))
    for i in model.bodies:
        iv = model.iv[i]
        if not all(is_zero(k) for k in model.stiffness[iv]):
            spring[iv, iv] = model.stiffness[iv][:, None] * stretch_derivatives(model, i, q)
    return spring, np.diag(model.damping)


def stretch_derivatives(model: Model, i: int, q: Array) -> Array:
    """Derivatives (nv_i, nv_i) of q - q_rest, the stretch of the spring in the joint of body i."""
    joint, qi, rest = model.joints[i], q[model.iq[i]], _fixed(model.rest[model.iq[i]])
    rates = [joint.configuration_rate(qi, e) for e in np.eye(joint.nv, dtype=int)]
    return columns([derivative(lambda x: joint.difference(rest, x), qi, rate)[1] for rate in rates])


def columns(vectors: list[Array]) -> Array:
    """The vectors side by side; (6, 0) of none."""
    return np.stack(vectors, axis=1) if vectors else np.zeros((6, 0), dtype=int)
