"""Support functions: the point of a solid that is farthest along a direction, in the solid's own axes.

Spheres and capsules are a point and a segment, the core, with a radius; the cores of other solids are the solids. Where
a face or an edge is perpendicular to the direction, ``centered`` functions return its middle, others a vertex.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from sixd.algorithms.distance.vectors import TINY, Z, choose, side
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, sqrt, where

FLAT = 1e-9  # rad: directions closer than this to the normal of a face count as that normal


def core_radius(kind: str, size: Any) -> Scalar:
    """The radius [m] by which a solid is larger than its core."""
    return size[0] if kind in ("sphere", "capsule") else 0


def support_core(kind: str, size: Any, d: Array) -> Array:
    """The point (3,) of a core that is farthest along d (3,), which need not be a unit vector."""
    if kind == "hull":
        return _farthest([*np.asarray(size)], d)
    return _SUPPORTS[kind](size, d, 0.0)


def support_center(kind: str, size: Any, d: Array) -> Array:
    """The middle of the face, edge or vertex of a core that is farthest along the unit vector d (3,)."""
    if kind == "hull":
        return _middle([*np.asarray(size)], d)
    return _SUPPORTS[kind](size, d, FLAT)


def bounding_radius(kind: str, size: Any) -> Scalar:
    """The radius [m] of a ball about the origin of a solid that contains it."""
    if kind == "hull":
        return sqrt(reduce(maximum, (v @ v for v in np.asarray(size))))
    if kind in ("sphere", "capsule"):
        return size[0] + (size[1] / 2 if kind == "capsule" else 0)
    if kind == "box":
        return sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]) / 2
    if kind == "ellipsoid":
        return reduce(maximum, size)
    radius, length = size
    if kind == "cone":
        return maximum(sqrt(radius * radius + length * length / 16), length * 3 / 4)
    return sqrt(radius * radius + length * length / 4)


def _support_sphere(size: Any, d: Array, flat: float) -> Array:
    return np.zeros(3)


def _support_capsule(size: Any, d: Array, flat: float) -> Array:
    return Z * _side(d[2], size[1] / 2, flat)


def _support_box(size: Any, d: Array, flat: float) -> Array:
    return np.array([_side(x, s / 2, flat) for x, s in zip(d, size, strict=True)])


def _support_cylinder(size: Any, d: Array, flat: float) -> Array:
    return _rim(d, size[0], flat) + Z * _side(d[2], size[1] / 2, flat)


def _support_cone(size: Any, d: Array, flat: float) -> Array:
    radius, height = size
    rim, tip = _rim(d, radius, flat) - Z * (height / 4), Z * (height * 3 / 4)
    more = d @ tip - d @ rim
    on_tip = choose(more > 0, tip, rim)
    if not flat:
        return on_tip
    return choose(absolute(more) < (radius + height) * flat, (tip + rim) / 2, on_tip)


def _support_ellipsoid(size: Any, d: Array, flat: float) -> Array:
    a = np.array([*size])
    y = a * d
    square = y @ y
    some = square > TINY * TINY
    return a * y * where(some, 1 / sqrt(where(some, square, 1)), 0)


_SUPPORTS = {
    "sphere": _support_sphere, "capsule": _support_capsule, "box": _support_box, "cylinder": _support_cylinder,
    "cone": _support_cone, "ellipsoid": _support_ellipsoid,
}  # fmt: skip


def _side(x: Scalar, half: Scalar, flat: float) -> Scalar:
    return side(x, half, flat) if flat else where(x < 0, -half, half)


def _rim(d: Array, radius: Scalar, flat: float) -> Array:
    """The point of a circle about z that is farthest along d; the centre if d is along z."""
    square = d[0] * d[0] + d[1] * d[1]
    some = square > max(TINY * TINY, flat * flat)
    by = where(some, radius / sqrt(where(some, square, 1)), 0)
    return np.array([d[0] * by, d[1] * by, 0])


def _farthest(vertices: list[Array], d: Array) -> Array:
    """The vertex with the largest d · v, by a tournament: 5 operations a vertex for its height, 5 for a match."""
    items = [(v @ d, v) for v in vertices]
    while len(items) > 1:
        matches = [
            (maximum(s, t), choose(t > s, w, v)) for (s, v), (t, w) in zip(items[::2], items[1::2], strict=False)
        ]
        items = [*matches, *items[2 * len(matches) :]]
    return items[0][1]


def _middle(vertices: list[Array], d: Array) -> Array:
    """The mean of the vertices that are as far as the farthest."""
    heights = [v @ d for v in vertices]
    top = reduce(maximum, heights)
    width = (top + reduce(maximum, [-h for h in heights])) * FLAT
    on = [where(h >= top - width, 1, 0) for h in heights]
    total = reduce(lambda p, q: p + q, [v * w for v, w in zip(vertices, on, strict=True)])
    return total * (1 / sum(on))
