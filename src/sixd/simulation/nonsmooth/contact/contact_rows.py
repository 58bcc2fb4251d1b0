"""What is known of the points and joint rows of a step with rigid contact.

Programs of the start and of the end of a step: heights, velocities, and the response to impulses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sixd.algorithms.constrained.dynamics import row_targets, solve_on_rows
from sixd.algorithms.derivatives import implicit
from sixd.algorithms.linear.patterns import factors, metric_of
from sixd.algorithms.linear.tree import Metric
from sixd.algorithms.momentum import energy
from sixd.forces.elements import Applied
from sixd.model.model import Model
from sixd.model.system import System
from sixd.simulation.nonsmooth.contact.ground_points import GroundPoints
from sixd.simulation.nonsmooth.contact.linear_system import FactorSystem, LinearSystem, TreeSystem
from sixd.simulation.nonsmooth.contact.sparse_rows import SparseRows
from sixd.simulation.nonsmooth.impulses.joint_rows import joint_rows
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.implicit import IMPLICIT, mass_and_derivatives, strength, symmetric_part
from sixd.spatial.scalar import Array, Scalar
from sixd.trace.derivative import with_matrix
from sixd.trace.stages import Stages

# part of an implicit step for which its last impulses act: with 0 a foot under a hard spring is thrown off, with 1 the
# error of a go2 that lands under PD control is four times as large
_LATE = 0.25

Constants = Mapping[str, Any]


class ContactRows:
    """The rows of a problem: ``points`` (three each), and ``joints`` with dry friction or rigid limits, if any."""

    def __init__(self, problem: Problem, method: str, dtype: str) -> None:
        self.problem, self.is_implicit, self.dtype = replace(problem, has_friction=False), method == IMPLICIT, dtype
        system = problem.system
        self.points = GroundPoints(system, problem.forces, problem.sizes)
        self.joints = joint_rows(problem)
        self.k, self.m = len(self.points), 0 if self.joints is None else self.joints.k
        self.sparse = SparseRows(system.nv, problem.limits)
        self.linear = self._linear_system(system)
        nq, nv = system.nq, system.nv
        shapes: dict[str, tuple[int, ...]] = {"t": (), "h": (), "q": (nq,), "qd": (nv,), "u": (problem.nu,)}
        self.first = self.problem.traced(self._first, shapes, dtype, again=True)
        layout = self.sparse.layout
        self.last = self.problem.traced(self._last, shapes, dtype)
        if self.sparse.layout != layout:  # other entries vanish at the end than at the start
            self.sparse.fix(layout, self.sparse.layout)
            self.first = self.problem.traced(self._first, shapes, dtype, again=True)
            self.last = self.problem.traced(self._last, shapes, dtype)

    def _linear_system(self, system: System) -> LinearSystem:
        """Return the faster way to solve the linear system of an iteration that serves."""
        is_tree = isinstance(system, Model) and not system.constraints and not self.is_implicit
        if not is_tree or self.points.width == 3:
            return FactorSystem(self.sparse, self.points)
        assert isinstance(system, Model)
        return TreeSystem(system, self.points, () if self.joints is None else self.joints.dofs)

    def _first(self, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, constants: Constants) -> Any:
        """Return the mean acceleration without impulses, the rates of u, heights (k,), velocities (n,) of points and
        joint rows and their rates, friction (m,), accelerations at rest of joint rows (m,) if any bounces, arms (k, 3),
        paths (k, 4), centripetal accelerations (3k,), which are no part of the rates, the entries of the linear system,
        and the response of frames and joint rows."""
        system = self.problem.system_with(constants)
        metric, J, entries = self._known(system, q)
        if self.is_implicit:
            a, rate, metric = self._implicit(system, metric, t, h, q, qd, u, constants)
        elif system.constraints:
            a, rate = self.problem.acceleration(t, q, qd, u, constants)
        else:  # with the factors of M: 0.6 times the operations of the articulated-body algorithm (go2)
            force, rate = self.problem.net_force(system, t, q, qd, u, constants)
            a = metric.solve(force)
            if implicit.is_forward(q, qd):
                tau, f_ext, _ = self.problem.total_force(system, t, q, qd, u, constants)
                missing = implicit.missing_force(system, q, qd, a, tau, f_ext)
                a = implicit.held(a, implicit.held_metric(metric).solve(missing))
        heights, arms = self.points.places(system, q)
        joints = J[self.points.size :]
        # the rates of followers' rows lack their curvature: it is small, and the end of the step corrects it
        rates, inward = self.points.accelerations(system, q, qd, a)
        rates = np.concatenate([rates, joints @ a])
        friction = np.zeros(0) if self.joints is None else self.joints.friction(q, constants)
        still = np.zeros(0)
        if self.joints is not None and self.joints.bounces:
            rest, _ = self.problem.acceleration(t, q, qd * 0, u, constants)
            still = joints @ rest
        paths = self.points.paths(system, q, qd)
        known = heights, self._velocities(J, qd, arms), rates, friction, still, arms, paths, inward
        return a, rate, *known, entries, *self._response(system, q, metric, J)

    def _last(self, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, constants: Constants) -> Any:
        """Return the heights (k,), the velocities of points and joint rows (n,), the arms (k, 3), the paths (k, 4), the
        entries of the linear system, and the response.

        By the implicit method, too, that of A: with M alone a foot on a hard spring would be thrown off by what the
        spring takes up within the step.
        """
        system = self.problem.system_with(constants)
        heights, arms = self.points.places(system, q)
        metric, J, entries = self._known(system, q)
        if self.is_implicit:
            M, D, K = mass_and_derivatives(self.problem, t, q, qd, u, constants)
            late = h * _LATE
            metric = _symmetric(M + D * late + K * (late * late))
        paths = self.points.paths(system, q, qd)
        return heights, self._velocities(J, qd, arms), arms, paths, entries, *self._response(system, q, metric, J)

    @property
    def size(self) -> int:
        """The number of entries of the linear system."""
        return len(self.last.outputs[4].entries)

    def _velocities(self, J: Array, qd: Array, arms: Array) -> Array:
        """Return the velocities (n,) of points and joint rows."""
        V, first = J @ qd, self.points.size
        return np.concatenate([self.points.velocities(V[:first], arms), V[first:]])

    def _known(self, system: System, q: Array) -> tuple[Metric, Array, Array]:
        """Return the factors of M, the Jacobians of the frames and of the joint rows, and the entries of the linear
        system."""
        metric, J, entries = self.linear.known(system, q)
        return metric, J if self.joints is None else np.concatenate([J, self.joints.jacobian(system, q)]), entries

    def _response(self, system: System, q: Array, metric: Metric, J: Array) -> tuple[Array, Array, Array]:
        return self.sparse.data(system, q, metric, J, self.points.size, self.points.width)

    def displacement_energy(
        self, t: Scalar, q: Array, after: Array, before: Array, qd: Array, u: Array, dq: Array, constants: Constants
    ) -> Array:
        """Return the kinetic energy at ``after``, and what the displacement dq (nv,) from q to there gains in energy,
        against all forces that do not depend on the velocity (2,) [J]. The velocity, ``before`` at q, is qd after."""
        system = self.problem.system_with(constants)
        force = sum(self.problem.net_force(system, t, x, qd * 0, u, constants)[0] for x in (q, after))
        kinetic = [system.apply("energy", energy, x, v)[0] for x, v in ((q, before), (after, qd))]
        return np.array([kinetic[1], kinetic[1] - kinetic[0] - force @ dq * 0.5])

    def _implicit(
        self, system: System, metric: Metric, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, constants: Constants
    ) -> tuple[Array, Array, Metric]:
        """Return the mean acceleration A⁻¹(M a0 - hKv) with A = M + hD + h²K, the rates of u, and the metric of A.

        Of A the symmetric part: all of it for damping and PD control. Were it another in the acceleration than in the
        metric, impulses would not balance forces, and what sticks would creep.
        """
        problem = self.problem
        force, rate = problem.net_force(system, t, q, qd, u, constants)
        M, D, K = mass_and_derivatives(problem, t, q, qd, u, constants)
        A = M + D * h + K * (h * h)
        b = force - K @ qd * h
        metric = _symmetric(A)
        if system.constraints:
            c = row_targets(system, q, qd, t, strength(problem))
            a = solve_on_rows(system, q, metric, b, c, problem.limits)
        else:
            a = metric.solve(b)
        return a, rate, metric

    def collect(self, stages: Stages, U: Array, arms: Array, impulse: Array) -> Array:
        """Return z (nv,) of impulses (n,), as calls within a recipe."""
        wrenches = self.points.over(stages, self.points.wrench, [impulse[: 3 * self.k]], [arms], into="+")
        return self.collect_wrenches(stages, U, wrenches, impulse[3 * self.k :])

    def collect_wrenches(self, stages: Stages, U: Array, wrenches: Array, joints: Array) -> Array:
        """Return z (nv,) of impulses on frames (frames, r) and joint rows (m,)."""
        return stages.part(
            lambda U, F, y: self.sparse.collected(U, np.concatenate([F.ravel(), y])), U, wrenches, joints
        )

    def frame_velocities(self, stages: Stages, U: Array, z: Array) -> tuple[Array, Array]:
        """Return the velocities of frames (frames, r) and joint rows (m,) by impulses with z (nv,)."""
        first, frames = self.points.size, len(self.points.frames)

        def both(U: Array, z: Array) -> tuple[Array, Array]:
            V = self.sparse.velocities(U, z)
            return V[:first].reshape(frames, self.points.width), V[first:]

        return stages.part(both, U, z)

    def gathered(self, stages: Stages, force: Array) -> Array:
        """Return forces (n,) on the rows, of points gathered by frames."""
        by_points = self.points.gathered(stages, force[: 3 * self.k])
        return by_points if not self.m else np.concatenate([by_points, force[3 * self.k :]])

    @property
    def gathered_size(self) -> int:
        """The number of gathered forces."""
        return (15 if self.points.width == 6 else 3) * len(self.points.frames) + self.m

    def applied(self, system: System, q: Array, force: Array) -> Applied:
        """Return the effect of gathered forces."""
        count = len(force) - self.m
        tau = self.points.joint_forces(system, q, force[:count])
        if implicit.is_forward(q):
            tau = with_matrix(tau, q, force[:count])
        if self.joints is not None:
            more = self.joints.apply(system, q, force[count:]).tau
            assert more is not None
            tau = tau + more
        return Applied(tau)


def _symmetric(A: Array) -> Metric:
    """Return the metric of the symmetric part of A, with its own zeros: a spring may join bodies of two branches."""
    return metric_of(factors(symmetric_part(A), is_symmetric=True))
