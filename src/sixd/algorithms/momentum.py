"""Energy, momentum, centre of mass and the centroidal momentum matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.algorithms.crba import composite_inertias
from sixd.algorithms.kinematics import ZERO6, body_velocities, joint_kinematics, joint_transforms, world_transforms
from sixd.algorithms.passive_forces import joint_spring_energy, spring_energy
from sixd.model.model import Model
from sixd.spatial.inertia import first_moment
from sixd.spatial.rotation import EYE3, ZERO3, skew
from sixd.spatial.scalar import Array
from sixd.spatial.transform import blocks


def energy(model: Model, q: Array, qd: Array, *, per: str = "model") -> tuple[Any, Any]:
    """(kinetic, potential) [J]; potential is zero with the centre of mass at height 0 and the springs at rest.

    With ``per`` "body" or "subtree" (nb,) each: of every body, or of it and all that it carries. Armature and spring of
    a joint count with its body.
    """
    kinematics = joint_kinematics(model, q, qd)
    v = body_velocities(model, kinematics)
    if per == "model":
        kinetic = sum((v[i] @ (model.inertia[i] @ v[i]) for i in model.bodies), model.armature @ (qd * qd)) / 2
        total = composite_inertias(model, kinematics.X)[0]
        return kinetic, spring_energy(model, q) - first_moment(total) @ model.gravity
    moving: list[Any]
    resting: list[Any]
    X_W, moving, resting = world_transforms(model, kinematics.X), [0], [0]
    for i in model.bodies:
        I, rate = model.inertia[i], qd[model.iv[i]]
        moving.append((v[i] @ (I @ v[i]) + model.armature[model.iv[i]] @ (rate * rate)) / 2)
        # weight and position: (m p + R h)·g is the first moment about the world's origin times g
        resting.append(joint_spring_energy(model, i, q) - first_moment(X_W[i].T @ I @ X_W[i]) @ model.gravity)
    return per_body(model, moving, per), per_body(model, resting, per)


def per_body(model: Model, values: list[Any], per: str) -> Array:
    """Rows of the bodies, from a list with the world's entry first; sums over subtrees if ``per`` says so."""
    if per == "subtree":
        values = list(values)
        for i in reversed(model.bodies):
            values[model.parent[i]] = values[model.parent[i]] + values[i]
    return np.array(values)[1:]


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


def momentum(model: Model, q: Array, qd: Array, *, per: str = "model") -> Array:
    """Spatial momentum [k; p] (6,) of all bodies, world axes, about the world's origin.

    With ``per`` "body" or "subtree" (nb, 6): of every body, or of it and all that it carries.
    """
    kinematics = joint_kinematics(model, q, qd)
    v, X_W = body_velocities(model, kinematics), world_transforms(model, kinematics.X)
    h = [X_W[i].T @ (model.inertia[i] @ v[i]) for i in model.bodies]
    return sum(h, ZERO6) if per == "model" else per_body(model, [ZERO6, *h], per)


def centroidal_matrix(model: Model, q: Array) -> Array:
    """A_G (6, nv): momentum about the centre of mass, world axes, is A_G qd."""
    A_W, total = momentum_matrix(model, q)
    c = first_moment(total) / total[5, 5]
    # moments about the centre: k_G = k_O - c × p
    return blocks(EYE3, -skew(c), ZERO3, EYE3) @ A_W
