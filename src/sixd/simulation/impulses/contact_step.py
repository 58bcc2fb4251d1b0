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

from sixd.simulation.impulses.cone import in_cone
from sixd.simulation.impulses.ground_points import GroundPoints
from sixd.simulation.impulses.impulse_solver import FAR, ImpulseSolver
from sixd.simulation.impulses.sparse_rows import SparseRows
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.base_steps import Hold, base_step
from sixd.spatial.scalar import Array, Scalar, is_number, maximum, minimum, sqrt, where
from sixd.trace.stages import Stages

# of h g: points that approach the ground faster are struck, slower ones are held (and those above it by less than h² g)
import os
MICRO=int(os.environ.get('MICRO','8'))
_HELD = 1.0
EXTRA=float(os.environ.get('EXTRA','.25'))
_BOUNCING = 2.0  # of h g: slower strikes do not bounce
_LEAST_GRAVITY = 1.0  # m/s²: thresholds where gravity is less


def contact_step(problem: Problem, method: str, dtype: str) -> Callable[..., Any]:
    """Return the function (stages, t, h, q, qd, u, constants) -> (q, qd, u, number of solutions not found)."""
    system = problem.system
    nq, nv = system.nq, system.nv
    points = GroundPoints(system, problem.forces, problem.sizes)
    rows = SparseRows(nv, problem.limits)
    # of h: how long before the step's end the changes of held impulses act on the average. Those that are held are right
    # at the beginning, and their changes grow along the step
    lag = 1.0 if method == "euler" else 1 / 3
    k = len(points)

    def start(t: Scalar, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> Any:
        own = problem.system_with(constants)
        a, rate = problem.acceleration(t, q, qd, u, constants)
        J = points.rows(own, q)
        slope = points.accelerations(own, q, qd, a)
        return a, rate, points.heights(own, q), J @ qd, slope, *rows.data(own, q, J, 3 * k), _gravity(own)

    def end(q: Array, qd: Array, constants: Mapping[str, Any]) -> Any:
        own = problem.system_with(constants)
        J = points.rows(own, q)
        return points.heights(own, q), J @ qd, *rows.data(own, q, J, 3 * k)

    shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (nq,), "qd": (nv,), "u": (problem.nu,)}
    starting = problem.traced(start, shapes, dtype)
    ending = problem.traced(end, {"q": (nq,), "qd": (nv,)}, dtype)
    solver = ImpulseSolver(rows, [p.friction for p in points.points], 0, points.sweeps, dtype)
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
        nothing = np.zeros(3 * k)
        l, z, done = solver(stages, U, np.array(b), guess, nothing, None)

        # hold
        ahead = []
        for i, point in enumerate(points.points):
            own = slice(3 * i, 3 * i + 3)
            d = l[own] - guess[own]
            smooth = (guess[3 * i] > 0) & (l[3 * i] > 0) & (d @ d <= l[own] @ l[own] * EXTRA**2)
            far = in_cone(l[own] + d, point.friction, np.zeros(3))
            ahead += [where(smooth, far[r], l[3 * i + r]) for r in range(3)]
        l0, l = l, np.array(ahead)
        first = a + rows.change(L, root, rows.collected(U, l)) / h, rate
        q, qd, u = take(stages, t, h, q, qd, u, constants, l / h, first)

        # correct
        after, w, U, L, root = stages(ending, q, qd, *constants)
        z0 = rows.collected(U, l)
        b, since = list(w - rows.velocities(U, z0)), []
        strikes = [_Strike(after[i], v[3 * i], w[3 * i], h) for i in range(k)]
        weights, bounces = [], []
        for i, (point, strike) in enumerate(zip(points.points, strikes, strict=True)):
            n = 3 * i
            struck = after[i] <= 0
            bounce = where(held[i], 0, strike.rebound(point.restitution, g * h * _BOUNCING))
            b[n] = b[n] + where(held[i], 0, where(struck, -bounce, FAR))
            since.append(where(struck, strike.since, 0))
            weights.append(where(held[i], 0, where(struck, maximum(-w[n], 0), 0)))
            bounces.append(bounce)
        total = sum(weights[1:], weights[0])
        mean = sum((x * y for x, y in zip(weights, since, strict=True)), 0) / where(total > 0, total, 1)
        since = [where(held[i], where(total > 0, mean, h * lag), since[i]) for i in range(k)]
        slide, turned = self_slide(points, held, v, w, U, rows, l, h)
        x, z, done2 = solver(stages, U, np.array(b), l, slide, None)
        change = rows.change(L, root, z - z0)
        moved = list(np.concatenate([(x - l)[3 * i : 3 * i + 3] * since[i] for i in range(k)]) - (l - l0) * (h / 6))
        for i in range(k):
            for r in (1, 2):
                moved[3 * i + r] = moved[3 * i + r] + where(held[i], turned[i][r - 1], 0)
        closed = np.array([where((x[3 * i] > 0) & (bounces[i] <= 0), 1, 0) for i in range(k)])
        shift, done3 = solver.above_ground(stages, U, after, closed, rows.collected(U, np.array(moved)))
        q = system.integrate_row(q, rows.change(L, root, shift))
        u = list(u)
        for j, force in zip(points.entries, points.to_world(x / h), strict=True):
            u[j] = force
        return q, qd + change, np.array(u), 3 - done - done2 - done3

    def self_slide(points, held, v, w, U, rows, l, h):
        R = rows.rows(U)
        slide, turning = [], []
        for i, point in enumerate(points.points):
            n = 3 * i
            mu = point.friction
            size = sqrt(v[n + 1] * v[n + 1] + v[n + 2] * v[n + 2])
            size0 = size
            inv = 1 / where(size > 0, size, 1)
            s = [v[n + 1] * inv, v[n + 2] * inv]
            # velocity at the end, had it been braked along -s all the time
            more = [-(s[0] * l[n] * mu) - l[n + 1], -(s[1] * l[n] * mu) - l[n + 2]]
            e = []
            for r in (1, 2):
                row = R[n + r]
                e.append(w[n + r] + sum(
                    sum(row[j] * R[n + c][j] for j in row) * more[c - 1] for c in (1, 2)
                ))
            along = e[0] * s[0] + e[1] * s[1]
            other = sqrt(e[0] * e[0] + e[1] * e[1])
            turns = (along < 0) & (size > 0)
            part = where(turns, size / where(turns, size - along, 1), minimum(0.5, size / where(size + other > 0, size + other, 1)))
            sticks = l[n + 1] * l[n + 1] + l[n + 2] * l[n + 2] < l[n] * l[n] * (mu * mu * (1 - 1e-9))
            used = where(sticks, 0, where(held[i], part, 0))
            slide += [used, used * s[0], used * s[1]]
            B = [[sum(R[n + r][j] * R[n + c][j] for j in R[n + r]) for c in (1, 2)] for r in (1, 2)]
            more = (B[0][0] + B[1][1]) * 1e-9
            det = (B[0][0] + more) * (B[1][1] + more) - B[0][1] * B[1][0]
            det = 1 / where(det > 0, det, 1)
            inv = lambda y: [((B[1][1] + more) * y[0] - B[0][1] * y[1]) * det, ((B[0][0] + more) * y[1] - B[1][0] * y[0]) * det]
            N = MICRO
            alpha = [(w[n + 1 + r] - v[n + 1 + r] - B[r][0] * l[n + 1] - B[r][1] * l[n + 2]) / N for r in range(2)]
            most = l[n] * (mu / N)
            y = [v[n + 1], v[n + 2]]
            way = [y[0] / 2, y[1] / 2]
            for j in range(N):
                y = [y[0] + alpha[0], y[1] + alpha[1]]
                p = inv(y)
                ok = p[0] * p[0] + p[1] * p[1] <= most * most
                size = sqrt(y[0] * y[0] + y[1] * y[1])
                f = most / where(size > 0, size, 1)
                p = [where(ok, p[r], y[r] * f) for r in range(2)]
                y = [where(ok, 0, y[r] - B[r][0] * p[0] - B[r][1] * p[1]) for r in range(2)]
                part_ = 1 if j < N - 1 else 0.5
                way = [way[r] + y[r] * part_ for r in range(2)]
            late = [(way[r] / N - (v[n + 1 + r] + y[r]) / 2) * h for r in range(2)]
            late = inv(late)
            back = [(-s[r] * l[n] * mu - l[n + 1 + r]) * where(turns, part, 0) * (h / 2) for r in range(2)]
            turning.append([where(sticks, where(size0 > 0, late[r], 0), back[r]) for r in range(2)])
        return np.array(slide), turning

    return step


class _Strike:
    """A point that reaches the ground within a step, under constant acceleration: how long ago, and how fast."""

    def __init__(self, after: Any, v: Any, w: Any, h: Any) -> None:
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
