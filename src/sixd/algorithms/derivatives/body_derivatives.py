"""Derivatives of the momentum and energy of each body, or of each subtree.

In world coordinates a DoF with the twist s of a joint that carries a body changes the body's velocity by xi, turned
with it, and displaces its momentum h: dh = I xi + s ×* h. Its kinetic energy changes by xi·h, its potential energy by
-s·(I a_g). Joints that do not carry the body change nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.algorithms.derivatives.joint_derivatives import columns
from sixd.algorithms.derivatives.momentum_derivatives import (
    EnergyDerivatives,
    MomentumDerivatives,
    energy_derivatives,
    momentum_derivatives,
    spring_gradient,
    velocity_changes,
)
from sixd.algorithms.kinematics import body_velocities, joint_kinematics, world_transforms
from sixd.algorithms.momentum import per_body
from sixd.model.model import Model
from sixd.spatial.scalar import Array, common_dtype
from sixd.spatial.transform import congruence, crf, inverse_transform


class _BodyTerms(NamedTuple):
    """In world coordinates, lists over bodies: S and xi (6, nv_i) of its joint, I (6, 6), and its momentum h (6,)."""

    S: list[Array]
    xi: list[Array]
    I: list[Array]
    h: list[Array]


def momentum_derivatives_per(model: Model, q: Array, qd: Array, per: str) -> MomentumDerivatives:
    """Derivatives of ``momentum`` in the tangent space at q: (nb, 6, nv) per "body" or "subtree", else (6, nv)."""
    if per == "model":
        return momentum_derivatives(model, q, qd)
    b, by_q, by_qd = _bodies(model, q, qd), {}, {}
    for k in model.bodies:
        for i in model.tree.ancestors(k):
            by_q[k, i] = b.I[k] @ b.xi[i] + columns([crf(s) @ b.h[k] for s in b.S[i].T])
            by_qd[k, i] = b.I[k] @ b.S[i]
    return MomentumDerivatives(*(_table(model, blocks, (6,), per) for blocks in (by_q, by_qd)))


def energy_derivatives_per(model: Model, q: Array, qd: Array, per: str) -> EnergyDerivatives:
    """Gradients of ``energy`` in the tangent space at q: (nb, nv) per "body" or "subtree", else (nv,)."""
    if per == "model":
        return energy_derivatives(model, q, qd)
    b, kinetic_q, kinetic_qd, potential_q = _bodies(model, q, qd), {}, {}, {}
    for k in model.bodies:
        weight = b.I[k] @ model.a_gravity
        for i in model.tree.ancestors(k):
            kinetic_q[k, i], kinetic_qd[k, i] = b.xi[i].T @ b.h[k], b.S[i].T @ b.h[k]
            potential_q[k, i] = -(b.S[i].T @ weight)
        # armature and spring of its own joint
        kinetic_qd[k, k] = kinetic_qd[k, k] + model.armature[model.iv[k]] * qd[model.iv[k]]
        potential_q[k, k] = potential_q[k, k] + spring_gradient(model, k, q)
    return EnergyDerivatives(*(_table(model, blocks, (), per) for blocks in (kinetic_q, kinetic_qd, potential_q)))


def _bodies(model: Model, q: Array, qd: Array) -> _BodyTerms:
    kinematics = joint_kinematics(model, q, qd)
    v, xi = body_velocities(model, kinematics), velocity_changes(model, kinematics, q, qd)
    X_W = world_transforms(model, kinematics.X)
    X_out = [inverse_transform(X) for X in X_W]
    return _BodyTerms(
        [X @ S for X, S in zip(X_out, kinematics.S, strict=True)],
        [X @ x for X, x in zip(X_out, xi, strict=True)],
        [congruence(X, I) for X, I in zip(X_W, model.inertia, strict=True)],
        [X.T @ (I @ x) for X, I, x in zip(X_W, model.inertia, v, strict=True)],
    )


def _table(model: Model, blocks: dict[tuple[int, int], Array], shape: tuple[int, ...], per: str) -> Array:
    """The blocks of body k and joint i in an array (nb, *shape, nv), summed over subtrees if ``per`` says so."""
    rows = np.zeros((model.nb + 1, *shape, model.nv), dtype=common_dtype(blocks.values()))
    for (k, i), block in blocks.items():
        rows[k, ..., model.iv[i]] = block
    return per_body(model, list(rows), per).reshape(model.nb, *shape, model.nv)
