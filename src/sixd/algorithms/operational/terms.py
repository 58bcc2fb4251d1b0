"""The equations of motion seen at the rows of a stack of frames: F = Λ a + μ with a = J qdd + dJ/dt qd.

Λ = (J M⁻¹ Jᵀ)⁻¹, J̄ = M⁻¹ Jᵀ Λ, N = 1 - Jᵀ J̄ᵀ  (O. Khatib, IEEE J. Robotics and Automation 3, 1987). Generic over
systems. J M⁻¹ Jᵀ is not inverted: with M = LᵀDL the rows become u = L⁻ᵀ j, as those of constraints do, and are made
orthogonal in the metric D⁻¹ (least_norm.py), so that errors grow with the condition of J, not with its square. A
regularisation δ gives each row a freedom of its own, of inertia 1/δ²: J M⁻¹ Jᵀ + δ² 1 then takes the place of J M⁻¹ Jᵀ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained.dynamics import Metric, mass_metric
from sixd.algorithms.constrained.least_norm import EXACT, Basis, Limits, back_substitute, orthogonalize
from sixd.algorithms.crba import crba
from sixd.algorithms.jacobian import jacobian
from sixd.algorithms.kinematics import acceleration
from sixd.algorithms.operational.stack import Stack, row_count
from sixd.algorithms.rnea import bias_force
from sixd.algorithms.singular import anywhere
from sixd.errors import SingularError
from sixd.model.memo import known_of, remember
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, is_number, where
from sixd.spatial.transform import mirror_upper

_TRIED = 4  # random configurations in which the sizes and the rank of the rows are found
_NEAR = 1e-4  # and of a smaller part in one configuration, where a result is not finite, are the reason of that
_DEPENDENT = 1e-9  # rows of a smaller part outside the span of others, in all of these, always depend on them


class Rows(NamedTuple):
    """Rows A (k, nv) beside the mass matrix; ``basis`` is orthogonal in ``weight``, which has entries beyond those of
    the metric if some rows are regularised. ``holds`` is whether the rows are independent; None: always, or unknown.
    """

    A: Array
    metric: Metric
    weight: Array
    basis: Basis
    holds: object

    def solve(self, r: Array) -> tuple[Array, Array]:
        """x (nv,), the smallest in the metric of M with A x = r (k,), and A's multipliers λ (k,): M x = Aᵀλ."""
        y: list[Scalar] = []
        for j in range(len(r)):
            y.append(r[j] - sum((y[s] * self.basis.R[s][j] for s in range(j)), 0))
        p, t = self.basis._replace(y=y).smallest(self.weight)
        n = len(self.metric.weight)
        return self.metric.raised(p[:n] * self.metric.weight), back_substitute(self.basis.R, t)

    def responses(self) -> tuple[Array, Array]:
        """J̄ (nv, k) and Λ (k, k)."""
        unit = [self.solve(e) for e in np.eye(len(self.A), dtype=int)]
        n, k = len(self.metric.weight), len(self.A)
        inverse, inertia = (np.array([pair[i] for pair in unit]).reshape(k, m).T for i, m in ((0, n), (1, k)))
        return inverse, mirror_upper(inertia)

    def marked(self, result: Array) -> Array:
        """The result, NaN where the rows are dependent."""
        return result if self.holds is None else where(self.holds, result, np.full(result.shape, np.nan))


