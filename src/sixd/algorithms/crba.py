"""Composite-rigid-body algorithm: the mass matrix.

Body quantities are in body coordinates; X[i] is X_ip (parent p -> body i). Letters: RBDA ch. 6.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sixd.algorithms.kinematics import joint_transforms
from sixd.model.model import Model
from sixd.spatial.scalar import Array, common_dtype
from sixd.spatial.transform import congruence, mirror_upper


def composite_inertias(model: Model, X: Sequence[Array], inertia: Sequence[Array] | None = None) -> list[Array]:
    """Ic (6, 6) of every body and the bodies that it carries, joints locked; entry 0: the whole tree, in the world.
    ``inertia`` are those of the bodies where these are not in body coordinates."""
    Ic = [np.zeros((6, 6), dtype=int), *(model.inertia if inertia is None else inertia)[1:]]
    for i in reversed(model.bodies):
        p = model.parent[i]
        Ic[p] = Ic[p] + congruence(X[i], Ic[i])
    return Ic


def crba(model: Model, q: Array) -> Array:
    """Mass matrix M (nv, nv), armature included  [RBDA Table 6.2]."""
    return mass_matrix(model, *joint_transforms(model, q))


def mass_matrix(model: Model, X: Sequence[Array], S: Sequence[Array], inertia: Sequence[Array] | None = None) -> Array:
    """The mass matrix from the transforms X_ip, the subspaces S, and inertias in the same coordinates."""
    Ic = composite_inertias(model, X, inertia)
    M = np.zeros((model.nv, model.nv), dtype=common_dtype(Ic, S, [model.armature]))
    for i in model.bodies:
        F = Ic[i] @ S[i]
        M[model.iv[i], model.iv[i]] = mirror_upper(S[i].T @ F) + np.diag(model.armature[model.iv[i]])
        j = i
        while model.parent[j]:  # along the branch to the root
            F = X[j].T @ F
            j = model.parent[j]
            M[model.iv[i], model.iv[j]] = F.T @ S[j]
            M[model.iv[j], model.iv[i]] = M[model.iv[i], model.iv[j]].T
    return M
