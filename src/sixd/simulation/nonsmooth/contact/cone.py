"""Laws of impulses: a point in Coulomb's cone, and a joint row on its graph; each solved exactly, and linearized.

A point has the velocity u (3,) = (u_n, u_t) and the impulse x (3,) = (x_n, x_t) with

    u_n ≥ 0 ⟂ x_n ≥ 0,      x_t = -μ x_n (c s + (1 - c) d),   ‖d‖ ≤ 1,  d = u_t/‖u_t‖ unless u_t = 0.

With c = 0 this is Coulomb's law for the velocity at the end of a step. A point that slides along s at the beginning of
the step and stops, or reverses, after the part c of it had friction along -s until then: so the disc of its impulses is
shifted. While it slides on, c = 1/2 is the trapezoidal rule for the direction. There is no convex relaxation: a point
that slips does not lift off.

Linearized at an impulse and velocity that need not obey it, a law is x = r - D u.
"""

from __future__ import annotations

from typing import Any

from sixd.spatial.scalar import absolute, maximum, minimum, sqrt, where

# part of the mean of a point's own block that is added to its diagonal where that is inverted: a point that cannot move
# in some direction, as in a plane mechanism, has a singular one. What is
# solved does not change; rounding is divided by it
DAMPING = {"float64": 1e-7, "float32": 1e-3}
_STEEP = 0.01  # least part of the normal response that friction leaves (Painlevé's paradox lies below 0)
NEVER = 1e20  # rad/s or m/s: rows without a limit have a larger one

Block = Any  # (3, 3): the response of a point's velocity to its own impulse


def point_impulse(B: Block, u: Any, x: Any, mu: float, slide: Any, dtype: str) -> list[Any]:
    """Return the impulse (3,) of one point that obeys the contact law, from its velocity u (3,) at the impulse x (3,).

    It is exact where the point opens or sticks; where it slips, along the direction after a step from x and u.

    ``slide`` (3,) is c and c s.
    """
    free = [u[r] - sum(B[r][m] * x[m] for m in range(3)) for r in range(3)]  # without an impulse
    more = _mean(B) * DAMPING[dtype]
    normal = B[0][0] + more
    by_normal = 1 / normal  # a division takes as long as ten other operations
    if not mu:
        return [where(free[0] >= 0, 0, maximum(0, x[0] - u[0] * by_normal)), 0, 0]

    # sticking: u + B (stick - x) = 0, by LDLᵀ
    l1, l2 = B[1][0] * by_normal, B[2][0] * by_normal
    by_d1 = 1 / (B[1][1] + more - l1 * B[1][0])
    e = B[2][1] - l1 * B[2][0]
    l3 = e * by_d1
    d2 = B[2][2] + more - l2 * B[2][0] - l3 * e
    y1 = u[1] - l1 * u[0]
    y2 = u[2] - l2 * u[0] - l3 * y1
    s2 = y2 / d2
    s1 = y1 * by_d1 - l3 * s2
    s0 = u[0] * by_normal - l1 * s1 - l2 * s2
    stick = [x[0] - s0, x[1] - s1, x[2] - s2]
    part, along = slide[0], slide[1:]
    rest = 1 - part
    off = [stick[1] + along[0] * (stick[0] * mu), stick[2] + along[1] * (stick[0] * mu)]
    reach = stick[0] * rest * mu
    sticks = (stick[0] > 0) & (off[0] * off[0] + off[1] * off[1] <= reach * reach)

    # slipping along d, by a step of projected gradients: Newton's method on all laws finds it exactly
    by_t = 1 / (maximum(B[1][1], B[2][2]) + more)
    d = _unit([u[r + 1] * by_t - x[r + 1] - along[r] * (x[0] * mu) for r in range(2)])[1]
    ahead = [along[0] + d[0] * rest, along[1] + d[1] * rest]
    # friction leaves a part of the normal response
    response = maximum(B[0][0] - (B[0][1] * ahead[0] + B[0][2] * ahead[1]) * mu, normal * _STEEP)
    n = -free[0] / response
    slip = [n, -ahead[0] * n * mu, -ahead[1] * n * mu]
    return [where(free[0] >= 0, 0, where(sticks, a, c)) for a, c in zip(stick, slip, strict=True)]


def _mean(B: Block) -> Any:
    """Return the mean of the diagonal, 1 of zeros."""
    mean = (B[0][0] + B[1][1] + B[2][2]) * (1 / 3)
    return where(mean > 0, mean, 1)


def _unit(d: Any) -> tuple[Any, list[Any]]:
    """Return the size and the direction of d (2,); (0, 0) of zero."""
    size = size_of(d)
    scale = 1 / where(size > 0, size, 1)
    return size, [d[0] * scale, d[1] * scale]


def size_of(d: Any) -> Any:
    """Return the size of d (2,), with the derivative 0 at zero: that of a root is infinite there."""
    square = d[0] * d[0] + d[1] * d[1]
    return where(square > 0, sqrt(where(square > 0, square, 1)), 0)


