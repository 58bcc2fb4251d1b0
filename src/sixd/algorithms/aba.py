"""Articulated-body forward dynamics, and its hybrid with inverse dynamics.

Body quantities are in body coordinates; X[i] is X_ip (parent p -> body i). Letters: RBDA ch. 7 and 9.2.

The acceleration of a body has two parts: that of a motion in which no joint accelerates, whose forces inverse dynamics
gives, and the rest, a, which the articulated bodies find; pA are bias forces of the second part. This form keeps fewer
values from pass to pass than that of Table 7.1: of Talos, 32 joints, at most 334 at a time instead of 584, of a Panda
with fingers 177 instead of 249, with operations in depth-first order.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from sixd.algorithms.kinematics import ZERO6, joint_kinematics
from sixd.algorithms.linear.dense import inverse_small
from sixd.algorithms.passive_forces import passive_force
from sixd.algorithms.rnea import outward, subtract_external_forces
from sixd.model.model import Model
from sixd.spatial.scalar import Array, is_number, is_zero
from sixd.spatial.transform import congruence, mirror_upper


class Articulated(NamedTuple):
    """Lists over bodies: IA (6, 6), D = SᵀIA S + armature, D⁻¹, and U D⁻¹ (6, nv_i) with U = IA S.

    The parent feels U D⁻¹u of a force u along the joint; to an acceleration a the joint gives way by D⁻¹Uᵀa.
    """

    IA: list[Array]
    D: list[Array]
    D_inv: list[Array]
    UD_inv: list[Array]


def articulated_inertias(
    model: Model, X: list[Array], S: list[Array], prescribed: AbstractSet[int] = frozenset()
) -> Articulated:
    """Articulated-body inertias; joints in ``prescribed`` (whose motion is prescribed) transmit like rigid ones."""
    IA = [np.zeros((6, 6), dtype=int), *model.inertia[1:]]
    none = np.zeros((0, 0), dtype=int)
    D, D_inv, UD_inv = [none] * len(IA), [none] * len(IA), [S[0]] * len(IA)
    for i in reversed(model.bodies):
        p, armature = model.parent[i], model.armature[model.iv[i]]
        U, Ia = IA[i] @ S[i], IA[i]  # Ia: what the parent feels
        D[i] = mirror_upper(S[i].T @ U) + np.diag(armature)
        if i not in prescribed:
            D_inv[i] = inverse_small(D[i])
            UD_inv[i] = U @ D_inv[i]
            Ia = Ia - mirror_upper(UD_inv[i] @ U.T)
            own = own_coordinates(S[i], armature)
            UD_inv[i][own], Ia[own], Ia[:, own] = S[i][own], 0, 0
        IA[p] = IA[p] + congruence(X[i], Ia)
    return Articulated(IA, D, D_inv, UD_inv)


def own_coordinates(S: Array, armature: Array) -> list[int]:
    """The coordinates along which a joint lets its body move freely: SᵀU D⁻¹ = 1 and Ia S = 0, without rounding.

    They are those of S if its columns are unit vectors and the joint has no armature, else none.
    """
    rows = []
    for column in S.T:
        parts = [(k, x) for k, x in enumerate(column) if not is_zero(x)]
        if len(parts) != 1 or not is_number(parts[0][1]) or abs(parts[0][1]) != 1:
            return []
        rows.append(parts[0][0])
    return rows if len({*rows}) == len(rows) and all(map(is_zero, armature)) else []


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
    """(qdd, tau), complete; qdd is input for joints of bodies in ``prescribed``, tau for others  [RBDA section 9.2]."""
    kinematics = joint_kinematics(model, q, qd)
    X, S, _, _ = kinematics
    passive = passive_force(model, q, qd)

    # outward: the forces of a motion in which only prescribed joints accelerate, without gravity
    qdd_known = np.zeros(model.nv, dtype=qdd.dtype)
    for i in prescribed:
        qdd_known[model.iv[i]] = qdd[model.iv[i]]
    _, _, f = outward(model, kinematics, qdd_known, ZERO6)
    f = subtract_external_forces(model, X, f, f_ext)

    # inward and outward: the rest, with gravity as an acceleration of the world
    articulated = articulated_inertias(model, X, S, prescribed)
    pA, a, qdd_solved = propagate(model, X, S, articulated, f, tau - passive, -model.a_gravity, prescribed)

    qdd_out, tau_out = [np.zeros(0)], [np.zeros(0)]
    for i in model.bodies:
        iv = model.iv[i]
        if i in prescribed:
            force = S[i].T @ (articulated.IA[i] @ a[i] + pA[i])
            qdd_out.append(qdd[iv])
            tau_out.append(force + model.armature[iv] * qdd[iv] + passive[iv])
        else:
            qdd_out.append(qdd_solved[iv])
            tau_out.append(tau[iv])
    return np.concatenate(qdd_out), np.concatenate(tau_out)


def propagate(
    model: Model,
    X: list[Array],
    S: list[Array],
    articulated: Articulated,
    f: list[Array],
    force: Array,
    a_base: Array,
    prescribed: AbstractSet[int] = frozenset(),
) -> tuple[list[Array], list[Array], Array]:
    """Bias forces pA and accelerations a of all bodies, and qdd (nv,), under joint forces ``force`` (nv,).

    The bodies are at rest and resist with forces ``f``; the world has the acceleration ``a_base``. Joints in
    ``prescribed`` do not move. Vectors may have columns (…, m).
    """
    _, _, D_inv, UD_inv = articulated

    # inward: what is left for each joint, and the force handed to the parent
    pA, u = list(f), [force[:0]] * len(X)
    for i in reversed(model.bodies):
        p, pa = model.parent[i], pA[i]
        if i not in prescribed:
            u[i] = force[model.iv[i]] - S[i].T @ pA[i]
            pa = pa + UD_inv[i] @ u[i]
        pA[p] = pA[p] + X[i].T @ pa

    # outward: accelerations
    a, qdd = [a_base], [force[:0]]
    for i in model.bodies:
        a_i = X[i] @ a[model.parent[i]]
        if i in prescribed:
            qdd.append(np.zeros_like(force[model.iv[i]], dtype=int))
        else:
            qdd.append(D_inv[i] @ u[i] - UD_inv[i].T @ a_i)
        a.append(a_i + S[i] @ qdd[i])
    return pA, a, np.concatenate(qdd)
