"""Laws of impulses: a point in Coulomb's cone, and a joint row on its graph; their residuals, and linearized.

A point has the velocity u (3,) = (u_n, u_t) and the impulse x (3,) = (x_n, x_t) with

    u_n ≥ 0 ⟂ x_n ≥ 0,      x_t = -μ x_n (c s + (1 - c) d),   ‖d‖ ≤ 1,  d = u_t/‖u_t‖ unless u_t = 0.

With c = 0 this is Coulomb's law for the velocity at the end of a step. A point that slides along s at the beginning of
the step and stops, or reverses, after the part c of it had friction along -s until then: so the disc of its impulses is
shifted. While it slides on, c = 1/2 is the trapezoidal rule for the direction. There is no convex relaxation: a point
that slips does not lift off. A point that is ``pressed`` has u_n = 0.

Linearized at an impulse and velocity that need not obey it, a law is x = r - D u. A law that fixes a velocity is
softened there, D = 1/(γ soft): repeated, it fixes the velocity, also where impulses are redundant. γ [1/kg] is the mean
response of the points of a mechanism: one for all of them, since responses of single points are close to 0 in some
directions.
"""

from __future__ import annotations

from typing import Any

from sixd.spatial.scalar import Scalar, absolute, maximum, minimum, sqrt, where

NEVER = 1e20  # rad/s or m/s: rows without a limit have a larger one


def size_of(d: Any) -> Any:
    """Return the size of d (2,), with the derivative 0 at zero: that of a root is infinite there."""
    square = d[0] * d[0] + d[1] * d[1]
    return where(square > 0, sqrt(where(square > 0, square, 1)), 0)


def _unit(d: Any) -> tuple[Any, list[Any]]:
    """Return the size and the direction of d (2,); (0, 0) of zero."""
    size = size_of(d)
    scale = 1 / where(size > 0, size, 1)
    return size, [d[0] * scale, d[1] * scale]


def in_cone(x: Any, mu: Scalar, slide: Any, pressed: Any = 0.0) -> list[Any]:
    """Return the impulse (3,) moved into the cone: its friction is reduced."""
    n = where(pressed > 0, x[0], maximum(x[0], 0))
    reach = maximum(n, 0) * mu
    centre = [-slide[1] * reach, -slide[2] * reach]
    off, most = [x[1] - centre[0], x[2] - centre[1]], reach * (1 - slide[0])
    size = size_of(off)
    part = where(size > most, most / where(size > 0, size, 1), 1)
    return [n, centre[0] + off[0] * part, centre[1] + off[1] * part]


def point_residual(gamma: Scalar, u: Any, x: Any, mu: Scalar, slide: Any, pressed: Scalar) -> Any:
    """Return by how much the velocity u of a point, or its impulse x, contradicts its law [m/s]. Of the impulse: what
    it is moved by into the cone, after a step against the velocity, times γ."""
    normal = x[0] * gamma
    size = absolute(where(pressed > 0, u[0], normal - maximum(normal - u[0], 0)))
    most = maximum(normal, 0) * mu
    far, d = _unit([x[r] * gamma - u[r] + slide[r] * most for r in (1, 2)])
    far = minimum(far, most * (1 - slide[0]))
    for r in range(2):
        size = maximum(size, absolute(x[r + 1] * gamma + slide[r + 1] * most - d[r] * far))
    return size


def linear_point(
    per: Scalar, stiff: Scalar, u: Any, x: Any, mu: Scalar, slide: Any, pressed: Scalar, shift: Any = None
) -> tuple[list[Any], list[Any]]:
    """Return r (3,) of a point's law at its impulse x and velocity u: open, sticking or slipping; and D as
    (k, m1, m2, a, b, c): ((k, 0, 0), (m1, a, b), (m2, b, c)). ``per`` is 1/γ, ``stiff`` 1/(γ soft). ``shift`` (3,) are
    the entries of ``slide`` that r follows, where these differ in their derivatives."""
    y = x[0] - u[0] * per
    closed = (y > 0) | (pressed > 0)
    rest = 1 - slide[0]
    reach = maximum(y, 0) * rest * mu
    size, d = _unit([u[r] * per - x[r] - slide[r] * (maximum(y, 0) * mu) for r in (1, 2)])
    sticks = closed & (size <= reach) & (reach > 0)
    slips = closed & ((size > reach) | (reach <= 0))
    now = slide if shift is None else shift
    ahead, follows = ([w[r] + d[r - 1] * (1 - w[0]) for r in (1, 2)] for w in (slide, now))
    across = minimum(reach * per / where(size > reach, size - reach, 1), stiff)  # of d: it turns with the velocity
    r = [where(closed, x[0], 0)]
    r += [where(sticks, x[a + 1], where(slips, -follows[a] * x[0] * mu, 0)) for a in range(2)]
    D = [where(closed, stiff, 0)]
    D += [where(slips, -ahead[a] * stiff * mu, 0) for a in range(2)]
    for product, stuck in ((d[1] * d[1], stiff), (-d[0] * d[1], 0), (d[0] * d[0], stiff)):
        D.append(where(sticks, stuck, where(slips, product * across, 0)))
    return r, D


def times(D: Any, u: Any) -> list[Any]:
    """Return D u (3,) for D as in :func:`linear_point`."""
    k, m1, m2, a, b, c = D
    return [k * u[0], m1 * u[0] + a * u[1] + b * u[2], m2 * u[0] + b * u[1] + c * u[2]]


# joint rows ---------------------------------------------------------------------------------------


def row_impulse(B: Any, u: Any, x: Any, bounds: Any) -> Any:
    """Return the impulse of a joint row on its graph: bounds (lo, hi, low, high), see ``active_set.py``. A row that has
    to move, low > 0 or high < 0, sticks at that speed."""
    lo, hi, low, high = bounds
    safe, rest = where(B > 0, B, 1), _rest(low, high)
    free = u - B * x
    least, most = free + B * lo, free + B * hi
    return where(
        most < low,
        (low - free) / safe,
        where(
            most < rest, hi, where(least <= rest, (rest - free) / safe, where(least < high, lo, (high - free) / safe))
        ),
    )


def _rest(low: Any, high: Any) -> Any:
    return minimum(maximum(low, 0), high)


def linear_row(B: Any, u: Any, x: Any, bounds: Any, soft: Scalar, now: Any = None) -> tuple[Any, Any]:
    """Return r and D of a joint row's law; r follows the bounds ``now``, where these differ in their derivatives."""
    lo, hi = bounds[:2]
    lo_now, hi_now, low, high = bounds if now is None else now
    new = row_impulse(B, u, x, bounds)
    stiff = 1 / (where(B > 0, B, 1) * soft)
    above, below = new > hi, new < lo
    fixed = above | below | ((new > lo) & (new < hi))
    at = where(above, low, where(below, high, _rest(low, high)))
    return where(fixed, x + at * stiff, where(new < hi, lo_now, hi_now)), where(fixed, stiff, 0)
