"""Steps with rigid contact: predict impulses, hold them during a base step, correct at its end.

Let J be the rows of the points (normal and two tangents each), φ their heights, W the response of velocities to
impulses, and a0 the acceleration without contact at the start (q, v) of a step of length h:

1. predict: points that touch the ground get impulses l by Coulomb's law for J v + h d(J v)/dt, from the last step's;
2. hold: the base step of any method with the force l/h held, in world axes, at the points. Its first stage is
   a0 + W Jᵀl/h. Where the force changes smoothly it is that in the middle of the step, by extrapolation from the force
   of the last step, 2 l - h f: l/h is that at the beginning (with it, the error of a standing go2 is 0.4 times as large);
3. correct: Coulomb's law for the total impulse at the end, with points that reached the ground within the step: these
   are struck when they reach it, and bounce there. Points that turn within the step: ``slip_paths.py``;
4. the configuration moves by the changes of impulses times the time since they acted, and in the mass metric onto the
   ground: 0 ≤ φ + G p ⟂ p ≥ 0, and φ = 0 where a point is pressed onto it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sixd.simulation.impulses.cone import in_cone
from sixd.simulation.impulses.ground_points import GroundPoints
from sixd.simulation.impulses.impulse_solver import FAR, ImpulseSolver
from sixd.simulation.impulses.slip_paths import slip_path
from sixd.simulation.impulses.sparse_rows import SparseRows
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import Hold, base_step
from sixd.spatial.scalar import Array, Scalar, is_number, maximum, minimum, sqrt, where
from sixd.trace.stages import Stages

# of h g: points that approach the ground faster are struck, slower ones are held (and those above it by less than h² g)
_HELD = 1.0
_BOUNCING = 2.0  # of h g: slower strikes do not bounce
_LEAST_GRAVITY = 1.0  # m/s²: thresholds where gravity is less
_SMOOTH = 0.25  # largest relative change of a force that is extrapolated
_NONE = np.zeros(3)


class ContactStep:
    """The programs of steps with rigid contact, and a step as calls within a recipe."""

    def __init__(self, problem: Problem, method: str, dtype: str) -> None:
        system = problem.system
        self.problem, self.system = problem, system
        self.points = GroundPoints(system, problem.forces, problem.sizes)
        self.rows = SparseRows(system.nv, problem.limits)
        self.k = len(self.points)
        shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (system.nq,), "qd": (system.nv,), "u": (problem.nu,)}
        self.first = problem.traced(self._first, shapes, dtype)
        self.last = problem.traced(self._last, {"q": (system.nq,), "qd": (system.nv,)}, dtype)
        friction = [point.friction for point in self.points.points]
        self.solve = ImpulseSolver(self.rows, friction, 0, self.points.sweeps, dtype)
        self.take = base_step(problem, method, dtype, Hold(3 * self.k, self.points.applied))
        # of h: how long before the end of the step changes of held impulses act on the average, as they grow along it
        self.lag = 1.0 if method == "euler" else 1 / 3

    def _first(self, t: Scalar, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> Any:
        """Return a0, the rates of u, heights, velocities and accelerations of the rows, their response, gravity."""
        system, points = self.problem.system_with(constants), self.points
        a, rate = self.problem.acceleration(t, q, qd, u, constants)
        J = points.rows(system, q)
        motion = points.heights(system, q), J @ qd, points.accelerations(system, q, qd, a)
        return a, rate, *motion, *self.rows.data(system, q, J, 3 * self.k), _gravity(system)

    def _last(self, q: Array, qd: Array, constants: Mapping[str, Any]) -> Any:
        """Return the heights and velocities of the rows, and their response."""
        system = self.problem.system_with(constants)
        J = self.points.rows(system, q)
        return self.points.heights(system, q), J @ qd, *self.rows.data(system, q, J, 3 * self.k)

    def __call__(self, stages: Stages, t: Any, h: Any, q: Array, qd: Array, u: Array, constants: Any) -> Any:
        """Return (q, qd, u) at the end of the step, and the number of solutions that were not found."""
        points, rows, k = self.points, self.rows, self.k
        each = range(k)

        # predict
        a, rate, phi, v, slope, U, L, root, g = stages(self.first, t, q, qd, u, *constants)
        gap = [maximum(x, 0) / h for x in phi]
        near, slow = g * h * h * _HELD, g * h * _HELD
        held = [(phi[i] < near) & (v[3 * i] + gap[i] >= -slow) for i in each]
        guess = points.to_axes(np.array([u[j] for j in points.entries])) * h
        guess = np.concatenate([where(held[i], guess[_own(i)], 0) for i in each])
        b = list(v + slope * h)
        for i in each:
            b[3 * i] = b[3 * i] + where(held[i], gap[i], FAR)
        start, _, done = self.solve(stages, U, np.array(b), guess, np.zeros(3 * k), None)

        # hold
        l = np.concatenate([self._extrapolated(i, start[_own(i)], guess[_own(i)]) for i in each])
        first = a + rows.change(L, root, rows.collected(U, l)) / h, rate
        q, qd, u = self.take(stages, t, h, q, qd, u, constants, l / h, first)

        # correct
        after, w, U, L, root = stages(self.last, q, qd, *constants)
        strikes = [Strike(held[i], after[i], v[3 * i], w[3 * i], h) for i in each]
        bounces = [x.rebound(p.restitution, slow * _BOUNCING) for x, p in zip(strikes, points.points, strict=True)]
        z = rows.collected(U, l)
        b = list(w - rows.velocities(U, z))
        for i in each:
            b[3 * i] = b[3 * i] + where(held[i], 0, where(strikes[i].happens, -bounces[i], FAR))
        slips = self._slips(U, v, w, l, held, h)
        slide = np.array([x for slip in slips for x in slip.shift])
        x, z1, done1 = self.solve(stages, U, np.array(b), l, slide, None)

        # the configuration
        since = _times(strikes, held, h * self.lag)
        moved = (l - start) * (-h / 6)  # a force that is held in the middle of a smooth change
        for i in each:
            more = [0, *slips[i].moment]
            for r in range(3):
                moved[3 * i + r] = moved[3 * i + r] + (x[3 * i + r] - l[3 * i + r]) * since[i] + more[r]
        pressed = np.array([where(x[3 * i] > 0, where(bounces[i] > 0, 0, 1), 0) for i in each])
        shift = self.solve.onto_ground(stages, U, after, pressed, rows.collected(U, moved))
        q = self.system.integrate_row(q, rows.change(L, root, shift))
        forces = list(u)
        for j, force in zip(points.entries, points.to_world(x / h), strict=True):
            forces[j] = force
        return q, qd + rows.change(L, root, z1 - z), np.array(forces), 2 - done - done1

    def _extrapolated(self, i: int, l: Array, before: Array) -> Array:
        """Return the impulse (3,) of a point that is held, from that by the force at the start, and the last step's."""
        change = l - before
        smooth = (before[0] > 0) & (l[0] > 0) & (change @ change <= l @ l * _SMOOTH**2)
        ahead = in_cone(l + change, self.points.points[i].friction, _NONE)
        return np.array([where(smooth, ahead[r], l[r]) for r in range(3)])

    def _slips(self, U: Array, v: Array, w: Array, l: Array, held: list[Any], h: Any) -> list[Any]:
        rows, found = self.rows.rows(U), []
        for i, point in enumerate(self.points.points):
            own, n = rows[3 * i + 1 : 3 * i + 3], 3 * i + 1
            B = [[sum(x * other[j] for j, x in row.items()) for other in own] for row in own]
            found.append(slip_path(B, v[n : n + 2], w[n : n + 2], l[_own(i)], point.friction, held[i], h))
        return found


