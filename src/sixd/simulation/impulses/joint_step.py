"""Steps with dry friction and rigid limits: predict impulses, hold them during a base step, correct at its end.

Let f be the rows (freedoms with friction or limits), F their friction, W = (M⁻¹)_{:,f}, and a0 the acceleration
without friction at the start (q, v) of a step of length h:

1. predict: v_e = v + h a0, and impulses l on the rows by their graphs with bounds ±h F (``active_set.py``);
2. hold: the base step of any method with the force l/h held. Its first stage is a0 + W l/h;
3. turn: a joint that comes to rest after t1 = h v / (v - v⁻), where v⁻ is its velocity if it were braked all the time,
   is braked by friction until then, and pushed the other way after: the bound on that side is ±F (h - 2 t1);
4. correct: impulses δ by the graphs at the end, so that l + δ is within the bounds; v = v' + W δ. Joints that stick have
   v = 0 exactly;
5. the configuration moves on by (h/2) W δ, and that of joints that turn by -(v (h - t1) + v⁺ t1)/2, the difference
   between straight lines v → v⁺ and v → 0 → v⁺. A joint that was and stays at rest keeps q bit for bit.

Rigid limits take part in 1 and 4; in between, joints beyond their limits are moved back in the mass metric. There W is
that at the end of the step, since a strike is not small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sixd.algorithms.crba import crba
from sixd.forces.rigid_limits import RigidLimits
from sixd.simulation.impulses.active_set import FAR, SLACK, ActiveSet, Bounds, Solution
from sixd.simulation.impulses.joint_rows import DAMPING, JointRows
from sixd.simulation.impulses.responses import DenseResponse, SparseResponse
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import Hold, base_step
from sixd.spatial.scalar import Array, absolute, maximum, where
from sixd.trace.program import Program
from sixd.trace.stages import Stages

_USUAL = 4  # iterations in a step: two solutions, of two each in a vector of rows
_BOUNCE = 2  # times the change of speed in a step: slower strikes do not bounce


class JointSolver:
    """The programs that predict and correct the impulses on joint rows."""

    def __init__(self, problem: Problem, rows: JointRows, dtype: str) -> None:
        self.problem = replace(problem, has_friction=False)
        self.rows, self.dtype = rows, dtype
        system = problem.system
        dense = DenseResponse(rows.k, system.nv)
        choices: list[Any] = [dense]
        if not rows.is_singular:
            choices.append(SparseResponse(rows.freedoms, tuple(system.dof_parent)))
        best: tuple[int, Any, Program, ActiveSet] | None = None
        for response in choices:
            first = self._first(response)
            solve = ActiveSet(response, rows.k, bool(rows.limits), dtype)
            cost = first.operations + _USUAL * solve.program.operations
            if best is None or cost < best[0]:
                best = cost, response, first, solve
        assert best is not None
        _, self.response, self.first, self.solve = best
        if rows.limits:
            self.last = self._last()

    def _first(self, response: Any) -> Program:
        """Return the program (t, q, qd, u) -> (a0, rates of u, friction, data…)."""
        problem, rows = self.problem, self.rows
        system = problem.system
        shapes = {"t": (), "q": (system.nq,), "qd": (system.nv,), "u": (problem.nu,)}

        def first(t: Any, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> Any:
            qdd, rate = problem.acceleration(t, q, qd, u, constants)
            return qdd, rate, rows.friction(q, constants), *self._data(response, q, constants)

        return problem.traced(first, shapes, self.dtype)

    def _last(self) -> Program:
        """Return the program (q) -> (data…) at the end of a step."""

        def last(q: Array, constants: Mapping[str, Any]) -> Any:
            return tuple(self._data(self.response, q, constants))

        return self.problem.traced(last, {"q": (self.problem.system.nq,)}, self.dtype)

    def _data(self, response: Any, q: Array, constants: Mapping[str, Any]) -> list[Array]:
        system = self.problem.system_with(constants)
        if isinstance(response, SparseResponse):
            return response.data(system.apply("mass_matrix", crba, q))
        damping = DAMPING[self.dtype] if self.rows.is_singular else 0.0
        return response.data(self.rows.jacobian(system, q), self.rows.columns(system, q), damping)


def joint_step(problem: Problem, rows: JointRows, method: str, dtype: str, project: Callable[..., Any]) -> Any:
    """Return the step (stages, steps, q, qd, u, unsolved, friction, h, start, *constants) -> its next state."""
    solver = JointSolver(problem, rows, dtype)
    system = solver.problem.system
    take = base_step(solver.problem, method, dtype, Hold(rows.k, rows.apply))
    part = 1 if method == "euler" else 0.5  # of the change of velocity in a step that moves the configuration
    limits = _Limits(problem, rows, dtype) if rows.limits else None
    k, own = rows.k, list(rows.freedoms)
    assert not rows.followers

    def step(
        stages: Stages, steps: Any, q: Array, qd: Array, u: Array, unsolved: Any, _: Array, h: Any, start: Any,
        *constants: Any,
    ) -> Any:  # fmt: skip
        t = start + steps * h
        a0, rate, F, *data = stages(solver.first, t, q, qd, u, *constants)
        v_e, v = qd + a0 * h, qd[own]
        bound, W = F * h, solver.response.diagonal(data)
        scale = W * bound
        rest = scale * SLACK[dtype]

        # 1. predict
        bounds = Bounds(-bound, bound)
        guess = np.array([where(x > 0, -1, where(x < 0, 1, 0)) for x in v])
        if limits is not None:
            gaps = limits.gaps(q)
            slow = absolute(v_e[own] - v) * _BOUNCE
            bounds = limits.persisting(bounds, gaps, v, slow, h)
            guess = limits.guess(bounds, v_e[own], guess)
        held = solver.solve(stages, data, v_e[own], scale, bounds, guess)
        l = held.impulse

        # 2. hold
        first = (a0 + held.change / h, rate)
        q1, v1, u1 = take(stages, t, h, q, qd, u, constants, l / h, first)

        # 3. turn
        s = np.array([where(x > 0, 1, where(x < 0, -1, 0)) for x in v])
        v_minus = (v_e + held.change)[own] - (s * bound + l) * W
        turns = [v[i] * v_minus[i] < 0 for i in range(k)]
        t1 = np.array([where(turns[i], h * v[i] / where(turns[i], v[i] - v_minus[i], 1), 0) for i in range(k)])
        cap = F * (h - t1 * 2)
        lo = np.array([where(turns[i] & (s[i] < 0), -cap[i], -bound[i]) for i in range(k)])
        hi = np.array([where(turns[i] & (s[i] > 0), cap[i], bound[i]) for i in range(k)])

        # 4. correct
        bounds = Bounds(lo - l, hi - l)
        if limits is not None:
            data = _several(stages(solver.last, q1, *constants))
            gaps = limits.gaps(q1)
            back = solver.solve(stages, data, np.zeros(k), scale, limits.inside(gaps), np.ones(k))
            q1 = system.integrate_row(q1, back.change)
            gaps = limits.moved(gaps, back.change[own])
            bounds = limits.striking(bounds, gaps, v1[own], slow, h)
            guess = limits.guess(bounds, v1[own], held.state)
        else:
            guess = held.state
        found = solver.solve(stages, data, v1[own], scale, bounds, guess)
        v2 = v1 + found.change
        sticks = [(found.state[i] * found.state[i] < 0.5) | (absolute(v2[j]) <= rest[i]) for i, j in enumerate(own)]
        v2 = _with(v2, own, [where(sticks[i], 0, v2[j]) for i, j in enumerate(own)])

        # 5. the configuration
        moves = found.change * (h * part)
        if limits is not None:  # a strike comes at the end of the step
            moves = moves * 0
        line = [(v[i] * (1 - part) + v2[j] * part) * h for i, j in enumerate(own)]
        bent = [(v[i] * t1[i] + v2[j] * (h - t1[i])) / 2 for i, j in enumerate(own)]
        late = [moves[j] + where(turns[i], bent[i] - line[i], 0) for i, j in enumerate(own)]
        q2 = system.integrate_row(q1, _with(moves, own, late))
        q2, v2 = project(stages, t + h, q2, v2, constants)
        q2 = _kept(rows, q, qd, q2, v2)

        force = (l + found.impulse) / h
        unsolved = unsolved + 2 - held.done - found.done
        if limits is not None:
            unsolved = unsolved + 1 - back.done
            stop = limits.force(bounds, found) / h
            u1, force = limits.recorded(u1, stop), force - stop
        return steps + 1, q2, v2, u1, unsolved, force

    return step


def _several(x: Any) -> list[Array]:
    return list(x) if isinstance(x, tuple) else [x]


def _with(x: Array, at: list[int], values: list[Any]) -> Array:
    """Return a copy of x with other values at some indices."""
    y = list(x)
    for i, value in zip(at, values, strict=True):
        y[i] = value
    return np.array(y)


def _kept(rows: JointRows, q: Array, qd: Array, q2: Array, v2: Array) -> Array:
    """Return q2 with the coordinates of q where a joint was and stays at rest."""
    out = list(q2)
    for iq, iv in rows.joints:
        moves = sum(absolute(x) for x in (*qd[iv], *v2[iv]))
        for i in range(len(q))[iq]:
            out[i] = where(moves > 0, q2[i], q[i])
    return np.array(out)


class _Limits:
    """Rigid limits of joint rows: what the graphs of the rows are at each point of a step."""

    def __init__(self, problem: Problem, rows: JointRows, dtype: str) -> None:
        self.rows = [rows.limits.get(j) for j in rows.freedoms]
        self.near = 1e-12 if dtype == "float64" else 1e-5  # rad or m: a joint is at its limit
        first = 0
        for force, size in zip(problem.forces, problem.sizes, strict=True):
            if isinstance(force, RigidLimits):
                self.restitution, self.first = force.restitution, first
            first += size
        at = [j for j in rows.limits]
        self.recorded_at = [at.index(j) if j in rows.limits else None for j in rows.freedoms]

    def gaps(self, q: Array) -> tuple[Array, Array]:
        """Return the distances (k,) to the lower and upper limits."""
        low = [FAR if x is None or not np.isfinite(x[1]) else q[x[0]] - x[1] for x in self.rows]
        high = [FAR if x is None or not np.isfinite(x[2]) else x[2] - q[x[0]] for x in self.rows]
        return np.array(low), np.array(high)

    @staticmethod
    def moved(gaps: tuple[Array, Array], dq: Array) -> tuple[Array, Array]:
        """Return the distances after the rows have moved by dq (k,)."""
        return gaps[0] + dq, gaps[1] - dq

    @staticmethod
    def inside(gaps: tuple[Array, Array]) -> Bounds:
        """Return the graphs of displacements that lead back inside the limits."""
        none = np.zeros(len(gaps[0]))
        return Bounds(none, none, -gaps[0], gaps[1])

    @staticmethod
    def persisting(bounds: Bounds, gaps: tuple[Array, Array], v: Array, slow: Array, h: Any) -> Bounds:
        """Return the bounds with the limits that no row strikes within this step at its present speed v (k,)."""
        low, high = (maximum(gap, 0) / h for gap in gaps)
        k = range(len(v))
        low = np.array([where(v[i] + low[i] < -slow[i], -FAR, -low[i]) for i in k])
        high = np.array([where(high[i] - v[i] < -slow[i], FAR, high[i]) for i in k])
        return Bounds(bounds.lo, bounds.hi, low, high)

    def striking(self, bounds: Bounds, gaps: tuple[Array, Array], v: Array, slow: Array, h: Any) -> Bounds:
        """Return the bounds with all limits: rows that arrive with the velocity v (k,) bounce, or stop."""
        e, lo, hi = self.restitution, list(bounds.lo), list(bounds.hi)
        low, high = ([*(maximum(gap, 0) / h)] for gap in gaps)
        low = [-x for x in low]
        if e:
            for i in range(len(v)):
                touches, strikes = gaps[0][i] <= self.near, v[i] < -slow[i]
                low[i] = where(strikes, where(touches, v[i] * -e, -FAR), low[i])
                hi[i] = where(low[i] > 0, lo[i], hi[i])  # friction is against the motion that begins
                touches, strikes = gaps[1][i] <= self.near, v[i] > slow[i]
                high[i] = where(strikes, where(touches, v[i] * -e, FAR), high[i])
                lo[i] = where(high[i] < 0, hi[i], lo[i])
        return Bounds(np.array(lo), np.array(hi), np.array(low), np.array(high))

    @staticmethod
    def guess(bounds: Bounds, v: Array, state: Array) -> Array:
        """Return the states with those rows at a limit that would pass it with the velocity v (k,)."""
        low, high = bounds.low, bounds.high
        assert low is not None and high is not None
        return np.array([where(v[i] < low[i], 2, where(v[i] > high[i], -2, x)) for i, x in enumerate(state)])

    @staticmethod
    def force(bounds: Bounds, found: Solution) -> Array:
        """Return the part (k,) of the impulses that is due to limits."""
        l, state = found.impulse, found.state
        above = [where(state[i] > 1.5, l[i] - bounds.hi[i], 0) for i in range(len(l))]
        return np.array([where(state[i] < -1.5, l[i] - bounds.lo[i], x) for i, x in enumerate(above)])

    def recorded(self, u: Array, force: Array) -> Array:
        """Return the states u of the force elements with the limits' forces (k,)."""
        out = list(u)
        for i, at in enumerate(self.recorded_at):
            if at is not None:
                out[self.first + at] = force[i]
        return np.array(out)
