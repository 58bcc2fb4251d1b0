"""Rotations: matrices, unit quaternions (wxyz, Hamilton), rotation vectors, Euler angles.

``R_AB`` maps components in B to components in A; its columns are B's axes seen from A. All functions
are written for any scalar and stay accurate at and near angle 0 and pi.

Euler angles have any sequence of axes. Upper-case letters rotate about the moving axes: "ZXZ" is R = Rz(a0) Rx(a1)
Rz(a2). Lower-case letters rotate about the fixed axes: "xyz" is R = Rz(a2) Ry(a1) Rx(a0), which is roll, pitch, yaw.
"""

from __future__ import annotations

import numpy as np

from sixd.errors import ModelError, ShapeError
from sixd.spatial.scalar import Array, ArrayLike, Scalar, Vector, atan2, cos, exact, is_object, sign, sin, sqrt, where

EYE3 = np.eye(3, dtype=int)  # whole numbers keep symbolic results exact
ZERO3 = np.zeros((3, 3), dtype=int)
# keeps x/x at 1 for x = 0 without a branch, and makes sqrt(x²) differentiable there; a float32 too, below the square
# of any angle that matters
_TINY = 1e-36


def skew(v: Vector) -> Array:
    """Cross-product matrix of a 3-vector: ``skew(v) @ u == v × u``."""
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def unskew(A: Array) -> Array:
    """The 3-vector of the skew part of a 3×3 matrix; inverse of :func:`skew`."""
    A = np.asarray(A)
    return np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]]) / 2


def sinc(x: Scalar) -> Scalar:
    """sin(x)/x, 1 at 0, for x ≥ 0 and any scalar; no branch."""
    x = sqrt(x * x + _TINY)
    return sin(x) / x


def unit_vector(v: ArrayLike, *, name: str = "axis") -> Array:
    """The vector divided by its length; raises on a zero vector or NaN."""
    v = np.asarray(v)
    if v.shape != (3,):
        raise ShapeError(f"{name} has shape {v.shape}, expected (3,). Give three numbers.")
    if v.dtype == object:
        # symbols stay as they are if the length is 1 by form, else they are divided by it
        n2 = v @ v
        return v if n2 == 1 else v / sqrt(n2)
    v = v.astype(float)
    length = float(np.linalg.norm(v))
    if not np.isfinite(length) or length < 1e-12:
        raise ShapeError(f"{name} is {v.tolist()}, expected a non-zero finite 3-vector. Give its direction.")
    # a vector along a coordinate axis stays exact, a unit vector is not disturbed
    return v if abs(length - 1.0) < 4e-16 else v / length


def axis_rotation(axis: Vector, angle: Scalar) -> Array:
    """R (3, 3) of a rotation by ``angle`` [rad] about the unit vector ``axis`` (right-handed)."""
    a = np.asarray(axis)
    aa = np.outer(a, a)
    # in this grouping an axis of 0s and ±1s leaves only cos, sin, 0 and 1
    return aa + (EYE3 - aa) * cos(angle) + skew(a) * sin(angle)


def rotation_from_vector(v: Vector) -> Array:
    """R (3, 3) = exp(v×): a rotation by ‖v‖ [rad] about v, any magnitude."""
    V = skew(v)
    theta = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + _TINY)
    half = sinc(theta / 2)
    return EYE3 + V * sinc(theta) + (V @ V) * (half * half / 2)


def rotation_to_vector(R: Array) -> Array:
    """Rotation vector (3,) of R, norm in [0, pi] [rad]; at pi its sign is arbitrary."""
    return quaternion_to_vector(quaternion_from_rotation(R))


def tidy_rotation(R: Array) -> Array:
    """R with entries within rounding of 0 and ±1 made exact (cos(pi/2) = 6e-17 becomes 0)."""
    if R.dtype == object:
        return R
    R = np.array(R, dtype=float)
    near = np.abs(R - np.round(R)) < 4e-16
    R[near] = np.round(R[near])
    return R + 0.0  # no -0.0


def frame_along(z: Array) -> Array:
    """A rotation whose third column is the unit vector z."""
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


# quaternions ------------------------------------------------------------------------------------


def quaternion_multiply(p: Vector, q: Vector) -> Array:
    """Hamilton product p ⊗ q of two quaternions (4,), wxyz."""
    pw, px, py, pz = p
    qw, qx, qy, qz = q
    return np.array(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ]
    )


def quaternion_rate(q: Vector, omega: Vector) -> Array:
    """dq/dt (4,) = ½ q ⊗ [0; ω] of a quaternion (4,) wxyz; ω (3,) [rad/s] in body axes, those that q rotates."""
    return quaternion_multiply(q, np.concatenate([[0], omega])) / 2


def quaternion_conjugate(q: Vector) -> Array:
    """(w, -x, -y, -z): the inverse rotation of a unit quaternion."""
    w, x, y, z = q
    return np.array([w, -x, -y, -z])


def quaternion_normalize(q: Vector) -> Array:
    """q / ‖q‖."""
    q = np.asarray(q)
    return q / sqrt(q @ q)


