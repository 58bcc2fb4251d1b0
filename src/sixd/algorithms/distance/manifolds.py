"""Contact points of every pair of kinds: up to four points with depths, on one normal.

Each function has the arguments of a pair's distance and the distance itself. It returns points (4, 3) in the middle
between both surfaces, in the world, depths (4,), positive where the solids overlap and ``UNUSED`` in slots without a
point, and the unit normal (3,) from a to b. The deepest point is among them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.distance.clipping import UNUSED, clipped
from sixd.algorithms.distance.closed_forms import Nearest
from sixd.algorithms.distance.pairs import PAIRS
from sixd.algorithms.distance.vectors import X, Y, Z, choose, cross, direction, largest_axis, negated, tangents
from sixd.spatial.scalar import Array, Scalar, absolute, clip, maximum, minimum, where


class Manifold(NamedTuple):
    """Contact points (4, 3), depths (4,) and the normal (3,)."""

    points: Array
    depths: Array
    normal: Array


Contacts = Callable[..., Manifold]
FACING = 0.999  # cosine of the angle of a normal and a face's own, from which the face is in contact
_TOLERANCE = 1e-9  # m: by which the nearest points must be deeper than those kept to replace one


def single(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest) -> Manifold:
    """One point, between the nearest points."""
    middle = (nearest.point_a + nearest.point_b) / 2
    return Manifold(np.array([middle] * 4), np.array([-nearest.distance, UNUSED, UNUSED, UNUSED]), nearest.normal)


# half spaces -------------------------------------------------------------------------------------


def capsule_plane(
    size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest
) -> Manifold:
    """The lowest points of both ends."""
    down = nearest.normal
    ends = [p_a + E_a[:, 2] * (size_a[1] * s) + down * size_a[0] for s in (0.5, -0.5)]
    return _above(ends, p_b, down)


def box_plane(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest) -> Manifold:
    """The corners of the lowest face."""
    return _above(list(box_face(size_a, E_a, p_a, nearest.normal)), p_b, nearest.normal)


def cylinder_plane(
    size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest
) -> Manifold:
    """The lowest points of both rims, and two of the lower rim at 120° from its lowest."""
    down, half = nearest.normal, size_a[1] / 2
    axis = E_a[:, 2] * where(E_a[:, 2] @ down < 0, -1, 1)
    toward = direction(cross(cross(axis, down), axis), E_a[:, 0])
    across = cross(axis, toward)
    low, radius = p_a + axis * half, size_a[0]
    points = [low + toward * radius, p_a - axis * half + toward * radius]
    points += [low - toward * (radius / 2) + across * (radius * s * 0.75**0.5) for s in (1, -1)]
    return _above(points, p_b, down)


def cone_plane(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest) -> Manifold:
    """The tip, the lowest point of the rim, and two of the rim at 120° from it."""
    down, axis = nearest.normal, E_a[:, 2]
    toward = direction(cross(cross(axis, down), axis), E_a[:, 0])
    across = cross(axis, toward)
    radius, height = size_a
    base = p_a - axis * (height / 4)
    points = [base + toward * radius, p_a + axis * (height * 3 / 4)]
    points += [base - toward * (radius / 2) + across * (radius * s * 0.75**0.5) for s in (1, -1)]
    return _above(points, p_b, down)


def hull_plane(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest) -> Manifold:
    """The lowest vertex, and those that are farthest from it, from the line through both, and on its other side, among
    vertices that are hardly higher."""
    down = nearest.normal
    vertices = [p_a + E_a @ v for v in np.asarray(size_a)]
    depths = [(v - p_b) @ down for v in vertices]
    top = reduce(maximum, depths)
    extent = top + reduce(maximum, [-d for d in depths])
    t1, t2 = tangents(down)

    def farthest(score: Callable[[Array], Scalar]) -> Array:
        best: Any = None
        at = vertices[0]
        for v, depth in zip(vertices, depths, strict=True):
            own = score(v) - (top - depth) * 4
            more = True if best is None else own > best + _TOLERANCE * extent
            best, at = (own, v) if best is None else (where(more, own, best), choose(more, v, at))
        return at

    first = farthest(lambda v: v @ down * 1e3)
    second = farthest(lambda v: _size(v - first, t1, t2))
    line = direction(cross(second - first, down), t1)
    sides = farthest(lambda v: (v - first) @ line), farthest(lambda v: (first - v) @ line)
    manifold = _above([first, second, *sides], p_b, down)
    return manifold._replace(depths=_without_copies(manifold.points, manifold.depths))


def _size(v: Array, t1: Array, t2: Array) -> Scalar:
    return absolute(v @ t1) + absolute(v @ t2)


def _above(points: list[Array], p_b: Array, down: Array) -> Manifold:
    """Points of a solid above a half space."""
    depths = [(x - p_b) @ down for x in points]
    middles = [x - down * (d / 2) for x, d in zip(points, depths, strict=True)]
    more = 4 - len(points)
    return Manifold(np.array(middles + middles[:1] * more), np.array(depths + [UNUSED] * more), down)


def _without_copies(points: Array, depths: Array) -> Array:
    """The depths, ``UNUSED`` for points that occur before."""
    kept = [depths[0]]
    for k in range(1, 4):
        depth = depths[k]
        for j in range(k):
            gap = points[k] - points[j]
            depth = where(gap @ gap < _TOLERANCE * _TOLERANCE, UNUSED, depth)
        kept.append(depth)
    return np.array(kept)


# segments and faces ------------------------------------------------------------------------------


def capsule_capsule(
    size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest
) -> Manifold:
    """The nearest points, and the ends of the range in which the capsules are side by side."""
    n, u, v = nearest.normal, E_a[:, 2], E_b[:, 2]
    a, b = size_a[1] / 2, size_b[1] / 2
    middle = (p_b - p_a) @ u
    reach = absolute(u @ v) * b
    ends = [clip(middle + s * reach, -a, a) for s in (-1, 1)]
    feet = [p_a + u * s + n * size_a[0] for s in ends]
    others = [p_b + v * clip((x - p_b) @ v, -b, b) - n * size_b[0] for x in feet]
    return _with_ends(feet, others, nearest)


def capsule_box(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest) -> Manifold:
    """The nearest points, and the ends of the part of the axis that is above the nearest face."""
    n = nearest.normal
    face = box_face(size_b, E_b, p_b, -n)
    outward = _face_normal(E_b, -n)
    x, d = E_b.T @ (p_a - p_b), E_b.T @ E_a[:, 2] * (size_a[1] / 2)
    pick = E_b.T @ outward
    low: Any = -1.0
    high: Any = 1.0
    for k in range(3):
        half = size_b[k] / 2
        along = absolute(pick[k]) > 0.5
        moving = absolute(d[k]) > 1e-12
        inverse = 1 / where(moving, d[k], 1)
        t = [(s * half - x[k]) * inverse for s in (-1, 1)]
        some = moving & negated(along)
        low = where(some, maximum(low, minimum(*t)), low)
        high = where(some, minimum(high, maximum(*t)), high)
    feet = [p_a + E_a[:, 2] * (clip(t, -1, 1) * size_a[1] / 2) + n * size_a[0] for t in (low, high)]
    rate = n @ outward
    steep = rate * -1 > FACING
    steps = [(face[0] - y) @ outward * where(steep, 1 / where(steep, rate, 1), 0) for y in feet]
    others = [y + n * s for y, s in zip(feet, steps, strict=True)]
    return _with_ends(feet, others, nearest, (low < high) & steep)


def _with_ends(feet: list[Array], others: list[Array], nearest: Nearest, exist: Any = True) -> Manifold:
    """The nearest points and two pairs of points."""
    n = nearest.normal
    points = [(nearest.point_a + nearest.point_b) / 2, *((x + y) / 2 for x, y in zip(feet, others, strict=True))]
    depths = [-nearest.distance]
    depths += [where(exist, minimum((x - y) @ n, -nearest.distance), UNUSED) for x, y in zip(feet, others, strict=True)]
    four = np.array([*points, points[0]])
    return Manifold(four, _without_copies(four, np.array([*depths, UNUSED])), n)


def box_box(size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest) -> Manifold:
    """Where the faces that look at each other overlap; the nearest points instead of the shallowest point if they are
    deeper than all of these."""
    n = nearest.normal
    middle = (nearest.point_a + nearest.point_b) / 2
    points, depths = clipped(box_face(size_a, E_a, p_a, n), box_face(size_b, E_b, p_b, -n), n, middle)
    deepest, shallowest = reduce(maximum, depths), reduce(minimum, depths)
    missing = -nearest.distance > deepest + _TOLERANCE
    new_points, new_depths = [], []
    for x, depth in zip(points, depths, strict=True):
        here = missing & (depth <= shallowest)
        missing = missing & negated(here)
        new_points.append(choose(here, middle, x))
        new_depths.append(where(here, -nearest.distance, depth))
    return Manifold(np.array(new_points), np.array(new_depths), n)


def box_face(size: Any, E: Array, p: Array, n: Array) -> Array:
    """The corners (4, 3) of the face of a box that looks along n most, counter-clockwise seen against n."""
    m = E.T @ n
    pick = largest_axis([absolute(c) for c in m])
    half = np.array([s / 2 for s in size])
    toward = where(pick @ m < 0, -1, 1)
    first = choose(pick[0] > 0.5, Y, choose(pick[1] > 0.5, Z, X))
    second = cross(pick, first) * toward
    middle = p + E @ (pick * half * toward)
    e, f = E @ (first * half), E @ (second * half)
    return np.array([middle + e * s + f * r for s, r in ((1, 1), (-1, 1), (-1, -1), (1, -1))])


def _face_normal(E: Array, n: Array) -> Array:
    """The outward normal of the face of a box that looks along n most."""
    m = E.T @ n
    pick = largest_axis([absolute(c) for c in m])
    return E @ (pick * where(pick @ m < 0, -1, 1))


def reversed_contacts(function: Contacts) -> Contacts:
    """The contact points of the solids in the other order."""

    def contacts(
        size_a: Any, E_a: Array, p_a: Array, size_b: Any, E_b: Array, p_b: Array, nearest: Nearest
    ) -> Manifold:
        other = Nearest(nearest.distance, nearest.point_b, nearest.point_a, -nearest.normal)
        points, depths, n = function(size_b, E_b, p_b, size_a, E_a, p_a, other)
        return Manifold(points, depths, -n)

    return contacts


_SEVERAL: dict[tuple[str, str], Contacts] = {
    ("capsule", "plane"): capsule_plane,
    ("box", "plane"): box_plane,
    ("cylinder", "plane"): cylinder_plane,
    ("cone", "plane"): cone_plane,
    ("hull", "plane"): hull_plane,
    ("capsule", "capsule"): capsule_capsule,
    ("capsule", "box"): capsule_box,
    ("box", "box"): box_box,
}
CONTACTS: dict[tuple[str, str], Contacts] = {
    **dict.fromkeys(PAIRS, single),
    **_SEVERAL,
    **{(b, a): reversed_contacts(f) for (a, b), f in _SEVERAL.items() if a != b},
}
