"""Linearly implicit steps for stiff forces: ROS2-W, of second order and L-stable, with two evaluations a step.

With γ = 1 - 1/√2, M at q, and the derivatives D = -∂F/∂qd and K = -∂F/∂q of the forces F that act (tangent space:
columns of K belong to the entries of qd),

    A = M + γh D + γ²h² K
    A k1 = M a(t, q, v) - γh K v                             κ1 = v + γh k1
    A k2 = M (a(t + h, q2, v2) - 2 k1) - γh K (v2 - 2 κ1)    κ2 = v2 - 2 κ1 + γh k2     q2 = q ⊕ h κ1, v2 = v + h k1
    q⁺ = q ⊕ h (3 κ1 + κ2)/2                                 v⁺ = v + h (3 k1 + k2)/2

[J. G. Verwer, E. J. Spee, J. G. Blom, W. Hundsdorfer, "A second-order Rosenbrock method applied to photochemical
dispersion problems", *SIAM J. Sci. Comput.* 20 (1999)]. It is of second order with any D and K (a W-method): they
decide about stability. They are exact derivatives of the trace, of damping and springs of joints, force elements,
traced controllers and functions f_ext. Gravity and inertia, forces that are numbers, those held between samples, and
those in ``Hold`` are not linearised. With D = K = 0 it is Heun's method (in v; the second stage is at a configuration
of second order). States u of force elements are part of the same linear system, and eliminated from it. Under
constraints, A k = b + Gᵀμ with the rows G k prescribed; there D and K are their symmetric parts.

For other steps, at trace time:

    mass_and_derivatives(problem, t, q, qd, u, constants) -> (M, D, K)  # (nv, nv) each; structural zeros are int 0

where all arrays are traced scalars of one graph, inputs of it or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained.dynamics import row_targets, solve_on_rows
from sixd.algorithms.constrained.rows import constraint_jacobian
from sixd.algorithms.crba import crba
from sixd.algorithms.linear.patterns import Factors, factors, metric_of
from sixd.algorithms.passive_forces import passive_force
from sixd.algorithms.rnea import joint_force
from sixd.forces.elements import Applied
from sixd.model.system import System
from sixd.simulation.problem import NOTHING, STABILISED, Problem
from sixd.spatial.scalar import Array, Scalar, is_number, minimum, object_array, where
from sixd.trace.derivative import directional, is_zero
from sixd.trace.expr import Expr
from sixd.trace.stages import Stages

if TYPE_CHECKING:
    from sixd.simulation.stepping.base_steps import HeldForces, Take

IMPLICIT = "implicit"
GAMMA = 1 - 0.5**0.5
Constants = Mapping[str, Any]


# derivatives ------------------------------------------------------------------------------------


class ForceDerivatives(NamedTuple):
    """Minus the derivatives of the forces F (nv,) and of the rates r (nu,) of u, by qd, by q (tangent space) and by u.
    ``D``, ``K`` (nv, nv), ``G`` (nv, nu) of F; ``P``, ``Q`` (nu, nv), ``E`` (nu, nu) of r."""

    D: Array
    K: Array
    G: Array
    P: Array
    Q: Array
    E: Array


def mass_and_derivatives(
    problem: Problem, t: Scalar, q: Array, qd: Array, u: Array, constants: Constants
) -> tuple[Array, Array, Array]:
    """Return (M, D, K), each (nv, nv); see the head of this module. Symmetric for systems with constraints."""
    system = problem.system_with(constants)
    partial = force_derivatives(problem, system, t, q, qd, u, constants)
    return _clean(system.apply("mass_matrix", crba, q)), partial.D, partial.K


def force_derivatives(
    problem: Problem, system: System, t: Scalar, q: Array, qd: Array, u: Array, constants: Constants
) -> ForceDerivatives:
    """Return the derivatives of all forces except gravity and inertia."""
    # forces that are numbers have no derivatives
    acting = replace(problem, has_tau=False, has_f_ext=False)
    tau, f_ext, rate = acting.total_force(system, t, q, qd, u, constants)
    force = tau - system.apply("passive_force", passive_force, q, qd)
    if f_ext is not None:
        force = force + system.apply("joint_force", joint_force, q, f_ext)

    nv, nu = len(qd), len(u)
    lift = qd[0].graph.lift
    outputs = [lift(-x) for x in (*force, *rate)]
    moves = np.array([system.configuration_rate(q, e) for e in np.eye(nv, dtype=int)])
    by_qd = directional(outputs, list(qd), np.eye(nv, dtype=int))
    by_q = directional(outputs, list(q), moves)
    by_u = directional(outputs, list(u), np.eye(nu, dtype=int))
    partial = ForceDerivatives(by_qd[:nv], by_q[:nv], by_u[:nv], by_qd[nv:], by_q[nv:], by_u[nv:])
    if system.constraints:  # the least-norm solution needs a symmetric matrix
        partial = partial._replace(D=symmetric_part(partial.D), K=symmetric_part(partial.K))
    return partial


def symmetric_part(A: Array) -> Array:
    """Return (A + Aᵀ)/2, with the int 0 for entries that are zero by structure."""
    mean = [x if _same(x, y) else (x + y) / 2 for x, y in zip(A.ravel(), A.T.ravel(), strict=True)]
    return _clean(object_array(mean, A.shape))


def _clean(A: Array) -> Array:
    """Return the array with the int 0 for entries that are zero by structure."""
    return object_array([0 if is_zero(x) else x for x in A.ravel()], A.shape)


def _same(x: Any, y: Any) -> bool:
    """Whether two entries are one number or one node."""
    return x is y or (is_number(x) and is_number(y) and bool(x == y))


# the linear system of a stage -------------------------------------------------------------------


class _Linear(NamedTuple):
    """The matrices of a step, to solve both stages with: M, derivatives (of F and of r) and factors."""

    M: Array
    K: Array
    G: Array
    P: Array
    Q: Array
    A: Factors
    N: Factors  # of 1 + γh E

    @property
    def pivots(self) -> list[Any]:
        return [*self.A.d, *self.N.d]


def _linear(system: System, M: Array, partial: ForceDerivatives, g: Scalar) -> _Linear:
    """Return the system of equations; g = γh."""
    D, K, G, P, Q, E = partial
    N = factors(_clean(np.eye(len(E), dtype=int) + E * g))
    A = M + D * g + K * (g * g)
    if len(E):
        # u follows q and qd: N k_u = r - g (Q κ + P k); the part of F that depends on u joins D and K
        moved = np.array([N.solve(column) for column in (P + Q * g).T]).T
        A = A - G @ moved * (g * g)
        if system.constraints:
            A = symmetric_part(A)
    A = _clean(A)
    return _Linear(M, K, G, P, Q, factors(A, is_symmetric=is_symmetric(A)), N)


def is_symmetric(A: Array) -> bool:
    """Whether entries on both sides of the diagonal are one number, or one node of a trace."""
    return all(_same(A[i, j], A[j, i]) for i in range(len(A)) for j in range(i))


def _stage(
    problem: Problem, system: System, linear: _Linear, g: Scalar, q: Array, force: Array, velocity: Array, rate: Array,
    c: Array | None,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the rates of qd (nv,) and u (nu,) of a stage with M a = force, and A k = c under constraints."""
    b = force - linear.K @ velocity * g
    if len(rate):
        b = b - linear.G @ linear.N.solve(rate - linear.Q @ velocity * g) * g
    k = linear.A.solve(b) if c is None else solve_on_rows(system, q, metric_of(linear.A), b, c, problem.limits)
    if not len(rate):
        return k, rate
    moving = velocity + k * g
    return k, linear.N.solve(rate - (linear.Q @ moving + linear.P @ k) * g)


