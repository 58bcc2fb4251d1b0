"""Where two quadrilateral faces overlap: their outlines, seen along the contact normal, are intersected.

A face is four corners (4, 3), a parallelogram or a segment with corners twice. Of up to 12 vertices of the
intersection four are kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.distance.vectors import TINY, choose, negated, tangents
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, minimum, sqrt, where

UNUSED = -1e9  # m: the depth of slots without a point
# how much deeper a vertex must be to be kept instead of one that is farther out by a unit of length
_WEIGHT = 4.0
_SAME = 1e-9  # m: vertices closer than this are one


class Vertex(NamedTuple):
    """A vertex of an intersection: its coordinates x, y across the normal, the heights of both faces there along the
    normal, and whether it exists."""

    x: Scalar
    y: Scalar
    height_a: Scalar
    height_b: Scalar
    exists: Any


def clipped(face_a: Array, face_b: Array, n: Array, origin: Array) -> tuple[Array, Array]:
    """Points (4, 3) in the middle between two faces, and their depths (4,); n points from a to b.

    The corners of ``face_a`` run counter-clockwise seen against n, those of ``face_b`` clockwise.
    """
    t1, t2 = tangents(n)
    axes = np.array([t1, t2, n])
    a = [axes @ (x - origin) for x in face_a]
    b = [axes @ (x - origin) for x in face_b[::-1]]
    vertices = _vertices(a, b)
    kept: list[Vertex] = []
    for along in (a[0] - a[2], a[1] - a[3], a[2] - a[0], a[3] - a[1]):
        size = sqrt(maximum(along[0] * along[0] + along[1] * along[1], TINY))
        best = _outermost(vertices, along[0] / size, along[1] / size)
        used = best.exists
        for other in kept:
            near = absolute(best.x - other.x) + absolute(best.y - other.y) < _SAME
            used = used & negated(other.exists & near)
        kept.append(best._replace(exists=used))
    points = [origin + t1 * v.x + t2 * v.y + n * ((v.height_a + v.height_b) / 2) for v in kept]
    return np.array(points), np.array([where(v.exists, v.height_a - v.height_b, UNUSED) for v in kept])


def _vertices(a: list[Array], b: list[Array]) -> list[Vertex]:
    """The ends of the edges of b inside of a, and the corners of a inside of b; both counter-clockwise."""
    plane_a, plane_b = _plane(a), _plane(b)
    edges_a = [a[(i + 1) % 4] - a[i] for i in range(4)]
    edges_b = [b[(i + 1) % 4] - b[i] for i in range(4)]
    vertices = []
    for corner, edge in zip(b, edges_b, strict=True):
        low, high = _inside(corner, edge, a, edges_a)
        for t, exists in ((low, low <= high), (high, (low < high) & (high < 1))):
            x, y, z = corner + edge * t
            vertices.append(Vertex(x, y, _height(plane_a, x, y), z, exists))
    for x, y, z in a:
        inside: Any = None
        for corner, edge in zip(b, edges_b, strict=True):
            left = edge[0] * (y - corner[1]) - edge[1] * (x - corner[0]) > 0
            inside = left if inside is None else inside & left
        vertices.append(Vertex(x, y, z, _height(plane_b, x, y), inside))
    return vertices


def _inside(start: Array, edge: Array, corners: list[Array], edges: list[Array]) -> tuple[Scalar, Scalar]:
    """The range of t in [0, 1] in which start + t edge is inside of a convex outline; low > high if it is empty."""
    low: Any = 0.0
    high: Any = 1.0
    for corner, side in zip(corners, edges, strict=True):
        distance = side[0] * (start[1] - corner[1]) - side[1] * (start[0] - corner[0])
        rate = side[0] * edge[1] - side[1] * edge[0]
        crosses = rate * rate > TINY * TINY
        t = -distance * (1 / where(crosses, rate, 1))
        beyond = where(distance < -1e-15, 2, low)
        low = where(crosses, where(rate > 0, maximum(low, t), low), beyond)
        high = where(crosses & (rate < 0), minimum(high, t), high)
    return low, high


def _plane(q: list[Array]) -> tuple[Scalar, Scalar, Scalar]:
    """The height alpha x + beta y + gamma of a parallelogram; of a segment that along it."""
    u, v = q[1] - q[0], q[3] - q[0]
    area = u[0] * v[1] - u[1] * v[0]
    flat = area * area > TINY
    inverse = 1 / where(flat, area, 1)
    d = choose(u @ u > v @ v, u, v)
    square = d[0] * d[0] + d[1] * d[1]
    rise = d[2] * where(square > TINY, 1 / where(square > TINY, square, 1), 0)
    alpha = where(flat, (u[2] * v[1] - u[1] * v[2]) * inverse, d[0] * rise)
    beta = where(flat, (u[0] * v[2] - u[2] * v[0]) * inverse, d[1] * rise)
    return alpha, beta, q[0][2] - alpha * q[0][0] - beta * q[0][1]


def _height(plane: tuple[Scalar, Scalar, Scalar], x: Scalar, y: Scalar) -> Scalar:
    return plane[0] * x + plane[1] * y + plane[2]


def _outermost(vertices: list[Vertex], dx: Scalar, dy: Scalar) -> Vertex:
    """The vertex that is farthest along (dx, dy), minus a price for its gap."""
    best, most = vertices[0], _score(vertices[0], dx, dy)
    for v in vertices[1:]:
        score = _score(v, dx, dy)
        more = score > most + _SAME
        most = where(more, score, most)
        best = Vertex._make(where(more, p, q) for p, q in zip(v, best, strict=True))
    return best._replace(exists=most > UNUSED / 2)


def _score(v: Vertex, dx: Scalar, dy: Scalar) -> Scalar:
    return where(v.exists, v.x * dx + v.y * dy + (v.height_a - v.height_b) * _WEIGHT, UNUSED)
