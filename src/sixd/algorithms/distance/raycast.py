"""Where a ray first crosses the surface of a solid.

``origin`` (3,) and the unit vector ``toward`` (3,) are in world axes. The result is the distance [m] along the ray,
infinite if it does not meet the solid, and the outward unit normal (3,) there. From inside, the ray meets the surface
where it leaves the solid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.distance.points import (
    point_box,
    point_capsule,
    point_cone,
    point_cylinder,
    point_plane,
    point_sphere,
)
from sixd.algorithms.distance.vectors import TINY, Z, choose, direction
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, minimum, sqrt, where

FAR = 1e15  # m: beyond the ends of any ray
Interval = tuple[Scalar, Scalar]


class Hit(NamedTuple):
    """The distance [m] of what a ray meets, infinite if nothing, and the outward unit normal (3,)."""

    distance: Scalar
    normal: Array


def raycast(kind: str, size: Any, E: Array, p: Array, origin: Array, toward: Array) -> Hit:
    """The first crossing of a ray with a solid of a kind other than height field. The size of a hull are the planes of
    its faces (n, 4): n·x ≤ d inside, each (n, d)."""
    x, d = E.T @ (origin - p), E.T @ toward
    enters, leaves = INTERVALS[kind](size, x, d)
    t = where(enters < 0, leaves, enters)
    meets = (enters <= leaves) & (t >= 0) & (t < FAR / 2)
    normal = E @ _NORMALS[kind](size, x + d * where(meets, t, 0))
    return Hit(where(meets, t, np.inf), normal)


def _slab(x: Scalar, d: Scalar, low: Scalar, high: Scalar) -> Interval:
    """The range in which low ≤ x + t d ≤ high."""
    moves = d * d > TINY
    inverse = 1 / where(moves, d, 1)
    a, b = (low - x) * inverse, (high - x) * inverse
    within = (x >= low) & (x <= high)
    return (
        where(moves, minimum(a, b), where(within, -FAR, FAR)), where(moves, maximum(a, b), where(within, FAR, -FAR)),
    )  # fmt: skip


def _both(a: Interval, b: Interval) -> Interval:
    return maximum(a[0], b[0]), minimum(a[1], b[1])


def _roots(a: Scalar, b: Scalar, c: Scalar) -> tuple[Scalar, Scalar, Any]:
    """The roots of a t² + 2 b t + c in ascending order, and whether they are real; without cancellation. ``a`` is not
    zero."""
    discriminant = b * b - a * c
    real = discriminant >= 0
    root = sqrt(where(real, discriminant, 0))
    q = where(b < 0, root - b, -root - b)
    some = q * q > 0
    first, second = q / a, where(some, c / where(some, q, 1), 0)
    return minimum(first, second), maximum(first, second), real


def _below(a: Scalar, b: Scalar, c: Scalar) -> Interval:
    """The range in which a t² + 2 b t + c ≤ 0, where a ≥ 0."""
    curved = a > TINY
    low, high, real = _roots(where(curved, a, 1), b, c)
    flat = where(c <= 0, FAR, -FAR)
    return where(curved, where(real, low, FAR), -flat), where(curved, where(real, high, -FAR), flat)


def _ball(radius: Scalar, x: Array, d: Array) -> Interval:
    return _below(d @ d, x @ d, x @ x - radius * radius)


def _sphere(size: Any, x: Array, d: Array) -> Interval:
    return _ball(size[0], x, d)


def _ellipsoid(size: Any, x: Array, d: Array) -> Interval:
    inverse = np.array([1 / maximum(s, TINY) for s in size])
    return _ball(1, x * inverse, d * inverse)


def _box(size: Any, x: Array, d: Array) -> Interval:
    slabs = [_slab(a, b, -s / 2, s / 2) for a, b, s in zip(x, d, size, strict=True)]
    return _both(_both(slabs[0], slabs[1]), slabs[2])


def _tube(radius: Scalar, x: Array, d: Array) -> Interval:
    """The range inside of an infinite cylinder."""
    across, y = d * (1 - Z), x * (1 - Z)
    return _below(across @ across, y @ across, y @ y - radius * radius)


def _cylinder(size: Any, x: Array, d: Array) -> Interval:
    radius, length = size
    return _both(_tube(radius, x, d), _slab(x[2], d[2], -length / 2, length / 2))


def _capsule(size: Any, x: Array, d: Array) -> Interval:
    """On the tube between both ends, else on the ball of the end that is nearer."""
    radius, half = size[0], size[1] / 2
    tube = _tube(radius, x, d)
    balls = [_ball(radius, x - Z * (half * s), d) for s in (-1, 1)]
    ends = []
    for k in (0, 1):
        z = x[2] + d[2] * tube[k]
        ends.append(where(z < -half, balls[0][k], where(z > half, balls[1][k], tube[k])))
    missed = tube[0] > tube[1]
    return where(missed, FAR, ends[0]), where(missed, -FAR, ends[1])


def _cone(size: Any, x: Array, d: Array) -> Interval:
    """Between base and tip, and inside of the lower half of the double cone ρ² = k² (tip - z)²."""
    radius, height = size
    k = radius / maximum(height, TINY)
    below = height * 3 / 4 - x[2]
    a = d[0] * d[0] + d[1] * d[1] - k * k * d[2] * d[2]
    b = x[0] * d[0] + x[1] * d[1] + k * k * below * d[2]
    c = x[0] * x[0] + x[1] * x[1] - k * k * below * below
    a = where(absolute(a) > 1e-14, a, -1e-14)  # a ray along the side has one root, the other is far away
    low, high, real = _roots(a, b, c)
    down = d[2] < 0
    outside = where(down, high, -FAR), where(down, FAR, low)
    enters = where(a > 0, where(real, low, FAR), outside[0])
    leaves = where(a > 0, where(real, high, -FAR), outside[1])
    return _both((enters, leaves), _slab(x[2], d[2], -height / 4, height * 3 / 4))


def _plane(size: Any, x: Array, d: Array) -> Interval:
    return _slab(x[2], d[2], -FAR, 0)


def _hull(planes: Any, x: Array, d: Array) -> Interval:
    enters: Scalar = -FAR
    leaves: Scalar = FAR
    for plane in planes:
        rate, room = plane[:3] @ d, plane[3] - plane[:3] @ x
        moves = rate * rate > TINY
        t = room * (1 / where(moves, rate, 1))
        outside = where(room < 0, -FAR, FAR)
        enters = maximum(enters, where(moves & (rate < 0), t, -FAR))
        leaves = minimum(leaves, where(moves, where(rate > 0, t, FAR), outside))
    return enters, leaves


INTERVALS: dict[str, Callable[[Any, Array, Array], Interval]] = {
    "sphere": _sphere, "capsule": _capsule, "box": _box, "cylinder": _cylinder, "cone": _cone,
    "ellipsoid": _ellipsoid, "plane": _plane, "hull": _hull,
}  # fmt: skip


def _ellipsoid_normal(size: Any, x: Array) -> Array:
    return direction(x * np.array([1 / maximum(s * s, TINY) for s in size]), Z)


def _hull_normal(planes: Any, x: Array) -> Array:
    n, height = Z, -FAR
    for plane in planes:
        own = plane[:3] @ x - plane[3]
        n, height = choose(own > height, plane[:3], n), maximum(own, height)
    return n


_NORMALS: dict[str, Callable[[Any, Array], Array]] = {
    "sphere": lambda size, x: point_sphere(size, x)[1],
    "capsule": lambda size, x: point_capsule(size, x)[1],
    "box": lambda size, x: point_box(size, x)[1],
    "cylinder": lambda size, x: point_cylinder(size, x)[1],
    "cone": lambda size, x: point_cone(size, x)[1],
    "ellipsoid": _ellipsoid_normal,
    "hull": _hull_normal,
    "plane": lambda size, x: point_plane(size, x)[1],
}
