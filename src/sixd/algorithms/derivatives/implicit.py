"""Solves with M, with slopes by the implicit function: for traces that are to be differentiated.

A solve x = M⁻¹ r need not be differentiated step by step. M x - r stays zero as the state changes, so that
∂x = -M⁻¹ ∂(M x - r) with x held: one more solve with the same factors, and the slopes of inverse dynamics. The results
are those of the usual algorithms, whose operations they share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.algorithms import solve
from sixd.algorithms.aba import Articulated, aba, articulated_inertias
from sixd.algorithms.kinematics import joint_transforms
from sixd.algorithms.rnea import rnea
from sixd.model.model import Model
from sixd.spatial.scalar import Array, object_map


def is_wanted(*arrays: Array) -> bool:
    """Whether the arrays are of a trace that is to be differentiated."""
    scalars = (x for array in arrays if array.dtype == object for x in array.ravel())
    return next((x.graph.implicit for x in scalars if hasattr(x, "graph")), False)


def held(x: Array, slope: Any = 0) -> Array:
    """The values of traced scalars x, with the derivatives of ``slope``; none by default."""
    return np.asarray(object_map(lambda a, b: a.held(b) if hasattr(a, "held") else a, x, slope))


def forward_dynamics(model: Model, q: Array, qd: Array, tau: Array, *, f_ext: Array | None = None) -> Array:
    """qdd = M⁻¹ (tau - h), with ∂qdd = M⁻¹ ∂(tau - ID(q, qd, qdd)), qdd held."""
    qdd = aba(model, q, qd, tau, f_ext=f_ext)
    missing = tau - rnea(model, q, qd, held(qdd), f_ext=f_ext)
    return held(qdd, _solve(model, q, missing))


def mass_matrix_solve(model: Model, q: Array, b: Array) -> Array:
    """x = M⁻¹ b, with ∂x = M⁻¹ ∂(b - M x), x held."""
    X, S = joint_transforms(model, q)
    x = solve.mass_matrix_solve(model, q, b)
    missing = b - solve.times_columns(model, X, S, held(x)[:, None])[:, 0]
    return held(x, _solve(model, q, missing))


def _solve(model: Model, q: Array, b: Array) -> Array:
    """M⁻¹ b, with M held."""
    X, S = joint_transforms(model, q)
    factors = Articulated(*([held(x) for x in xs] for xs in articulated_inertias(model, X, S)))
    return solve.solve_factored(model, [held(x) for x in X], [held(x) for x in S], factors, b[:, None])[:, 0]
