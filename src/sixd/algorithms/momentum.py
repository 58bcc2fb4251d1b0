"""Energy, momentum, centre of mass and the centroidal momentum matrix."""

from __future__ import annotations

import numpy as np

from sixd.algorithms.crba import composite_inertias
from sixd.algorithms.kinematics import body_velocities, joint_kinematics, joint_transforms, world_transforms
from sixd.algorithms.passive_forces import spring_energy
from sixd.model.model import Model
from sixd.spatial.inertia import first_moment
from sixd.spatial.rotation import EYE3, ZERO3, skew
from sixd.spatial.scalar import Array, Scalar
from sixd.spatial.transform import blocks


def energy(model: Model, q: Array, qd: Array) -> tuple[Scalar, Scalar]:
    """(kinetic, potential) [J]; potential is zero with the centre of mass at height 0 and the springs at rest."""
    kinematics = joint_kinematics(model, q, qd)
    v = body_velocities(model, kinematics)
    kinetic = sum((v[i] @ (model.inertia[i] @ v[i]) for i in model.bodies), model.armature @ (qd * qd)) / 2
    total = composite_inertias(model, kinematics.X)[0]
    return kinetic, spring_energy(model, q) - first_moment(total) @ model.gravity


def composite_inertia(model: Model, q: Array) -> Array:
    """Inertia (6, 6) of the whole mechanism with its joints locked, in world coordinates."""
    return composite_inertias(model, joint_transforms(model, q)[0])[0]


def center_of_mass(model: Model, q: Array) -> Array:
    """Centre of mass (3,) in the world [m]."""
    total = composite_inertia(model, q)
    return first_moment(total) / total[5, 5]


def momentum_matrix(model: Model, q: Array) -> tuple[Array, Array]:
    """A_W (6, nv) with h = A_W qd about the world's origin, and the composite inertia (6, 6) in the world."""
    X, S = joint_transforms(model, q)
    Ic, X_W = composite_inertias(model, X), world_transforms(model, X)
    columns = [X_W[i].T @ (Ic[i] @ S[i]) for i in model.bodies]
    return np.concatenate([np.zeros((6, 0), dtype=int), *columns], axis=1), Ic[0]


def momentum(model: Model, q: Array, qd: Array) -> Array:
    """Spatial momentum [k; p] (6,) of all bodies, world axes, about the world's origin."""
    kinematics = joint_kinematics(model, q, qd)
    v, X_W = body_velocities(model, kinematics), world_transforms(model, kinematics.X)
    return sum((X_W[i].T @ (model.inertia[i] @ v[i]) for i in model.bodies), np.zeros(6, dtype=int))


def centroidal_matrix(model: Model, q: Array) -> Array:
    """A_G (6, nv): momentum about the centre of mass, world axes, is A_G qd."""
    A_W, total = momentum_matrix(model, q)
    c = first_moment(total) / total[5, 5]
    # moments about the centre: k_G = k_O - c × p
    return blocks(EYE3, -skew(c), ZERO3, EYE3) @ A_W
