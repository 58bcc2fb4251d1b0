"""Pairs of solids with a distance in closed form: spheres and planes with all others, capsules with capsules and boxes;
and the separation of boxes along the normals of their faces and the perpendiculars of their edges.

Each function has the arguments (size_a, E_a (3, 3), p_a (3,), size_b, E_b, p_b): sizes, rotations to world axes, and
positions in the world. It returns the signed distance, the nearest (deepest) points of both surfaces in the world, and
the unit normal from a to b: distance = (point_b - point_a) · normal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.distance.points import PointDistance, point_box
from sixd.algorithms.distance.supports import core_radius, support_center
from sixd.algorithms.distance.vectors import TINY, X, choose, cross, direction, length_and_direction, perpendicular
from sixd.spatial.scalar import Array, Scalar, absolute, clip, maximum, minimum, sqrt, where

PARALLEL = 1e-20  # sin² of the angle of axes that count as parallel
TOUCHING = 1e-12  # m: below this distance of axis and box the normal is that of the overlap
# m: by which the separation along edges must exceed that along faces, so that rounding does not choose between them
EDGE_MARGIN = 1e-12


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


# boxes --------------------------------------------------------------------------------------------


def capsule_box(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array) -> Nearest:
    """A capsule (a) and a box (b): the nearest points of the axis and the box.

    Where the axis is inside the box it is moved out along the direction of the least depth first.
    """
    half = np.array([s / 2 for s in size_b])
    x, u = E_b.T @ (p_a - p_b), E_b.T @ E_a[:, 2]
    radius, reach = size_a[0], size_a[1] / 2
    separation, outward = _separation(x, u, reach, half)
    inside = separation < TOUCHING
    away = (half[0] + half[1] + half[2] + reach) * 0.1 + TOUCHING - separation
    moved = x + outward * where(inside, away, 0)
    t = _nearest_parameter(moved, u * reach, half) * reach
    distance, n = point_box(size_b, moved + u * t)
    distance, n = where(inside, separation, distance), choose(inside, outward, n)
    n, at = E_b @ n, p_b + E_b @ (x + u * t)
    return Nearest(distance - radius, at - n * radius, at - n * distance, -n)


def _nearest_parameter(x: Array, d: Array, half: Array) -> Scalar:
    """t in [-1, 1] where x + t d is nearest to a box; the middle if several are.

    The derivative of the squared distance is piecewise linear in t and grows: of its bends at the faces the last one
    where it is negative and the first where it is positive enclose the root.
    """

    def derivative(t: Scalar) -> Scalar:
        y = x + d * t
        parts = [(a - clip(a, -h, h)) * b for a, h, b in zip(y, half, d, strict=True)]
        return parts[0] + parts[1] + parts[2]

    low: Any = -1.0
    high: Any = 1.0
    for a, b, h in zip(x, d, half, strict=True):
        moving = absolute(b) > TINY
        inverse = 1 / where(moving, b, 1)
        for face in (-h, h):
            t = clip(where(moving, (face - a) * inverse, 0), -1, 1)
            g = derivative(t)
            low, high = where(g < 0, maximum(low, t), low), where(g > 0, minimum(high, t), high)
    g_low, g_high = derivative(low), derivative(high)
    steep = g_high - g_low
    some = steep > 0
    t = low - g_low * (high - low) * (1 / where(some, steep, 1))
    t = where(some, clip(t, low, high), (low + high) / 2)
    return where(g_low > 0, low, where(g_high < 0, high, t))


def _separation(x: Array, u: Array, reach: Scalar, half: Array) -> tuple[Scalar, Array]:
    """The largest separation of a segment x ± reach u from a box, and its normal, from the box to the segment."""
    axes = np.eye(3)
    gaps = [(absolute(x[k]) - (half[k] + reach * absolute(u[k])), axes[k] * where(x[k] < 0, -1, 1)) for k in range(3)]
    edges = []
    for e in axes:
        n, some = _perpendicular(e, u)
        along = n @ x
        gap = where(some, absolute(along) - _extent(half, n), gaps[0][0])
        edges.append((gap, n * where(along < 0, -1, 1)))
    return _largest(gaps, edges)


def box_separation(size_a: Any, size_b: Any, R: Array, t: Array) -> tuple[Scalar, Array]:
    """The largest separation of two boxes, the second with the rotation R (3, 3) and the position t (3,) in the axes of
    the first, along 15 axes; and its normal from a to b, in the axes of a."""
    a, b = (np.array([s / 2 for s in size]) for size in (size_a, size_b))
    faces, edges = [], []
    for n in [*np.eye(3), *R.T]:
        along = n @ t
        faces.append((absolute(along) - (_extent(a, n) + _extent(b, R.T @ n)), n * where(along < 0, -1, 1)))
    for e in np.eye(3):
        for f in R.T:
            n, some = _perpendicular(e, f)
            along = n @ t
            gap = where(some, absolute(along) - (_extent(a, n) + _extent(b, R.T @ n)), faces[0][0])
            edges.append((gap, n * where(along < 0, -1, 1)))
    return _largest(faces, edges)


def _perpendicular(e: Array, f: Array) -> tuple[Array, Any]:
    """The unit vector along e × f, and whether it exists."""
    n = cross(e, f)
    square = n @ n
    some = square > PARALLEL
    return n * (1 / sqrt(where(some, square, 1))), some


def _extent(half: Array, n: Array) -> Scalar:
    """The support of a centred box along n."""
    parts = [h * absolute(c) for h, c in zip(half, n, strict=True)]
    return parts[0] + parts[1] + parts[2]


def _largest(faces: list[Any], edges: list[Any]) -> tuple[Scalar, Array]:
    """The largest of the gaps, and its normal."""
    (best, n), *rest = faces
    for candidates, margin in ((rest, 0), (edges, EDGE_MARGIN)):
        for gap, normal in candidates:
            more = gap > best + margin
            best, n = where(more, gap, best), choose(more, normal, n)
    return best, n
