"""Signed distance of a point from a solid, in the solid's own axes, in closed form.

Each function has the arguments (size, x (3,)) and returns the distance, negative inside, and the unit normal (3,): the
nearest point of the surface is x - distance · normal. Sizes are those of ``sixd.Shape``.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from sixd.algorithms.distance.vectors import (
    TINY,
    X,
    Z,
    choose,
    direction,
    largest_axis,
    length_and_direction,
)
from sixd.spatial.scalar import Array, Scalar, absolute, clip, maximum, minimum, sqrt, where

PointDistance = tuple[Scalar, Array]
# Newton's iterations for an ellipsoid; 7 leave 1e-15 m where axes differ by up to 1:30
ELLIPSOID_ITERATIONS = 7


def point_sphere(size: Any, x: Array) -> PointDistance:
    """A ball about the origin."""
    length, n = length_and_direction(x, Z)
    return length - size[0], n


def point_capsule(size: Any, x: Array) -> PointDistance:
    """A capsule along z."""
    radius, length = size
    t = clip(x[2], -length / 2, length / 2)
    distance, n = length_and_direction(x - Z * t, X)
    return distance - radius, n


def point_box(size: Any, x: Array) -> PointDistance:
    """A box: inside, the nearest face."""
    half = np.array([s / 2 for s in size])
    near = np.array([clip(a, -h, h) for a, h in zip(x, half, strict=True)])
    outside, n = length_and_direction(x - near, Z)
    deep = np.array([h - absolute(a) for a, h in zip(x, half, strict=True)])
    pick = largest_axis(-deep)
    inside = np.array([where(a < 0, -e, e) for a, e in zip(x, pick, strict=True)])
    out = outside > 0
    return where(out, outside, -reduce(minimum, deep)), choose(out, n, inside)


def point_cylinder(size: Any, x: Array) -> PointDistance:
    """A cylinder along z: a rectangle in the half plane of z and x."""
    radius, length = size
    rho, e = _radial(x)
    up = where(x[2] < 0, -1, 1)
    a, b = rho - radius, absolute(x[2]) - length / 2
    corner = np.array([maximum(a, 0), maximum(b, 0), 0])
    outside, n = length_and_direction(corner, X)
    out, sideways = outside > 0, a > b
    along_e = where(out, n[0], where(sideways, 1, 0))
    along_z = where(out, n[1], where(sideways, 0, 1)) * up
    return where(out, outside, maximum(a, b)), e * along_e + Z * along_z


def point_cone(size: Any, x: Array) -> PointDistance:
    """A cone along z about its centre of mass: a triangle in the half plane of z and x."""
    radius, height = size
    slant, across = length_and_direction(np.array([height, radius, 0]), X)
    ux, uz = -across[1], across[0]  # from the rim to the tip; the normal is (uz, -ux)
    rho, e = _radial(x)
    a, b = rho - radius, x[2] + height / 4
    t = clip(a * ux + b * uz, 0, slant)
    to_slant = np.array([a - ux * t, b - uz * t, 0])
    to_base = np.array([maximum(a, 0), b, 0])
    nearer = choose(to_slant @ to_slant < to_base @ to_base, to_slant, to_base)
    outside, n = length_and_direction(nearer, X)
    above, below = a * uz - b * ux, -b
    inside, sideways = ((above <= 0) & (below <= 0)) | (outside <= 0), above > below
    along_e = where(inside, where(sideways, uz, 0), n[0])
    along_z = where(inside, where(sideways, -ux, -1), n[1])
    return where(inside, maximum(above, below), outside), e * along_e + Z * along_z


def point_ellipsoid(size: Any, x: Array) -> PointDistance:
    """An ellipsoid, by the root s of Σ (aᵢ xᵢ / (s + aᵢ² - min a²))² = 1; the nearest point is aᵢ² xᵢ / (s + …).

    1 / sqrt of the sum is concave and nearly linear in s, so that Newton's iterations grow towards the root.
    """
    a = np.array([maximum(s, TINY) for s in size])
    square = a * a
    least = reduce(minimum, square)
    e = square - least
    # points on a plane of symmetry are moved by 1e-15 of the axis: the root is then no pole
    y = np.array([maximum(absolute(c), r * 1e-15) for c, r in zip(x, a, strict=True)])
    s = reduce(maximum, a * y - e)
    for _ in range(ELLIPSOID_ITERATIONS):
        inverse = np.array([1 / (s + d) for d in e])
        terms = a * y * inverse
        total = terms @ terms
        weighted = (terms * terms) @ inverse
        s = maximum(s + total / weighted * (sqrt(total) - 1), 0)
    q = np.array([c / (s + d) for c, d in zip(y, e, strict=True)])
    q = q * (1 / sqrt((a * q) @ (a * q)))  # a q is on the unit sphere
    q = np.array([where(c < 0, -d, d) for c, d in zip(x, q, strict=True)])
    n = direction(q, Z)
    return (x - square * q) @ n, n


def point_plane(size: Any, x: Array) -> PointDistance:
    """A half space, solid at z ≤ 0."""
    return x[2], Z * 1


def _radial(x: Array) -> tuple[Scalar, Array]:
    """The distance of x from the z axis, and the unit vector from the axis to x; x on the axis."""
    return length_and_direction(np.array([x[0], x[1], 0]), X)
