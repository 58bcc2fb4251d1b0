"""Impulses in Coulomb's cones: block Gauss–Seidel over points, in the space of velocities.

Point i has the velocity u = b + U z, where z collects the impulses, and an impulse x = (x_n, x_t) with

    u_n ≥ 0 ⟂ x_n ≥ 0,      x_t = -μ x_n (c s + (1 - c) d),   ‖d‖ ≤ 1,  d = u_t/‖u_t‖ unless u_t = 0.

With c = 0 this is Coulomb's law for the velocity at the end of a step. A point that slides along s at the beginning of
the step and stops, or turns, after the part c of it had friction along -s until then: so the disc of its impulses is
shifted. While it slides on, c = 1/2 is the trapezoidal rule for the direction. No convex relaxation: normal and
friction impulses are not coupled by more than this law.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.simulation.impulses.ground_points import PointResponse
from sixd.spatial.scalar import Array, absolute, maximum, sqrt, where
from sixd.trace.program import Program, trace

FAR = 1e9  # m/s: added to the normal velocity of points that do not take part
TOLERANCE = {"float64": 1e-10, "float32": 1e-5}  # m/s: changes of velocities in a sweep
CLOSE = {"float64": 1e-13, "float32": 1e-7}  # m: changes of heights in a sweep
# part of the mean of a point's own block that is added to its diagonal where that is inverted: a point that cannot move
# in some direction, as in a plane mechanism, has a singular one. What is solved does not change
_DAMPING = {"float64": 1e-9, "float32": 1e-5}
_STEEP = 0.01  # least part of the normal response that friction leaves (Painlevé's paradox lies below 0)
_NEWTON = 2  # iterations for the direction of slip


def cone_sweep(response: PointResponse, dtype: str) -> Program:
    """Return the program (x, z, done, U, b, slide) -> (x, z, done) of one sweep.

    x (3k,) are the impulses, b (3k,) the velocities at z = 0, slide (3k,) the c and c s (2,) of each point.
    """
    k, size = len(response.points), sum(map(len, response.pattern))

    def sweep(x: Array, z: Array, done: Any, entries: Array, b: Array, slide: Array) -> Any:
        U, impulses, collected = response.sparse_rows(entries), list(x), list(z)
        largest: Any = 0
        for i, point in enumerate(response.points.points):
            own = slice(3 * i, 3 * i + 3)
            rows, old = U[own], impulses[own]
            B = _block(rows)
            u = [b[3 * i + r] + sum(a * collected[j] for j, a in row.items()) for r, row in enumerate(rows)]
            new = point_impulse(B, u, old, point.friction, slide[own], dtype)
            steps = [n - o for n, o in zip(new, old, strict=True)]
            for j in rows[0]:
                collected[j] = collected[j] + sum(row[j] * s for row, s in zip(rows, steps, strict=True))
            for r in range(3):
                largest = maximum(largest, absolute(steps[r] * B[r][r]))
            impulses[own] = new
        before = done > 0
        return (
            where(before, x, np.array(impulses)),
            where(before, z, np.array(collected)),
            where(before, 1, where(largest >= TOLERANCE[dtype], 0, 1)),
        )

    shapes = {"x": (3 * k,), "z": (response.nv,), "done": (), "U": (size,), "b": (3 * k,), "slide": (3 * k,)}
    return trace(sweep, shapes, dtype)


def _block(rows: list[dict[int, Any]]) -> list[list[Any]]:
    """Return the response (3, 3) of a point to its own impulse."""
    return [[sum(a * other[j] for j, a in row.items()) for other in rows] for row in rows]


def point_impulse(B: Any, u: Any, x: Any, mu: float, slide: Any, dtype: str) -> list[Any]:
    """Return the impulse (3,) of one point that obeys the law, given its velocity u (3,) with the impulse x (3,)."""
    free = [u[r] - sum(B[r][m] * x[m] for m in range(3)) for r in range(3)]  # without an impulse
    more = (B[0][0] + B[1][1] + B[2][2]) * (_DAMPING[dtype] / 3)
    more = where(more > 0, more, 1)
    normal = B[0][0] + more
    if not mu:
        return [where(free[0] >= 0, 0, maximum(0, x[0] - u[0] / normal)), 0, 0]

    # sticking: u + B (stick - x) = 0, by LDLᵀ
    l1, l2 = B[1][0] / normal, B[2][0] / normal
    d1 = B[1][1] + more - l1 * B[1][0]
    e = B[2][1] - l1 * B[2][0]
    l3 = e / d1
    d2 = B[2][2] + more - l2 * B[2][0] - l3 * e
    y1 = u[1] - l1 * u[0]
    y2 = u[2] - l2 * u[0] - l3 * y1
    s2 = y2 / d2
    s1 = y1 / d1 - l3 * s2
    s0 = u[0] / normal - l1 * s1 - l2 * s2
    stick = [x[0] - s0, x[1] - s1, x[2] - s2]
    part, along = slide[0], slide[1:]
    rest = 1 - part
    off = [stick[1] + along[0] * (stick[0] * mu), stick[2] + along[1] * (stick[0] * mu)]
    reach = stick[0] * rest * mu
    sticks = (stick[0] > 0) & (off[0] * off[0] + off[1] * off[1] <= reach * reach)

    # slipping along d: first by a step of projected gradients, then by Newton's method for the angle
    t = maximum(B[1][1], B[2][2]) + more
    d = _unit([u[r + 1] / t - x[r + 1] - along[r] * (x[0] * mu) for r in range(2)])
    for _ in range(_NEWTON):
        ahead = [along[0] + d[0] * rest, along[1] + d[1] * rest]
        slope, n, k, v = _slip(B, free, mu, ahead, normal)
        turned = [-d[1] * rest, d[0] * rest]
        n_rate = n * mu * (B[0][1] * turned[0] + B[0][2] * turned[1]) / slope
        k_rate = [-(B[r][1] * turned[0] + B[r][2] * turned[1]) * mu for r in (1, 2)]
        v_rate = [n_rate * k[r] + n * k_rate[r] for r in range(2)]
        f = v[0] * d[1] - v[1] * d[0]
        rate = v_rate[0] * d[1] - v_rate[1] * d[0] + v[0] * d[0] + v[1] * d[1]
        angle = where(rate > 0, -f / where(rate > 0, rate, 1), 0)
        d = _unit([d[0] - angle * d[1], d[1] + angle * d[0]])
    ahead = [along[0] + d[0] * rest, along[1] + d[1] * rest]
    _, n, _, _ = _slip(B, free, mu, ahead, normal)
    slip = [n, -ahead[0] * n * mu, -ahead[1] * n * mu]
    return [where(free[0] >= 0, 0, where(sticks, a, c)) for a, c in zip(stick, slip, strict=True)]


def _slip(B: Any, free: Any, mu: float, ahead: Any, normal: Any) -> tuple[Any, Any, list[Any], list[Any]]:
    """Return, for friction -μ x_n ``ahead``: du_n/dx_n, x_n with u_n = 0, du_t/dx_n (2,), and u_t (2,)."""
    slope = maximum(B[0][0] - (B[0][1] * ahead[0] + B[0][2] * ahead[1]) * mu, normal * _STEEP)
    n = -free[0] / slope
    k = [B[r][0] - (B[r][1] * ahead[0] + B[r][2] * ahead[1]) * mu for r in (1, 2)]
    return slope, n, k, [free[r + 1] + n * k[r] for r in range(2)]


def _unit(d: Any) -> list[Any]:
    """Return the direction of d (2,); (0, 0) of zero."""
    size = sqrt(d[0] * d[0] + d[1] * d[1])
    scale = 1 / where(size > 0, size, 1)
    return [d[0] * scale, d[1] * scale]


def height_sweep(response: PointResponse, dtype: str) -> Program:
    """Return the program (p, z, done, U, φ) -> (p, z, done) of one sweep of 0 ≤ φ + (U z)_n ⟂ p ≥ 0."""
    k, size = len(response.points), sum(map(len, response.pattern))

    def sweep(p: Array, z: Array, done: Any, entries: Array, phi: Array) -> Any:
        U, pushes, collected = response.sparse_rows(entries), list(p), list(z)
        largest: Any = 0
        for i in range(k):
            row = U[3 * i]
            response_n = sum(a * a for a in row.values())
            height = phi[i] + sum(a * collected[j] for j, a in row.items())
            step = maximum(-pushes[i], -height / where(response_n > 0, response_n, 1))
            pushes[i] = pushes[i] + step
            for j, a in row.items():
                collected[j] = collected[j] + a * step
            largest = maximum(largest, absolute(step * response_n))
        before = done > 0
        return (
            where(before, p, np.array(pushes)),
            where(before, z, np.array(collected)),
            where(before, 1, where(largest >= CLOSE[dtype], 0, 1)),
        )

    shapes = {"p": (k,), "z": (response.nv,), "done": (), "U": (size,), "phi": (k,)}
    return trace(sweep, shapes, dtype)
