"""Impacts of points: when the first of them reaches the ground within a step, and what it does then.

The height of a point and its rate are known at both ends of a step. A cubic with these values (Hermite's) is off by the
order h⁴: 1e-11 m for a body that turns at 10 rad/s, in a step of 1 ms. Newton's method on shorter steps does the rest.

Restitution gains no energy. With impulses p the kinetic energy changes by p·u + ½ ‖z‖², where u are the velocities
before, and z = Uᵀp. Impulses p₀ without a rebound obey Coulomb's law, and take energy: p₀·u₊ ≤ 0. Those with a rebound,
p₁ (Newton's law: a point that hits with the speed v leaves with e v), may gain some if several points are involved, or
friction (Kane's paradox). Then p₀ + θ (p₁ - p₀) with the largest θ ≤ 1 that gains nothing is between the two. It is
within the cones of friction, and no point enters the ground.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from sixd.simulation.nonsmooth.contact.contact_rows import ContactRows
from sixd.simulation.nonsmooth.contact.ground_points import Surface
from sixd.simulation.nonsmooth.contact.laws import NEVER
from sixd.simulation.nonsmooth.contact.solver import FAR, ContactSolver
from sixd.spatial.scalar import Array, Scalar, maximum, minimum, sqrt, where
from sixd.trace.program import trace
from sixd.trace.stages import Into, Rows, Stages

# m: points that are lower are on the ground. Heights of those that rest there differ by rounding, and by what
# ``displacement.py`` leaves
TOUCHES = {"float64": 1e-7, "float32": 1e-5}
FAST = {"float64": 1e-5, "float32": 1e-3}  # m/s: slower points on the ground are stopped without an impact
# m: points without restitution that are less below the ground at the end of a step are stopped there, not before. A
# go2 whose feet roll over their edges would have to stop in a third of the steps of a vector of states
_SHALLOW = 1e-6
_SOON = 0.25  # of h: a point that would be back on the ground earlier does not rebound
_ITERATIONS = 8  # of Newton's method on the cubic, each halving the interval at worst; four are usual


class PointImpacts:
    """The impacts of the points of a step, as calls within a recipe."""

    def __init__(self, rows: ContactRows, solve: ContactSolver, dtype: str) -> None:
        self.rows, self.solve, self.dtype = rows, solve, dtype
        self.k, self.n = rows.k, 3 * rows.k + rows.m
        names = ["before", "after", "v", "w", "h", "falls", "hits"]
        self.time = trace(time_on_cubic, dict.fromkeys(names, ()), dtype)

    def first(
        self, stages: Stages, surface: Surface, h: Scalar, phi: Array, v: Array, ends: Any, held: Array, hits: Array,
        last: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the time of the first impact, h if there is none; which points fall until then; which are below the
        ground at the end though impacts are no longer looked for; and 1 if there is an impact."""
        k, (_, _, _, after, w, *_) = self.k, ends
        normal, normal1 = v[: 3 * k : 3], w[: 3 * k : 3]

        def find(_: Array, last: Scalar, e: Scalar, held: Scalar, hits: Scalar, after: Scalar) -> tuple[Any, Any]:
            below = where(held > 0, 0, where((after < 0) | (hits > 0), 1, 0)) > 0
            # what does not rebound may be stopped a little later
            shallow = -after < where(e > 0, 0, _SHALLOW)
            waits = (last > 0) | (shallow & (hits <= 0))
            return where(below, where(waits, 0, 1), 0), where(below, where(waits, 1, 0), 0)

        known = [surface.restitution], [held], [hits], [after]
        falls, late = self.rows.points.over(stages, find, last, *known, into="oo")
        hit = reduce(maximum, list(falls))
        rows = range(k)
        every = [Rows(x, rows) for x in (phi, after, normal, normal1)]
        times = stages.each(self.time, *every, h, Rows(falls, rows), Rows(hits, rows), into=[Into(k, rows)], when=falls)
        first = reduce(minimum, [where(falls[i] > 0, times[i], h) for i in rows])
        return first, falls, late, hit

    def respond(
        self, stages: Stages, surface: Surface, h: Scalar, after: Array, w: Array, z: Array,
        known: tuple[Array, Array, Array], rates: Array, late: Array, bounds: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the impulses (n,) of points that hit the ground at the end of a part, their z (nv,), and how many
        problems failed. w (n,) are the velocities with the impulses that were held, z (nv,) changes them."""
        k, mu, bounces, (U, A, arms) = self.k, surface.friction, surface.bounces, known

        def begin(
            axes: Array, h: Scalar, e: Scalar, w: Array, V: Array, r: Array, after: Scalar, late: Scalar, rate: Array
        ) -> tuple[Any, ...]:
            u = w + points.velocity(axes, V, r)
            on = (after <= TOUCHES[self.dtype]) | (late > 0)
            speed = where(on, maximum(-u[0], 0), 0)
            b = np.array([u[0] + where(on, 0, FAR), u[1], u[2]])
            away = speed * e
            # a point that is pressed down returns after 2 away / press
            soon = (away * 2 < maximum(-rate[0], 0) * (h * _SOON)) | (late > 0)
            back = np.array([where(soon, 0, away), 0, 0])
            return u, b, back, where(on, 1, 0), where(speed > FAST[self.dtype], 1, 0)

        points = self.rows.points
        V, joints = self.rows.frame_velocities(stages, U, z)
        arguments = [surface.restitution], [w[: 3 * k]], points.by_frame(V), [arms], [after], [late], [rates[: 3 * k]]
        u, b, back, on, fast = points.over(stages, begin, h, *arguments, into="fffoo")
        hits = reduce(maximum, list(fast))
        if len(joints):
            rest = w[3 * k :] + joints
            u, b = np.concatenate([u, rest]), np.concatenate([b, rest])
            back = np.concatenate([back, np.zeros(len(joints))])
        limits = None if bounds is None else stages.part(_limits_alone, bounds)
        none, slide = np.zeros(self.n), np.zeros(3 * k)
        u, b, back, U, A, arms, on = stages.kept(u, b, back, U, A, arms, on)
        known = U, A, arms

        def solved(*_: Any) -> tuple[Any, ...]:
            gamma = self.solve.gamma(stages, U, arms, on)
            p, zp, done = self.solve(stages, known, gamma, b, none, slide, limits, mu, 1.0, cold=True)
            if not bounces:
                return p, zp, 1 - done
            p1, z1, done1 = self.solve(stages, known, gamma, b - back, p, slide, limits, mu, 1.0)
            p, zp = stages.part(without_gain, u, p, zp, where(done1 > 0, p1, p), where(done1 > 0, z1, zp))
            return p, zp, 2 - done - done1

        return stages.repeat(solved, none, np.zeros(self.rows.sparse.nv), 0.0, most=1, when=hits)


def time_on_cubic(before: Scalar, after: Scalar, v: Scalar, w: Scalar, h: Scalar, falls: Scalar, hits: Scalar) -> Any:
    """Return when a point reaches the ground within a step of length h, or h.

    ``before`` and ``after`` are its heights, v and w their rates at both ends. ``falls``: 1 if it is below the ground
    at the end; ``hits``: 1 if it is on the ground at the beginning, and approaches.
    """
    d0, d1 = v * h, w * h
    a, b = (before - after) * 2 + d0 + d1, (after - before) * 3 - d0 * 2 - d1
    low, high = 0.0, 1.0
    x: Any = before / where(before > after, before - after, 1)
    for _ in range(_ITERATIONS):
        y = ((a * x + b) * x + d0) * x + before
        low, high = where(y > 0, x, low), where(y > 0, high, x)
        rise = (a * x * 3 + b * 2) * x + d0
        ahead = x - y / where(rise < 0, rise, -1)
        x = where((rise < 0) & (ahead >= low) & (ahead <= high), ahead, (low + high) * 0.5)
    return where(hits > 0, 0, where(falls > 0, x * h, h))


def newton_time(time: Scalar, heights: Array, w: Array, falls: Array, most: Scalar) -> tuple[Any, Any]:
    """Return a better time of the first contact, and by how much the first point is off the ground [m].

    ``heights`` and their rates w (k,) are those at ``time``; of the points that fall, the lowest is followed.
    """
    lowest, rate = 1e9, -1.0  # type: Any, Any
    for height, speed, fall in zip(heights, w, falls, strict=True):
        lower = (fall > 0) & (height < lowest)
        lowest, rate = where(lower, height, lowest), where(lower, speed, rate)
    better = time - lowest / where(rate < 0, rate, -1)
    return where(rate < 0, minimum(maximum(better, 0), most), time), where(lowest < 1e8, lowest, 0)


def without_gain(u: Array, p0: Array, z0: Array, p1: Array, z1: Array) -> tuple[Array, Array]:
    """Return the impulses (n,) of an impact, and their z (nv,); see above."""
    dp, dz = p1 - p0, z1 - z0
    start = p0 @ u + (z0 @ z0) * 0.5
    rate = dp @ u + z0 @ dz
    bend = (dz @ dz) * 0.5
    gain = start + rate + bend
    root = sqrt(maximum(rate * rate - bend * minimum(start, 0) * 4, 0))
    part = minimum(maximum((root - rate) / where(bend > 0, bend * 2, 1), 0), 1)
    part = where(gain > 0, part, 1)
    return p0 + dp * part, z0 + dz * part


def _limits_alone(bounds: Array) -> Array:
    """Return the bounds of joint rows at an impact, at which friction does nothing and limits do not rebound."""
    low, high = bounds[2::4], bounds[3::4]
    none = np.zeros(len(low))
    low = np.array([where(x > -NEVER, minimum(x, 0), x) for x in low])
    high = np.array([where(x < NEVER, maximum(x, 0), x) for x in high])
    return np.ravel(np.column_stack([none, none, low, high]))
