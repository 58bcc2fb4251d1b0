"""Steps with rigid contact: predict impulses, hold them during a base step, correct at its end; stop at each impact.

Let J be the rows of the points (normal and two tangents each) and of joints with dry friction or rigid limits, φ the
points' heights, W the response of velocities to impulses, and a0 the acceleration without impulses at the start (q, v)
of a part of a step, of length h:

1. predict: points on the ground get impulses l by Coulomb's law for J v + h d(J v)/dt, from the last step's;
2. hold: the base step of any method with the force l/h held, in world axes, at the points. Its first stage is
   a0 + W Jᵀl/h. Where the force changes smoothly it is that in the middle of the step, by extrapolation from the force
   of the last step, 2 l - h f: l/h is that at the beginning (the error of a go2 that lands is 0.4 times as large);
3. if a point falls below the ground, repeat the base step up to the time of the first impact (``impact_times.py``);
4. correct: Coulomb's law for the total impulse at the end, of the points that were on the ground. Points that reverse:
   ``slip_paths.py``. The configuration moves by the changes of impulses times the time since they acted, and in the
   mass metric onto the ground: 0 ≤ φ + G p ⟂ p ≥ 0, and φ = 0 where a point is pressed onto it;
5. impact: Coulomb's law for all points on the ground, with restitution for those that strike (``restitution.py``).

Then the rest of the step is a part of its own. So every impact is at its own time, and two points that strike at once
are one problem. After ``ROUNDS`` parts the rest of the step is a single one, at whose end points that have struck stop.

Contact gains no energy. The displacement onto the ground would: what it gains in potential energy, more than the held
normal forces took while points sank, is taken from the velocity.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from sixd.forces.elements import tree_of
from sixd.model.joints.quaternion import Free
from sixd.simulation.nonsmooth.contact.cone import NEVER, in_cone
from sixd.simulation.nonsmooth.contact.contact_joints import ContactJoints
from sixd.simulation.nonsmooth.contact.contact_rows import ContactRows
from sixd.simulation.nonsmooth.contact.heights import HeightSolver
from sixd.simulation.nonsmooth.contact.impact_times import newton_time, time_on_cubic
from sixd.simulation.nonsmooth.contact.impulse_solver import FAR
from sixd.simulation.nonsmooth.contact.packing import impulse_solver
from sixd.simulation.nonsmooth.contact.restitution import without_gain
from sixd.simulation.nonsmooth.contact.slip_paths import slip_path, turned_moment
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import HeldForces, base_step
from sixd.spatial.rotation import quaternion_to_rotation
from sixd.spatial.scalar import Array, maximum, minimum, sqrt, where
from sixd.trace.program import trace
from sixd.trace.stages import Into, Rows, Stages

ROUNDS = 8  # parts of a step: of 300 thrown plates with 8 corners 25 steps of 180,000 needed more
# m: points that are lower are on the ground. Heights of those that rest there differ by rounding, and by what
# ``heights.py`` leaves
_TOUCHES = {"float64": 1e-7, "float32": 1e-5}
_STRIKES = {"float64": 1e-5, "float32": 1e-3}  # m/s: slower points on the ground are stopped without an impact
_EXACT = {"float64": 1e-11, "float32": 1e-6}  # m: off the ground at an impact
_REFINEMENTS = 3  # of the time of an impact: with Euler's method each leaves 1e-2 of the error, with rk4 one suffices
_SOON = 0.25  # of h: a point that would be back on the ground earlier does not rebound
# largest relative change of a force that is extrapolated: beyond it points stop or begin to slide. With 0.25 a go2 that
# falls on its feet gains 1e-5 J in the step after two of them stop, with 0.1 nothing
_SMOOTH = 0.1
# m/s: points that are slower at the beginning of a step did not slide. Those that stick have up to 2e-7 there, since
# the configuration moves on after their velocity is 0
_AT_REST = {"float64": 1e-6, "float32": 1e-5}
_LIFTED = 1e-22  # kg m²: square of a displacement in the mass metric whose energy is not looked at
_WHOLE = 1 - 1e-9  # part of a step beyond which it is complete
_NONE = np.zeros(3)


class ContactStep:
    """The programs of steps with rigid contact, and a step as calls within a recipe."""

    def __init__(self, problem: Problem, method: str, dtype: str) -> None:
        self.rows, self.dtype = ContactRows(problem, method, dtype), dtype
        self.points, self.sparse = self.rows.points, self.rows.sparse
        self.k, self.n = self.rows.k, 3 * self.rows.k + self.rows.m
        self.system = problem.system
        tree = tree_of("RigidGround", problem.system)
        names = [name for name in problem.system.joint_names if isinstance(tree.joint(name).joint, Free)]
        self.free = [(problem.system.q_slice(name), problem.system.v_slice(name)) for name in names]
        friction = [point.friction for point in self.points.points]
        bodies = [point.body for point in self.points.points]
        self.restitution = np.array([point.restitution for point in self.points.points])
        self.solve = impulse_solver(self.sparse, friction, self.rows.m, self.points.sweeps, dtype, bodies)
        self.onto_ground = HeightSolver(self.sparse, self.k, self.rows.m, dtype)
        self.take = base_step(self.rows.problem, method, dtype, HeldForces(self.n, self.rows.applied))
        self.joints = None if self.rows.joints is None else ContactJoints(problem, self.rows.joints, dtype)
        k, n = self.k, self.n
        shapes: dict[str, tuple[int, ...]] = {"slide": (3 * k,), "moment": (3 * k,), "turns": (k,), "bends": (k,)}
        shapes |= {"any": (), "h": (), "v": (n,), "w": (n,), "held": (k,), "l": (n,), "U": (self.sparse.size,)}
        self.slips = trace(self._slip_paths, shapes, dtype)
        names = ["before", "after", "v", "w", "h", "falls", "strikes"]
        self.time = trace(time_on_cubic, dict.fromkeys(names, ()), dtype)
        nq, nv = (problem.system.nq,), (problem.system.nv,)
        shapes = {"t": (), "q": nq, "after": nq, "qd": nv, "u": (problem.nu,), "dq": nv}
        self.energy = self.rows.problem.traced(self.rows.displacement_energy, shapes, dtype)
        # of h: how long before the end of the step changes of held impulses act on the average, as they grow along it
        self.lag = 1.0 if method == "euler" else 1 / 3

    def __call__(
        self, stages: Stages, t: Any, h: Any, q: Array, qd: Array, u: Array, friction: Array, constants: Any
    ) -> Any:
        """Return (q, qd, u, mean friction of joints (nv,)) at the end of the step, and how many solutions failed."""
        points = self.points
        force = points.to_axes(np.array([u[j] for j in points.entries]))
        t, h, *constants = stages.kept(t, h, *constants)

        def part(*state: Any) -> tuple[Any, ...]:
            return self._part_of_step(stages, t, h, constants, *state)

        start = (0.0, q, qd, u, friction, np.zeros(3 * self.k), force, 0.0, 0.0, 0.0)
        _, q, qd, u, friction, total, _, failed, *_ = stages.repeat(part, *start, most=ROUNDS)
        forces = list(u)
        per = 1 / where(h > 0, h, 1)  # the check of a step's limit takes steps of length 0
        for j, x in zip(points.entries, points.to_world(total * per), strict=True):
            forces[j] = x
        return q, qd, np.array(forces), friction, failed

    def _part_of_step(
        self, stages: Stages, t: Any, whole: Any, constants: Any, gone: Any, q: Array, qd: Array, u: Array,
        friction: Array, total: Array, force: Array, failed: Any, count: Any, _: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the state of a step after a part of it that ends with the step, or with an impact."""
        part, joints, k = self._part, self.joints, self.k
        t, h, per, last = part(stages, self._times_left, t, whole, gone, count)

        # predict
        a, rate, phi, v, rates, F, still, *response = stages(self.rows.first, t, h, q, qd, u, *constants)
        U, L, root = response
        b, guess, held, strikes = part(stages, self._predicted, h, per, phi, v, rates, force, friction)
        bounds: Any = None if joints is None else part(stages, joints.persisting, h, per, q, v[3 * k :], b[3 * k :], F)
        start, _, done = self.solve(stages, U, b, guess, np.zeros(3 * k), bounds)

        # hold, until the first impact
        l, first = part(stages, self._held, per, a, start, guess, U, L, root)
        known = None if self.rows.is_implicit else (first, rate)
        push = l * per

        def held_until(time: Any) -> tuple[Any, ...]:
            q1, v1, u1 = self.take(stages, t, time, q, qd, u, constants, push, known)
            return q1, v1, u1, *stages(self.rows.last, t + time, time, q1, v1, u1, *constants)

        ends = held_until(h)
        time, falls, late, hit = self._first_impact(stages, h, phi, v, ends, held, strikes, last)

        def again(ahead: Any, _: Any, *__: Any) -> tuple[Any, ...]:
            state = held_until(ahead)
            better, off = part(stages, newton_time, ahead, state[3], state[4][: 3 * k : 3], falls, h)
            return better, ahead, *state, where(maximum(off, -off) <= _EXACT[self.dtype], 1, 0)

        _, h, *ends, _ = stages.repeat(again, time, h, *ends, 0.0, most=_REFINEMENTS, when=hit)
        q1, v1, u1, after, w, U1, *response = ends
        h, per, l, start = part(stages, self._shortened, h, push, start * per)

        # correct
        slide, moment, turns, bends = self._slips(stages, h, v, w, held, l, U1)
        b1, z, since = part(stages, self._corrected, h, w, held, l, bends, U1)
        if joints is not None:
            W = part(stages, lambda U: self.sparse.diagonal(U, 3 * k), U1)
            rest = [y[3 * k :] for y in (v, b, w, l)]
            bounds, *times = part(stages, joints.with_impacts, h, per, q1, *rest[:3], F, rest[3], W, still)
        x, z1, done1 = self.solve(stages, U1, b1, l, slide, bounds)
        p, zp, failed_impact = self._impact(stages, whole, after, w, z1 - z, U1, rates, late, bounds)

        # the configuration
        pressed = np.array([where(x[3 * i] > 0, held[i], 0) for i in range(k)])
        moved = self._moment(h, x[: 3 * k], l[: 3 * k], start[: 3 * k], slide, moment, turns, since)
        by_joints = np.zeros(self.rows.m)
        if joints is not None:
            by_joints = joints.moment(h, self.lag, x[3 * k :], l[3 * k :], bounds, *times)
        reach = np.zeros(0) if joints is None else joints.reach(q1)
        aside = part(stages, self.sparse.collected, U1, np.concatenate([moved * 0, by_joints]))
        all_moved = part(stages, self.sparse.collected, U1, np.concatenate([moved, by_joints]))
        shift = self.onto_ground(stages, U1, after, pressed, reach, all_moved)
        q2, v2 = part(stages, self._moved, q1, v1, shift, z1 - z + zp, *response)
        work = part(stages, self._work, push, phi, after, U1, aside, held)
        v2 = self._without_gain(stages, t + h, q1, q2, v2, u1, shift - aside, response, work, constants)
        end = part(stages, self._ended, whole, gone, h, per, total, force, x, p, late, count)
        gone, total, force, missed, count, ended, calm = end
        failed = failed + (2 - done - done1) + failed_impact + missed
        if joints is None:
            return gone, q2, v2, u1, friction, total, force, failed, count, ended
        more = joints.finished(self.system, per, q, qd, q2, v2, u1, x[3 * k :], bounds, W, done1 * calm)
        return gone, *more, total, force, failed, count, ended

    def _part(self, stages: Stages, function: Callable[..., Any], *arrays: Any) -> Any:
        """Return the results of a function of arrays as a call of its own: each is computed once."""
        shapes = {f"array {i}": np.shape(x) for i, x in enumerate(arrays)}
        return stages(trace(function, shapes, self.dtype), *arrays)

    @staticmethod
    def _times_left(t: Any, h: Any, gone: Any, count: Any) -> tuple[Any, ...]:
        """Return the time at the beginning of a part, what is left of the step, 1 over it, and 1 if it is the last."""
        left = maximum(h - gone, 0)
        return t + gone, left, 1 / where(left > 0, left, 1), where(count >= ROUNDS - 1, 1, 0)

    @staticmethod
    def _shortened(h: Any, push: Array, start: Array) -> tuple[Any, ...]:
        """Return the length of a part that ends with an impact, 1 over it, and the impulses of that time."""
        return h, 1 / where(h > 0, h, 1), push * h, start * h

    def _predicted(
        self, h: Any, per: Any, phi: Array, v: Array, rates: Array, force: Array, friction: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return the velocities of the rows without impulses, a guess of those, which points are held, and which strike
        the ground at once."""
        guess = force * h
        b, held, strikes = list(v + rates * h), [], []
        for i in range(self.k):
            on, fast = phi[i] <= _TOUCHES[self.dtype], v[3 * i] < -_STRIKES[self.dtype]
            rests = where(fast, 0, where(on, 1, 0)) > 0
            b[3 * i] = b[3 * i] + where(rests, maximum(phi[i], 0) * per, FAR)
            guess[_own(i)] = where(rests, guess[_own(i)], 0)
            held.append(where(rests, 1, 0))
            strikes.append(where(on & fast, 1, 0))
        if self.joints is not None:
            guess = np.concatenate([guess, self.joints.guess(friction) * h])
        return np.array(b), guess, np.array(held), np.array(strikes)

    def _held(
        self, per: Any, a: Array, start: Array, guess: Array, U: Array, L: Array, root: Array
    ) -> tuple[Array, Array]:
        """Return the impulses that are held, and the acceleration with them.

        By implicit steps those of the beginning: extrapolated ones would oscillate from step to step with hard forces
        (by 6 of 152 N under a quadruped that stands up).
        """
        l = list(start)
        for i, point in enumerate(() if self.rows.is_implicit else self.points.points):
            own, before = start[_own(i)], guess[_own(i)]
            change = own - before
            smooth = (before[0] > 0) & (own[0] > 0) & (change @ change <= own @ own * _SMOOTH**2)
            ahead = in_cone(own + change, point.friction, _NONE)
            l[_own(i)] = [where(smooth, ahead[r], own[r]) for r in range(3)]
        impulse = np.array(l)
        return impulse, a + self.sparse.change(L, root, self.sparse.collected(U, impulse)) * per

    def _first_impact(
        self, stages: Stages, h: Any, phi: Array, v: Array, ends: Any, held: Array, strikes: Array, last: Any
    ) -> tuple[Any, ...]:
        """Return the time of the first impact, h if there is none; which points fall until then; which are below the
        ground at the end though impacts are no longer looked for; and 1 if there is an impact."""
        k, (_, _, _, after, w, *_) = self.k, ends
        normal, normal1 = v[: 3 * k : 3], w[: 3 * k : 3]

        def find(held: Array, strikes: Array, after: Array, last: Any) -> tuple[Any, ...]:
            below = [where(held[i] > 0, 0, where((after[i] < 0) | (strikes[i] > 0), 1, 0)) for i in range(k)]
            falls = np.array([where(last > 0, 0, x) for x in below])
            return falls, np.array([where(last > 0, x, 0) for x in below]), reduce(maximum, list(falls))

        falls, late, hit = self._part(stages, find, held, strikes, after, last)
        rows = range(k)
        every = [Rows(x, rows) for x in (phi, after, normal, normal1)]
        times = stages.each(
            self.time, *every, h, Rows(falls, rows), Rows(strikes, rows), into=[Into(k, rows)], when=falls
        )
        first = reduce(minimum, [where(falls[i] > 0, times[i], h) for i in rows])
        return first, falls, late, hit

    def _slips(self, stages: Stages, h: Any, v: Array, w: Array, held: Array, l: Array, U: Array) -> tuple[Array, ...]:
        """Return the slide of the points (3k,), moment (3k,), turns (k,) and bends (k,); zeros while none slides."""
        k, square = self.k, _AT_REST[self.dtype] ** 2
        pairs = [(v[3 * i + 1], v[3 * i + 2]) for i in range(k)]
        any = reduce(maximum, [where(a * a + b * b > square, held[i], 0) for i, (a, b) in enumerate(pairs)])
        values = np.zeros(3 * k), np.zeros(3 * k), np.zeros(k), np.zeros(k), any
        return stages(self.slips, *values, h, v, w, held, l, U, when=any)

    def _slip_paths(
        self, slide: Array, moment: Array, turns: Array, bends: Array, any: Any, h: Any, v: Array, w: Array,
        held: Array, l: Array, U: Array,
    ) -> tuple[Array, ...]:  # fmt: skip
        rows, slips = self.sparse.rows(U), []
        for i, point in enumerate(self.points.points):
            pair, t = rows[3 * i + 1 : 3 * i + 3], slice(3 * i + 1, 3 * i + 3)
            B = [[sum(x * other[j] for j, x in row.items()) for other in pair] for row in pair]
            slips.append(slip_path(B, v[t], w[t], l[_own(i)], point.friction, held[i] > 0, h))
        result = (
            np.array([x for slip in slips for x in slip.shift]),
            np.array([x for slip in slips for x in (0, *slip.moment)]),
            np.array([slip.turns for slip in slips]),
            np.array([slip.bends for slip in slips]),
        )
        pairs = zip(result, (slide, moment, turns, bends), strict=True)
        return tuple(where(any > 0, new, old) for new, old in pairs)

    def _corrected(self, h: Any, w: Array, held: Array, l: Array, bends: Array, U: Array) -> tuple[Array, Array, Array]:
        """Return, at the end of a part: the rows' velocities without impulses, z of those that were held, and since
        when (3k,) the points' impulses change."""
        z = self.sparse.collected(U, l)
        b, since = list(w - self.sparse.velocities(U, z)), []
        for i in range(self.k):
            b[3 * i] = b[3 * i] + where(held[i] > 0, 0, FAR)
            since += [where(bends[i] > 0, h * max(self.lag, 0.5), h * self.lag)] * 3
        return np.array(b), z, np.array(since)

    def _impact(
        self, stages: Stages, h: Any, after: Array, w: Array, z: Array, U: Array, rates: Array, late: Array, bounds: Any
    ) -> tuple[Any, ...]:
        """Return the impulses (n,) of points that strike the ground at the end of a part, their z (nv,), and how many
        problems failed. w (n,) are the velocities with the impulses that were held, z (nv,) changes them."""
        k, bounces = self.k, bool(self.restitution.any())

        def begin(w: Array, z: Array, U: Array, after: Array, late: Array, rates: Array, h: Any) -> tuple[Any, ...]:
            u = w + self.sparse.velocities(U, z)
            b, fast = list(u), []
            back: list[Any] = [0] * self.n
            for i in range(k):
                on = (after[i] <= _TOUCHES[self.dtype]) | (late[i] > 0)
                speed = where(on, maximum(-u[3 * i], 0), 0)
                b[3 * i] = u[3 * i] + where(on, 0, FAR)
                fast.append(where(speed > _STRIKES[self.dtype], 1, 0))
                if self.restitution[i]:
                    away = speed * self.restitution[i]
                    # a point that is pressed down returns after 2 away / press
                    soon = (away * 2 < maximum(-rates[3 * i], 0) * (h * _SOON)) | (late[i] > 0)
                    back[3 * i] = where(soon, 0, away)
            return u, np.array(b), np.array(back), reduce(maximum, fast)

        u, b, back, strikes = self._part(stages, begin, w, z, U, after, late, rates, h)
        limits = [] if bounds is None else [self._part(stages, _limits_alone, bounds)]
        none, slide = np.zeros(self.n), np.zeros(3 * k)
        u, b, back, U, *limits = stages.kept(u, b, back, U, *limits)

        def solved(*_: Any) -> tuple[Any, ...]:
            p, zp, done = self.solve(stages, U, b, none, slide, *(limits or [None]))
            if not bounces:
                return p, zp, 1 - done
            p1, z1, done1 = self.solve(stages, U, b - back, p, slide, *(limits or [None]))
            p, zp = self._part(stages, without_gain, u, p, zp, where(done1 > 0, p1, p), where(done1 > 0, z1, zp))
            return p, zp, 2 - done - done1

        return stages.repeat(solved, none, np.zeros(self.sparse.nv), 0.0, most=1, when=strikes)

    def _work(self, push: Array, phi: Array, after: Array, U: Array, aside: Array, held: Array) -> Any:
        """Return the work of the normal forces (n,) that were held, until the displacement onto the ground."""
        rows = self.sparse.rows(U)
        return sum(
            push[3 * i] * held[i] * (after[i] + sum(a * aside[j] for j, a in rows[3 * i].items()) - phi[i])
            for i in range(self.k)
        )

    def _without_gain(
        self, stages: Stages, t: Any, q1: Array, q2: Array, v: Array, u: Array, lift: Array, response: Any, work: Any,
        constants: Any,
    ) -> Array:  # fmt: skip
        """Return the velocity, reduced by the energy that the displacement onto the ground gains."""
        lifts = where(lift @ lift > _LIFTED, 1, 0)
        t, q1, q2, v, u, lift, work, *response = stages.kept(t, q1, q2, v, u, lift, work, *response)

        def reduced(v: Array) -> tuple[Array, ...]:
            dq = self._part(stages, self.sparse.change, *response, lift)
            kinetic, gain = stages(self.energy, t, q1, q2, v, u, dq, *constants)
            part = maximum(1 - maximum(gain + work, 0) / where(kinetic > 0, kinetic, 1), 0)
            return (v * sqrt(part),)

        return stages.repeat(reduced, v, most=1, when=lifts)[0]

    def _ended(
        self, whole: Any, gone: Any, h: Any, per: Any, total: Array, force: Array, x: Array, p: Array, late: Array,
        count: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return what is gone of the step; the points' impulses so far; their forces, for the next part; 1 if points
        struck that were not looked for; the number of parts; whether the step has ended; and 0 after an impact."""
        own, now = slice(3 * self.k), gone + h
        return (
            now,
            total + x[own] + p[own],
            where(h > 0, x[own] * per, force),
            reduce(maximum, list(late)),
            count + 1,
            where(now < whole * _WHOLE, 0, 1),
            where(p @ p > 0, 0, 1),
        )

    def _moment(
        self, h: Any, x: Array, l: Array, start: Array, slide: Array, moment: Array, turns: Array, since: Array
    ) -> Array:
        """Return what the impulses x (3k,) move by, beyond those that were held, as a moment (3k,) about the end."""
        moved = (x - l) * since + moment + (l - start) * (h * (-1 / 6))  # held in the middle of a smooth change
        for i, point in enumerate(self.points.points):
            if point.friction:
                more = turned_moment(x[_own(i)], slide[_own(i)], turns[i], point.friction, h)
                moved[3 * i + 1], moved[3 * i + 2] = moved[3 * i + 1] + more[0], moved[3 * i + 2] + more[1]
        return moved

    def _moved(self, q: Array, qd: Array, shift: Array, z: Array, L: Array, root: Array) -> tuple[Array, Array]:
        """Return the state at the end of the step. The linear velocity of a free body is in its axes: where these turn,
        it turns back, and momentum is conserved."""
        after = self.system.integrate_row(q, self.sparse.change(L, root, shift))
        v = list(qd + self.sparse.change(L, root, z))
        for iq, iv in self.free:
            R, R_after = (quaternion_to_rotation(x[iq][:4]) for x in (q, after))
            v[iv.start + 3 : iv.stop] = R_after.T @ (R @ np.array(v[iv.start + 3 : iv.stop]))
        return after, np.array(v)


def _own(i: int) -> slice:
    return slice(3 * i, 3 * i + 3)


def _limits_alone(bounds: Array) -> Array:
    """Return the bounds of joint rows at an impact, at which friction does nothing and limits do not rebound."""
    low, high = bounds[2::4], bounds[3::4]
    none = np.zeros(len(low))
    low = np.array([where(x > -NEVER, minimum(x, 0), x) for x in low])
    high = np.array([where(x < NEVER, maximum(x, 0), x) for x in high])
    return np.ravel(np.column_stack([none, none, low, high]))


def contact_step(problem: Problem, method: str, dtype: str, project: Callable[..., Any]) -> Callable[..., Any]:
    """Return the step (stages, steps, q, qd, u, unsolved, [friction,] h, start, *constants) -> its next state."""
    take = ContactStep(problem, method, dtype)
    has_joints = take.joints is not None

    def step(stages: Stages, steps: Any, q: Array, qd: Array, u: Array, unsolved: Any, *rest: Any) -> Any:
        friction, (h, start, *constants) = (rest[0], rest[1:]) if has_joints else (np.zeros(0), rest)
        q, qd, u, friction, failed = take(stages, start + steps * h, h, q, qd, u, friction, constants)
        q, qd = project(stages, start + (steps + 1) * h, q, qd, constants)
        unsolved = sum(stages.counts, unsolved + failed)
        return steps + 1, q, qd, u, unsolved, *((friction,) if has_joints else ())

    return step
