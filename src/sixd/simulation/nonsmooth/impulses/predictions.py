"""Predictions of a step on joint rows: the velocity at its end without impulses, and the response to impulses.

By explicit methods and the midpoint rule v_e = v + h a0, and M responds. By the implicit method, with the derivatives D
and K of the forces that act, A = M + hD + h²K responds and v_e = v + h A⁻¹(M a0 - hKv): forces that a motion within the
step would change count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.algorithms.constrained.dynamics import mass_metric, row_targets, solve_on_rows
from sixd.algorithms.constrained.rows import constraint_jacobian
from sixd.algorithms.crba import crba
from sixd.algorithms.linear.patterns import Factors, factors, metric_of
from sixd.algorithms.linear.responses import DenseResponse, SparseResponse
from sixd.model.model import Model
from sixd.model.system import System
from sixd.simulation.nonsmooth.impulses.joint_rows import DAMPING, JointRows
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.implicit import is_symmetric, mass_and_derivatives, strength
from sixd.spatial.scalar import Array, Scalar
from sixd.trace.derivative import is_zero
from sixd.trace.program import Program

Constants = Mapping[str, Any]


@dataclass(eq=False)
class Prediction:
    """The prediction v_e = v + h a0 with the response of M. A ``state`` is (t, h, q, qd, u, constants)."""

    problem: Problem
    rows: JointRows
    dtype: str

    @property
    def responses(self) -> list[Any]:
        """The responses that fit, of which the cheaper is used."""
        system, rows = self.problem.system, self.rows
        dense = DenseResponse(rows.k, system.nv)
        if rows.is_singular or not isinstance(system, Model):
            return [dense]
        # by the factors of M, or by recursions over the bodies (operations for panda 2,300 and 3,300, tiago 39,700 and
        # 29,300)
        return [dense, replace(dense, by_recursion=False), SparseResponse(rows.dofs, tuple(system.dof_parent))]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Arguments of the programs."""
        system = self.problem.system
        return {"t": (), "h": (), "q": (system.nq,), "qd": (system.nv,), "u": (self.problem.nu,)}

    def first(self, response: Any) -> Program:
        """Return the program (t, h, q, qd, u) -> (v_e, begin, friction, still, followers' rows of J, data…). ``begin``
        are numbers for :meth:`known`, ``still`` the rows' accelerations at rest if they bounce."""

        def first(*state: Any) -> Any:
            t, _, q, qd, u, constants = state
            system = self.problem.system_with(constants)
            v_e, begin, data = self.begin(response, system, *state)
            J, still = self.rows.jacobian(system, q), np.zeros(0)
            if self.rows.bounces:
                still = J @ self.problem.acceleration(t, q, qd * 0, u, constants)[0]
            return v_e, begin, self.rows.friction(q, constants), still, J[len(self.rows.dofs) :], *data

        return self.problem.traced(first, self.shapes, self.dtype)

    def last(self, response: Any) -> Program:
        """Return the program (t, h, q, qd, u) -> (data…) at the end of a step."""

        def last(*state: Any) -> Any:
            return tuple(self.end(response, self.problem.system_with(state[-1]), *state))

        return self.problem.traced(last, self.shapes, self.dtype)

    def known(self, begin: Array, more: Array) -> Any:
        """Return (qdd, rates of u) of the step's first stage, with ``more`` (nv,) acceleration by impulses."""
        nv = self.problem.system.nv
        return begin[:nv] + more, begin[nv:]

    def begin(self, response: Any, system: System, *state: Any) -> tuple[Array, Array, Sequence[Array]]:
        """Return v_e (nv,), (qdd, rates of u) in one array, and the data of the response."""
        t, h, q, qd, u, constants = state
        if isinstance(response, DenseResponse) and response.by_recursion:
            qdd, rate = self.problem.acceleration(t, q, qd, u, constants)
        else:
            force, rate = self.problem.net_force(system, t, q, qd, u, constants)
            qdd = mass_metric(system, q).solve(force)
        data = self.data(response, system, q)
        return qd + qdd * h, np.concatenate([qdd, rate]), data

    def end(self, response: Any, system: System, *state: Any) -> Sequence[Array]:
        """Return the data of the response at the end of a step."""
        return self.data(response, system, state[2])

    def data(self, response: Any, system: System, q: Array) -> list[Array]:
        """Return the data of the response."""
        if isinstance(response, SparseResponse):
            return response.data(system.apply("mass_matrix", crba, q))
        columns = self.rows.columns(system, q, response.by_recursion)
        return response.data(self.rows.jacobian(system, q), columns, self.damping)

    @property
    def damping(self) -> float:
        """What is added to W where it may be singular, as a part of its mean pivot."""
        return DAMPING[self.dtype] if self.rows.is_singular else 0.0