def operational_rows(
    name: str,
    system: System,
    q: Array,
    frame: str | Stack,
    expressed_in: str,
    regularization: float = 0.0,
    limits: Limits = EXACT,
    unactuated: tuple[int, ...] = (),
) -> Rows:
    """The rows of a stack; before them those of M of the freedoms ``unactuated``, whose forces M qdd they prescribe."""
    metric = mass_metric(system, q)
    J = system.apply("jacobian", jacobian, q, frame=frame, expressed_in=expressed_in)
    A, u, weight = J, [metric.lower(row) for row in J], metric.weight
    if unactuated:
        M = system.apply("mass_matrix", crba, q)[list(unactuated)]
        A, u = np.concatenate([M, J]), [*(metric.lower(row) for row in M), *u]
    usual = sizes_of_rows(system, frame, expressed_in, unactuated)
    k = len(A)
    if regularization:
        free = np.eye(k, dtype=int)[:, len(unactuated) :] * regularization
        u = [np.concatenate([row, extra]) for row, extra in zip(u, free, strict=True)]
        weight = np.concatenate([weight, np.ones(len(J), dtype=int)])
    elif usual.rank < k:
        raise dependent_error(name, system, frame, " in any configuration", usual.rank - len(unactuated))
    basis = orthogonalize(u, [0] * k, weight, usual.squares, limits)
    watched = not regularization and all(_comparable(x) for x in basis.own)
    return Rows(A, metric, weight, basis, basis.margin() > 0 if watched else None)


def operational_inertia(
    system: System,
    q: Array,
    *,
    frame: str | Stack,
    expressed_in: str = "body",
    regularization: float = 0.0,
    limits: Limits = EXACT,
) -> Array:
    """Λ (m, m) = (J M⁻¹ Jᵀ)⁻¹: the inertia felt at the rows of the frames; NaN where they are dependent."""
    rows = operational_rows("operational_inertia", system, q, frame, expressed_in, regularization, limits)
    return rows.marked(rows.responses()[1])


def dynamically_consistent_inverse(
    system: System,
    q: Array,
    *,
    frame: str | Stack,
    expressed_in: str = "body",
    regularization: float = 0.0,
    limits: Limits = EXACT,
) -> Array:
    """J̄ (nv, m) = M⁻¹ Jᵀ Λ: J J̄ = 1, and J̄ a is the smallest qdd in the metric of M with J qdd = a."""
    rows = operational_rows("dynamically_consistent_inverse", system, q, frame, expressed_in, regularization, limits)
    return rows.marked(rows.responses()[0])


def null_space_projector(
    system: System,
    q: Array,
    *,
    frame: str | Stack,
    expressed_in: str = "body",
    regularization: float = 0.0,
    limits: Limits = EXACT,
) -> Array:
    """N (nv, nv) = 1 - Jᵀ J̄ᵀ: J M⁻¹ N = 0."""
    rows = operational_rows("null_space_projector", system, q, frame, expressed_in, regularization, limits)
    return rows.marked(np.eye(system.nv, dtype=int) - rows.A.T @ rows.responses()[0].T)


def operational_bias(
    system: System,
    q: Array,
    qd: Array,
    *,
    frame: str | Stack,
    expressed_in: str = "body",
    regularization: float = 0.0,
    limits: Limits = EXACT,
) -> Array:
    """μ (m,) = Λ (J M⁻¹ h - dJ/dt qd): the force at the frames that keeps J qd as it is."""
    rows = operational_rows("operational_bias", system, q, frame, expressed_in, regularization, limits)
    h = system.apply("bias_force", bias_force, q, qd)
    r = rows.A @ rows.metric.solve(h) - velocity_product(system, q, qd, frame, expressed_in)
    return rows.marked(rows.solve(r)[1])


def velocity_product(system: System, q: Array, qd: Array, frame: str | Stack, expressed_in: str) -> Array:
    """dJ/dt qd (m,): the rate of J qd at qdd = 0."""
    kind = "classical" if expressed_in == "aligned" else "spatial"
    zero = np.zeros(system.nv, dtype=int)
    return system.apply("acceleration", acceleration, q, qd, zero, frame=frame, kind=kind, expressed_in=expressed_in)


# rank ---------------------------------------------------------------------------------------------


class Sizes(NamedTuple):
    """The usual squares of the rows u, and their rank in random configurations."""

    squares: tuple[float, ...]
    rank: int


