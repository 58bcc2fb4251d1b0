"""Steps with rigid contact: predict, hold, correct.

1. Points that touch the ground get impulses l by Coulomb's law for the velocity v + h a at the end of the step.
2. A step of the method with the forces l/h held, in world axes, at the points.
3. At its end: Coulomb's law for the total impulse, with points that reached the ground within the step. They are struck
   when they reach it, and bounce there.
4. The configuration moves by what the changes of impulses since their times amount to, and onto the ground (φ ≥ 0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sixd.simulation.impulses.cone import FAR, cone_sweep, height_sweep
from sixd.simulation.impulses.ground_points import GroundPoints, PointResponse
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import Hold, base_step
from sixd.spatial.scalar import Array, Scalar, is_number, maximum, minimum, sqrt, where
from sixd.trace.stages import Stages

# of h g: points that approach the ground faster are struck, slower ones are held (and those above it by less than h² g)
_HELD = 1.0
_BOUNCING = 2.0  # of h g: slower strikes do not bounce
_LEAST_GRAVITY = 1.0  # m/s²: thresholds where gravity is less


def contact_step(problem: Problem, method: str, dtype: str) -> Callable[..., Any]:
    """Return the function (stages, t, h, q, qd, u, constants) -> (q, qd, u, 1 if a limit of sweeps was reached)."""
    system = problem.system
    nq, nv = system.nq, system.nv
    points = GroundPoints(system, problem.forces, problem.sizes)
    response = PointResponse(system, points, problem.limits)
    lag = 1.0 if method == "euler" else 0.5  # of h: from the mean time of held impulses to the step's end
    k = len(points)

    def start(t: Scalar, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> Any:
        own = problem.system_with(constants)
        a, rate = problem.acceleration(t, q, qd, u, constants)
        J = points.rows(own, q)
        return a, rate, points.height(own, q), J @ qd, J @ a, *response.data(own, q, J), _gravity(own)

    def end(q: Array, qd: Array, constants: Mapping[str, Any]) -> Any:
        own = problem.system_with(constants)
        J = points.rows(own, q)
        return points.height(own, q), J @ qd, *response.data(own, q, J)

    shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (nq,), "qd": (nv,), "u": (problem.nu,)}
    starting = problem.traced(start, shapes, dtype)
    ending = problem.traced(end, {"q": (nq,), "qd": (nv,)}, dtype)
    cones, heights = cone_sweep(response, dtype), height_sweep(response, dtype)
    take = base_step(problem, method, dtype, Hold(3 * k, points.applied))

    def step(stages: Stages, t: Any, h: Any, q: Array, qd: Array, u: Array, constants: Any) -> Any:
        # predict
        a, rate, phi, v, slope, U, L, root, g = stages(starting, t, q, qd, u, *constants)
        gap = [maximum(x, 0) / h for x in phi]
        held = [(phi[i] < g * h * h * _HELD) & (v[3 * i] + gap[i] >= -(g * h) * _HELD) for i in range(k)]
        guess = points.to_axes(np.array([u[j] for j in points.entries])) * h
        guess = np.concatenate([where(held[i], guess[3 * i : 3 * i + 3], 0) for i in range(k)])
        b = list(v + slope * h)
        for i in range(k):
            b[3 * i] = b[3 * i] + where(held[i], gap[i], FAR)
        z = response.collected(U, guess)
        nothing = np.zeros(3 * k)
        l, z, done = stages(cones, guess, z, 0.0, U, np.array(b), nothing, most=points.sweeps)

        # hold
        first = a + response.change(L, root, z) / h, rate
        q, qd, u = take(stages, t, h, q, qd, u, constants, l / h, first)

        # correct
        after, w, U, L, root = stages(ending, q, qd, *constants)
        b, slide, since = list(w), list(nothing), []
        strikes = [_Strike(phi[i], after[i], v[3 * i], w[3 * i], h) for i in range(k)]
        for i, (point, strike) in enumerate(zip(points.points, strikes, strict=True)):
            n = 3 * i
            struck = after[i] <= 0
            bounce = strike.rebound(point.restitution, g * h * _BOUNCING)
            b[n] = b[n] + where(held[i], maximum(after[i], 0) / h, where(struck, -bounce, FAR))
            since.append(where(struck, strike.since, 0))
        weights = [where(held[i], 0, where(b[3 * i] < 0, -b[3 * i], 0)) for i in range(k)]
        total = sum(weights[1:], weights[0])
        mean = sum((x * y for x, y in zip(weights, since, strict=True)), 0) / where(total > 0, total, 1)
        since = [where(held[i], where(total > 0, mean, h * lag), since[i]) for i in range(k)]
        x, z, done2 = stages(cones, l, np.zeros(nv), 0.0, U, np.array(b), np.array(slide), most=points.sweeps)
        change = response.change(L, root, z)
        moved = np.concatenate([(x - l)[3 * i : 3 * i + 3] * since[i] for i in range(k)])
        shift = response.collected(U, moved)
        _, shift, done3 = stages(heights, np.zeros(k), shift, 0.0, U, after, most=points.sweeps)
        q = system.integrate_row(q, response.change(L, root, shift))
        u = list(u)
        for j, force in zip(points.entries, points.to_world(x / h), strict=True):
            u[j] = force
        return q, qd + change, np.array(u), 1 - done * done2 * done3

    return step


class _Strike:
    """A point that reaches the ground within a step, under constant acceleration: how long ago, and how fast."""

    def __init__(self, before: Any, after: Any, v: Any, w: Any, h: Any) -> None:
        self.slope = (w - v) / h
        root = sqrt(maximum(w * w - self.slope * after * 2, 0))
        falls = w - root
        self.since = minimum(maximum(after * 2 / where(falls < 0, falls, -1), 0), h)
        self.speed = maximum(self.slope * self.since - w, 0)

    def rebound(self, restitution: float, least: Any) -> Any:
        """Return the normal velocity at the end of the step after bouncing; 0 if it does not bounce."""
        if not restitution:
            return 0
        return where(self.speed > least, maximum(self.speed * restitution + self.slope * self.since, 0), 0)


def _gravity(system: Any) -> Any:
    """Return the size of gravity [m/s²], at least ``_LEAST_GRAVITY``."""
    gravity = getattr(system, "model", system).gravity
    size = sqrt(gravity @ gravity)
    return max(size, _LEAST_GRAVITY) if is_number(size) else maximum(size, _LEAST_GRAVITY)