def quaternion_to_rotation(q: Vector) -> Array:
    """R (3, 3) of a quaternion (4,) wxyz of any non-zero length; divides by q·q, so needs no sqrt."""
    w, x, y, z = q
    s = 2 / (w * w + x * x + y * y + z * z)
    return np.array(
        [
            [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
            [s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
            [s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
        ]
    )


def quaternion_from_rotation(R: Array) -> Array:
    """Unit quaternion (4,) wxyz of R, w ≥ 0, accurate for every angle (the largest component leads).

    At angle pi, where w = 0, the component of largest magnitude is positive.
    """
    (a, b, c), (d, e, f), (g, h, i) = R
    # 4 q qᵀ, row by row; its largest diagonal entry is at least 1
    K = [
        [1 + a + e + i, h - f, c - g, d - b],
        [h - f, 1 + a - e - i, b + d, c + g],
        [c - g, b + d, 1 - a + e - i, f + h],
        [d - b, c + g, f + h, 1 - a - e + i],
    ]
    best, row = K[0][0], K[0]
    for k in (1, 2, 3):
        larger = K[k][k] > best
        row = [where(larger, x, y) for x, y in zip(K[k], row, strict=True)]
        best = where(larger, K[k][k], best)
    q = np.array(row) / (2 * sqrt(best))
    return quaternion_normalize(q) * where(q[0] < 0, -1, 1)


def quaternion_from_vector(v: Vector) -> Array:
    """Unit quaternion (4,) wxyz of a rotation by ‖v‖ [rad] about v (3,)."""
    half = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + _TINY) / 2
    s = sin(half) / half / 2
    return np.array([cos(half), s * v[0], s * v[1], s * v[2]])


def quaternion_to_vector(q: Vector) -> Array:
    """Rotation vector (3,) of a quaternion, norm in [0, pi] [rad]; q and -q give the same."""
    w, x, y, z = q
    flip = sign(sign(w) + 0.5)  # ±1, and 1 at 0, without a comparison
    square = x * x + y * y + z * z
    n = sqrt(square + (square + w * w) * _TINY)
    return np.array([x, y, z]) * (flip * 2 * atan2(n, flip * w) / n)


def random_quaternion(rng: np.random.Generator) -> Array:
    """Unit quaternion (4,) drawn uniformly over all orientations."""
    q = rng.standard_normal(4)
    return q / np.linalg.norm(q)


# Euler angles -----------------------------------------------------------------------------------


def _parse(sequence: str) -> tuple[int, int, int]:
    letters = sequence.lower()
    good = len(letters) == 3 and set(letters) <= set("xyz") and letters[0] != letters[1] != letters[2]
    if not good or sequence not in (letters, letters.upper()):
        raise ModelError(
            f"euler: sequence is {sequence!r}, expected three letters of x, y, z, no two neighbours equal, "
            f"all upper case (moving axes) or all lower case (fixed axes), such as 'ZYX' or 'xyz'."
        )
    i, j, k = ("xyz".index(c) for c in letters)
    return i, j, k


def rotation_from_euler(sequence: str, angles: Vector) -> Array:
    """R (3, 3) of three angles [rad] about the axes of ``sequence``."""
    axes, angles = _parse(sequence), list(angles)
    if len(angles) != 3:
        raise ShapeError(f"euler: got {len(angles)} angles, expected 3 for the sequence {sequence!r}.")
    if sequence.islower():
        axes, angles = axes[::-1], angles[::-1]
    rotations = [axis_rotation(EYE3[i], a) for i, a in zip(axes, angles, strict=True)]
    if is_object(angles):
        rotations = [exact(R) for R in rotations]  # else a rotation by a plain 0 leaves 1.0 in equations
    return rotations[0] @ rotations[1] @ rotations[2]


def rotation_to_euler(sequence: str, R: Array) -> Array:
    """Angles (3,) [rad] of R about the axes of ``sequence``; inverse of :func:`rotation_from_euler`.

    The middle angle lies in [0, pi] when first and last axis agree, else in [-pi/2, pi/2]. Where it
    makes the sequence singular, one outer angle is arbitrary: the one about the first moving axis is 0.
    The three angles reproduce R to rounding, also near the singularity.
    """
    i, j, k = _parse(sequence)
    if sequence.islower():
        i, k = k, i
    R = np.asarray(R)
    n = 3 - i - j
    s = 1 if (j - i) % 3 == 1 else -1  # +1 when i, j, n are in cyclic order
    if i == k:  # column i: cos b, sin b sin a, -s sin b cos a
        y, x = R[j, i], -s * R[n, i]
        outer = sqrt(y * y + x * x)
        b = atan2(outer, R[i, i])
    else:  # column k = n: s sin b, -s cos b sin a, cos b cos a
        y, x = -s * R[j, n], R[n, n]
        outer = sqrt(y * y + x * x)
        b = atan2(s * R[i, n], outer)
    a = where(outer < 1e-14, 0.0, atan2(y, x))
    # undoing the first rotation leaves only row j of the last one
    row = cos(a) * R[j] + s * sin(a) * R[n]
    m = 3 - j - k
    sin_c = row[m] if (j - m) % 3 == 1 else -row[m]
    c = atan2(sin_c, row[j])
    angles = [a, b, c]
    return np.array(angles[::-1] if sequence.islower() else angles)


def rotation_from_rpy(rpy: Vector) -> Array:
    """R (3, 3) = Rz(yaw) Ry(pitch) Rx(roll) of (roll, pitch, yaw) [rad], as in URDF."""
    return rotation_from_euler("xyz", rpy)


def rotation_to_rpy(R: Array) -> Array:
    """(roll, pitch, yaw) [rad] of R, pitch in [-pi/2, pi/2]."""
    return rotation_to_euler("xyz", R)
