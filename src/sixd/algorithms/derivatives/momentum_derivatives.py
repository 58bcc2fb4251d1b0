"""Derivatives of momentum, centre of mass and energy.

A DoF s of joint i changes the velocities of all that it carries by xi (rnea_derivatives.py) and displaces their
momentum h, so that in coordinates of body i it changes by Ic xi + s ×* h; the kinetic energy changes by xi·h.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.algorithms.crba import composite_inertias
from sixd.algorithms.derivatives.joint_derivatives import columns, joint_derivatives, stretch_derivatives
from sixd.algorithms.kinematics import ZERO6, JointKinematics, body_velocities, joint_kinematics, world_transforms
from sixd.algorithms.momentum import momentum_matrix
from sixd.algorithms.rnea import gravity_force, inward
from sixd.model.model import Model
from sixd.spatial.scalar import Array, is_zero
from sixd.spatial.transform import crf, crm


class MomentumDerivatives(NamedTuple):
    """Derivatives of the momentum with respect to q and qd, (…, 6, nv) each; row: of what."""

    q: Array
    qd: Array


class EnergyDerivatives(NamedTuple):
    """Gradients (…, nv): of the kinetic energy by q and by qd, and of the potential energy by q."""

    kinetic_q: Array
    kinetic_qd: Array
    potential_q: Array


def momentum_derivatives(model: Model, q: Array, qd: Array) -> MomentumDerivatives:
    """Derivatives of ``momentum`` of the whole model in the tangent space at q."""
    kinematics = joint_kinematics(model, q, qd)
    X, S = kinematics.X, kinematics.S
    xi, h = velocity_changes(model, kinematics, q, qd), _carried_momentum(model, kinematics)
    Ic, X_W = composite_inertias(model, X), world_transforms(model, X)
    none = np.zeros((6, 0), dtype=int)
    by_q = [X_W[i].T @ (Ic[i] @ xi[i] + columns([crf(s) @ h[i] for s in S[i].T])) for i in model.bodies]
    by_qd = [X_W[i].T @ (Ic[i] @ S[i]) for i in model.bodies]
    return MomentumDerivatives(np.concatenate([none, *by_q], axis=1), np.concatenate([none, *by_qd], axis=1))


def center_of_mass_derivatives(model: Model, q: Array) -> Array:
    """Derivatives (3, nv) of ``center_of_mass`` in the tangent space at q: the linear momentum of qd, over the mass."""
    A_W, total = momentum_matrix(model, q)
    return A_W[3:] / total[5, 5]


def energy_derivatives(model: Model, q: Array, qd: Array) -> EnergyDerivatives:
    """Gradients of ``energy`` of the whole model in the tangent space at q."""
    kinematics = joint_kinematics(model, q, qd)
    xi, h = velocity_changes(model, kinematics, q, qd), _carried_momentum(model, kinematics)
    kinetic_q = [xi[i].T @ h[i] for i in model.bodies]
    kinetic_qd = [kinematics.S[i].T @ h[i] for i in model.bodies]
    spring = [spring_gradient(model, i, q) for i in model.bodies]
    none = np.zeros(0, dtype=int)
    return EnergyDerivatives(
        np.concatenate([none, *kinetic_q]),
        np.concatenate([none, *kinetic_qd]) + model.armature * qd,
        gravity_force(model, q) + np.concatenate([none, *spring]),
    )


def velocity_changes(model: Model, kinematics: JointKinematics, q: Array, qd: Array) -> list[Array]:
    """xi (6, nv_i) of every joint, in coordinates of its body."""
    v, xi = body_velocities(model, kinematics), [kinematics.S[0]]
    for i in model.bodies:
        own = joint_derivatives(model.joints[i], q[model.iq[i]], qd[model.iv[i]]).S
        turned = columns([D @ qd[model.iv[i]] for D in own])
        xi.append(crm(kinematics.X[i] @ v[model.parent[i]]) @ kinematics.S[i] + turned)
    return xi


def _carried_momentum(model: Model, kinematics: JointKinematics) -> list[Array]:
    """h (6,) of all that each joint carries, in coordinates of its body."""
    v = body_velocities(model, kinematics)
    return inward(model, kinematics, [ZERO6, *(model.inertia[i] @ v[i] for i in model.bodies)])[0]


def spring_gradient(model: Model, i: int, q: Array) -> Array:
    """Gradient (nv_i,) of the energy of the spring in the joint of body i."""
    stiffness, joint = model.stiffness[model.iv[i]], model.joints[i]
    if all(is_zero(k) for k in stiffness):
        return np.zeros(joint.nv, dtype=int)
    stretch = joint.difference(model.rest[model.iq[i]], q[model.iq[i]])
    return stretch_derivatives(model, i, q).T @ (stiffness * stretch)
