"""Recursive Newton-Euler inverse dynamics.

Pure NumPy-style physics: knows spatial algebra and Model, nothing about tracing or targets.
Body quantities are in body coordinates; X[i] is X_ip (parent p -> body i). Letters: RBDA ch. 5.
"""

from __future__ import annotations

import numpy as np

from sixd.algorithms.kinematics import ZERO6, JointKinematics, joint_kinematics, world_transforms
from sixd.algorithms.passive_forces import passive_force
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import crf, crm, inverse_transform


def rnea(model: Model, q: Array, qd: Array, qdd: Array, *, f_ext: Array | None = None) -> Array:
    """Joint forces that produce ``qdd``: tau = M(q) qdd + h(q, qd)  [RBDA Table 5.1]."""
    tau = tree_forces(model, q, qd, qdd, model.a_gravity, f_ext)
    return tau + model.armature * qdd + passive_force(model, q, qd)


def bias_force(model: Model, q: Array, qd: Array, *, f_ext: Array | None = None) -> Array:
    """h (nv,): inverse dynamics at zero acceleration."""
    tau = tree_forces(model, q, qd, np.zeros(model.nv, dtype=int), model.a_gravity, f_ext)
    return tau + passive_force(model, q, qd)


def gravity_force(model: Model, q: Array) -> Array:
    """g (nv,): the joint forces that hold the mechanism against gravity alone."""
    zero = np.zeros(model.nv, dtype=int)
    return tree_forces(model, q, zero, zero, model.a_gravity)


def tree_forces(model: Model, q: Array, qd: Array, qdd: Array, a_gravity: Array, f_ext: Array | None = None) -> Array:
    """The two passes of RNEA over the bare tree: no armature, no passive forces."""
    kinematics = joint_kinematics(model, q, qd)
    _, _, f = outward(model, kinematics, qdd, -a_gravity)
    return inward(model, kinematics, subtract_external_forces(model, kinematics.X, f, f_ext))[1]


def outward(
    model: Model, kinematics: JointKinematics, qdd: Array, a_base: Array
) -> tuple[list[Array], list[Array], list[Array]]:
    """Velocity v, acceleration a and net force f of every body, the world's first.

    ``a_base`` (6,) is the acceleration of the world: minus gravity's makes a and f those of bodies that have weight.
    """
    X, S, vJ, cJ = kinematics
    v, a, f = [ZERO6], [a_base], [ZERO6]  # body 0 is the world
    for i in model.bodies:
        p, I = model.parent[i], model.inertia[i]
        v.append(X[i] @ v[p] + vJ[i])
        a.append(X[i] @ a[p] + S[i] @ qdd[model.iv[i]] + cJ[i] + crm(v[i]) @ vJ[i])
        f.append(I @ a[i] + crf(v[i]) @ (I @ v[i]))
    return v, a, f


def inward(model: Model, kinematics: JointKinematics, f: list[Array]) -> tuple[list[Array], Array]:
    """The forces f that the joints transmit, from those that each body needs, and their part along the joints (nv,)."""
    X, S, _, _ = kinematics
    f, tau = list(f), [np.zeros(0)] * len(f)
    for i in reversed(model.bodies):
        p = model.parent[i]
        tau[i] = S[i].T @ f[i]  # project onto the joint, hand the rest to the parent
        f[p] = f[p] + X[i].T @ f[i]
    return f, np.concatenate(tau)


def joint_force(model: Model, q: Array, f_ext: Array) -> Array:
    """Σ Jᵀ f_ext (nv,): the joint forces that have the effect of ``f_ext`` (nb, 6)."""
    zero = np.zeros(model.nv, dtype=int)
    return -tree_forces(model, q, zero, zero, ZERO6, f_ext)


def subtract_external_forces(model: Model, X: list[Array], f: list[Array], f_ext: Array | None) -> list[Array]:
    """f_i - X*_iW f_ext_i: the part of the body forces that the joints transmit  [RBDA section 5.3].

    ``f_ext`` (nb, 6): row k acts on body k + 1, world axes, moment about the world's origin.
    """
    if f_ext is None:
        return f
    X_W = world_transforms(model, X)
    return [f[0]] + [f[i] - inverse_transform(X_W[i]).T @ f_ext[i - 1] for i in model.bodies]
