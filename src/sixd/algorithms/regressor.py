"""The regressor of inverse dynamics: joint forces as a linear function of the inertial parameters.

Body quantities are in body coordinates; X[i] is X_ip (parent p -> body i). Parameters of a body: m, hx hy hz,
Ixx Iyy Izz Iyz Ixz Ixy about its origin, as in ``Inertia.parameters``. Letters: RBDA ch. 5.
"""

from __future__ import annotations

import numpy as np

from sixd.algorithms.kinematics import ZERO6, joint_kinematics, path
from sixd.model.model import Model
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array
from sixd.spatial.transform import crf, crm


def joint_torque_regressor(model: Model, q: Array, qd: Array, qdd: Array) -> Array:
    """Y (nv, 10 nb): the forces of the bare tree, without armature and passive forces, are Y θ."""
    X, S, vJ, cJ = joint_kinematics(model, q, qd)
    v, a = [ZERO6], [-model.a_gravity]
    blocks = [[np.zeros((S[i].shape[1], 10), dtype=int) for _ in model.bodies] for i in model.bodies]
    for j in model.bodies:
        p = model.parent[j]
        v.append(X[j] @ v[p] + vJ[j])
        a.append(X[j] @ a[p] + S[j] @ qdd[model.iv[j]] + cJ[j] + crm(v[j]) @ vJ[j])
        # the net force on body j is F θ_j; every joint on the way to the root carries it
        F = momentum_regressor(a[j]) + crf(v[j]) @ momentum_regressor(v[j])
        for i in path(model, j):
            blocks[i - 1][j - 1] = S[i].T @ F
            F = X[i].T @ F
    return np.concatenate([np.zeros((0, 10 * model.nb), dtype=int), *(np.concatenate(row, axis=1) for row in blocks)])


def momentum_regressor(v: Array) -> Array:
    """R(v) (6, 10) with I v = R(v) θ for the parameters θ of the inertia I and a motion v = [ω; v] (6,)."""
    x, y, z = v[:3]
    turning = np.array([[x, 0, 0, 0, z, y], [0, y, 0, z, 0, x], [0, 0, z, y, x, 0]])
    moment = [np.zeros((3, 1), dtype=int), -skew(v[3:]), turning]
    force = [v[3:, None], skew(v[:3]), np.zeros((3, 6), dtype=int)]
    return np.concatenate([np.concatenate(moment, axis=1), np.concatenate(force, axis=1)])
