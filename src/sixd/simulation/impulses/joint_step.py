"""Steps with dry friction and rigid limits: predict impulses, hold them during a base step, correct at its end.

Let f be the rows (freedoms with friction or limits), F their friction, W = (M⁻¹)_{:,f}, and a0 the acceleration
without friction at the start (q, v) of a step of length h:

1. predict: v_e = v + h a0, and impulses l on the rows by their graphs with bounds ±h F (``active_set.py``). For
   "implicit" v_e and W are those of linearised forces (``predictions.py``): with M⁻¹ alone joints stick too early;
2. hold: the base step of any method with the force l/h held. Its first stage is a0 + W l/h;
3. turn: a joint that comes to rest after t1 = h v / (v - v⁻), where v⁻ is its velocity if it were braked all the time,
   is braked by friction until then, and pushed the other way after: the bound on that side is ±F (h - 2 t1);
4. correct: impulses δ by the graphs at the end, so that l + δ is within the bounds; v = v' + W δ. Joints that stick
   have v = 0 exactly;
5. the configuration moves on by (h/2) W δ, and that of joints that turn by -(v (h - t1) + v⁺ t1)/2, the difference
   between straight lines v → v⁺ and v → 0 → v⁺; the others follow in the mass metric. A joint that was and stays at
   rest keeps q bit for bit.

Rigid limits that a joint leans on take part in 1 and 4. A joint that is beyond a limit by d at the end of the step has
struck it a time d/|v| ago: impulses change the velocity, and the configuration by as much in that time; what is left is
moved back in the mass metric. There W is that of the end of the step, since the impulse is not small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sixd.simulation.impulses.active_set import SLACK, ActiveSet, Bounds, Solution
from sixd.simulation.impulses.joint_rows import JointRows
from sixd.simulation.impulses.limit_rows import LimitRows
from sixd.simulation.impulses.predictions import make_prediction
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import Hold, base_step
from sixd.spatial.scalar import Array, absolute, maximum, minimum, where
from sixd.trace.program import Program, trace
from sixd.trace.stages import Stages

_USUAL = 4  # iterations in a step: two solutions, of two each in a vector of rows
BOUNCE = 2  # times the change of speed in a step: slower strikes do not bounce


class JointSolver:
    """The programs that predict and correct the impulses on joint rows; the first is from ``predictions.py``."""

    def __init__(self, problem: Problem, rows: JointRows, method: str, dtype: str) -> None:
        self.problem = replace(problem, has_friction=False)
        self.rows, self.dtype = rows, dtype
        self.prediction = make_prediction(self.problem, rows, method, dtype)
        best: tuple[int, Any, Program, ActiveSet] | None = None
        for response in self.prediction.responses:
            first = self.prediction.first(response)
            solve = ActiveSet(response, rows.k, bool(rows.limits), dtype)
            cost = first.operations + _USUAL * solve.program.operations
            if best is None or cost < best[0]:
                best = cost, response, first, solve
        assert best is not None
        _, self.response, self.first, self.solve = best
        self.brake = self._program(self._braked, {"v": (rows.k,), "state": (rows.k,)})
        self.displace = self._program(
            self._displaced, {"t1": (rows.k,), "v": (rows.k,), "wanted": (rows.k,), "moment": (rows.k,)}
        )
        if rows.limits:
            self.last, self.respond = (
                self.prediction.last(self.response),
                self._program(self.response.respond, {"impulse": (rows.k,)}),
            )

    def _program(self, function: Callable[..., Any], shapes: dict[str, tuple[int, ...]]) -> Program:
        """Return the program of ``function(data, *arrays)`` on the data of the response and further arrays."""
        given = self.response.data_shapes

        def on_arrays(*arrays: Any) -> Any:
            return function(arrays[: len(given)], *arrays[len(given) :])

        return trace(on_arrays, {**given, **shapes}, self.dtype)

    def _braked(self, data: Any, v: Array, state: Array) -> Array:
        """Return by how much impulses change the velocity (k,) of their own rows, while rows that rest stay at rest.

        With W_ii instead, as if joints that stick were free, reversals cost an error of first order.
        """
        rests = [(absolute(v[i]) <= 0) & (state[i] * state[i] < 0.5) for i in range(self.rows.k)]
        return self.response.locked_diagonal(data, rests)

    def _displaced(self, data: Any, t1: Array, v: Array, wanted: Array, moment: Array) -> Array:
        """Return the displacement (nv,) by which rows that turn (t1 > 0) move as wanted, and others follow."""
        k = range(self.rows.k)
        stops = [(t1[i] > 0) & (absolute(v[i]) <= 0) for i in k]
        given = np.array([where(stops[i], 0, where(t1[i] > 0, moment[i], 0)) for i in k])
        l, _, *more = self.response.solve(data, stops, wanted, given)
        return self.response.change(data, [l, *more])


def joint_step(problem: Problem, rows: JointRows, method: str, dtype: str, project: Callable[..., Any]) -> Any:
    """Return the step (stages, steps, q, qd, u, unsolved, friction, h, start, *constants) -> its next state."""
    solver = JointSolver(problem, rows, method, dtype)
    system, own = solver.problem.system, list(rows.freedoms)
    take = base_step(solver.problem, method, dtype, Hold(rows.k, rows.apply))
    part = 1 if method == "euler" else 0.5  # of the change of velocity in a step that moves the configuration
    limits = LimitRows(problem, rows, dtype) if rows.limits else None

    def step(
        stages: Stages, steps: Any, q: Array, qd: Array, u: Array, unsolved: Any, _: Array, h: Any, start: Any,
        *constants: Any,
    ) -> Any:  # fmt: skip
        t = start + steps * h
        per = 1 / where(h > 0, h, 1)  # the check of a step's limit takes steps of length 0
        ends, begins, F, followers, *data = stages(solver.first, t, h, q, qd, u, *constants)

        def at_rows(x: Array) -> Array:
            return np.concatenate([x[own], followers @ x]) if rows.followers else x[own]

        v, v_e = at_rows(qd), at_rows(ends)
        W = solver.response.diagonal(data)
        scale = W * F * h

        # 1. predict
        bounds = Bounds(-F * h, F * h)
        guess = _guess(-v_e / W, bounds)
        if limits is not None:
            slow = absolute(v_e - v) * BOUNCE
            bounds = limits.persisting(bounds, limits.gaps(q), v, slow, per)
            guess = limits.guess(bounds, v_e, guess)
        held = solver.solve(stages, data, v_e, bounds, guess)
        l = held.impulse

        # 2. hold
        known = solver.prediction.known(begins, held.change * per)
        q1, v1, u1 = take(stages, t, h, q, qd, u, constants, l * per, known)

        # 3. turn
        s = np.array([where(x > 0, 1, where(x < 0, -1, 0)) for x in v])
        more = (s * F * h + l) * -stages(solver.brake, *data, v, held.state)
        turn = _turning(v, v_e + at_rows(held.change) + more, at_rows(v1) + more, F, h)

        # 4. correct
        bounds = bounds._replace(lo=turn.lo - l, hi=turn.hi - l)
        found = solver.solve(stages, data, at_rows(v1), bounds, held.state)
        v2 = _exact(own, v1 + found.change, found, bounds, scale * SLACK[dtype])
        total, unsolved = l + found.impulse, sum(stages.counts, unsolved + 2 - held.done - found.done)

        # 5. the configuration
        straight = (v * (1 - part) + at_rows(v2) * part) * h
        bent = (v * turn.t1 + at_rows(v2) * (h - turn.t1)) / 2
        moment = (total + s * F * h) * turn.t1 * -0.5 - total * (h * (part - 0.5))
        turned = stages(solver.displace, *data, turn.t1, at_rows(v2), bent - straight, moment)
        q2 = system.integrate_row(q1, found.change * (h * part) + turned)

        if limits is not None:  # strikes
            data, gaps = list(stages(solver.last, t + h, h, q2, v2, u1, *constants)), limits.gaps(q2)
            before = at_rows(v2)
            bounds = limits.striking(Bounds(turn.lo - total, turn.hi - total), gaps, before, slow, per)
            found = solver.solve(stages, data, before, bounds, limits.guess(bounds, before, found.state))
            v2 = _exact(own, v2 + found.change, found, bounds, scale * SLACK[dtype])
            stop = limits.impulse(bounds, found)
            late = stages(solver.respond, *data, stop * limits.since(gaps, before, slow, h))
            q2, gaps = system.integrate_row(q2, late), limits.moved(gaps, at_rows(late))
            back = solver.solve(stages, data, np.zeros(rows.k), limits.inside(gaps), np.ones(rows.k))
            q2 = limits.clipped(system.integrate_row(q2, back.change))
            total, unsolved = total + found.impulse - stop, unsolved + 2 - back.done - found.done
            u1 = limits.recorded(u1, stop * per)

        q2, v2 = project(stages, t + h, q2, v2, constants)
        return steps + 1, _kept(rows, q, qd, q2, v2), v2, u1, unsolved, rows.apply(system, q, total * per).tau

    return step


def _guess(impulse: Array, bounds: Bounds) -> Array:
    """Return the states of rows (k,) whose impulses would stop them alone.

    By the sign of their velocities instead it takes twice as many iterations (panda 3.0 and 1.5 on average).
    """
    lo, hi = bounds.lo, bounds.hi
    return np.array([where(x >= hi[i], 1, where(x <= lo[i], -1, 0)) for i, x in enumerate(impulse)])


class _Turn(NamedTuple):
    """When [s] rows come to rest within a step, 0 if they do not; and the bounds of their impulses for that."""

    t1: Array
    lo: Array
    hi: Array


def _turning(v: Array, early: Array, end: Array, F: Array, h: Any) -> _Turn:
    """Return the rows that turn, from their velocities (k,) before the step and after it if they were braked all along.

    ``early`` is the velocity at the end by the slope of the beginning, ``end`` that by the base step: between them v(t)
    is a parabola.
    """
    k = range(len(v))
    turns = [v[i] * end[i] < 0 for i in k]

    def time(mean: Array) -> Array:
        """Return when v has fallen to 0, with the mean slope up to there."""
        return np.array([where(turns[i], h * v[i] / where(turns[i], v[i] - mean[i], 1), 0) for i in k])

    t1 = time(end)
    t1 = time(early + (end - early) * (t1 / where(h > 0, h, 1)))
    t1 = np.array([minimum(maximum(x, 0), h) for x in t1])
    cap = F * (h - t1 * 2)
    lo = np.array([where(turns[i] & (v[i] < 0), -cap[i], -F[i] * h) for i in k])
    hi = np.array([where(turns[i] & (v[i] > 0), cap[i], F[i] * h) for i in k])
    return _Turn(t1, lo, hi)


def _exact(own: list[int], v: Array, found: Solution, bounds: Bounds, rest: Array) -> Array:
    """Return v (nv,) with the velocities that rows have by their states: 0, or that at a limit.

    Where it is within ``rest`` of 0 it is 0: a joint that comes to rest just at the end of a step.
    """
    out = list(v)
    for i, j in enumerate(own):
        state = found.state[i]
        out[j] = where((state * state < 0.5) | (absolute(v[j]) <= rest[i]), 0, v[j])
        if bounds.low is not None and bounds.high is not None:
            out[j] = where(state > 1.5, bounds.low[i], where(state < -1.5, bounds.high[i], out[j]))
    return np.array(out)


def _kept(rows: JointRows, q: Array, qd: Array, q2: Array, v2: Array) -> Array:
    """Return q2 with the coordinates of q where a joint was and stays at rest."""
    out = list(q2)
    for iq, iv in rows.joints:
        moves = sum(absolute(x) for x in (*qd[iv], *v2[iv]))
        for i in range(len(q))[iq]:
            out[i] = where(moves > 0, q2[i], q[i])
    return np.array(out)
