"""Solves with the mass matrix by the articulated-body recursion: O(n) each, without forming M.

The two passes of forward dynamics at rest and without gravity, on several right-hand sides at once. More accurate than
factoring M where light bodies hang on heavy ones, since the pivots are formed without cancellation.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np

from sixd.algorithms.aba import Articulated, articulated_inertias, propagate
from sixd.algorithms.kinematics import joint_transforms
from sixd.model.model import Model
from sixd.spatial.scalar import Array, common_dtype
from sixd.spatial.transform import mirror_upper


def solve_columns(model: Model, q: Array, B: Array) -> Array:
    """M(q)⁻¹ B (nv, m) for the columns of B (nv, m)."""
    X, S = joint_transforms(model, q)
    return solve_factored(model, X, S, articulated_inertias(model, X, S), B)


def solve_factored(
    model: Model,
    X: list[Array],
    S: list[Array],
    articulated: Articulated,
    B: Array,
    prescribed: AbstractSet[int] = frozenset(),
) -> Array:
    """The same with known articulated inertias; joints in ``prescribed`` do not move, their rows of B do not count."""
    none = np.zeros((6, B.shape[1]), dtype=int)
    x = propagate(model, X, S, articulated, [none] * len(X), B, none, prescribed)[2]
    return x.astype(common_dtype([x]))


def times_columns(model: Model, X: list[Array], S: list[Array], B: Array) -> Array:
    """M B (nv, m) for the columns of B (nv, m): inverse dynamics at rest and without gravity."""
    a = [np.zeros((6, B.shape[1]), dtype=int)]
    for i in model.bodies:
        a.append(X[i] @ a[model.parent[i]] + S[i] @ B[model.iv[i]])
    f = [a[0], *(model.inertia[i] @ a[i] for i in model.bodies)]
    rows = [a[0][:0]] * len(X)
    for i in reversed(model.bodies):
        p = model.parent[i]
        rows[i] = S[i].T @ f[i]
        f[p] = f[p] + X[i].T @ f[i]
    return np.concatenate(rows) + model.armature[:, None] * B


def mass_matrix_solve(model: Model, q: Array, b: Array) -> Array:
    """M(q)⁻¹ b (nv,) for b (nv,)."""
    return solve_columns(model, q, b[:, None])[:, 0]


def inverse_mass_matrix(model: Model, q: Array) -> Array:
    """M(q)⁻¹ (nv, nv)."""
    return mirror_upper(solve_columns(model, q, np.eye(model.nv, dtype=int)))
