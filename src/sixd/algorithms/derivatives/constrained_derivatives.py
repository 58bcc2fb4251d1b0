"""Derivatives of constrained dynamics, of the accelerations and of the multipliers.

M qdd + h = tau + Aᵀλ and A qdd = c hold for all states, so along a change of the state

    M dqdd = dtau - dID + dAᵀλ + Aᵀdλ        A dqdd = dc - dA qdd

with dID that of inverse dynamics at fixed qdd: the equations of constrained dynamics again, with other right-hand
sides. dA and dc come from dual numbers. Where equations are redundant, λ is that of least norm: λ = A y for some y, and
dλ has the part (1 - A A⁺) dA y besides; then the results hold along changes that satisfy the constraints.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.algorithms.constrained.dynamics import (
    mass_metric,
    row_targets,
    solve_with_multipliers,
)
from sixd.algorithms.constrained.least_norm import EXACT, RankLimits
from sixd.algorithms.constrained.rank import assembled_rank
from sixd.algorithms.constrained.rows import constraint_bias, constraint_jacobian, padded_error
from sixd.algorithms.derivatives.any_system import inverse_dynamics_derivatives
from sixd.algorithms.linear.tree import Metric
from sixd.algorithms.rnea import bias_force
from sixd.model.system import System
from sixd.spatial.dual import duals, parts
from sixd.spatial.scalar import Array, Scalar, is_number

WHERE = "constrained_dynamics_derivatives"


class ConstrainedDerivatives(NamedTuple):
    """Derivatives of qdd (…, nv, nv) and of λ (…, k, nv) with respect to q, qd and tau (columns)."""

    qdd_q: Array
    qdd_qd: Array
    qdd_tau: Array
    lam_q: Array
    lam_qd: Array
    lam_tau: Array


class _ConstraintRows(NamedTuple):
    """The rows at a state: A (k, nv), and of each column dA (k, nv), along q, and the changes of A qdd - c, (k,)."""

    A: Array
    dA: list[Array]
    by_q: list[Array]
    by_qd: list[Array]


def constrained_derivatives(
    system: System,
    q: Array,
    qd: Array,
    tau: Array,
    t: Scalar = 0.0,
    *,
    stabilisation: Scalar = 0.0,
    f_ext: Array | None = None,
    limits: RankLimits = EXACT,
) -> ConstrainedDerivatives:
    """Derivatives of ``constrained_dynamics`` in the tangent space at q."""
    force = {} if f_ext is None else {"f_ext": f_ext}
    metric, A = mass_metric(system, q), constraint_jacobian(system, q)
    h = system.apply("bias_force", bias_force, q, qd, **force)
    c = row_targets(system, q, qd, t, stabilisation)
    qdd, lam = _solve(system, q, metric, A, tau - h, c, limits)

    partial = inverse_dynamics_derivatives(system, q, qd, qdd, f_ext=f_ext)
    rows = _row_derivatives(system, q, qd, qdd, stabilisation)
    along = null_part(system, q, metric, A, lam, limits)
    none, units = np.zeros(len(A), dtype=int), np.eye(system.nv, dtype=int)
    by_q = []
    for d, dA, change in zip(partial.q.T, rows.dA, rows.by_q, strict=True):
        w = dA @ along
        x, dlam = _solve(system, q, metric, A, dA.T @ lam - d + A.T @ w, -change, limits)
        by_q.append((x, dlam + w))
    by_qd = [_solve(system, q, metric, A, -d, -r, limits) for d, r in zip(partial.qd.T, rows.by_qd, strict=True)]
    by_tau = [_solve(system, q, metric, A, e, none, limits) for e in units]
    groups = (by_q, by_qd, by_tau)
    accelerations = [_columns([x for x, _ in group], system.nv) for group in groups]
    return ConstrainedDerivatives(*accelerations, *(_columns([y for _, y in group], len(A)) for group in groups))


def _solve(
    system: System, q: Array, metric: Metric, A: Array, b: Array, c: Array, limits: RankLimits
) -> tuple[Array, Array]:
    """The x (nv,) and λ (k,) with M x = b + Aᵀλ and A x = c."""
    if not system.constraints:
        return metric.solve(b), np.zeros(0)
    return solve_with_multipliers(WHERE, system, q, metric, A, b, c, limits)


def _row_derivatives(system: System, q: Array, qd: Array, qdd: Array, stabilisation: Scalar) -> _ConstraintRows:
    """The rows and their changes along each DoF, by dual numbers."""
    A, zero = constraint_jacobian(system, q), np.zeros(system.nv, dtype=int)
    dA, by_q, by_qd = [], [], []
    stable = not (is_number(stabilisation) and stabilisation == 0)
    for k, e in enumerate(np.eye(system.nv, dtype=int)):
        moved = duals(q, system.configuration_rate(q, e))
        dA_d = parts(constraint_jacobian(system, moved))[1]
        change = dA_d @ qdd + parts(constraint_bias(system, moved, duals(qd, zero)))[1]
        faster = parts(constraint_bias(system, duals(q, np.zeros(system.nq, dtype=int)), duals(qd, e)))[1]
        if stable:
            error = parts(padded_error(system, moved))[1]
            change = change + (dA_d @ qd * 2 + error * stabilisation) * stabilisation
            faster = faster + A[:, k] * (2 * stabilisation)
        dA.append(dA_d)
        by_q.append(change)
        by_qd.append(faster)
    return _ConstraintRows(A, dA, by_q, by_qd)


def null_part(system: System, q: Array, metric: Metric, A: Array, lam: Array, limits: RankLimits) -> Array:
    """y (nv,) with A y = λ; zero if the equations are independent."""
    zero = np.zeros(system.nv, dtype=int)
    if not system.constraints:
        return zero
    rank = assembled_rank(system)
    if rank.least >= rank.rows - len(rank.vanishing):
        return zero
    return _solve(system, q, metric, A, zero, lam, limits)[0]


def _columns(vectors: list[Array], n: int) -> Array:
    """The vectors (n,) side by side."""
    return np.array(vectors).reshape(len(vectors), n).T
