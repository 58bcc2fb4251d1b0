"""Articulated-body forward dynamics, and its hybrid with inverse dynamics.

Body quantities are in body coordinates; X[i] is X_ip (parent p -> body i). Letters: RBDA ch. 7 and 9.2.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from sixd.algorithms.kinematics import ZERO6, body_velocities, joint_kinematics
from sixd.algorithms.passive_forces import passive_force
from sixd.algorithms.rnea import subtract_external_forces
from sixd.model.model import Model
from sixd.spatial.scalar import Array, Scalar
from sixd.spatial.transform import congruence, crf, crm, mirror_upper


class Articulated(NamedTuple):
    """Lists over bodies: IA (6, 6), U = IA S, D = SᵀU + armature, D⁻¹, and Ia = IA - U D⁻¹ Uᵀ."""

    IA: list[Array]
    Ia: list[Array]
    U: list[Array]
    D: list[Array]
    D_inv: list[Array]


def factors_small(D: Array) -> tuple[list[list[Scalar]], list[Scalar]]:
    """L and the reciprocals r of the pivots: D = L diag(1/r) Lᵀ of a joint's size (≤ 6), unrolled over scalars."""
    n = len(D)
    L = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    d: list[Scalar] = []  # pivots
    r: list[Scalar] = []
    for j in range(n):
        d.append(D[j, j] - sum(L[j][k] * L[j][k] * d[k] for k in range(j)))
        r.append(1 / d[j])
        for i in range(j + 1, n):
            L[i][j] = (D[i, j] - sum(L[i][k] * L[j][k] * d[k] for k in range(j))) * r[j]
    return L, r


def inverse_small(D: Array) -> Array:
    """Inverse of a symmetric positive definite matrix of a joint's size (≤ 6), by LDLᵀ."""
    n = len(D)
    L, r = factors_small(D)
    # W = L⁻¹, then D⁻¹ = Wᵀ diag(r) W
    W = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    for j in range(n):
        for i in range(j + 1, n):
            W[i][j] = -sum(L[i][k] * W[k][j] for k in range(j, i))
    inverse = [[sum(W[k][i] * W[k][j] * r[k] for k in range(max(i, j), n)) for j in range(n)] for i in range(n)]
    return mirror_upper(np.array(inverse).reshape(n, n))


def articulated_inertias(
    model: Model, X: list[Array], S: list[Array], prescribed: AbstractSet[int] = frozenset()
) -> Articulated:
    """Articulated-body inertias; joints in ``prescribed`` (their motion is given) transmit like rigid ones."""
    IA = [np.zeros((6, 6), dtype=int), *model.inertia[1:]]
    none = np.zeros((0, 0), dtype=int)
    Ia, U, D, D_inv = list(IA), [S[0]] * len(IA), [none] * len(IA), [none] * len(IA)
    for i in reversed(model.bodies):
        p = model.parent[i]
        U[i] = IA[i] @ S[i]
        D[i] = mirror_upper(S[i].T @ U[i]) + np.diag(model.armature[model.iv[i]])
        if i in prescribed:
            Ia[i] = IA[i]
        else:
            D_inv[i] = inverse_small(D[i])
            Ia[i] = IA[i] - mirror_upper(U[i] @ D_inv[i] @ U[i].T)
        IA[p] = IA[p] + congruence(X[i], Ia[i])
    return Articulated(IA, Ia, U, D, D_inv)


def aba(model: Model, q: Array, qd: Array, tau: Array, *, f_ext: Array | None = None) -> Array:
    """Joint accelerations under ``tau``: qdd = M(q)⁻¹ (tau - h(q, qd))  [RBDA Table 7.1]."""
    zero = np.zeros(model.nv, dtype=int)
    return hybrid(model, frozenset(), q, qd, zero, tau, f_ext=f_ext)[0]


def hybrid(
    model: Model,
    prescribed: AbstractSet[int],
    q: Array,
    qd: Array,
    qdd: Array,
    tau: Array,
    *,
    f_ext: Array | None = None,
) -> tuple[Array, Array]:
    """(qdd, tau) complete: joints of bodies in ``prescribed`` have qdd given, the others tau  [RBDA section 9.2]."""
    kinematics = joint_kinematics(model, q, qd)
    X, S, vJ, cJ = kinematics
    passive = passive_force(model, q, qd)

    # outward: velocities, velocity-product accelerations and bias forces
    v = body_velocities(model, kinematics)
    c = [ZERO6] + [cJ[i] + crm(v[i]) @ vJ[i] for i in model.bodies]
    pA = [ZERO6] + [crf(v[i]) @ (model.inertia[i] @ v[i]) for i in model.bodies]
    pA = subtract_external_forces(model, X, pA, f_ext)

    # inward: articulated inertia and bias force of each body
    IA, Ia, U, _, D_inv = articulated_inertias(model, X, S, prescribed)
    u = [np.zeros(0)] * len(X)
    for i in reversed(model.bodies):
        p, iv = model.parent[i], model.iv[i]
        if i in prescribed:
            pa = pA[i] + Ia[i] @ (c[i] + S[i] @ qdd[iv])
        else:
            u[i] = tau[iv] - passive[iv] - S[i].T @ pA[i]
            pa = pA[i] + Ia[i] @ c[i] + U[i] @ (D_inv[i] @ u[i])
        pA[p] = pA[p] + X[i].T @ pa

    # outward: accelerations, and the forces of the prescribed joints
    a, qdd_out, tau_out = [-model.a_gravity], [np.zeros(0)], [np.zeros(0)]
    for i in model.bodies:
        p, iv = model.parent[i], model.iv[i]
        a_i = X[i] @ a[p] + c[i]
        qdd_i = qdd[iv] if i in prescribed else D_inv[i] @ (u[i] - U[i].T @ a_i)
        a.append(a_i + S[i] @ qdd_i)
        qdd_out.append(qdd_i)
        if i in prescribed:
            force = S[i].T @ (IA[i] @ a[i] + pA[i])
            tau_out.append(force + model.armature[iv] * qdd_i + passive[iv])
        else:
            tau_out.append(tau[iv])
    return np.concatenate(qdd_out), np.concatenate(tau_out)
