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
from sixd.simulation.nonsmooth.contact.contact_joints import ContactJoints
from sixd.simulation.nonsmooth.contact.contact_rows import ContactRows
from sixd.simulation.nonsmooth.contact.derivatives import Value, differentiable
from sixd.simulation.nonsmooth.contact.impact_times import newton_time, time_on_cubic
from sixd.simulation.nonsmooth.contact.laws import NEVER, in_cone
from sixd.simulation.nonsmooth.contact.restitution import without_gain
from sixd.simulation.nonsmooth.contact.slip_paths import slip_path, turned_moment
from sixd.simulation.nonsmooth.contact.solver import FAR, ContactSolver
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import HeldForces, base_step
from sixd.spatial.rotation import quaternion_to_rotation, skew
from sixd.spatial.scalar import Array, maximum, minimum, sqrt, where
from sixd.trace.program import trace
from sixd.trace.stages import Into, Rows, Stages

ROUNDS = 8  # parts of a step: of 300 thrown plates with 8 corners 25 steps of 180,000 needed more
# m: points that are lower are on the ground. Heights of those that rest there differ by rounding, and by what
# ``heights.py`` leaves
_TOUCHES = {"float64": 1e-7, "float32": 1e-5}
_STRIKES = {"float64": 1e-5, "float32": 1e-3}  # m/s: slower points on the ground are stopped without an impact
_OFF = {"float64": 1e-9, "float32": 1e-6}  # m: heights that are not corrected; a go2 that stands is never off
# m: points without restitution that are less below the ground at the end of a step are stopped there, not before. A
# go2 whose feet roll over their edges would have to stop in a third of the steps of a vector of states
_SHALLOW = 1e-6
_EXACT = {"float64": 1e-11, "float32": 1e-6}  # m: off the ground at an impact
_REFINEMENTS = 3  # of the time of an impact: with Euler's method each leaves 1e-2 of the error, with rk4 one suffices
_SOON = 0.25  # of h: a point that would be back on the ground earlier does not rebound
# largest relative change of a force that is extrapolated: beyond it points stop or begin to slide. With 0.25 a go2 that
# falls on its feet gains 1e-5 J in the step after two of them stop, with 0.1 nothing
_SMOOTH = 0.1
# m/s: points that are slower at the beginning of a step did not slide. Those that stick have up to 2e-7 there, since
# the configuration moves on after their velocity is 0
_AT_REST = {"float64": 1e-6, "float32": 1e-5}
_NOTHING = 1e-9  # of the kinetic energy that impulses could take: work that is not looked at
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
        self.restitution = np.array([point.restitution for point in self.points.points])
        self.solve = ContactSolver(self.sparse, self.points, self.rows.m, dtype)
        self.take = base_step(self.rows.problem, method, dtype, HeldForces(self.n, self.rows.applied))
        self.joints = None if self.rows.joints is None else ContactJoints(problem, self.rows.joints, dtype)
        width = self.points.width
        slip: dict[str, tuple[int, ...]] = {"W": (width, width), "v": (2,), "w": (2,), "l": (3,), "r": (3,)}
        slip |= {"mu": (), "slides": (), "h": (), **({} if self.solve.axes is not None else {"axes": (3, 3)})}
        self.slip = trace(self._slip, slip, dtype)
        names = ["before", "after", "v", "w", "h", "falls", "strikes"]
        self.time = trace(time_on_cubic, dict.fromkeys(names, ()), dtype)
        nq, nv = (problem.system.nq,), (problem.system.nv,)
        shapes = {"t": (), "q": nq, "after": nq, "qd": nv, "u": (problem.nu,), "dq": nv}
        self.reduce = differentiable(self._reduced, {"v": nv, "kinetic": (), "gain": ()}, dtype)
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
        a, rate, phi, v, rates, F, still, arms, inward, *response = stages(self.rows.first, t, h, q, qd, u, *constants)
        b, guess, held, strikes, rates = part(stages, self._predicted, h, phi, v, rates, inward, force, friction)
        bounds: Any = None if joints is None else part(stages, joints.persisting, h, per, q, v[3 * k :], b[3 * k :], F)
        any_held = reduce(maximum, list(held)) if joints is None else 1.0
        gamma = self.solve.gamma(stages, response[0], arms, held)
        none = np.zeros(3 * k)
        start, z, done = self.solve(stages, response[0], arms, gamma, b, guess, none, bounds, any_held)

        # hold, until the first impact
        l, first = part(stages, self._held, per, a, start, guess, arms, *response)
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
        q1, v1, u1, after, w, arms, U, *response = ends
        h, per, l, start = part(stages, self._shortened, h, push, start * per)

        # correct
        slide, moment, turns, bends = self._slips(stages, h, v, w, held, l, U, arms)
        z = part(stages, self.collected, U, arms, l)
        ground = part(stages, lambda held, late: held + late, held, late)
        b1 = part(stages, self._corrected, w, ground, U, arms, z)
        if joints is not None:
            W = part(stages, lambda U: self.sparse.diagonal(U, self.points.size), U)
            rest = [y[3 * k :] for y in (v, b, w, l)]
            bounds, *times = part(stages, joints.with_impacts, h, per, q1, *rest[:3], F, rest[3], W, still)
        any_on = reduce(maximum, list(ground)) if joints is None else 1.0
        x, z1, done1 = self.solve(stages, U, arms, gamma, b1, l, slide, bounds, any_on)
        p, zp, failed_impact = self._impact(stages, whole, after, w, z1 - z, U, arms, rates, late, bounds)

        # the configuration
        moved = part(stages, self._moment, h, x, l, start, slide, moment, turns, bends)
        by_joints, reach = np.zeros(self.rows.m), None
        if joints is not None:
            by_joints = joints.moment(h, self.lag, x[3 * k :], l[3 * k :], bounds, *times)
            reach = joints.reach(q1)
        aside = part(stages, self.collected, U, arms, np.concatenate([none, by_joints]))
        shift = self._onto_ground(stages, U, arms, gamma, after, moved, by_joints, x, held, reach)
        q2, v2 = part(stages, self._moved, q1, v1, shift, z1 - z + zp, *response)
        work = part(stages, self._work, after, v, w, l, x, z1 - z, shift - aside, U, arms, per)
        v2 = self._without_gain(stages, t + h, q1, q2, v2, u1, shift - aside, response, work, constants)
        end = part(stages, self._ended, whole, gone, h, per, total, force, x, p, late, last, count)
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
        self, h: Any, phi: Array, v: Array, rates: Array, inward: Array, force: Array, friction: Array
    ) -> tuple[Array, ...]:
        """Return the velocities of the rows without impulses, a guess of those, which points are held, which strike the
        ground at once, and the accelerations of the rows without impulses.

        Of a frame's points the centripetal acceleration is the mean: several that stick would contradict each other by
        its differences, and no bounded force removes these (1e-5 m/s for feet of 2 cm that turn at 1 rad/s).
        """
        points, guess, held, strikes = self.points, force * h, [], []
        for i in range(self.k):
            on, fast = phi[i] <= _TOUCHES[self.dtype], v[3 * i] < -_STRIKES[self.dtype]
            held.append(where(fast, 0, where(on, 1, 0)))
            strikes.append(where(on & fast, 1, 0))
        rates = rates.copy()
        for f in range(len(points.frames)):
            own = [i for i, frame in enumerate(points.frame_of) if frame == f]
            count = sum(held[i] for i in own)
            mean = sum(inward[_own(i)] * held[i] for i in own) * (1 / where(count > 0, count, 1))
            for i in own:
                rates[_own(i)] = rates[_own(i)] + points.points[i].axes @ mean
        b = v + rates * h
        for i in range(self.k):
            b[3 * i] = b[3 * i] + where(held[i] > 0, 0, FAR)
            guess[_own(i)] = where(held[i] > 0, guess[_own(i)], 0)
        if self.joints is not None:
            guess = np.concatenate([guess, self.joints.guess(friction) * h])
        return b, guess, np.array(held), np.array(strikes), rates

    def collected(self, U: Array, arms: Array, impulse: Array) -> Array:
        """Return z (nv,) of impulses (n,)."""
        wrenches = self.points.wrenches(impulse[: 3 * self.k], arms)
        return self.sparse.collected(U, np.concatenate([wrenches, impulse[3 * self.k :]]))

    def velocities(self, U: Array, arms: Array, z: Array) -> Array:
        """Return the velocities (n,) of points and joint rows by impulses with z (nv,)."""
        V, first = self.sparse.velocities(U, z), self.points.size
        return np.concatenate([self.points.velocities(V[:first], arms), V[first:]])

    def _held(
        self, per: Any, a: Array, start: Array, guess: Array, arms: Array, U: Array, L: Array, root: Array
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
        return impulse, a + self.sparse.change(L, root, self.collected(U, arms, impulse)) * per

    def _slips(
        self, stages: Stages, h: Any, v: Array, w: Array, held: Array, l: Array, U: Array, arms: Array
    ) -> tuple[Array, ...]:
        """Return the slide of the points (3k,), and their moments (k, 3), turns (k,) and bends (k,), see
        ``slip_paths.py``; zeros while none slides."""
        k, least = self.k, _AT_REST[self.dtype] ** 2
        rows = range(k)

        def begin(v: Array, w: Array, held: Array, l: Array, U: Array) -> tuple[Any, ...]:
            slides, tangents = [], [np.array([y[3 * i + 1 : 3 * i + 3] for i in rows]) for y in (v, w)]
            for i, point in enumerate(self.points.points):
                fast = where(tangents[0][i] @ tangents[0][i] > least, held[i], 0)
                slides.append(fast if point.friction else 0)
            return *tangents, np.array([l[_own(i)] for i in rows]), np.array(slides), reduce(maximum, slides)

        before, after, l, slides, any = self._part(stages, begin, v, w, held, l, U)
        data = stages.kept(before, after, l, slides, U, arms, h)

        def paths(*_: Any) -> tuple[Any, ...]:
            before, after, l, slides, U, arms, h = data
            W = self._part(stages, self.solve.own_responses, U)
            more = [] if self.solve.axes is not None else [Rows(np.array([p.axes for p in self.points.points]), rows)]
            arguments = [Rows(y, rows) for y in (before, after, l, arms, self.solve.friction, slides)]
            return stages.each(
                self.slip, Rows(W, self.points.frame_of), *arguments, h, *more,
                into=[Into(k, rows)] * 4, when=slides,
            )  # fmt: skip

        zeros = np.zeros((k, 3)), np.zeros((k, 3)), np.zeros(k), np.zeros(k)
        slide, moment, turns, bends = stages.repeat(paths, *zeros, most=1, when=any)
        return slide.reshape(3 * k), moment, turns, bends

    def _slip(
        self, W: Array, v: Array, w: Array, l: Array, r: Array, mu: Any, slides: Any, h: Any, *rest: Any
    ) -> tuple[Any, ...]:
        """Return slide (3,), moment (3,), turns and bends of a point; zeros unless it slides."""
        axes, _ = self.solve.axes_of([*rest, None] if self.solve.axes is None else [None])
        P = np.eye(3, dtype=int) if self.points.width == 3 else axes @ np.hstack([-skew(r), np.eye(3, dtype=int)])
        B = (P @ W @ P.T)[1:, 1:]
        slip = slip_path(B, v, w, l, mu, slides > 0, h)
        results = np.array(slip.shift), np.array([0, *slip.moment]), slip.turns, slip.bends
        return tuple(where(slides > 0, y, 0) for y in results)

    def _moment(
        self, h: Any, x: Array, l: Array, start: Array, slide: Array, moment: Array, turns: Array, bends: Array
    ) -> Array:
        """Return what the impulses x (3k,) move by, beyond those that were held, as a moment (3k,) about the end."""
        result: list[Any] = []
        for i, point in enumerate(self.points.points):
            own = _own(i)
            since = where(bends[i] > 0, h * max(self.lag, 0.5), h * self.lag)
            # held in the middle of a smooth change
            moved = (x[own] - l[own]) * since + moment[i] + (l[own] - start[own]) * (h * (-1 / 6))
            more = turned_moment(x[own], slide[own], turns[i], point.friction, h)
            result += [moved[0], moved[1] + more[0], moved[2] + more[1]]
        return np.array(result)

    def _first_impact(
        self, stages: Stages, h: Any, phi: Array, v: Array, ends: Any, held: Array, strikes: Array, last: Any
    ) -> tuple[Any, ...]:
        """Return the time of the first impact, h if there is none; which points fall until then; which are below the
        ground at the end though impacts are no longer looked for; and 1 if there is an impact."""
        k, (_, _, _, after, w, *_) = self.k, ends
        normal, normal1 = v[: 3 * k : 3], w[: 3 * k : 3]

        def find(held: Array, strikes: Array, after: Array, last: Any) -> tuple[Any, ...]:
            falls, late = [], []
            for i in range(k):
                below = where(held[i] > 0, 0, where((after[i] < 0) | (strikes[i] > 0), 1, 0)) > 0
                # what does not rebound may be stopped a little later
                shallow = -after[i] < (0 if self.restitution[i] else _SHALLOW)
                waits = (last > 0) | (shallow & (strikes[i] <= 0))
                falls.append(where(below, where(waits, 0, 1), 0))
                late.append(where(below, where(waits, 1, 0), 0))
            return np.array(falls), np.array(late), reduce(maximum, falls)

        falls, late, hit = self._part(stages, find, held, strikes, after, last)
        rows = range(k)
        every = [Rows(x, rows) for x in (phi, after, normal, normal1)]
        times = stages.each(
            self.time, *every, h, Rows(falls, rows), Rows(strikes, rows), into=[Into(k, rows)], when=falls
        )
        first = reduce(minimum, [where(falls[i] > 0, times[i], h) for i in rows])
        return first, falls, late, hit

    def _corrected(self, w: Array, ground: Array, U: Array, arms: Array, z: Array) -> Array:
        """Return the velocities (n,) without the impulses that were held, at the end of a part."""
        b = list(w - self.velocities(U, arms, z))
        for i in range(self.k):
            b[3 * i] = b[3 * i] + where(ground[i] > 0, 0, FAR)
        return np.array(b)

    def _impact(
        self, stages: Stages, h: Any, after: Array, w: Array, z: Array, U: Array, arms: Array, rates: Array,
        late: Array, bounds: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the impulses (n,) of points that strike the ground at the end of a part, their z (nv,), and how many
        problems failed. w (n,) are the velocities with the impulses that were held, z (nv,) changes them."""
        k, bounces = self.k, bool(self.restitution.any())

        def begin(
            w: Array, z: Array, U: Array, arms: Array, after: Array, late: Array, rates: Array, h: Any
        ) -> tuple[Any, ...]:
            u = w + self.velocities(U, arms, z)
            b, fast, on_ground = list(u), [], []
            back: list[Any] = [0] * self.n
            for i in range(k):
                on = (after[i] <= _TOUCHES[self.dtype]) | (late[i] > 0)
                speed = where(on, maximum(-u[3 * i], 0), 0)
                b[3 * i] = u[3 * i] + where(on, 0, FAR)
                fast.append(where(speed > _STRIKES[self.dtype], 1, 0))
                on_ground.append(where(on, 1, 0))
                if self.restitution[i]:
                    away = speed * self.restitution[i]
                    # a point that is pressed down returns after 2 away / press
                    soon = (away * 2 < maximum(-rates[3 * i], 0) * (h * _SOON)) | (late[i] > 0)
                    back[3 * i] = where(soon, 0, away)
            return u, np.array(b), np.array(back), np.array(on_ground), reduce(maximum, fast)

        u, b, back, on, strikes = self._part(stages, begin, w, z, U, arms, after, late, rates, h)
        limits = None if bounds is None else self._part(stages, _limits_alone, bounds)
        none, slide = np.zeros(self.n), np.zeros(3 * k)
        u, b, back, U, arms, on = stages.kept(u, b, back, U, arms, on)

        def solved(*_: Any) -> tuple[Any, ...]:
            gamma = self.solve.gamma(stages, U, arms, on)
            p, zp, done = self.solve(stages, U, arms, gamma, b, none, slide, limits, 1.0, cold=True)
            if not bounces:
                return p, zp, 1 - done
            p1, z1, done1 = self.solve(stages, U, arms, gamma, b - back, p, slide, limits, 1.0)
            p, zp = self._part(stages, without_gain, u, p, zp, where(done1 > 0, p1, p), where(done1 > 0, z1, zp))
            return p, zp, 2 - done - done1

        return stages.repeat(solved, none, np.zeros(self.sparse.nv), 0.0, most=1, when=strikes)

    def _onto_ground(
        self, stages: Stages, U: Array, arms: Array, gamma: Any, after: Array, moved: Array, by_joints: Array,
        x: Array, held: Array, reach: Any,
    ) -> Array:  # fmt: skip
        """Return z (nv,) of the displacement at the end of a part: by the impulses that changed, and onto the
        ground."""
        k = self.k

        def begin(
            U: Array, arms: Array, after: Array, moved: Array, by_joints: Array, x: Array, held: Array
        ) -> tuple[Any, ...]:
            z = self.collected(U, arms, np.concatenate([moved, by_joints]))
            here = self.velocities(U, arms, z)
            b, pressed, off = list(here), [], []
            for i in range(k):
                height = after[i] + here[3 * i]
                b[3 * i] = height
                presses = (x[3 * i] > 0) & (held[i] > 0)
                pressed.append(where(presses, 1, 0))
                far = where(presses, maximum(height, -height), -height)
                off.append(where(far > _OFF[self.dtype], 1, 0))
            return z, np.array(b), np.array(pressed), reduce(maximum, off)

        z, b, pressed, off = self._part(stages, begin, U, arms, after, moved, by_joints, x, held)
        bounds = None
        if reach is not None:
            off = 1.0
            bounds = np.ravel(np.column_stack([np.zeros(self.rows.m)] * 2 + [-reach[0::2], reach[1::2]]))
        _, shift, _ = self.solve(
            stages, U, arms, gamma, b, np.zeros(self.n), np.zeros(3 * k), bounds, off, pressed=pressed, cold=True
        )
        return z + shift

    def _work(
        self, after: Array, v: Array, w: Array, l: Array, x: Array, z: Array, lift: Array, U: Array, arms: Array,
        per: Any,
    ) -> Array:  # fmt: skip
        """Return the work of the points' impulses l (n,) that were held, and of their changes x - l, at the velocities
        before, after, and with the changes z (nv,); and 1 if it has to be looked at.

        Held normal impulses count from the ground on, if what they do is undone by a displacement ``lift`` (nv,).
        """
        lifts = where(lift @ lift > _LIFTED, 1, 0)
        now, total = w + self.velocities(U, arms, z), 0  # type: Array, Any
        for i in range(self.k):
            own, t = _own(i), slice(3 * i + 1, 3 * i + 3)
            total = total + l[3 * i] * after[i] * per * lifts + l[t] @ (v[t] + w[t]) * 0.5
            total = total + (x[own] - l[own]) @ (w[own] + now[own]) * 0.5
        kinetic = self.collected(U, arms, l)
        return np.array([total, where(total > kinetic @ kinetic * _NOTHING, 1, lifts)])

    def _without_gain(
        self, stages: Stages, t: Any, q1: Array, q2: Array, v: Array, u: Array, lift: Array, response: Any, work: Any,
        constants: Any,
    ) -> Array:  # fmt: skip
        """Return the velocity, reduced by the energy that the displacement onto the ground and the impulses gain."""
        work, gains = work
        t, q1, q2, v, u, lift, work, *response = stages.kept(t, q1, q2, v, u, lift, work, *response)

        def reduced(v: Array) -> tuple[Array, ...]:
            dq = self._part(stages, self.sparse.change, *response, lift)
            kinetic, gain = stages(self.energy, t, q1, q2, v, u, dq, *constants)
            return (stages(self.reduce, v, kinetic, gain + work),)

        return stages.repeat(reduced, v, most=1, when=gains)[0]

    def _reduced(self, hold: Value, v: Array, kinetic: Any, gain: Any) -> Array:
        """Return the velocity with less energy. Derivatives leave that out: it is about as small as rounding."""
        return v * hold(sqrt(maximum(1 - maximum(gain, 0) / where(kinetic > 0, kinetic, 1), 0)))

    def _ended(
        self, whole: Any, gone: Any, h: Any, per: Any, total: Array, force: Array, x: Array, p: Array, late: Array,
        last: Any, count: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return what is gone of the step; the points' impulses so far; their forces, for the next part; 1 if points
        struck that were not looked for; the number of parts; whether the step has ended; and 0 after an impact."""
        own, now = slice(3 * self.k), gone + h
        return (
            now,
            total + x[own] + p[own],
            where(h > 0, x[own] * per, force),
            reduce(maximum, list(late)) * last,
            count + 1,
            where(now < whole * _WHOLE, 0, 1),
            where(p @ p > 0, 0, 1),
        )

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
