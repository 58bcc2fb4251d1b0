"""Derivatives of the recursive Newton-Euler algorithm, for every joint type.

Derivatives with respect to q are along joint velocities: column d of joint j moves q_j as the velocity e_d does, in the
tangent space. This moves all bodies beyond joint j with the twist s, column d of S_j. It also changes their velocities
by xi, and their accelerations by eta - v × xi (v_p, a_p: those of the parent, in coordinates of body j):

    xi = v_p × s + S' qd    eta = a_p × s + v_p × xi + v_j × S' qd + S' qdd + cJ'    (': components, along e_d)

A change of qd_j alone has s and zeta = (v_p + v_j) × s + ∂cJ/∂qd in their stead. A body then needs the force I eta +
2 B xi more, B its Coriolis factor; sums over the bodies that a joint carries are computed once, as in crba.py, and the
common rotation by s drops out of tau below joint j. Body quantities are in body coordinates; X[i] is X_ip
(parent p -> body i). After Carpentier and Mansard (2018), and Singh, Russell and Wensing, "Efficient analytical
derivatives of rigid-body dynamics using spatial vector algebra" (2022), extended to joints whose S depends on q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.algorithms.coriolis import composite_factors, factor_for
from sixd.algorithms.crba import composite_inertias
from sixd.algorithms.derivatives.joint_derivatives import JointChanges, columns, joint_changes, passive_derivatives
from sixd.algorithms.kinematics import ZERO6, JointKinematics, joint_kinematics, world_transforms
from sixd.algorithms.rnea import inward, outward
from sixd.model.model import Model
from sixd.spatial.scalar import Array, common_dtype
from sixd.spatial.transform import crf, inverse_transform


class InverseDerivatives(NamedTuple):
    """∂tau/∂q, ∂tau/∂qd and ∂tau/∂qdd = M, (…, nv, nv) each; row: of what, column: by what."""

    q: Array
    qd: Array
    qdd: Array


def rnea_derivatives(
    model: Model, q: Array, qd: Array, qdd: Array, *, f_ext: Array | None = None
) -> InverseDerivatives:
    """Derivatives of ``rnea`` in the tangent space at q. O(n · depth)."""
    X, S, _, _ = kinematics = joint_kinematics(model, q, qd)
    v, a, f = outward(model, kinematics, qdd, -model.a_gravity)
    change = changes(model, kinematics, q, qd, qdd, v, a)
    F, E = inward(model, kinematics, f)[0], _external(model, kinematics, f_ext)
    Ic, Bc = composite_inertias(model, X), composite_factors(model, X, v, factor_for(model))

    kind = common_dtype(Ic, Bc, F, E, [c.eta for c in change])
    dq, dqd, M = (np.zeros((model.nv, model.nv), dtype=kind) for _ in range(3))
    for i in model.bodies:
        # P, R, K: by what motions above joint i act on it; G, H: the forces that its own q and qd change
        iv, B = model.iv[i], Bc[i] * 2
        P, R, K = Ic[i] @ S[i], B.T @ S[i], columns([-crf(s) @ E[i] for s in S[i].T])
        xi, eta, zeta, dS = change[i]
        G, H = Ic[i] @ eta + B @ xi, Ic[i] @ zeta + B @ S[i]
        dq[iv, iv] = S[i].T @ G + K.T @ S[i] + columns([D.T @ (F[i] - E[i]) for D in dS])
        dqd[iv, iv], M[iv, iv] = S[i].T @ H, S[i].T @ P
        G = G + columns([crf(s) @ F[i] for s in S[i].T])
        j = i
        while model.parent[j]:  # along the branch to the root
            P, R, K, G, H = (X[j].T @ A for A in (P, R, K, G, H))
            j = model.parent[j]
            jv, above = model.iv[j], change[j]
            dq[jv, iv], dqd[jv, iv], M[jv, iv] = S[j].T @ G, S[j].T @ H, S[j].T @ P
            dq[iv, jv] = P.T @ above.eta + R.T @ above.xi + K.T @ S[j]
            dqd[iv, jv], M[iv, jv] = P.T @ above.zeta + R.T @ S[j], M[jv, iv].T
    spring, damping = passive_derivatives(model, q)
    return InverseDerivatives(dq + spring, dqd + damping, M + np.diag(model.armature))


def changes(
    model: Model, kinematics: JointKinematics, q: Array, qd: Array, qdd: Array, v: list[Array], a: list[Array]
) -> list[JointChanges]:
    """What the DoF of each joint change for all that it carries, a list over bodies, the world's entry first."""
    X, S = kinematics.X, kinematics.S
    changes = [JointChanges(S[0], S[0], S[0], [])]
    for i in model.bodies:
        p, state = model.parent[i], (q[model.iq[i]], qd[model.iv[i]], qdd[model.iv[i]])
        changes.append(joint_changes(model.joints[i], S[i], *state, X[i] @ v[p], X[i] @ a[p], v[i]))
    return changes


def _external(model: Model, kinematics: JointKinematics, f_ext: Array | None) -> list[Array]:
    """The sum of f_ext over all that each body carries, itself included, in body coordinates."""
    E = [ZERO6] * (model.nb + 1)
    if f_ext is None:
        return E
    X_W = world_transforms(model, kinematics.X)
    return inward(model, kinematics, [ZERO6, *(inverse_transform(X_W[i]).T @ f_ext[i - 1] for i in model.bodies)])[0]
