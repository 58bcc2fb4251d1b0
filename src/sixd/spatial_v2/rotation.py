"""Rotations and quaternions under their original names  [RBDA 2.2, 4.5].

E is the coordinate transform from frame A to frame B, the transpose of the rotation matrix R_AB that robotics
texts call R. Quaternions are (4,), scalar first. Functions with two meanings distinguish them by the argument's shape.
"""

from __future__ import annotations

import numpy as np

from sixd.errors import ModelError, ShapeError
from sixd.io.spatial_v2.matlab import numbers, scalar, vector
from sixd.spatial import rotation as native
from sixd.spatial.scalar import Array, ArrayLike, Scalar, sqrt


def rx(theta: Scalar) -> Array:
    """Return E (3, 3) from A to B, where B is A rotated by ``theta`` [rad] about the common x axis."""
    return native.axis_rotation(native.EYE3[0], scalar("rx", "theta", theta)).T


def ry(theta: Scalar) -> Array:
    """Return E (3, 3) from A to B, where B is A rotated by ``theta`` [rad] about the common y axis."""
    return native.axis_rotation(native.EYE3[1], scalar("ry", "theta", theta)).T


def rz(theta: Scalar) -> Array:
    """Return E (3, 3) from A to B, where B is A rotated by ``theta`` [rad] about the common z axis."""
    return native.axis_rotation(native.EYE3[2], scalar("rz", "theta", theta)).T


def rv(x: ArrayLike) -> Array:
    """Return E (3, 3) of a rotation vector (3,) [rad] of any length; or the rotation vector of E, its length in [0, π].

    At the angle π both signs of the vector describe E, and one of them is returned (the original returned zero for an
    exactly symmetric E).
    """
    a = numbers("rv", "argument", x)
    if a.shape == (3, 3):
        return native.rotation_to_vector(_proper("rv", a).T)
    return native.rotation_from_vector(vector("rv", "argument", a, 3)).T


def rq(x: ArrayLike) -> Array:
    """Return E (3, 3) of a quaternion (4,), which need not be normalised; or the unit quaternion of E.

    The returned quaternion has a scalar part of at least 0; if it is 0, the largest element is positive (the first one
    in a tie).
    """
    a = numbers("rq", "argument", x)
    if a.shape == (3, 3):
        return native.quaternion_from_rotation(_proper("rq", a).T) + 0.0  # no negative zeros
    q = vector("rq", "argument", a, 4)
    if not q.any():
        raise ModelError("rq: the quaternion is zero, expected a nonzero one. Start from [1, 0, 0, 0].")
    return native.quaternion_to_rotation(q).T


def _proper(where: str, E: Array) -> Array:
    """Return E; raises unless it is a rotation to three digits."""
    if not np.abs(E @ E.T - np.eye(3)).max() < 1e-3 or np.linalg.det(E) < 0:
        raise ModelError(f"{where}: the matrix {E.tolist()} is not a rotation, expected orthogonal with determinant 1.")
    return E


def rqd(first: ArrayLike, second: ArrayLike) -> Array:
    """Return the rate (4,) of a quaternion: ``rqd(wA, q)`` or ``rqd(q, wB)``, with the angular velocity in A or in B.

    q̇ = ½ [σ; ω_A] ⊗ q = ½ q ⊗ [σ; ω_B]. The stabiliser σ = 0.1 ‖ω‖ (1 - ‖q‖) slowly corrects a length that drifts
    from 1; it vanishes for a unit quaternion. Angular velocities are in rad/s.
    """
    x = vector("rqd", "first argument", first, 3, 4)
    y = vector("rqd", "second argument", second, 3, 4)
    if x.size == y.size:
        raise ShapeError(f"rqd: both arguments have {x.size} elements, expected (w in A, q) or (q, w in B).")
    q, w = (x, y) if x.size == 4 else (y, x)
    spin = stabilised(q, w)
    product = native.quaternion_multiply(q, spin) if x.size == 4 else native.quaternion_multiply(spin, q)
    return product / 2


def stabilised(q: Array, w: Array) -> Array:
    """Return [σ; ω] of ``rqd``, of any scalars."""
    return np.array([0.1 * sqrt(w @ w) * (1 - sqrt(q @ q)), *w])


def skew(x: ArrayLike) -> Array:
    """Return v× (3, 3) of a 3-vector; or the vector (3,) of the skew part of any 3×3 matrix."""
    a = numbers("skew", "argument", x)
    return native.unskew(a) if a.shape == (3, 3) else native.skew(vector("skew", "argument", a, 3))