class ImplicitPrediction(Prediction):
    """The prediction with the derivatives of the forces that act."""

    @property
    def responses(self) -> list[Any]:
        """The responses that fit the pattern of the derivatives."""
        system, rows = self.problem.system, self.rows
        fits: list[bool] = []

        def probe(*state: Any) -> Array:
            A, _ = self.matrix(*state)
            fits.extend([is_symmetric(A), _has_pattern(A, system.dof_parent)])
            return state[2]

        self.problem.traced(probe, self.shapes, self.dtype)
        symmetric, on_tree = fits
        responses: list[Any] = [DenseResponse(rows.k, system.nv, symmetric)]
        if symmetric and on_tree and not rows.is_singular and isinstance(system, Model):
            responses.append(SparseResponse(rows.dofs, tuple(system.dof_parent)))
        return responses

    def matrix(self, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, constants: Constants) -> tuple[Array, Array]:
        """Return A = M + hD + h²K and K, (nv, nv)."""
        M, D, K = mass_and_derivatives(self.problem, t, q, qd, u, constants)
        return M + D * h + K * (h * h), K

    def known(self, begin: Array, more: Array) -> Any:
        """Return None: the base step evaluates its first stage itself, which costs no more."""
        return None

    def begin(self, response: Any, system: System, *state: Any) -> tuple[Array, Array, Sequence[Array]]:
        """Return v_e (nv,), an empty array, and the data of the response."""
        problem, (t, h, q, qd, u, constants) = self.problem, state
        b, _ = problem.net_force(system, t, q, qd, u, constants)
        A, K = self.matrix(*state)
        result = factors(A, is_symmetric=is_symmetric(A))
        b = b - K @ qd * h
        if system.constraints:
            c = row_targets(system, q, qd, t, strength(problem))
            change = solve_on_rows(system, q, metric_of(result), b, c, problem.limits)
        else:
            change = result.solve(b)
        return qd + change * h, qd[:0], self._data_of(response, system, q, A, result)

    def end(self, response: Any, system: System, *state: Any) -> Sequence[Array]:
        """Return the data of the response of A at the end of a step."""
        A, _ = self.matrix(*state)
        return self._data_of(response, system, state[2], A, factors(A, is_symmetric=is_symmetric(A)))

    def _data_of(self, response: Any, system: System, q: Array, A: Array, result: Factors) -> Sequence[Array]:
        if isinstance(response, SparseResponse):
            return response.data(A)
        return response.data(self.rows.jacobian(system, q), self._columns(system, q, result), self.damping)

    def _columns(self, system: System, q: Array, result: Factors) -> Array:
        """Return A⁻¹Jᵀ (nv, k); constraints take their part."""
        J = self.rows.jacobian(system, q)
        if not system.constraints:
            return np.array([result.solve(row) for row in J]).T
        none, limits = np.zeros(len(constraint_jacobian(system, q)), dtype=int), self.problem.limits
        return np.array([solve_on_rows(system, q, metric_of(result), row, none, limits) for row in J]).T


def _has_pattern(A: Array, parent: Sequence[int]) -> bool:
    """Return whether A is zero where neither degree of freedom carries the other."""
    n = len(A)
    carried = [{i} for i in range(n)]
    for i, p in enumerate(parent):
        if p >= 0:
            carried[i] |= carried[p]
    return all(j in carried[i] or i in carried[j] or is_zero(A[i, j]) for i in range(n) for j in range(n))