# the step ---------------------------------------------------------------------------------------


def implicit_step(problem: Problem, dtype: str, hold: HeldForces | None) -> Take:
    """Return a step of "implicit"; steps with a pivot that is not positive are counted in ``stages.counts``."""
    nq, nv, nu = problem.system.nq, problem.system.nv, problem.nu
    state: dict[str, tuple[int, ...]] = {"t": (), "h": (), "q": (nq,), "qd": (nv,), "u": (nu,)}
    held = {} if hold is None else {"force": (hold.size,)}
    kept = _Kept()

    def applied(system: System, q: Array, force: list[Any]) -> Applied:
        return NOTHING if hold is None else hold.apply(system, q, *force)

    def begin(t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, *rest: Any) -> Any:
        *force, constants = rest
        system, c = problem.system_with(constants), None
        b, rate = problem.net_force(system, t, q, qd, u, constants, applied(system, q, force))
        if system.constraints:
            c = row_targets(system, q, qd, t, strength(problem))
        return solved(system, t, h, q, qd, u, b, rate, c, constants)

    def begin_known(
        t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, qdd: Array, rate: Array, constants: Any
    ) -> Any:
        system = problem.system_with(constants)
        b = system.apply("mass_matrix", crba, q) @ qdd
        c = constraint_jacobian(system, q) @ qdd if system.constraints else None
        return solved(system, t, h, q, qd, u, b, rate, c, constants)

    def solved(
        system: System, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, b: Array, rate: Array,
        c: Array | None, constants: Any,
    ) -> Any:  # fmt: skip
        M = _clean(system.apply("mass_matrix", crba, q))
        linear = _linear(system, M, force_derivatives(problem, system, t, q, qd, u, constants), h * GAMMA)
        k, ku = _stage(problem, system, linear, h * GAMMA, q, b, qd, rate, c)
        failed = where(reduce(minimum, linear.pivots) <= 0, 1, 0)
        return k, ku, kept.store(linear), failed

    def end(
        t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, k1: Array, ku1: Array, flat: Array, *rest: Any
    ) -> tuple[Array, Array, Array]:
        *force, constants = rest
        system, linear, g = problem.system_with(constants), kept.restore(flat), h * GAMMA
        moving = qd + k1 * g
        q2, v2, u2 = system.integrate_row(q, moving * h), qd + k1 * h, u + ku1 * h
        a2, rate2 = problem.acceleration(t + h, q2, v2, u2, constants, applied(system, q2, force))
        change = a2 - k1 * 2
        c = None
        if system.constraints:  # A a2 to second order; a2 itself may be large, and A has changed since q
            rows = constraint_jacobian(system, q) + constraint_jacobian(system, q2)
            c = row_targets(system, q2, v2, t + h, strength(problem)) - rows @ k1
        velocity = v2 - moving * 2
        k2, ku2 = _stage(problem, system, linear, g, q, linear.M @ change, velocity, rate2 - ku1 * 2, c)
        half = h / 2
        q = system.integrate_row(q, (moving + v2 + k2 * g) * half)
        return q, qd + (k1 * 3 + k2) * half, u + (ku1 * 3 + ku2) * half

    def take(
        stages: Stages, t: Any, h: Any, q: Array, qd: Array, u: Array, constants: Any, force: Any = None,
        first: Any = None,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        forces = () if hold is None else (force,)
        if first is None:
            program = problem.traced(begin, {**state, **held}, dtype)
            k1, ku1, flat, failed = stages(program, t, h, q, qd, u, *forces, *constants)
        else:
            program = problem.traced(begin_known, {**state, "qdd": (nv,), "rate": (nu,)}, dtype)
            k1, ku1, flat, failed = stages(program, t, h, q, qd, u, *first, *constants)
        stages.counts.append(failed)
        program = problem.traced(end, {**state, "k1": (nv,), "ku1": (nu,), "flat": (kept.size,), **held}, dtype)
        return stages(program, t, h, q, qd, u, k1, ku1, flat, *forces, *constants)

    return take


def strength(problem: Problem) -> float:
    """Return the rate [1/s] of Baumgarte's terms, 0 if there are none."""
    return problem.stabilisation if problem.constraints == STABILISED else 0.0


class _Kept:
    """The matrices of a step between its two programs: numbers stay numbers, the other entries are in one array."""

    def __init__(self) -> None:
        self.size = 0
        self._layout: Any = None

    def store(self, linear: _Linear) -> Array:
        """Return the entries (size,) that are not numbers, each once."""
        entries: dict[int, Expr] = {}
        positions: dict[int, int] = {}

        def note(x: Any) -> Any:
            if not isinstance(x, Expr):
                return x
            if x.is_const:
                return float(x.value)
            position = positions.setdefault(x.index, len(positions))
            entries[position] = x
            return _Entry(position)

        A, N = (x._replace(d=x.d[:0]) for x in (linear.A, linear.N))  # pivots are not used again
        self._layout = _mapped(note, linear._replace(A=A, N=N))
        self.size = len(entries)
        return object_array(list(entries.values()))

    def restore(self, flat: Array) -> _Linear:
        """Return the matrices from the entries."""
        return _mapped(lambda x: flat[x.position] if isinstance(x, _Entry) else x, self._layout)


@dataclass(frozen=True)
class _Entry:
    """The position of an entry in the array."""

    position: int


def _mapped(f: Any, linear: Any) -> Any:
    """Return the matrices with ``f`` applied to each entry."""
    parts = {
        name: _mapped(f, x) if isinstance(x, Factors) else object_array([f(e) for e in x.ravel()], x.shape)
        for name, x in linear._asdict().items()
    }
    return linear._replace(**parts)
