"""The equations of motion seen at the rows of a stack of frames: F = Λ a + μ with a = J qdd + dJ/dt qd.

Λ = (J M⁻¹ Jᵀ)⁻¹, J̄ = M⁻¹ Jᵀ Λ, N = 1 - Jᵀ J̄ᵀ  (O. Khatib, IEEE J. Robotics and Automation 3, 1987). Generic over
systems. J M⁻¹ Jᵀ is not inverted: with M = LᵀDL the rows become u = L⁻ᵀ j, as those of constraints do, and are made
orthogonal in the metric D⁻¹ (least_norm.py), so that errors grow with the condition of J, not with its square. It is
formed for trees of many DoF, whose M is not. A regularisation δ gives each row a DoF of its own, of inertia
1/δ²: J M⁻¹ Jᵀ + δ² 1 then replaces J M⁻¹ Jᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained.dynamics import comparable, mass_metric
from sixd.algorithms.constrained.least_norm import EXACT, RankLimits, back_substitute, orthogonalize
from sixd.algorithms.crba import crba
from sixd.algorithms.jacobian import jacobian
from sixd.algorithms.kinematics import acceleration
from sixd.algorithms.linear.dense import factors_small, inverse_small
from sixd.algorithms.operational.stack import Stack, row_count
from sixd.algorithms.rnea import bias_force
from sixd.algorithms.singular import anywhere, is_large
from sixd.algorithms.solve import solve_columns
from sixd.errors import SingularError
from sixd.model.memo import known_of, remember
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, minimum, where
from sixd.spatial.transform import mirror_upper

_TRIED = 4  # random configurations for the sizes and the rank of the rows
_DEPENDENT = (
    1e-9  # rows of which a smaller part is outside the span of the others, in all of these, always depend on them
)
_NEAR = 1e-4  # a smaller part than this in one configuration explains why its result is not finite


@dataclass(frozen=True)
class OperationalRows:
    """Rows A (k, nv) next to the mass matrix.

    ``solve(r)`` returns x (nv,), the smallest in the metric of M with A x = r (k,), and multipliers λ (k,): M x = Aᵀλ.
    ``divide(b)`` is M⁻¹ b (nv,). ``holds`` is whether the rows are independent; None: always, or unknown.
    """

    A: Array
    solve: Callable[[Array], tuple[Array, Array]]
    divide: Callable[[Array], Array]
    holds: Any

    def responses(self) -> tuple[Array, Array]:
        """J̄ (nv, k) and Λ (k, k)."""
        k, n = self.A.shape
        unit = [self.solve(e) for e in np.eye(k, dtype=int)]
        inverse, inertia = (np.array([pair[i] for pair in unit]).reshape(k, m).T for i, m in ((0, n), (1, k)))
        return inverse, mirror_upper(inertia)

    def marked(self, result: Array) -> Array:
        """The result, NaN where the rows are dependent."""
        return result if self.holds is None else where(self.holds, result, np.full(result.shape, np.nan))


def operational_rows(
    name: str,
    system: System,
    q: Array,
    *,
    frame: str | Stack,
    expressed_in: str = "body",
    regularization: float = 0.0,
    limits: RankLimits = EXACT,
    unactuated: tuple[int, ...] = (),
) -> OperationalRows:
    """The rows of a stack; before them those of M of the DoF ``unactuated``, whose forces M qdd they prescribe.

    The functions below have the same options.
    """
    A = _matrix(system, q, frame, expressed_in, unactuated)
    usual = sizes_of_rows(system, frame, expressed_in, unactuated)
    if not regularization and usual.rank < len(A):
        raise dependent_error(name, system, frame, " in any configuration", usual.rank - len(unactuated))
    extra = np.eye(len(A), dtype=int)[:, len(unactuated) :] * regularization  # each row's own DoF
    make = _by_products if is_large(system) else _by_basis
    solve, divide, own = make(system, q, A, extra if regularization else extra[:, :0], usual.squares, limits)
    watched = not regularization and all(comparable(x) for x in own)
    return OperationalRows(A, solve, divide, reduce(minimum, own) > 1 if watched else None)


def _matrix(system: System, q: Array, frame: str | Stack, expressed_in: str, unactuated: tuple[int, ...]) -> Array:
    J = system.apply("jacobian", jacobian, q, frame=frame, expressed_in=expressed_in)
    return np.concatenate([system.apply("mass_matrix", crba, q)[list(unactuated)], J]) if unactuated else J


def _by_basis(
    system: System, q: Array, A: Array, extra: Array, squares: tuple[float, ...], limits: RankLimits
) -> tuple[Any, Any, list[Scalar]]:
    """solve, divide, and numbers above 1 as long as the rows are independent, by an orthogonal basis."""
    metric, n = mass_metric(system, q), system.nv
    u = [np.concatenate([metric.lower(a), e]) if len(e) else metric.lower(a) for a, e in zip(A, extra, strict=True)]
    weight = np.concatenate([metric.weight, np.ones(extra.shape[1], dtype=int)]) if extra.size else metric.weight
    basis = orthogonalize(u, [0] * len(A), weight, squares, limits)

    def solve(r: Array) -> tuple[Array, Array]:
        y: list[Scalar] = []
        for j in range(len(r)):
            y.append(r[j] - sum((y[s] * basis.R[s][j] for s in range(j)), 0))
        p, t = basis._replace(y=y).smallest(weight)
        return metric.raised(p[:n] * metric.weight), back_substitute(basis.R, t)

    return solve, metric.solve, basis.own


def _by_products(
    model: Any, q: Array, A: Array, extra: Array, squares: tuple[float, ...], limits: RankLimits
) -> tuple[Any, Any, list[Scalar]]:
    """The same by the matrix A M⁻¹ Aᵀ, of trees with so many DoF that M is not factored: O(nv) for each row."""
    X = solve_columns(model, q, A.T)
    W = mirror_upper(A @ X) + extra @ extra.T
    inverse, (_, reciprocals) = inverse_small(W), factors_small(W)
    left = [1 / (r * W[j, j] * limits.dependent) for j, r in enumerate(reciprocals)]
    own = [*left, *(W[j, j] / (square * limits.vanished) for j, square in enumerate(squares))]
    return (
        lambda r: (X @ (inverse @ r), inverse @ r),
        lambda b: solve_columns(model, q, b[:, None])[:, 0],
        own,
    )


def operational_inertia(system: System, q: Array, **options: Any) -> Array:
    """Λ (m, m) = (J M⁻¹ Jᵀ)⁻¹: the inertia felt at the rows of the frames; NaN where they are dependent."""
    rows = operational_rows("operational_inertia", system, q, **options)
    return rows.marked(rows.responses()[1])


def dynamically_consistent_inverse(system: System, q: Array, **options: Any) -> Array:
    """J̄ (nv, m) = M⁻¹ Jᵀ Λ: J J̄ = 1, and J̄ a is the smallest qdd in the metric of M with J qdd = a."""
    rows = operational_rows("dynamically_consistent_inverse", system, q, **options)
    return rows.marked(rows.responses()[0])


def null_space_projector(system: System, q: Array, **options: Any) -> Array:
    """N (nv, nv) = 1 - Jᵀ J̄ᵀ: J M⁻¹ N = 0."""
    rows = operational_rows("null_space_projector", system, q, **options)
    return rows.marked(np.eye(system.nv, dtype=int) - rows.A.T @ rows.responses()[0].T)


def operational_bias(
    system: System, q: Array, qd: Array, *, frame: str | Stack, expressed_in: str = "body", **options: Any
) -> Array:
    """μ (m,) = Λ (J M⁻¹ h - dJ/dt qd): the force at the frames that keeps J qd as it is."""
    rows = operational_rows("operational_bias", system, q, frame=frame, expressed_in=expressed_in, **options)
    h = system.apply("bias_force", bias_force, q, qd)
    r = rows.A @ rows.divide(h) - velocity_product(system, q, qd, frame, expressed_in)
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
    samples = [_in_numbers(system, anywhere(system, rng), frame, expressed_in, unactuated) for _ in range(_TRIED)]
    squares = np.max([np.sum(u * u, axis=1) for u in samples], axis=0, initial=0.0)
    return Sizes(tuple(np.where(squares > 0, squares, 1.0).tolist()), max(map(_rank, samples)))


def _in_numbers(
    system: System, q: Array, frame: str | Stack, expressed_in: str, unactuated: tuple[int, ...] = ()
) -> Array:
    """Vectors u (k, nv) of the rows at a configuration of floats, with u uᵀ = A M⁻¹ Aᵀ."""
    A = np.asarray(_matrix(system, q, frame, expressed_in, unactuated), dtype=float)
    if is_large(system):
        values, vectors = np.linalg.eigh(A @ solve_columns(system, q, A.T))
        return vectors * np.sqrt(np.where(values > _DEPENDENT * values[-1], values, 0.0))
    metric = mass_metric(system, q)
    u = np.array([metric.lower(row) for row in A], dtype=float).reshape(len(A), system.nv)
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
    """The error for rows that are dependent; ``row`` says where, such as " there in state (3,)"."""
    m = row_count(frame)
    what = f"frame {frame!r} cannot move in all six directions{row}"
    if not isinstance(frame, str):
        names = ", ".join(repr(name) for name, _ in frame)
        what = f"the {m} rows of {names} are dependent{row}"
    first = frame if isinstance(frame, str) else frame[0][0]
    return SingularError(
        f"{name}: {what} (rank {rank} of {m}, {system.nv} DoF): Λ does not exist. Take fewer rows, "
        f"such as frame={{{first!r}: 'position'}}, or give regularization=…; sixd.inverse_operational_inertia is "
        f"defined there, too."
    )