class Strike:
    """A point that reaches the ground within a step, under constant acceleration: how long ago, and how fast."""

    def __init__(self, held: Any, after: Any, v: Any, w: Any, h: Any) -> None:
        self.slope = (w - v) / h
        root = sqrt(maximum(w * w - self.slope * after * 2, 0))
        falls = w - root
        self.happens = where(held, 0, where(after <= 0, 1, 0)) > 0
        self.since = where(self.happens, minimum(maximum(after * 2 / where(falls < 0, falls, -1), 0), h), 0)
        self.speed = maximum(self.slope * self.since - w, 0)
        self.weight = where(self.happens, maximum(-w, 0), 0)

    def rebound(self, restitution: float, least: Any) -> Any:
        """Return the normal velocity at the end of the step after bouncing; 0 if it does not bounce."""
        if not restitution:
            return 0
        back = maximum(self.speed * restitution + self.slope * self.since, 0)
        return where(self.happens & (self.speed > least), back, 0)


def _own(i: int) -> slice:
    return slice(3 * i, 3 * i + 3)


def _times(strikes: list[Strike], held: list[Any], lag: Any) -> list[Any]:
    """Return the times (k) since the changes of the impulses: held ones change by strikes of others, if there are any."""
    total = sum(x.weight for x in strikes[1:]) + strikes[0].weight
    mean = sum(x.weight * x.since for x in strikes) / where(total > 0, total, 1)
    return [where(on, where(total > 0, mean, lag), x.since) for x, on in zip(strikes, held, strict=True)]


def _gravity(system: Any) -> Any:
    """Return the size of gravity [m/s²], at least ``_LEAST_GRAVITY``."""
    gravity = getattr(system, "model", system).gravity
    size = sqrt(gravity @ gravity)
    return max(size, _LEAST_GRAVITY) if is_number(size) else maximum(size, _LEAST_GRAVITY)


def contact_step(problem: Problem, method: str, dtype: str, project: Callable[..., Any]) -> Callable[..., Any]:
    """Return the step (stages, steps, q, qd, u, unsolved, h, start, *constants) -> its next state."""
    take = ContactStep(problem, method, dtype)

    def step(
        stages: Stages, steps: Any, q: Array, qd: Array, u: Array, unsolved: Any, h: Any, start: Any, *constants: Any
    ) -> Any:
        q, qd, u, failed = take(stages, start + steps * h, h, q, qd, u, constants)
        q, qd = project(stages, start + (steps + 1) * h, q, qd, constants)
        return steps + 1, q, qd, u, unsolved + failed

    return step
