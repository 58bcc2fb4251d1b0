"""Steps with rigid contact: predict impulses, hold them during a base step, correct at its end.

Let J be the rows of the points (normal and two tangents each) and of joints with dry friction or rigid limits, φ the
points' heights, W the response of velocities to impulses, and a0 the acceleration without impulses at the start (q, v)
of a step of length h:

1. predict: points that touch the ground get impulses l by Coulomb's law for J v + h d(J v)/dt, from the last step's;
2. hold: the base step of any method with the force l/h held, in world axes, at the points. Its first stage is
   a0 + W Jᵀl/h. Where the force changes smoothly it is that in the middle of the step, by extrapolation from the force
   of the last step, 2 l - h f: l/h is that at the beginning (the error of a go2 that lands is 0.4 times as large);
3. correct: Coulomb's law for the total impulse at the end, with points that reached the ground within the step: these
   have an impact when they reach it, and rebound there. Points that reverse within the step: ``slip_paths.py``;
4. the configuration moves by the changes of impulses times the time since they acted, and in the mass metric onto the
   ground: 0 ≤ φ + G p ⟂ p ≥ 0, and φ = 0 where a point is pressed onto it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from sixd.forces.elements import tree_of
from sixd.model.joints.quaternion import Free
from sixd.simulation.nonsmooth.contact.cone import in_cone
from sixd.simulation.nonsmooth.contact.contact_joints import ContactJoints
from sixd.simulation.nonsmooth.contact.contact_rows import ContactRows
from sixd.simulation.nonsmooth.contact.heights import HeightSolver
from sixd.simulation.nonsmooth.contact.impulse_solver import FAR
from sixd.simulation.nonsmooth.contact.packing import impulse_solver
from sixd.simulation.nonsmooth.contact.slip_paths import slip_path, turned_moment
from sixd.simulation.nonsmooth.impulses.impacts import Impact
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import HeldForces, base_step
from sixd.spatial.rotation import quaternion_to_rotation
from sixd.spatial.scalar import Array, maximum, where
from sixd.trace.program import trace
from sixd.trace.stages import Stages

# of h g: points that approach the ground faster have an impact, slower ones are held (and those less than h² g above)
_HELD = 1.0
# of h² g: points that are closer touch the ground. Where more touch than it takes to carry a body, heights that differ
# by rounding would let some of them lift off
_TOUCHES = {"float64": 1e-3, "float32": 0.1}
_BOUNCING = 2.0  # of h g: slower impacts do not rebound
# largest relative change of a force that is extrapolated: beyond it points stop or begin to slide. With 0.25 a go2 that
# falls on its feet gains 1e-5 J in the step after two of them stop, with 0.1 nothing
_SMOOTH = 0.1
# m/s: points that are slower at the beginning of a step did not slide. Those that stick have up to 2e-7 there, since
# the configuration moves on after their velocity is 0
_AT_REST = {"float64": 1e-6, "float32": 1e-5}
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
        self.solve = impulse_solver(self.sparse, friction, self.rows.m, self.points.sweeps, dtype, bodies)
        self.onto_ground = HeightSolver(self.sparse, self.k, self.rows.m, dtype)
        self.take = base_step(self.rows.problem, method, dtype, HeldForces(self.n, self.rows.applied))
        self.joints = None if self.rows.joints is None else ContactJoints(problem, self.rows.joints, dtype)
        k, n = self.k, self.n
        shapes: dict[str, tuple[int, ...]] = {"slide": (3 * k,), "moment": (3 * k,), "turns": (k,), "bends": (k,)}
        shapes |= {"any": (), "h": (), "v": (n,), "w": (n,), "held": (k,), "l": (n,), "U": (self.sparse.size,)}
        self.slips = trace(self._slip_paths, shapes, dtype)
        # of h: how long before the end of the step changes of held impulses act on the average, as they grow along it
        self.lag = 1.0 if method == "euler" else 1 / 3

    def __call__(
        self, stages: Stages, t: Any, h: Any, q: Array, qd: Array, u: Array, friction: Array, constants: Any
    ) -> Any:
        """Return (q, qd, u, mean friction of joints (nv,)) at the end of the step, and how many solutions failed."""
        part, joints, k = self._part, self.joints, self.k
        per = 1 / where(h > 0, h, 1)  # the check of a step's limit takes steps of length 0

        # predict
        a, rate, phi, v, rates, F, g, still, *response = stages(self.rows.first, t, h, q, qd, u, *constants)
        U, L, root = response
        b, guess, held = part(stages, self._predicted, h, per, phi, v, rates, g, u, friction)
        bounds: Any = None if joints is None else part(stages, joints.persisting, h, per, q, v[3 * k :], b[3 * k :], F)
        start, _, done = self.solve(stages, U, b, guess, np.zeros(3 * k), bounds)

        # hold
        l, first = part(stages, self._held, per, a, start, guess, U, L, root)
        known = None if self.rows.is_implicit else (first, rate)
        q1, v1, u1 = self.take(stages, t, h, q, qd, u, constants, l * per, known)

        # correct
        after, w, U1, *response = stages(self.rows.last, t + h, h, q1, v1, u1, *constants)
        slide, moment, turns, bends = self._slips(stages, h, v, w, held, l, U1)
        values = (h, per, after, v, w, g, held, still, l, bends, U1)
        b1, z, since, pressed = part(stages, self._corrected, *values)
        if joints is not None:
            W = part(stages, lambda U: self.sparse.diagonal(U, 3 * k), U1)
            rest = [y[3 * k :] for y in (v, b, w, l)]
            bounds, *times = part(stages, joints.with_impacts, h, per, q1, *rest[:3], F, rest[3], W, still[k:])
        x, z1, done1 = self.solve(stages, U1, b1, l, slide, bounds)

        # the configuration
        pressed = np.array([where(x[3 * i] > 0, pressed[i], 0) for i in range(k)])
        moved = self._moment(h, x[: 3 * k], l[: 3 * k], start[: 3 * k], slide, moment, turns, since)
        if joints is not None:
            moved = np.concatenate([moved, joints.moment(h, self.lag, x[3 * k :], l[3 * k :], bounds, *times)])
        reach = np.zeros(0) if joints is None else joints.reach(q1)
        shift = self.onto_ground(stages, U1, after, pressed, reach, part(stages, self.sparse.collected, U1, moved))
        q2, v2 = part(stages, self._moved, q1, v1, shift, z1 - z, *response)
        forces = list(u1)
        for j, force in zip(self.points.entries, self.points.to_world(x[: 3 * k] * per), strict=True):
            forces[j] = force
        u2, failed = np.array(forces), 2 - done - done1
        if joints is None:
            return q2, v2, u2, friction, failed
        return (*joints.finished(self.system, per, q, qd, q2, v2, u2, x[3 * k :], bounds, W, done1), failed)

    def _part(self, stages: Stages, function: Callable[..., Any], *arrays: Any) -> Any:
        """Return the results of a function of arrays as a call of its own: each is computed once."""
        shapes = {f"array {i}": np.shape(x) for i, x in enumerate(arrays)}
        return stages(trace(function, shapes, self.dtype), *arrays)

    def _predicted(
        self, h: Any, per: Any, phi: Array, v: Array, rates: Array, g: Any, u: Array, friction: Array
    ) -> tuple[Array, Array, Array]:
        """Return the velocities of the rows without impulses, a guess of those, and which points are held."""
        points = self.points
        guess = points.to_axes(np.array([u[j] for j in points.entries])) * h
        b, held = list(v + rates * h), []
        for i in range(self.k):
            near = g * h * h * _HELD
            gap = maximum(phi[i] - near * _TOUCHES[self.dtype], 0) * per
            on = (phi[i] < near) & (v[3 * i] + gap >= -(g * h) * _HELD)
            b[3 * i] = b[3 * i] + where(on, gap, FAR)
            guess[_own(i)] = where(on, guess[_own(i)], 0)
            held.append(where(on, 1, 0))
        if self.joints is not None:
            guess = np.concatenate([guess, self.joints.guess(friction) * h])
        return np.array(b), guess, np.array(held)

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

    def _corrected(
        self, h: Any, per: Any, after: Array, v: Array, w: Array, g: Any, held: Array, still: Array, l: Array,
        bends: Array, U: Array,
    ) -> tuple[Array, ...]:  # fmt: skip
        """Return, at the end of a step: the rows' velocities without impulses, z of those that were held, since when
        the points' impulses change, and which may be pressed."""
        z = self.sparse.collected(U, l)
        b = list(w - self.sparse.velocities(U, z))
        impacts, pressed = [], []
        for i, point in enumerate(self.points.points):
            n, on = 3 * i, held[i] > 0
            impact = Impact(on, after[i], v[n], w[n], per, h)
            bounce = impact.rebound(point.restitution, g * h * _BOUNCING, still[i]) if len(still) else 0
            b[n] = b[n] + where(on, 0, where(impact.happens, -bounce, FAR))
            impacts.append(impact)
            pressed.append(where(bounce > 0, 0, 1) if point.restitution else 1)
        return np.array(b), z, self._times(impacts, bends, held, h), np.array(pressed)

    def _times(self, impacts: list[Impact], bends: Array, held: Array, h: Any) -> Array:
        """Return the times (3k,) since the impulses change: held ones do by impacts of others, if there are any."""
        total = sum(x.weight for x in impacts[1:]) + impacts[0].weight
        mean = sum(x.weight * x.since for x in impacts) / where(total > 0, total, 1)
        result: list[Any] = []
        for impact, bent, on in zip(impacts, bends, held, strict=True):
            own = where(bent > 0, h * max(self.lag, 0.5), h * self.lag)
            result += [where(on > 0, where(total > 0, mean, own), impact.since)] * 3
        return np.array(result)

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
