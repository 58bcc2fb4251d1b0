"""Steps with dry friction and rigid limits: predict impulses, hold them during a base step, correct at its end.

Let f be the rows (DoF with friction or limits), F their friction, W = (M⁻¹)_{:,f}, and a0 the acceleration
without friction at the start (q, v) of a step of length h:

1. predict: v_e = v + h a0, and impulses l on the rows by their graphs with bounds ±h F (``active_set.py``). For
   "implicit" v_e and W are those of linearised forces (``predictions.py``): with M⁻¹ alone joints stick too early;
2. reverse: a joint that comes to rest after t1 = h v / (v - v⁻), where v⁻ is its velocity if it were always braked,
   is braked by friction until then, and pushed the other way after: the bound on that side is ±F (h - 2 t1). Where a
   joint reverses, predict again;
3. hold: the base step of any method with the force l/h held. Its first stage is a0 + W l/h;
4. correct: impulses δ by the graphs at the end, so that l + δ is within the bounds; v = v' + W δ. Joints that stick
   have v = 0 exactly;
5. the configuration moves on by (h/2) W δ, and that of joints that reverse by -(v (h - t1) + v⁺ t1)/2, the difference
   between straight lines v → v⁺ and v → 0 → v⁺; the others follow in the mass metric. A joint that was and stays at
   rest keeps q bit for bit.

Rigid limits that a joint leans on take part in 1 and 4. A joint that is beyond a limit by d at the end of the step has
hit it a time d/|v| ago: impulses change the velocity, and the configuration by as much in that time; what is left is
moved back in the mass metric. There W is that of the end of the step, since the impulse is not small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.linear.active_set import SLACK, ActiveSet, Bounds, Solution
from sixd.simulation.nonsmooth.impulses.joint_rows import JointRows
from sixd.simulation.nonsmooth.impulses.limit_rows import LimitRows
from sixd.simulation.nonsmooth.impulses.predictions import ImplicitPrediction, Prediction
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import HeldForces, base_step
from sixd.simulation.stepping.implicit import IMPLICIT
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, minimum, sign, where
from sixd.trace.program import Program, trace
from sixd.trace.stages import Stages

_USUAL = 4  # iterations in a step: two solutions, of two each in a vector of rows
BOUNCE = 2  # times the change of speed in a step: slower impacts do not rebound


class JointSolver:
    """The programs that predict and correct the impulses on joint rows; the first is from ``predictions.py``."""

    def __init__(self, problem: Problem, rows: JointRows, method: str, dtype: str) -> None:
        self.problem = replace(problem, has_friction=False)
        self.rows, self.dtype = rows, dtype
        self.prediction = (ImplicitPrediction if method == IMPLICIT else Prediction)(self.problem, rows, dtype)
        choices: list[tuple[Any, Program, ActiveSet]] = []
        for response in self.prediction.responses:
            first = self.prediction.first(response)  # the solver needs the shapes of its data
            choices.append((response, first, ActiveSet(response, rows.k, bool(rows.limits), dtype, trace)))
        cheapest = min(choices, key=lambda x: x[1].operations + _USUAL * x[2].program.operations)
        self.response, self.first, self.solve = cheapest
        k, nv, values = (rows.k,), (problem.system.nv,), self.response.data_shapes
        seen = {"t1": k, "lo": k, "hi": k, "any": (), "again": (), "state": k, "may": ()}
        seen |= {"v": k, "after": k, "l": k, "F": k, "h": ()}
        self.brake = trace(self._braked, {**seen, **values}, dtype)
        self.part = 1 if method == "euler" else 0.5  # of a change of velocity in a step that moves the configuration
        turned = {"still": nv, "t1": k, "v": k, "after": k, "total": k, "F": k, "h": ()}
        self.displace = trace(self._displaced, {**turned, **values}, dtype)
        self.respond = trace(lambda l, *data: self.response.respond(data, l), {"impulse": k, **values}, dtype)
        if rows.limits:
            self.last = self.prediction.last(self.response)

    def turn(self, stages: Stages, data: Any, v: Array, after: Array, F: Array, h: Any, held: Solution) -> Braked:
        """Return the rows that reverse, from their velocities (k,) before the step and after it with held impulses."""
        ends = after - (sign(v) * F * h + held.impulse) * self.response.diagonal(data)
        may = reduce(maximum, [where(v[i] * ends[i] < 0, 1, 0) for i in range(self.rows.k)])
        values = np.zeros(self.rows.k), -F * h, F * h, 0.0, 0.0, held.state
        return Braked(*stages(self.brake, *values, may, v, after, held.impulse, F, h, *data, when=may))

    def _braked(
        self, t1: Array, lo: Array, hi: Array, any: Scalar, again: Scalar, state: Array, may: Scalar, v: Array,
        after: Array, l: Array, F: Array, h: Scalar, *data: Array,
    ) -> Any:  # fmt: skip
        """Return the entries of :class:`Braked`; the inputs where no row may reverse. The response W_ii is that while
        joints that rest stay at rest: as if they were free, reversals would cost an error of first order."""
        k = range(self.rows.k)
        rests = [(absolute(v[i]) <= 0) & (state[i] * state[i] < 0.5) for i in k]
        turn = turning(v, after, l, self.response.locked_diagonal(data, rests), F, h)
        turns = [where(x > 0, 1, 0) for x in turn.t1]
        beyond = [where(l[i] > turn.hi[i], 1, where(l[i] < turn.lo[i], -1, 0)) * turns[i] for i in k]
        guess = np.array([where(absolute(beyond[i]) > 0, beyond[i], state[i]) for i in k])
        result = *turn, reduce(maximum, turns), reduce(maximum, [absolute(x) for x in beyond]), guess
        return tuple(where(may > 0, new, old) for new, old in zip(result, (t1, lo, hi, any, again, state), strict=True))

    def bend(
        self, stages: Stages, data: Any, v: Array, after: Array, turn: Braked, total: Array, F: Array, h: Any, when: Any
    ) -> Array:
        """Return the displacement (nv,) by which reversing rows differ from straight lines of velocity v -> after (k,).

        Joints that come to rest move as computed, and others follow in the mass metric. The impulses ``total`` (k,) of
        joints that reverse and go on have other moments: friction acts one way until t1, and the other way after.
        """
        still = np.zeros(self.rows.problem.system.nv)
        return stages(self.displace, still, turn.t1, v, after, total, F, h, *data, when=when)

    def _displaced(
        self, still: Array, t1: Array, v: Array, after: Array, total: Array, F: Array, h: Scalar, *data: Array
    ) -> Array:
        k, part = range(self.rows.k), self.part
        straight, bent = (v * (1 - part) + after * part) * h, (v * t1 + after * (h - t1)) / 2
        moment = (total + sign(v) * F * h) * t1 * -0.5 - total * (h * (part - 0.5))
        stops = [(t1[i] > 0) & (absolute(after[i]) <= 0) for i in k]
        values = np.array([where(stops[i], 0, where(t1[i] > 0, moment[i], 0)) for i in k])
        l, _, *more = self.response.solve(data, stops, bent - straight, values)
        turns = reduce(maximum, t1) > 0
        return where(turns, self.response.change(data, [l, *more]), still)


def joint_step(problem: Problem, rows: JointRows, method: str, dtype: str, project: Callable[..., Any]) -> Any:
    """Return the step (stages, steps, q, qd, u, unsolved, friction, h, start, *constants) -> its next state."""
    solver = JointSolver(problem, rows, method, dtype)
    system, own = solver.problem.system, list(rows.dofs)
    take = base_step(solver.problem, method, dtype, HeldForces(rows.k, rows.apply))
    limits = LimitRows(problem, rows, dtype) if rows.limits else None

    def step(
        stages: Stages, steps: Any, q: Array, qd: Array, u: Array, unsolved: Any, friction: Array, h: Any, start: Any,
        *constants: Any,
    ) -> Any:  # fmt: skip
        t = start + steps * h
        per = 1 / where(h > 0, h, 1)  # the check of a step's limit takes steps of length 0
        ends, begins, F, still, followers, *data = stages(solver.first, t, h, q, qd, u, *constants)

        def at_rows(x: Array) -> Array:
            return np.concatenate([x[own], followers @ x]) if rows.followers else x[own]

        v, v_e = at_rows(qd), at_rows(ends)
        W = solver.response.diagonal(data)
        scale = W * F * h

        # 1. predict
        bounds = Bounds(-F * h, F * h)
        before = _within(friction[own] * h, bounds)
        guess = _guess(before * W - v_e - at_rows(solver.response.respond(data, before)), bounds, W)
        if limits is not None:
            slow = absolute(v_e - v) * BOUNCE
            bounds = limits.persisting(bounds, limits.gaps(q), v, slow, per)
            guess = limits.guess(bounds, v_e, guess)
        held = solver.solve(stages, data, v_e, bounds, guess)

        # 2. reverse
        turn = solver.turn(stages, data, v, v_e + at_rows(held.change), F, h, held)
        bounds = bounds._replace(lo=turn.lo, hi=turn.hi)
        held = solver.solve(stages, data, v_e, bounds, turn.state, turn.again, held)
        l = held.impulse

        # 3. hold
        known = solver.prediction.known(begins, held.change * per)
        q1, v1, u1 = stages.kept(*take(stages, t, h, q, qd, u, constants, l * per, known))

        # 4. correct
        bounds = bounds._replace(lo=turn.lo - l, hi=turn.hi - l)
        result = solver.solve(stages, data, at_rows(v1), bounds, held.state)
        v2 = _exact(own, v1 + result.change, result, bounds, scale * SLACK[dtype])
        v2, total = stages.kept(v2, l + result.impulse)
        unsolved = sum(stages.counts, unsolved + 2 - held.done - result.done)

        # 5. the configuration
        bent = solver.bend(stages, data, v, at_rows(v2), turn, total, F, h, turn.any)
        q2 = system.integrate_row(q1, result.change * (h * solver.part) + bent)

        if limits is not None:  # impacts
            data, gaps = list(stages(solver.last, t + h, h, q2, v2, u1, *constants)), limits.gaps(q2)
            before = at_rows(v2)
            bounds = Bounds(turn.lo - total, turn.hi - total)
            bounds, since = limits.with_impacts(bounds, gaps, v, before, still, slow, per, h)
            result = solver.solve(stages, data, before, bounds, limits.guess(bounds, before, result.state))
            v2 = _exact(own, v2 + result.change, result, bounds, scale * SLACK[dtype])
            stop = limits.impulse(bounds, result)
            late = stages(solver.respond, stop * since, *data)
            q2, moved, none = system.integrate_row(q2, late), at_rows(late), np.zeros(rows.k)
            inside = Bounds(none, none, -(gaps[0] + moved), gaps[1] - moved)  # displacements back inside the limits
            back = solver.solve(stages, data, none, inside, np.ones(rows.k))
            q2 = system.integrate_row(q2, back.change)
            total, unsolved = total + result.impulse - stop, unsolved + 2 - back.done - result.done
            u1 = limits.recorded(u1, stop * per)

        q2, v2 = project(stages, t + h, q2, v2, constants)
        q2 = kept_at_rest(rows, q, q2, [absolute(a) + absolute(b) for a, b in zip(qd, v2, strict=True)])
        if limits is not None:
            q2 = limits.clipped(q2, bounds, result.state)
        return steps + 1, q2, v2, u1, unsolved, rows.apply(system, q, total * per).tau

    return step


def _within(impulse: Array, bounds: Bounds) -> Array:
    """Return impulses of the degrees of freedom among the rows within their bounds, 0 of the other rows (k,)."""
    pairs = zip(impulse, bounds.lo, bounds.hi, strict=False)
    result = [minimum(maximum(x, lo), hi) for x, lo, hi in pairs]
    return np.array([*result, *([0] * (len(bounds.lo) - len(result)))])


def _guess(stop: Array, bounds: Bounds, W: Array) -> Array:
    """Return a guess of the states of rows (k,) from impulses that would stop each row alone, with those of the others
    in the last step; times the rows' responses W (k,) to their own.

    With the states of the last step as they were, joints that stop or reverse need a second iteration; without the
    impulses of the others 1.5 on average (panda, states at random), by the signs of velocities 3.0.
    """
    triples = zip(stop, bounds.lo * W, bounds.hi * W, strict=True)
    return np.array([where(x >= hi, 1, where(x <= lo, -1, 0)) for x, lo, hi in triples])


class Turn(NamedTuple):
    """When [s] rows come to rest within a step, 0 if they do not; and the bounds of their impulses."""

    t1: Array
    lo: Array
    hi: Array


class Braked(NamedTuple):
    """A :class:`Turn`; 1 if ``any`` row reverses; 1 if some impulse is beyond its bounds then: solve for them
    ``again``, from the guess ``state`` (k,)."""

    t1: Array
    lo: Array
    hi: Array
    any: Scalar
    again: Scalar
    state: Array


def turning(v: Array, after: Array, l: Array, W: Array, F: Array, h: Any) -> Turn:
    """Return the rows that reverse, from velocities before and after impulses l, and their responses W, all (k,)."""
    k = range(len(v))
    end = after - (sign(v) * F * h + l) * W
    turns = [v[i] * end[i] < 0 for i in k]
    t1 = np.array([where(turns[i], h * v[i] / where(turns[i], v[i] - end[i], 1), 0) for i in k])
    cap = F * (h - t1 * 2)
    lo = np.array([where(turns[i] & (v[i] < 0), -cap[i], -F[i] * h) for i in k])
    hi = np.array([where(turns[i] & (v[i] > 0), cap[i], F[i] * h) for i in k])
    return Turn(t1, lo, hi)


def _exact(own: list[int], v: Array, result: Solution, bounds: Bounds, rest: Array) -> Array:
    """Return v (nv,) with the velocities that rows have by their states: 0, or that at a limit. Where it is within
    ``rest`` of 0 it is 0: a joint that comes to rest just at the end of a step."""
    out = list(v)
    for i, j in enumerate(own):
        state = result.state[i]
        out[j] = where((state * state < 0.5) | (absolute(v[j]) <= rest[i]), 0, v[j])
        if bounds.low is not None and bounds.high is not None:
            out[j] = where(state > 1.5, bounds.low[i], where(state < -1.5, bounds.high[i], out[j]))
    return np.array(out)


def kept_at_rest(rows: JointRows, q: Array, q2: Array, moves: Sequence[Any]) -> Array:
    """Return q2 with the coordinates of q where a joint was and stays at rest: its entries of ``moves`` (nv,) are 0."""
    out = list(q2)
    for iq, iv in rows.joints:
        moved = sum(moves[iv]) > 0
        for i in range(len(q))[iq]:
            out[i] = where(moved, q2[i], q[i])
    return np.array(out)
