"""Vectors (3,) of any scalar: lengths, directions and choices that stay finite where a length is zero.

Knows nothing about shapes. Each function evaluates both branches, so it can be traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.spatial.scalar import Array, Scalar, absolute, sqrt, where

# m²: squares of lengths below 1e-15 m count as zero; the square is a normal number in float32, too
TINY = 1e-30
X, Y, Z = np.eye(3)


def cross(a: Any, b: Any) -> Array:
    """a × b."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def choose(condition: Any, a: Any, b: Any) -> Array:
    """The vector ``a`` where the condition holds, else ``b``."""
    return np.array([where(condition, x, y) for x, y in zip(a, b, strict=True)])


def negated(condition: Any) -> Any:
    """The negated condition, also of Python's own truth values."""
    return where(condition, 0, 1) > 0


def length_and_direction(d: Any, fallback: Any) -> tuple[Scalar, Array]:
    """‖d‖ and d / ‖d‖; where d is zero, 0 and the unit vector ``fallback``."""
    square = d @ d
    some = square > TINY
    size = sqrt(where(some, square, 1))
    return where(some, size, 0), choose(some, d * (1 / size), fallback)


def direction(d: Any, fallback: Any) -> Array:
    """d / ‖d‖; where d is zero, the unit vector ``fallback``."""
    return length_and_direction(d, fallback)[1]


def perpendicular(d: Any) -> Array:
    """A unit vector perpendicular to d, in the plane of d and the axis that is farthest from it; x if d is zero."""
    w = [absolute(x) for x in d]
    x_least, y_least = (w[0] <= w[1]) & (w[0] <= w[2]), w[1] <= w[2]
    axis = choose(x_least, X, choose(y_least, Y, Z))
    return direction(cross(d, cross(axis, d)), X)


def tangents(n: Any) -> tuple[Array, Array]:
    """Two unit vectors perpendicular to the unit vector n and to each other; smooth except at n = -z."""
    s = where(n[2] < 0, -1, 1)
    a = -1 / (n[2] + s)
    b = n[0] * n[1] * a
    return np.array([n[0] * n[0] * a * s + 1, b * s, -n[0] * s]), np.array([b, n[1] * n[1] * a + s, -n[1]])


def side(x: Scalar, size: Scalar, width: float = 0.0) -> Scalar:
    """``size`` with the sign of x; 0 where \\|x\\| ≤ width."""
    return where(x > width, size, where(x < -width, -size, 0))


def largest_axis(w: Any) -> Array:
    """The unit vector along the largest of three numbers; of equal ones the first."""
    first, second = (w[0] >= w[1]) & (w[0] >= w[2]), w[1] >= w[2]
    return choose(first, X, choose(second, Y, Z))
