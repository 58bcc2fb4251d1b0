"""Solves with M, with derivatives by the implicit function: for traces that are to be differentiated.

A solve x = M⁻¹ r need not be differentiated step by step. M x - r stays zero as the state changes, so
∂x = -M⁻¹ ∂(M x - r) with x held: one more solve with the same factors, and the derivatives of inverse dynamics. The
results are those of the usual algorithms, whose operations they share.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from sixd.algorithms import solve
from sixd.algorithms.aba import Articulated, aba, articulated_inertias, hybrid
from sixd.algorithms.constrained import dynamics
from sixd.algorithms.constrained.least_norm import EXACT, RankLimits
from sixd.algorithms.constrained.rows import constraint_jacobian
from sixd.algorithms.derivatives.constrained_derivatives import null_part
from sixd.algorithms.derivatives.rnea_derivatives import rnea_derivatives
from sixd.algorithms.kinematics import joint_transforms
from sixd.algorithms.rnea import bias_force, rnea
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, object_map

FORWARD = "forward"  # of a graph: derivatives along many directions are wanted


def is_wanted(*arrays: Array) -> bool:
    """Whether the arrays are of a trace that is to be differentiated."""
    return bool(_wish(arrays))


def is_forward(*arrays: Array) -> bool:
    """Whether the arrays are of a trace that is to be differentiated along many directions."""
    return _wish(arrays) == FORWARD


def _wish(arrays: tuple[Array, ...]) -> Any:
    scalars = (x for array in arrays if array.dtype == object for x in array.ravel())
    return next((x.graph.implicit for x in scalars if hasattr(x, "graph")), False)


def held(x: Array, change: Scalar = 0) -> Array:
    """The values of traced scalars x, with the derivatives of ``change``; none by default."""
    return np.asarray(object_map(lambda a, b: a.held(b) if hasattr(a, "held") else a, x, change))


def missing_force(system: System, q: Array, qd: Array, qdd: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """An array with the derivatives of tau - ID(q, qd, qdd), qdd held.

    Along many directions those of ID of a tree are products with its matrices, which are computed once: 0.2 times the
    operations of a direction (anymal, of a stage of rk4).
    """
    force = {} if f_ext is None else {"f_ext": f_ext}
    if not (is_forward(q, qd, tau) and isinstance(system, Model)):
        return np.asarray(tau - system.apply("inverse_dynamics", rnea, q, qd, held(qdd), **force))
    partial = rnea_derivatives(system, q, qd, qdd, f_ext=f_ext)
    moved = system.difference_row(held(q), q)
    missing = tau - held(partial.q) @ moved - held(partial.qd) @ qd
    if f_ext is not None:
        missing = missing - rnea(system, held(q), held(qd), held(qdd), f_ext=f_ext)
    return np.asarray(missing)


def forward_dynamics(model: Model, q: Array, qd: Array, tau: Array, *, f_ext: Array | None = None) -> Array:
    """qdd = M⁻¹ (tau - h), with ∂qdd = M⁻¹ ∂(tau - ID(q, qd, qdd)), qdd held."""
    qdd = aba(model, q, qd, tau, f_ext=f_ext)
    missing = tau - rnea(model, q, qd, held(qdd), f_ext=f_ext)
    return held(qdd, _solve(model, q, missing))


def factored_forward_dynamics(system: System, q: Array, qd: Array, tau: Array, **force: Array) -> Array:
    """qdd = M⁻¹ (tau - h) of a system that gives M and h, with the same rule if the trace is to be differentiated."""
    metric = dynamics.mass_metric(system, q)
    qdd = metric.solve(tau - system.apply("bias_force", bias_force, q, qd, **force))
    if not is_wanted(q, qd, tau):
        return qdd
    missing = missing_force(system, q, qd, qdd, tau, force.get("f_ext"))
    return held(qdd, held_metric(metric).solve(missing))


def hybrid_dynamics(
    model: Model, q: Array, qd: Array, qdd: Array, tau: Array, f_ext: Array | None = None, *, given: AbstractSet[int]
) -> tuple[Array, Array]:
    """(qdd, tau), with ∂qdd of the free joints from ∂(tau - ID), and ∂tau = ∂ID + M ∂qdd of those in ``given``."""
    prescribed = np.zeros(model.nv, dtype=bool)
    for i in given:
        prescribed[model.iv[i]] = True
    motion, force = hybrid(model, given, q, qd, qdd, tau, f_ext=f_ext)
    needed = rnea(model, q, qd, np.where(prescribed, qdd, held(motion)), f_ext=f_ext)
    change = _solve(model, q, tau - needed, given)
    X, S = joint_transforms(model, q)
    carried = solve.times_columns(model, _held_all(X), _held_all(S), change[:, None])[:, 0]
    return np.where(prescribed, qdd, held(motion, change)), np.where(prescribed, held(force, needed + carried), tau)


def mass_matrix_solve(model: Model, q: Array, b: Array) -> Array:
    """x = M⁻¹ b, with ∂x = M⁻¹ ∂(b - M x), x held."""
    X, S = joint_transforms(model, q)
    x = solve.mass_matrix_solve(model, q, b)
    missing = b - solve.times_columns(model, X, S, held(x)[:, None])[:, 0]
    return held(x, _solve(model, q, missing))


def constrained_dynamics(
    system: System,
    q: Array,
    qd: Array,
    tau: Array,
    t: Scalar = 0.0,
    *,
    stabilisation: Scalar = 0.0,
    f_ext: Array | None = None,
    limits: RankLimits = EXACT,
) -> tuple[Array, Array]:
    """(qdd, λ), with x = ∂qdd and ∂λ from M x = ∂(tau - ID + Aᵀλ) + Aᵀ∂λ and A x = ∂(c - A qdd), qdd and λ held.

    See constrained_derivatives.py, also for redundant equations.
    """
    force = {} if f_ext is None else {"f_ext": f_ext}
    if not system.constraints:
        return system.apply("forward_dynamics", forward_dynamics, q, qd, tau, **force), np.zeros(0)
    options: dict[str, Any] = {"stabilisation": stabilisation, "f_ext": f_ext, "limits": limits}
    qdd, lam = dynamics.constrained_dynamics(system, q, qd, tau, t, **options)
    metric, A = dynamics.mass_metric(system, q), constraint_jacobian(system, q)
    c = dynamics.row_targets(system, q, qd, t, stabilisation)

    # what the equations lack as the state changes; w is the part of λ in redundant equations
    needed = missing_force(system, q, qd, qdd, tau, f_ext)
    w = A @ held(null_part(system, q, metric, A, lam, limits))
    missing = needed + A.T @ held(lam) + held(A).T @ w
    rest, factors = c - A @ held(qdd), held_metric(metric)
    x, y = dynamics.solve_with_multipliers("constrained_dynamics", system, q, factors, held(A), missing, rest, limits)
    return held(qdd, x), held(lam, y + w)


def _solve(model: Model, q: Array, b: Array, prescribed: AbstractSet[int] = frozenset()) -> Array:
    """M⁻¹ b, with M held; joints in ``prescribed`` do not move."""
    X, S = joint_transforms(model, q)
    factors = Articulated(*(_held_all(xs) for xs in articulated_inertias(model, X, S, prescribed)))
    return solve.solve_factored(model, _held_all(X), _held_all(S), factors, b[:, None], prescribed)[:, 0]


def held_metric(metric: dynamics.Metric) -> dynamics.Metric:
    """A metric without derivatives."""
    return metric._replace(L=held(metric.L), weight=held(metric.weight))


def _held_all(matrices: list[Array]) -> list[Array]:
    return [held(x) for x in matrices]
