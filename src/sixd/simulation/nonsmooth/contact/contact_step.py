"""Steps with rigid contact: predict impulses, hold them during a base step, correct at its end; stop at each impact.

Let J be the rows of the points (normal and two tangents each) and of joints with dry friction or rigid limits, φ the
points' heights, W the response of velocities to impulses, and a0 the acceleration without impulses at the start (q, v)
of a part of a step, of length h:

1. predict: points on the ground get impulses l by Coulomb's law for J v + h d(J v)/dt, from the last step's;
2. hold: the base step of any method with the force l/h held, in world axes, at the points. Its first stage is
   a0 + W Jᵀl/h. Where the force changes smoothly it is that in the middle of the step, by extrapolation from the force
   of the last step, 2 l - h f: l/h is that at the beginning (the error of a go2 that lands is 0.4 times as large);
3. if a point falls below the ground, repeat the base step up to the time of the first impact (``point_impacts.py``);
4. correct: Coulomb's law for the total impulse at the end, of the points that were on the ground. Points that reverse:
   ``slip_paths.py``. The configuration moves by the changes of impulses times the time since they acted, and in the
   mass metric onto the ground: 0 ≤ φ + G p ⟂ p ≥ 0, and φ = 0 where a point is pressed onto it;
5. impact: Coulomb's law for all points on the ground, with restitution for those that hit it (``point_impacts.py``).

Then the rest of the step is a part of its own. So every impact is at its own time, and two points that hit at once
are one problem. After ``ROUNDS`` parts the rest of the step is a single one. Points that hit the ground in it stop.

Contact gains no energy (``displacement.py``).
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
from sixd.simulation.nonsmooth.contact.displacement import Displacement
from sixd.simulation.nonsmooth.contact.ground_points import Surface
from sixd.simulation.nonsmooth.contact.laws import in_cone
from sixd.simulation.nonsmooth.contact.point_impacts import FAST, TOUCHES, PointImpacts, newton_time
from sixd.simulation.nonsmooth.contact.slip_paths import SlipPaths
from sixd.simulation.nonsmooth.contact.solver import FAR, ContactSolver
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import HeldForces, base_step
from sixd.spatial.rotation import quaternion_to_rotation
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, where
from sixd.trace.stages import Stages
from sixd.trajectory.labels import labels_of

ROUNDS = 16  # parts of a step: of steps of 5 ms of thrown plates with 8 corners 1 in 400 needs more than 8
_EXACT = {"float64": 1e-11, "float32": 1e-6}  # m: off the ground at an impact
_REFINEMENTS = 3  # of the time of an impact: with Euler's method each leaves 1e-2 of the error, with rk4 one suffices
# largest relative change of a force that is extrapolated: beyond it points stop or begin to slide. With 0.25 a go2 that
# falls on its feet gains 1e-5 J in the step after two of them stop, with 0.1 nothing
_SMOOTH = 0.1
_WHOLE = 1 - 1e-9  # part of a step beyond which it is complete
# kg m²: square of a displacement in the mass metric that leaves points off the ground by 1e-8 m; limits that joints of
# a go2 hit at 50 rad/s leave 1e-3 m otherwise
_LARGE = {"float64": 1e-10, "float32": 1e-7}
_SETTLINGS = 3
# rad: by how much joints turn at most in a part in which impulses are held, and in how many parts of a step. A go2
# without limits, whose legs turn at 85 rad/s, would gain 200 J in a step of 5 ms
_TURN, _SHORTER = 0.2, 10
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
        self.angles = [j for j, column in enumerate(labels_of(problem.system).qd) if column.unit == "rad/s"]
        self.free = [(problem.system.q_slice(name), problem.system.v_slice(name)) for name in names]
        self.solve = ContactSolver(self.sparse, self.points, self.rows.linear, self.rows.size, self.rows.m, dtype)
        self.take = base_step(self.rows.problem, method, dtype, HeldForces(self.rows.gathered_size, self.rows.applied))
        self.joints = None if self.rows.joints is None else ContactJoints(problem, self.rows.joints, dtype)
        # of h: how long before the end of the step changes of held impulses act on the average, as they grow along it
        self.lag = 1.0 if method == "euler" else 1 / 3
        self.impacts = PointImpacts(self.rows, self.solve, dtype)
        self.paths = SlipPaths(self.rows, self.solve, self.lag, dtype)
        self.displacement = Displacement(self.rows, self.solve, dtype)

    def __call__(
        self, stages: Stages, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, friction: Array, constants: Any
    ) -> Any:
        """Return (q, qd, u, mean friction of joints (nv,)) at the end of the step, and how many solutions failed."""
        points = self.points
        force = points.to_axes(np.array([u[j] for j in points.entries]))
        t, h, *constants = stages.kept(t, h, *constants)
        surface = points.surface(dict(zip(self.rows.problem.constants, constants, strict=True)))

        def part(*state: Any) -> tuple[Any, ...]:
            return self._part_of_step(stages, surface, t, h, constants, *state)

        start = (0.0, q, qd, u, friction, np.zeros(3 * self.k), force, 0.0, 0.0, 0.0)
        _, q, qd, u, friction, total, _, failed, *_ = stages.repeat(part, *start, most=ROUNDS)
        forces = list(u)
        per = 1 / where(h > 0, h, 1)  # the check of a step's limit takes steps of length 0
        for j, x in zip(points.entries, points.to_world(total * per), strict=True):
            forces[j] = x
        return q, qd, np.array(forces), friction, failed

    def _part_of_step(
        self, stages: Stages, surface: Surface, t: Scalar, whole: Scalar, constants: Any, gone: Scalar, q: Array,
        qd: Array, u: Array, friction: Array, total: Array, force: Array, failed: Scalar, count: Scalar, _: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the state of a step after a part of it that ends with the step, or with an impact."""
        part, joints, k, mu = stages.part, self.joints, self.k, surface.friction
        t, h, per, last = part(self._times_left, t, whole, gone, count)

        # predict
        a, rate, phi, v, rates, F, still, arms, path, inward, A, *response = stages(
            self.rows.first, t, h, q, qd, u, *constants
        )
        b, guess, held, hits, rates = self._predicted(stages, h, phi, v, rates, inward, force, friction)
        bounds: Any = None if joints is None else part(joints.persisting, h, per, q, v[3 * k :], b[3 * k :], F)
        any_held = reduce(maximum, list(held)) if joints is None else 1.0
        gamma = self.solve.gamma(stages, response[0], arms, held)
        none = np.zeros(3 * k)
        start, _, done = self.solve(
            stages, (response[0], A, arms), gamma, b, guess, none, bounds, mu, any_held, predicts=True
        )  # fmt: skip

        # hold, until the first impact
        l, first = self._held(stages, mu, per, a, start, guess, arms, *response)
        ready = None if self.rows.is_implicit else (first, rate)
        push = l * per
        gathered = self.rows.gathered(stages, push)

        def held_until(time: Scalar) -> tuple[Any, ...]:
            q1, v1, u1 = self.take(stages, t, time, q, qd, u, constants, gathered, ready)
            return q1, v1, u1, *stages(self.rows.last, t + time, time, q1, v1, u1, *constants)

        ends = held_until(h)
        time, falls, late, hit = self.impacts.first(stages, surface, h, phi, v, ends, held, hits, last)
        time, falls, late, hit = part(self._before_joints_turn, h, qd, ends[1], held, count, time, falls, late, hit)

        def again(ahead: Any, _: Any, *__: Any) -> tuple[Any, ...]:
            state = held_until(ahead)
            better, off = part(newton_time, ahead, state[3], state[4][: 3 * k : 3], falls, h)
            return better, ahead, *state, where(maximum(off, -off) <= _EXACT[self.dtype], 1, 0)

        _, h, *state, _ = stages.repeat(again, time, h, *ends, 0.0, most=_REFINEMENTS, when=hit)
        q1, v1, u1, after, w, arms, path1, A, U, *response = state
        known = U, A, arms
        h, per, often, l, start = part(self._shortened, h, push, start * per)

        # correct
        slide, moment, turns, bends = self.paths.slips(stages, mu, h, v, w, held, l, U, arms)
        z = self.rows.collect(stages, U, arms, l)
        b1 = self._corrected(stages, w, held, late, U, arms, z)
        if joints is not None:
            W = part(lambda U: self.sparse.diagonal(U, self.points.size), U)
            rest = [y[3 * k :] for y in (v, b, w, l)]
            bounds, *times = part(joints.with_impacts, h, often, q1, *rest[:3], F, rest[3], W, still)
        any_on = part(lambda held, late: reduce(maximum, list(held + late)), held, late) if joints is None else 1.0
        x, z1, done1 = self.solve(stages, known, gamma, b1, l, slide, bounds, mu, any_on)
        p, zp, failed_impact = self.impacts.respond(
            stages, surface, whole, after, w, z1 - z, known, rates, late, bounds
        )  # fmt: skip

        # the configuration
        moved = self.paths.moment(stages, mu, h, x, l, start, slide, moment, turns, bends)
        by_joints = rests = speeds = np.zeros(self.rows.m)
        reach = None
        if joints is not None:
            by_joints = joints.moment(h, self.lag, x[3 * k :], l[3 * k :], bounds, *times)
            rests = part(joints.rests, v[3 * k :], x[3 * k :], bounds)
            reach = joints.reach(q, q1, rests)
            speeds = part(joints.mean_speeds, q, q1, per, v[3 * k :], w[3 * k :])
        shift, sunk = self.displacement.onto_ground(stages, known, gamma, after, moved, by_joints, x, held, reach)
        q2, v2, changed = part(self._moved, q1, v1, shift, z1 - z + zp, *response)
        work = self.displacement.work(stages, phi, after, path, path1, speeds, w, l, x, z1 - z, shift, U, arms, per)
        q2, v2, shift = self._settled(stages, t + h, h, q, q2, v2, u1, shift, gamma, x, held, rests, constants)
        v2 = self.displacement.without_gain(stages, t + h, q1, q2, changed, v2, u1, shift, response, work, constants)
        end = part(self._ended, whole, gone, h, per, total, force, x, p, late, last, count)
        gone, total, force, missed, count, ended, calm = end
        failed = failed + (2 - done - done1) + failed_impact + sunk + missed
        if joints is None:
            return gone, q2, v2, u1, friction, total, force, failed, count, ended
        more = joints.finished(self.system, per, q, q2, v2, u1, x[3 * k :], bounds, W, done1 * calm, rests)
        return gone, *more, total, force, failed, count, ended

    def _settled(
        self, stages: Stages, t: Scalar, h: Scalar, q: Array, q2: Array, v: Array, u: Array, shift: Array,
        gamma: Scalar, x: Array, held: Array, rests: Array, constants: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        """Return the state (q, qd) after a displacement ``shift`` (nv,) so large that heights and gaps are off by its
        square, moved onto the ground again, and the whole displacement."""
        far = stages.part(lambda z: where(z @ z > _LARGE[self.dtype], 1, 0), shift)
        known = stages.kept(t, h, q, u, gamma, x, held, rests)

        def settle(q2: Array, v: Array, shift: Array, _: Any) -> tuple[Any, ...]:
            t, h, q, u, gamma, x, held, rests = known
            after, _, arms, _, A, U, *response = stages(self.rows.last, t, h, q2, v, u, *constants)
            reach = None if self.joints is None else self.joints.reach(q, q2, rests)
            none = np.zeros(3 * self.k)
            more, _ = self.displacement.onto_ground(
                stages, (U, A, arms), gamma, after, none, np.zeros(self.rows.m), x, held, reach
            )
            q3, v3, _ = stages.part(self._moved, q2, v, more, more * 0, *response)
            return q3, v3, shift + more, where(more @ more > _LARGE[self.dtype], 0, 1)

        return stages.repeat(settle, q2, v, shift, 0.0, most=_SETTLINGS, when=far)[:3]

    def _before_joints_turn(
        self, h: Scalar, qd: Array, v1: Array, held: Array, count: Scalar, time: Scalar, falls: Array, late: Array,
        hit: Scalar,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return when a part ends, which points fall until then, which are late, and whether it is shorter than the
        rest of the step: not later than joints have turned by ``_TURN`` while impulses are held."""
        fastest = reduce(maximum, [absolute(x[j]) for x in (qd, v1) for j in self.angles], 0)
        most = _TURN / where(fastest > 0, fastest, 1)
        held = reduce(maximum, list(held)) > 0
        fast = held & (fastest * h > _TURN) & (count < _SHORTER) & (most < time)
        return (
            where(fast, most, time),
            *(np.array([where(fast, 0, x) for x in xs]) for xs in (falls, late)),
            where(fast, 1, hit),
        )

    @staticmethod
    def _times_left(t: Scalar, h: Scalar, gone: Scalar, count: Scalar) -> tuple[Any, ...]:
        """Return the time at the beginning of a part, what is left of the step, 1 over it, and 1 if it is the last."""
        left = maximum(h - gone, 0)
        return t + gone, left, 1 / where(left > 0, left, 1), where(count >= ROUNDS - 1, 1, 0)

    @staticmethod
    def _shortened(h: Scalar, push: Array, start: Array) -> tuple[Any, ...]:
        """Return the length of a part that ends with an impact, 1 over it (twice: 1 and very often if it has none), and
        the impulses of that time."""
        return h, 1 / where(h > 0, h, 1), 1 / where(h > 0, h, 1e-12), push * h, start * h

    def _predicted(
        self, stages: Stages, h: Scalar, phi: Array, v: Array, rates: Array, inward: Array, force: Array,
        friction: Array,
    ) -> tuple[Array, ...]:  # fmt: skip
        """Return the velocities of the rows without impulses, a guess of those, which points are held, which hit the
        ground at once, and the accelerations of the rows without impulses.

        Of a frame's points the centripetal acceleration is the mean: several that stick would contradict each other by
        its differences, and no bounded force removes these (1e-5 m/s for feet of 2 cm that turn at 1 rad/s).
        """
        own, points = slice(3 * self.k), self.points

        def state(_: Array, phi: Scalar, v: Array, inward: Array) -> tuple[Any, ...]:
            on, fast = phi <= TOUCHES[self.dtype], v[0] < -FAST[self.dtype]
            held = where(fast, 0, where(on, 1, 0))
            return held, where(on & fast, 1, 0), held, inward * held

        def predict(
            axes: Array, h: Scalar, held: Scalar, mean: Array, v: Array, rate: Array, force: Array
        ) -> tuple[Array, ...]:
            rate = rate + axes @ mean
            b = v + rate * h
            b[0] = b[0] + where(held > 0, 0, FAR)
            return b, np.array([where(held > 0, x * h, 0) for x in force]), rate

        held, hits, counts, sums = points.over(stages, state, [phi], [v[own]], [inward], into="oo++")
        means = np.array([x * (1 / where(n > 0, n, 1)) for x, n in zip(sums, counts, strict=True)])
        known = [held], points.by_frame(means), [v[own]], [rates[own]], [force]
        b, guess, near = points.over(stages, predict, h, *known, into="fff")
        if self.joints is not None:
            rest = rates[3 * self.k :]
            guess = np.concatenate([guess, self.joints.guess(friction) * h])
            b, near = np.concatenate([b, v[3 * self.k :] + rest * h]), np.concatenate([near, rest])
        return b, guess, held, hits, near

    def _held(
        self, stages: Stages, mu: Array, per: Scalar, a: Array, start: Array, guess: Array, arms: Array, U: Array,
        L: Array, root: Array,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return the impulses that are held, and the acceleration with them.

        By implicit steps those of the beginning: extrapolated ones would oscillate from step to step with hard forces
        (by 6 of 152 N under a quadruped that stands up).
        """

        def hold(axes: Array, own: Array, before: Array, mu: Scalar, r: Array) -> tuple[Array, Array]:
            change = own - before
            smooth = (before[0] > 0) & (own[0] > 0) & (change @ change <= own @ own * _SMOOTH**2)
            ahead = in_cone(own + change, mu, _NONE)
            if not self.rows.is_implicit:
                own = np.array([where(smooth, ahead[r], own[r]) for r in range(3)])
            return own, self.points.wrench(axes, own, r)

        own, joints = slice(3 * self.k), start[3 * self.k :]
        l, F = self.points.over(stages, hold, [start[own]], [guess[own]], [mu], [arms], into="f+")
        z = self.rows.collect_wrenches(stages, U, F, joints)
        first = stages.part(lambda a, z, L, root, per: a + self.sparse.change(L, root, z) * per, a, z, L, root, per)
        return l if not len(joints) else np.concatenate([l, joints]), first

    def _corrected(self, stages: Stages, w: Array, held: Array, late: Array, U: Array, arms: Array, z: Array) -> Array:
        """Return the velocities (n,) without the impulses that were held, at the end of a part."""
        V, joints = self.rows.frame_velocities(stages, U, z)

        def without(axes: Array, w: Array, held: Scalar, late: Scalar, V: Array, r: Array) -> Array:
            b = w - self.points.velocity(axes, V, r)
            b[0] = b[0] + where(held + late > 0, 0, FAR)
            return b

        k = self.k
        b = self.points.over(
            stages, without, [w[: 3 * k]], [held], [late], self.points.by_frame(V), [arms], into="f"
        )  # fmt: skip
        return b if not len(joints) else np.concatenate([b, w[3 * k :] - joints])

    def _ended(
        self, whole: Scalar, gone: Scalar, h: Scalar, per: Scalar, total: Array, force: Array, x: Array, p: Array,
        late: Array, last: Scalar, count: Scalar,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return what is gone of the step; the points' impulses so far; their forces, for the next part; 1 if points
        hit the ground in the last part; the number of parts; whether the step has ended; and 0 after an impact."""
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

    def _moved(self, q: Array, qd: Array, shift: Array, z: Array, L: Array, root: Array) -> tuple[Array, ...]:
        """Return the state at the end of the step, and the velocity before the displacement. The linear velocity of a
        free body is in its axes: where these turn, it turns back, and momentum is conserved."""
        after = self.system.integrate_row(q, self.sparse.change(L, root, shift))
        changed = qd + self.sparse.change(L, root, z)
        v = list(changed)
        for iq, iv in self.free:
            R, R_after = (quaternion_to_rotation(x[iq][:4]) for x in (q, after))
            v[iv.start + 3 : iv.stop] = R_after.T @ (R @ np.array(v[iv.start + 3 : iv.stop]))
        return after, np.array(v), changed


def _own(i: int) -> slice:
    return slice(3 * i, 3 * i + 3)


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
