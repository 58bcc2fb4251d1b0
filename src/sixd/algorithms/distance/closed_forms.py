"""Pairs of solids with a distance in closed form: spheres and planes with all others, capsules with capsules.

Each function has the arguments (size_a, E_a (3, 3), p_a (3,), size_b, E_b, p_b): sizes, rotations to world axes, and
positions in the world. It returns the signed distance, the nearest (deepest) points of both surfaces in the world, and
the unit normal from a to b: distance = (point_b - point_a) · normal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sixd.algorithms.distance.points import PointDistance
from sixd.algorithms.distance.supports import core_radius, support_center
from sixd.algorithms.distance.vectors import X, choose, cross, direction, length_and_direction, perpendicular
from sixd.spatial.scalar import Array, Scalar, absolute, clip, where

PARALLEL = 1e-20  # sin² of the angle of axes that count as parallel


class Nearest(NamedTuple):
    """Signed distance [m], nearest points (3,) in the world, and the unit normal (3,) from a to b."""

    distance: Scalar
    point_a: Array
    point_b: Array
    normal: Array


PairDistance = Callable[..., Nearest]


def sphere_and(point_distance: Callable[[Any, Array], PointDistance]) -> PairDistance:
    """The distance of a sphere (a) from the solid (b) of a point's distance."""

    def distance(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> Nearest:
        gap, outward = point_distance(size_b, E_b.T @ (p_a - p_b))
        n = E_b @ outward
        radius = size_a[0]
        return Nearest(gap - radius, p_a - n * radius, p_a - n * gap, -n)

    return distance


def plane_and(kind: str) -> PairDistance:
    """The distance of a solid (a) from a half space (b)."""

    def distance(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> Nearest:
        down = E_b[:, 2] * -1
        lowest = E_a @ support_center(kind, size_a, E_a.T @ down)
        x = p_a + lowest + down * core_radius(kind, size_a)
        gap = (p_b - x) @ down
        return Nearest(gap, x, x + down * gap, down)

    return distance


def capsule_capsule(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> Nearest:
    """Two segments with radii; where the segments cross, the normal is perpendicular to both."""
    u, v = E_a[:, 2], E_b[:, 2]
    s, t = closest_parameters(p_a - p_b, u, size_a[1] / 2, v, size_b[1] / 2)
    x_a, x_b = p_a + u * s, p_b + v * t
    across = cross(u, v)
    aside = choose(across @ across > PARALLEL, direction(across, X), perpendicular(u))
    gap, n = length_and_direction(x_b - x_a, aside)
    r_a, r_b = size_a[0], size_b[0]
    return Nearest(gap - (r_a + r_b), x_a + n * r_a, x_b - n * r_b, n)


def closest_parameters(r: Array, u: Array, a: Scalar, v: Array, b: Scalar) -> tuple[Scalar, Scalar]:
    """s and t of the closest points of r + s u, |s| ≤ a, and t v, |t| ≤ b, with unit vectors u and v.

    Of parallel segments the points are in the middle of where they overlap.
    """
    c, ur, vr = u @ v, u @ r, v @ r
    across = cross(u, v)
    sine = across @ across
    skew = sine > PARALLEL
    free = (r @ cross(across, v)) * (1 / where(skew, sine, 1))  # c v - u without cancellation
    along = absolute(c) * b
    middle = (clip(-ur - along, -a, a) + clip(along - ur, -a, a)) / 2
    s = clip(where(skew, free, middle), -a, a)
    t = clip(s * c + vr, -b, b)
    return clip(t * c - ur, -a, a), t
