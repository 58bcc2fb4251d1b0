"""Dynamics under constraints: M qdd + h = tau + Aᵀλ with A qdd + dA/dt qd = db/dt.

Generic over systems. With M = LᵀDL the unknown z = L qdd has a diagonal metric, and each row a of A becomes u = L⁻ᵀa:
the correction of the free motion is the smallest p = Σ u λ with u·(D⁻¹p) = r, where r is the residual of the rows
[RBDA section 8.1; least_norm.py]. It needs no square roots, and no selects if the constraints are independent, so it
runs on symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sixd.algorithms.aba import aba
from sixd.algorithms.constrained.least_norm import (
    EXACT,
    OrthogonalBasis,
    RankLimits,
    back_substitute,
    inner,
    orthogonalize,
    orthogonalize_dependent,
)
from sixd.algorithms.constrained.rank import Rank, assembled_rank
from sixd.algorithms.constrained.rows import (
    constraint_bias,
    constraint_jacobian,
    constraint_target,
    constraint_velocity,
    padded_error,
)
from sixd.algorithms.crba import crba
from sixd.algorithms.linear.tree import Metric, tree_metric
from sixd.algorithms.rnea import bias_force
from sixd.errors import ScalarTypeError
from sixd.model.system import System
from sixd.spatial.dual import duals, parts
from sixd.spatial.scalar import Array, Scalar, is_number, where


def mass_metric(system: System, q: Array) -> Metric:
    """The factors of the mass matrix at q (nq,)."""
    return tree_metric(system.apply("mass_matrix", crba, q), system.dof_parent)


def row_targets(system: System, q: Array, qd: Array, t: Scalar, stabilisation: Scalar = 0.0) -> Array:
    """c (k,) of A qdd = c: db/dt - dA/dt qd, and the terms of ``stabilisation``."""
    c = constraint_target(system, t)[1] - constraint_bias(system, q, qd)
    if is_number(stabilisation) and stabilisation == 0:
        return c
    drift = constraint_velocity(system, q, qd, t) * 2 + padded_error(system, q) * stabilisation
    return c - drift * stabilisation


def solve_on_rows(system: System, q: Array, metric: Metric, b: Array, c: Array, limits: RankLimits = EXACT) -> Array:
    """The x (nv,) with S x = b + Aᵀλ and A x = c (k,), from the factors of a symmetric S; NaN beyond the limits."""
    z = metric.lower(b) * metric.weight
    A = constraint_jacobian(system, q)
    smallest = _smallest("solve_on_rows", system, q, metric, A, lambda u, j: c[j] - u @ z, limits)
    return _marked(smallest.basis, metric.raised(z + smallest.p * metric.weight))


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
    """qdd (nv,) and λ (k,), of least norm if the constraints are redundant; NaN beyond the limits.

    With ``stabilisation`` ω the rows are A qdd = db/dt - dA/dt qd - 2ω(A qd - b) - ω²φ  [Baumgarte 1972].
    """
    force = {} if f_ext is None else {"f_ext": f_ext}
    if not system.constraints:
        return system.apply("forward_dynamics", aba, q, qd, tau, **force), np.zeros(0)
    A, h = constraint_jacobian(system, q), system.apply("bias_force", bias_force, q, qd, **force)
    c = row_targets(system, q, qd, t, stabilisation)

    return solve_with_multipliers("constrained_dynamics", system, q, mass_metric(system, q), A, tau - h, c, limits)


def solve_with_multipliers(
    where: str, system: System, q: Array, metric: Metric, A: Array, b: Array, c: Array, limits: RankLimits = EXACT
) -> tuple[Array, Array]:
    """The x (nv,) with M x = b + Aᵀλ and A x = c (k,), and λ (k,), of least norm; NaN beyond the limits."""
    # the free motion, the residual of the rows under it, and the smallest force that removes the residual
    z = metric.lower(b) * metric.weight
    smallest = _smallest(where, system, q, metric, A, lambda u, j: c[j] - u @ z, limits)
    x = metric.raised(z + smallest.p * metric.weight)
    lam: list[Scalar] = [0] * len(A)
    multipliers = _multipliers(smallest.basis, smallest.coefficients, len(smallest.kept))
    for j, value in zip(smallest.kept, multipliers, strict=True):
        lam[j] = value
    return _marked(smallest.basis, x), _marked(smallest.basis, np.array(lam))


class _Smallest(NamedTuple):
    """The smallest p = Σ v t whose products with the rows are their residuals, and the rows that do not vanish."""

    p: Array
    coefficients: list[Scalar]
    basis: OrthogonalBasis
    kept: list[int]


def _smallest(
    where: str,
    system: System,
    q: Array,
    metric: Metric,
    A: Array,
    residual: Callable[[Array, int], Scalar],
    limits: RankLimits,
) -> _Smallest:
    """The smallest correction; ``residual(u, j)`` is the residual of row j of A, u = L⁻ᵀ A[j]."""
    rank = _rank_for(where, system, q)
    kept = [j for j in range(len(A)) if j not in rank.vanishing]
    u = [metric.lower(A[j]) for j in kept]
    basis = _basis(system, q, metric, u, [residual(u_j, j) for j, u_j in zip(kept, u, strict=True)], rank, limits)
    return _Smallest(*basis.smallest(metric.weight), basis, kept)


def correction(system: System, q: Array, residual: Array, limits: RankLimits = EXACT) -> Array:
    """The smallest change (nv,) in the mass metric with A change = residual (k,); NaN beyond the limits."""
    metric, A = mass_metric(system, q), constraint_jacobian(system, q)
    smallest = _smallest("correction", system, q, metric, A, lambda u, j: residual[j], limits)
    return _marked(smallest.basis, metric.raised(smallest.p * metric.weight))


def projections(system: System, q: Array, *, limits: RankLimits = EXACT) -> tuple[Array, Array]:
    """P and P_u = Pᵀ (nv, nv): velocities onto A P qd = 0, forces onto those that the constraints do not balance.

    P_u = 1 - Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹; P removes from a velocity the part that is M-orthogonal to the allowed ones.
    """
    P: Array = np.eye(system.nv, dtype=int)
    if not system.constraints:
        return P, P
    metric, rank = mass_metric(system, q), _rank_for("projections", system, q)
    A = constraint_jacobian(system, q)
    u = [metric.lower(A[j]) for j in range(len(A)) if j not in rank.vanishing]
    basis = _basis(system, q, metric, u, [0] * len(u), rank, limits)
    for v, inverse in zip(basis.v, basis.inverse, strict=True):
        # remove the part of z = L qd along v; row = Lᵀv
        row = np.array([v[j] + sum((v[i] * metric.L[i, j] for i in _above(metric, j)), 0) for j in range(len(v))])
        P = P - np.outer(metric.raised(v * metric.weight), row * inverse)
    P = _marked(basis, P)
    return P, P.T


def impulse_rows(system: System, q: Array, metric: Metric, J: Array, limits: RankLimits = EXACT) -> Array:
    """U (m, nv) with J W Jᵀ = U diag(w) Uᵀ for rows J (m, nv); W is the response to impulses in a metric.

    W = M⁻¹ if that is the metric, or under constraints the response of velocities that keep A qd: impulses Jᵀl change
    qd by ``metric.raised((U.T @ l) * metric.weight)``. NaN beyond the limits.
    """
    rows = [metric.lower(row) for row in J]
    if not system.constraints:
        return np.array(rows)
    A, rank = constraint_jacobian(system, q), _rank_for("impulse_rows", system, q)
    u = [metric.lower(A[j]) for j in range(len(A)) if j not in rank.vanishing]
    basis = _basis(system, q, metric, u, [0] * len(u), rank, limits)
    for v, inverse in zip(basis.v, basis.inverse, strict=True):  # remove the part along the constraints
        rows = [row - v * (inner(v, row, metric.weight) * inverse) for row in rows]
    return _marked(basis, np.array(rows))


def _above(metric: Metric, j: int) -> list[int]:
    return [i for i in range(len(metric.branch)) if j in metric.branch[i]]


def _basis(
    system: System, q: Array, metric: Metric, u: list[Array], r: list[Scalar], rank: Rank, limits: RankLimits
) -> OrthogonalBasis:
    kept = [j for j in range(rank.rows) if j not in rank.vanishing]
    usual, weight = [rank.sizes[j] ** 2 for j in kept], metric.weight
    if rank.least < rank.most:
        basis = _basis_of_branch(system, q, metric, u, r, rank, limits)
    elif rank.number >= len(u):
        basis = orthogonalize(u, r, weight, usual, limits)
    else:
        basis = orthogonalize_dependent(u, r, weight, usual, rank.number, limits)
    for j, x in zip(kept, u, strict=True):
        if j in rank.doubles:
            basis.own.append(inner(x, x, weight) / (rank.doubles[j] ** 2 * limits.double))
    return basis


# rad by which an assembly error of 1 rad or m rotates a row, at most, out of the span of the rows on which it depends
_BENDS = 30.0
# squared change of the range of A that counts, as a part of that of A or of its rows in 1 rad or m: rounding leaves
# 1e-30
_CHANGES, _CHANGES_LEAST = 1e-8, 1e-12


def _basis_of_branch(
    system: System, q: Array, metric: Metric, u: list[Array], r: list[Scalar], rank: Rank, limits: RankLimits
) -> OrthogonalBasis:
    """The basis of as many rows as are independent at q, within the limits if neighbouring configurations have as many.

    They do if, for velocities x and y that A allows, dA y along x lies in the range of A; in a dead centre it does not.
    """
    kept = [j for j in range(rank.rows) if j not in rank.vanishing]
    weight, usual, lengths = metric.weight, [rank.sizes[j] ** 2 for j in kept], np.array(rank.lengths)[kept]
    error = padded_error(system, q)[kept] / lengths
    slack = (error @ error) * _BENDS**2

    def of(r: list[Scalar]) -> OrthogonalBasis:
        return orthogonalize_dependent(u, r, weight, usual, rank.most, limits, rank.least, slack)

    basis, velocities = of(r), []
    for phase in (1, 2):
        p = np.array([np.cos(phase + 2.4 * k) for k in range(system.nv)]) / weight
        for v, inverse in zip(basis.v, basis.inverse, strict=True):
            p = p - v * (inner(v, p, weight) * inverse)
        velocities.append(metric.raised(p * weight))
    x, y = velocities
    moved, still = duals(q, system.configuration_rate(q, x)), np.zeros(system.nv, dtype=int)
    change = parts(constraint_velocity(system, moved, duals(y, still)))[1][kept]
    whole, left = change / lengths, np.array(of(list(change)).left) / lengths
    allowed = (whole @ whole) * (slack + _CHANGES) + _CHANGES_LEAST
    basis.own.append(2 - basis.absent[-1] * (left @ left) / allowed)
    return basis


def _multipliers(basis: OrthogonalBasis, t: list[Scalar], k: int) -> Array:
    """λ (k,) with R λ = t; the smallest, if the rows may be dependent."""
    if not basis.left:
        return back_substitute(basis.R, t)
    # a row of zeros gets an unknown of its own, which is 0
    n = len(basis.absent)
    own = np.concatenate([np.zeros((len(basis.R) - n, n), dtype=int), np.diag(np.array(basis.absent, dtype=object))])
    rows, ones = [np.array([*row, *more]) for row, more in zip(basis.R, own, strict=True)], np.ones(k + n, dtype=int)
    return orthogonalize(rows, t, ones, ones).smallest(ones)[0][:k]


def _marked(basis: OrthogonalBasis, result: Array) -> Array:
    """The result, NaN where the rank has dropped. Not checked for scalars without comparison, such as symbols."""
    if not basis.own or not all(map(comparable, basis.own)):
        return result
    return where(basis.margin() > 0, result, np.full(result.shape, np.nan))


def comparable(x: Scalar) -> bool:
    """Whether a scalar can be compared: a number, a traced or a dual one, not a symbol."""
    return is_number(x) or hasattr(x, "minimum")


def _rank_for(where: str, system: System, q: Array) -> Rank:
    """The rank of the assembled mechanism; raise if q is symbolic and the constraints are redundant."""
    rank = assembled_rank(system)
    if all(map(comparable, q)):
        return rank
    if rank.number < rank.rows - len(rank.vanishing):
        raise ScalarTypeError(
            f"{where}: the constraints of {system.name!r} are redundant, {rank.rows} equations of rank {rank.number}, "
            f"expected independent ones for symbolic scalars. Leave out what sixd.mobility names, or give numbers."
        )
    return rank._replace(least=rank.number)  # symbols cannot be compared
