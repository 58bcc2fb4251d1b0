"""Recursive Newton-Euler inverse dynamics.

Pure NumPy-style physics: knows spatial algebra and Model, nothing about tracing or targets.
Body quantities are in body coordinates; X[i] is X_ip (parent p -> body i). Letters: RBDA ch. 5.
"""

from __future__ import annotations

import numpy as np

from sixd.algorithms.kinematics import ZERO6, joint_kinematics, world_transforms
from sixd.algorithms.passive_forces import passive_force
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import crf, crm, inverse_transform


def rnea(model: Model, q: Array, qd: Array, qdd: Array, *, f_ext: Array | None = None) -> Array:
    """Joint forces that produce ``qdd``: tau = M(q) qdd + h(q, qd)  [RBDA Table 5.1]."""
    tau = newton_euler(model, q, qd, qdd, model.a_gravity, f_ext)
    return tau + model.armature * qdd + passive_force(model, q, qd)


def bias_force(model: Model, q: Array, qd: Array, *, f_ext: Array | None = None) -> Array:
    """h (nv,): inverse dynamics at zero acceleration."""
    tau = newton_euler(model, q, qd, np.zeros(model.nv, dtype=int), model.a_gravity, f_ext)
    return tau + passive_force(model, q, qd)


def gravity_force(model: Model, q: Array) -> Array:
    """g (nv,): the joint forces that hold the mechanism against gravity alone."""
    zero = np.zeros(model.nv, dtype=int)
    return newton_euler(model, q, zero, zero, model.a_gravity)


def newton_euler(model: Model, q: Array, qd: Array, qdd: Array, a_gravity: Array, f_ext: Array | None = None) -> Array:
    """The two passes of RNEA over the bare tree: no armature, no passive forces."""
    X, S, vJ, cJ = joint_kinematics(model, q, qd)
    v, a, f = [ZERO6], [-a_gravity], [ZERO6]  # body 0 is the world

    # outward: velocity, acceleration and net force of each body
    for i in model.bodies:
        p, I = model.parent[i], model.inertia[i]
        v.append(X[i] @ v[p] + vJ[i])
        a.append(X[i] @ a[p] + S[i] @ qdd[model.iv[i]] + cJ[i] + crm(v[i]) @ vJ[i])
        f.append(I @ a[i] + crf(v[i]) @ (I @ v[i]))
    f = subtract_external_forces(model, X, f, f_ext)

    # inward: project onto the joint, hand the rest to the parent
    tau = [np.zeros(0)] * len(f)
    for i in reversed(model.bodies):
        p = model.parent[i]
        tau[i] = S[i].T @ f[i]
        f[p] = f[p] + X[i].T @ f[i]
    return np.concatenate(tau)


def joint_force(model: Model, q: Array, f_ext: Array) -> Array:
    """Σ Jᵀ f_ext (nv,): the joint forces that have the effect of ``f_ext`` (nb, 6)."""
    zero = np.zeros(model.nv, dtype=int)
    return -newton_euler(model, q, zero, zero, ZERO6, f_ext)


def subtract_external_forces(model: Model, X: list[Array], f: list[Array], f_ext: Array | None) -> list[Array]:
    """f_i - X*_iW f_ext_i: the part of the body forces that the joints transmit  [RBDA section 5.3].

    ``f_ext`` (nb, 6): row k acts on body k + 1, world axes, moment about the world's origin.
    """
    if f_ext is None:
        return f
    X_W = world_transforms(model, X)
    return [f[0]] + [f[i] - inverse_transform(X_W[i]).T @ f_ext[i - 1] for i in model.bodies]
