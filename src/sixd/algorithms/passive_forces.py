"""Passive joint forces: damping, Coulomb friction and springs."""

from __future__ import annotations

import numpy as np

from sixd.model.model import Model
from sixd.spatial.scalar import Array, Scalar, is_zero, sign


def passive_force(model: Model, q: Array, qd: Array) -> Array:
    """D qd + F sign(qd) + K (q - q_rest) (nv,), as it enters inverse dynamics; sign(0) = 0."""
    force = [0] * model.nv
    for k in range(model.nv):
        if not is_zero(model.damping[k]):
            force[k] = force[k] + model.damping[k] * qd[k]
        if not is_zero(model.friction[k]):
            force[k] = force[k] + model.friction[k] * sign(qd[k])
    for i in model.bodies:
        stiffness = model.stiffness[model.iv[i]]
        if not all(is_zero(k) for k in stiffness):
            stretch = model.joints[i].difference(model.rest[model.iq[i]], q[model.iq[i]])
            for k, s, d in zip(range(model.nv)[model.iv[i]], stiffness, stretch, strict=True):
                force[k] = force[k] + s * d
    return np.array(force)


def spring_energy(model: Model, q: Array) -> Scalar:
    """½ Σ K (q - q_rest)² [J]."""
    total: Scalar = 0
    for i in model.bodies:
        total = total + joint_spring_energy(model, i, q)
    return total


def joint_spring_energy(model: Model, i: int, q: Array) -> Scalar:
    """½ Σ K (q - q_rest)² [J] of the spring in the joint of body i."""
    stiffness = model.stiffness[model.iv[i]]
    if all(is_zero(k) for k in stiffness):
        return 0
    stretch = model.joints[i].difference(model.rest[model.iq[i]], q[model.iq[i]])
    return stiffness @ (stretch * stretch) / 2