def in_cone(x: Any, mu: float, slide: Any) -> list[Any]:
    """Return the impulse (3,) moved into the cone: its friction is reduced."""
    n = maximum(x[0], 0)
    if not mu:
        return [n, 0, 0]
    centre = [-slide[1] * (n * mu), -slide[2] * (n * mu)]
    size, d = _unit([x[1] - centre[0], x[2] - centre[1]])
    size = minimum(size, n * mu * (1 - slide[0]))
    return [n, centre[0] + d[0] * size, centre[1] + d[1] * size]


def point_residual(B: Block, u: Any, x: Any, mu: float, slide: Any, dtype: str) -> Any:
    """Return by how much the velocity u of a point, or its impulse x, contradicts its law [m/s]. Of the impulse: what
    it is moved by into the cone, after a step against the velocity, times the response to it."""
    more = _mean(B) * DAMPING[dtype]
    normal = B[0][0] + more
    size = absolute(x[0] * normal - maximum(x[0] * normal - u[0], 0))
    if not mu:
        return size
    t = maximum(B[1][1], B[2][2]) + more
    most = x[0] * mu * t
    away = [x[r] * t - u[r] + slide[r] * most for r in (1, 2)]
    far, d = _unit(away)
    far = minimum(far, most * (1 - slide[0]))
    for r in range(2):
        size = maximum(size, absolute(x[r + 1] * t + slide[r + 1] * most - d[r] * far))
    return size


def linear_point(
    B: Block, u: Any, x: Any, mu: float, slide: Any, dtype: str, soft: Any, shift: Any = None
) -> tuple[list[Any], list[list[Any]]]:
    """Return r (3,) and D (3, 3) of a point's law at its impulse x and velocity u: open, sticking or slipping.
    ``shift`` (3,) are the entries of ``slide`` that r follows, where these differ in their derivatives."""
    more = _mean(B)
    stiff = 1 / (more * soft)
    y = x[0] - u[0] * (1 / (B[0][0] + more * DAMPING[dtype]))
    closed = y > 0
    first = where(closed, stiff, 0)
    if not mu:
        return [where(closed, x[0], 0), 0, 0], [[first, 0, 0], [0, 0, 0], [0, 0, 0]]
    by_t = 1 / (maximum(B[1][1], B[2][2]) + more * DAMPING[dtype])
    part, along = slide[0], slide[1:]
    rest = 1 - part
    reach = y * rest * mu
    size, d = _unit([u[r + 1] * by_t - x[r + 1] - along[r] * (y * mu) for r in range(2)])
    sticks = closed & (size <= reach)
    slips = closed & (size > reach)
    ahead = [along[0] + d[0] * rest, along[1] + d[1] * rest]
    now = slide if shift is None else shift
    follows = [now[1] + d[0] * (1 - now[0]), now[2] + d[1] * (1 - now[0])]
    across = minimum(reach * by_t / where(slips, size - reach, 1), stiff)  # of d: it turns with the velocity
    P = [[d[1] * d[1], -d[0] * d[1]], [-d[0] * d[1], d[0] * d[0]]]
    r = [where(closed, x[0], 0)]
    D = [[first, 0, 0]]
    for a in range(2):
        r.append(where(sticks, x[a + 1], where(slips, -follows[a] * x[0] * mu, 0)))
        row = [where(slips, -ahead[a] * stiff * mu, 0)]
        row += [where(sticks, stiff if a == c else 0, where(slips, P[a][c] * across, 0)) for c in range(2)]
        D.append(row)
    return r, D


# joint rows ---------------------------------------------------------------------------------------


def row_impulse(B: Any, u: Any, x: Any, bounds: Any) -> Any:
    """Return the impulse of a joint row on its graph: bounds (lo, hi, low, high), see ``active_set.py``."""
    lo, hi, low, high = bounds
    safe = where(B > 0, B, 1)
    free = u - B * x
    least, most = free + B * lo, free + B * hi
    return where(
        most < low,
        (low - free) / safe,
        where(most < 0, hi, where(least <= 0, -free / safe, where(least < high, lo, (high - free) / safe))),
    )


def on_graph(x: Any, bounds: Any) -> Any:
    """Return the impulse moved within lo and hi, unless the row has a limit on that side."""
    lo, hi, low, high = bounds
    upper = where(low > -NEVER, maximum(x, hi), hi)
    lower = where(high < NEVER, minimum(x, lo), lo)
    return where(x > hi, upper, where(x < lo, lower, x))


def linear_row(B: Any, u: Any, x: Any, bounds: Any, soft: Any, now: Any = None) -> tuple[Any, Any]:
    """Return r and D of a joint row's law; r follows the bounds ``now``, where these differ in their derivatives."""
    lo, hi = bounds[:2]
    lo_now, hi_now, low, high = bounds if now is None else now
    new = row_impulse(B, u, x, bounds)
    stiff = 1 / (where(B > 0, B, 1) * soft)
    above, below = new > hi, new < lo
    fixed = above | below | ((new > lo) & (new < hi))
    at = where(above, low, where(below, high, 0))
    return where(fixed, x + at * stiff, where(new < hi, lo_now, hi_now)), where(fixed, stiff, 0)
