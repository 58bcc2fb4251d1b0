"""Height fields: the nearest point of a grid of triangles, and where a ray meets it, by all triangles.

A size is (heights (m, n) [m], x [m], y [m]): heights above the origin's plane at the nodes of a grid with m rows along
y and n columns along x, which covers x by y about the origin. Each cell has two triangles. Solid is what is below the
surface, inside of the outline of the grid. The cost grows with the number of cells: 170 operations each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sixd.algorithms.distance.points import PointDistance
from sixd.algorithms.distance.raycast import Hit
from sixd.algorithms.distance.vectors import TINY, Z, choose, cross, direction, length_and_direction
from sixd.spatial.scalar import Array, Scalar, clip, where

Triangle = tuple[Array, Array, Array]


def triangles(size: Any) -> Iterator[Triangle]:
    """The triangles of a grid, counter-clockwise seen from above."""
    heights, x, y = size
    m, n = np.shape(heights)

    def node(i: int, j: int) -> Array:
        return np.array([x * (j / (n - 1) - 0.5), y * (i / (m - 1) - 0.5), heights[i][j]])

    for i in range(m - 1):
        for j in range(n - 1):
            a, b, c, d = node(i, j), node(i, j + 1), node(i + 1, j + 1), node(i + 1, j)
            yield a, b, c
            yield a, c, d


def point_height_field(size: Any, x: Array) -> PointDistance:
    """Signed distance of a point (3,) from the surface, negative below it, and the unit normal (3,)."""
    best: Any = None
    offset: Any = None
    up: Any = None
    sinks: Any = 0
    for a, b, c in triangles(size):
        normal = direction(cross(b - a, c - a), Z)
        near = nearest_on_triangle(a, b, c, x)
        d = x - near
        square = d @ d
        more = True if best is None else square < best
        best, offset, up = (
            (square, d, normal)
            if best is None
            else (where(more, square, best), choose(more, d, offset), choose(more, normal, up))
        )
        sinks = where(_is_over(a, b, c, x) & (d_height(a, normal, x) < 0), 1, sinks)
    distance, n = length_and_direction(offset, up)
    below = sinks > 0.5
    return where(below, -distance, distance), choose(below & (distance > 0), -n, n)


def d_height(a: Array, normal: Array, x: Array) -> Scalar:
    """The height of x above the plane of a triangle, along its normal."""
    return normal @ (x - a)


def nearest_on_triangle(a: Array, b: Array, c: Array, x: Array) -> Array:
    """The point of a triangle that is nearest to x: the foot on its plane, or the nearest point of an edge."""
    u, v, w = b - a, c - a, x - a
    n = cross(u, v)
    area = n @ n
    some = area > TINY
    inverse = 1 / where(some, area, 1)
    s, t = cross(w, v) @ n * inverse, cross(u, w) @ n * inverse
    inside = some & (s >= 0) & (t >= 0) & (s + t <= 1)
    best: Any = None
    at: Any = None
    for start, edge in ((a, u), (a, v), (b, c - b)):
        square = edge @ edge
        long = square > TINY
        k = clip((x - start) @ edge * (1 / where(long, square, 1)), 0, 1)
        foot = start + edge * k
        gap = (x - foot) @ (x - foot)
        best, at = (gap, foot) if best is None else (where(gap < best, gap, best), choose(gap < best, foot, at))
    return choose(inside, a + u * s + v * t, at)


def _is_over(a: Array, b: Array, c: Array, x: Array) -> Any:
    """Whether x is above or below a triangle, seen along z."""
    left = [(q[0] - p[0]) * (x[1] - p[1]) - (q[1] - p[1]) * (x[0] - p[0]) >= 0 for p, q in ((a, b), (b, c), (c, a))]
    return left[0] & left[1] & left[2]


def raycast_height_field(size: Any, E: Array, p: Array, origin: Array, toward: Array) -> Hit:
    """The first crossing of a ray with the surface, from above or below; the normal points up."""
    x, d = E.T @ (origin - p), E.T @ toward
    best: Any = np.inf
    up: Any = Z
    for a, b, c in triangles(size):
        u, v = b - a, c - a
        n = cross(u, v)
        rate = n @ d
        crosses = rate * rate > TINY * TINY
        inverse = 1 / where(crosses, rate, 1)
        t = n @ (a - x) * inverse
        w = x - a
        across = cross(d, w)
        s, r = across @ v * inverse, across @ u * -inverse
        meets = crosses & (t >= 0) & (s >= 0) & (r >= 0) & (s + r <= 1) & (t < best)
        best, up = where(meets, t, best), choose(meets, direction(n, Z), up)
    return Hit(best, E @ up)