def sizes_of_rows(system: System, frame: str | Stack, expressed_in: str, unactuated: tuple[int, ...] = ()) -> Sizes:
    """The sizes of the rows, in numbers; computed once per system."""
    origin = known_of(system).get("origin")
    if origin is not None:
        return sizes_of_rows(origin, frame, expressed_in, unactuated)
    key = ("sizes of rows", frame, expressed_in, unactuated)
    return remember(system, key, lambda: _sizes(system, frame, expressed_in, unactuated))


@np.errstate(all="ignore")
def _sizes(system: System, frame: str | Stack, expressed_in: str, unactuated: tuple[int, ...]) -> Sizes:
    rng = np.random.default_rng(0)
    if system.symbols:
        values = rng.uniform(0.5, 1.5, len(system.symbols))
        system = system.substitute({s: float(x) for s, x in zip(system.symbols, values, strict=True)})
    # limits of joints are ignored: they are no part of what determines compiled code
    found = [_in_numbers(system, anywhere(system, rng), frame, expressed_in, unactuated) for _ in range(_TRIED)]
    squares = np.max([np.sum(u * u, axis=1) for u in found], axis=0, initial=0.0)
    return Sizes(tuple(np.where(squares > 0, squares, 1.0).tolist()), max(map(_rank, found)))


def _in_numbers(
    system: System, q: Array, frame: str | Stack, expressed_in: str, unactuated: tuple[int, ...] = ()
) -> Array:
    """The rows u (k, nv), scaled to a metric of ones, at a configuration of floats."""
    metric = mass_metric(system, q)
    J = system.apply("jacobian", jacobian, q, frame=frame, expressed_in=expressed_in)
    rows = np.concatenate([system.apply("mass_matrix", crba, q)[list(unactuated)], J])
    u = np.array([metric.lower(row) for row in rows], dtype=float).reshape(len(rows), system.nv)
    return u * np.sqrt(np.asarray(metric.weight, dtype=float))


def _rank(u: Array, tolerance: float = _DEPENDENT) -> int:
    """The rank of vectors (k, n), each scaled to length 1; k where they are not finite."""
    length = np.linalg.norm(u, axis=1, keepdims=True)
    scaled = u / np.where(length > 0, length, 1.0)
    return int(np.linalg.matrix_rank(scaled, tol=tolerance)) if u.size and np.isfinite(u).all() else len(u)


def explain(
    name: str, system: System, choices: tuple[Any, ...], row: str, arrays: tuple[Array, ...]
) -> SingularError | None:
    """The error for a row whose result is not finite because its rows are dependent; None if they are not."""
    frame, expressed_in, *_ = choices
    with np.errstate(all="ignore"):
        # vanished rows count as dependent ones: they are scaled by their usual length
        usual = np.sqrt(np.array(sizes_of_rows(system, frame, expressed_in).squares))
        u = _in_numbers(system, arrays[0], frame, expressed_in)
        small = np.linalg.norm(u, axis=1) < _NEAR * usual
        rank = _rank(np.where(small[:, None], 0.0, u), _NEAR)
    return dependent_error(name, system, frame, f" there{row}", rank) if rank < row_count(frame) else None


def dependent_error(name: str, system: System, frame: str | Stack, row: str, rank: int) -> SingularError:
    """The error for rows that are dependent; ``row`` says where, such as " there in row (3,)"."""
    m = row_count(frame)
    what = f"frame {frame!r} cannot move in all six directions{row}"
    if not isinstance(frame, str):
        names = ", ".join(repr(name) for name, _ in frame)
        what = f"the {m} rows of {names} are dependent{row}"
    first = frame if isinstance(frame, str) else frame[0][0]
    return SingularError(
        f"{name}: {what} (rank {rank} of {m}, {system.nv} freedoms): Λ does not exist. Take fewer rows, "
        f"such as frame={{{first!r}: 'position'}}, or give regularization=…; sixd.inverse_operational_inertia is "
        f"defined there, too."
    )


def _comparable(x: Scalar) -> bool:
    return is_number(x) or hasattr(x, "minimum")
