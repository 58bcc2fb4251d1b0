"""Exponentials and logarithms of SO(3) and SE(3), screw motions, and the adjoint of a pose.

Twists and screws are angular first, [ω; v]; a pose T_AB (4, 4) locates frame B in A. The functions are written for any
scalar. Near 0 they are sums of powers, so that derivatives of every order are accurate there.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from sixd.errors import ModelError, ShapeError
from sixd.spatial.rotation import EYE3, ZERO3, axis_rotation, quaternion_from_rotation, skew
from sixd.spatial.scalar import (
    Array,
    ArrayLike,
    Scalar,
    atan2,
    cos,
    is_number,
    numeric,
    require_scalars,
    sin,
    sqrt,
    where,
    whole,
)
from sixd.spatial.transform import blocks, compose, make_pose

_SERIES_BELOW = 0.25  # θ² where closed forms begin to cancel; the series are at rounding there
_SERIES_BELOW_HALF = 0.01  # likewise of sin²(θ/2)

# sin θ/θ, (1 - cos θ)/θ², (θ - sin θ)/θ³ and (1 - θ/2 cot θ/2)/θ² in powers of θ²; asin(s)/s in powers of s²
_SINES = [[(-1) ** k / math.factorial(2 * k + n) for k in range(8)] for n in (1, 2, 3)]
_LOG_SERIES = [
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
]  # fmt: skip
_ASIN_SERIES = [math.comb(2 * k, k) / (4**k * (2 * k + 1)) for k in range(9)]


def _polynomial(coefficients: list[float], x: Scalar) -> Scalar:
    return reduce(lambda total, c: total * x + c, reversed(coefficients))


def _is_small(x: Scalar, bound: float) -> Any:
    """x < bound; False for an expression with symbols, which has the closed form."""
    return False if getattr(x, "free_symbols", None) else x < bound


def sine_coefficient(k: int, t2: Scalar) -> Scalar:
    """Of θ²: sin θ/θ, (1 - cos θ)/θ² or (θ - sin θ)/θ³, for k = 0, 1, 2."""
    small = _is_small(t2, _SERIES_BELOW)
    safe = where(small, 1.0, t2)
    t = sqrt(safe)
    if k == 1:
        half = sin(t / 2)
        closed = half * half * 2 / safe
    else:
        closed = (t - sin(t)) / (t * safe) if k else sin(t) / t
    return where(small, _polynomial(_SINES[k], t2), closed)


def log_coupling(w: Array) -> Array:
    """V⁻¹ (3, 3) for ‖w‖ ≤ pi, V = ∫₀¹ exp(s w×) ds: the velocity of the origin from its displacement."""
    t2 = w @ w
    small = _is_small(t2, _SERIES_BELOW)
    safe = where(small, 1.0, t2)
    half = sqrt(safe) / 2
    closed = (1 - half * cos(half) / sin(half)) / safe
    c = where(small, _polynomial(_LOG_SERIES, t2), closed)
    W = skew(w)
    return EYE3 - W / 2 + (W @ W) * c


# rotations and poses ----------------------------------------------------------------------------


def exp_so3(w: ArrayLike) -> Array:
    """R (3, 3) = exp(w×): the rotation by ‖w‖ [rad] about w (3,), of any length.

    ``rotation_from_vector`` is the same, without comparisons: its second derivatives lose digits near 0.
    """
    return _sum_of_powers(_shaped("exp_so3: w", w, 3), 0)


def _sum_of_powers(w: Array, k: int) -> Array:
    """exp(w×) (3, 3) for k = 0, ∫₀¹ exp(s w×) ds for k = 1."""
    W, t2 = skew(w), w @ w
    return EYE3 + W * sine_coefficient(k, t2) + (W @ W) * sine_coefficient(k + 1, t2)


def log_so3(R: ArrayLike) -> Array:
    """w (3,) with exp_so3(w) = R (3, 3), ‖w‖ in [0, pi] [rad]; its sign at pi is arbitrary."""
    q = quaternion_from_rotation(_rotation("log_so3: R", R, 3))
    square = q[1:] @ q[1:]
    small = _is_small(square, _SERIES_BELOW_HALF)
    s = sqrt(where(small, 1, square))
    return q[1:] * where(small, _polynomial(_ASIN_SERIES, square) * 2, atan2(s, q[0]) * 2 / s)


def exp_se3(twist: ArrayLike) -> Array:
    """T (4, 4): the pose reached from the identity by the constant twist [ω; v] (6,) in unit time [rad, m].

    T = [[exp_so3(ω), V v], [0, 1]] with V = ∫₀¹ exp(s ω×) ds.
    """
    x = _shaped("exp_se3: twist", twist, 6)
    w, v = x[:3], x[3:]
    return make_pose(_sum_of_powers(w, 0), _sum_of_powers(w, 1) @ v)


def log_se3(T: ArrayLike) -> Array:
    """The twist [ω; v] (6,) with exp_se3(twist) = T (4, 4), ‖ω‖ ≤ pi [rad, m]."""
    T = _rotation("log_se3: T", T, 4)
    w = log_so3(T[:3, :3])
    return np.concatenate([w, log_coupling(w) @ T[:3, 3]])


def adjoint(T_AB: ArrayLike) -> Array:
    """Ad (6, 6) = [[R, 0], [p× R, R]] of the pose T_AB (4, 4): v_A = Ad v_B for motion vectors [ω; v].

    It is X_AB, the inverse of ``transform_from_pose(T_AB)`` = X_BA; forces map by its transpose, f_B = Adᵀ f_A.
    """
    T = _rotation("adjoint: T", T_AB, 4)
    R = T[:3, :3]
    return blocks(R, ZERO3, skew(T[:3, 3]) @ R, R)


def product_of_exponentials(screws: ArrayLike, q: ArrayLike, home: ArrayLike) -> Array:
    """T (4, 4) = exp(S₁ q₁) … exp(Sₙ qₙ) home: the pose of a chain's last frame in its base.

    Parameters
    ----------
    screws : (n, 6), the axes [ω; v] of the joints in the base's coordinates at q = 0, nearest to the base first:
        [a; p×a] for a rotation about the unit vector a through p, [0; a] for a displacement along a, [a; p×a + h a] for
        a screw of pitch h [m/rad].
    q : (n,) [rad, m].
    home : (4, 4), the pose at q = 0.
    """
    name = "product_of_exponentials"
    S, T = _shaped(f"{name}: screws", screws, "n", 6), _rotation(f"{name}: home", home, 4)
    q = _shaped(f"{name}: q", q, len(S))
    for screw, angle in zip(S[::-1], q[::-1], strict=True):
        T = compose(_screw_motion(screw, angle), T)
    return T


def _screw_motion(screw: Array, q: Scalar) -> Array:
    """exp(S q); of an axis in numbers by sines and cosines alone, so that symbols stay short."""
    w, v = [whole(numeric(x)) for x in screw[:3]], screw[3:]
    if not all(map(is_number, w)):
        return exp_se3(screw * q)
    length = whole(math.hypot(*w))
    if length == 0:
        return make_pose(EYE3, v * q)
    a = np.array(w if length == 1 else [x / length for x in w])
    A, angle = skew(a), q * length
    V = EYE3 * angle + A * (1 - cos(angle)) + (A @ A) * (angle - sin(angle))
    return make_pose(axis_rotation(a, angle), V @ (v if length == 1 else v / length))


def _shaped(what: str, value: ArrayLike, *shape: int | str) -> Array:
    """``value`` as an array of that shape, in which "n" is any number; raise if it has another."""
    require_scalars(what, value)
    array = np.asarray(value)
    if array.ndim != len(shape) or any(a != b for a, b in zip(array.shape, shape, strict=True) if b != "n"):
        wanted = f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
        raise ShapeError(f"{what} has shape {array.shape}, expected {wanted}. For many at once see sixd.compile.")
    return array


def _rotation(what: str, value: ArrayLike, n: int) -> Array:
    """``value`` as a rotation matrix, n = 3, or a pose, n = 4; raise if it consists of numbers and is not rigid."""
    T = _shaped(what, value, n, n)
    if T.dtype != object:
        R, last = T[:3, :3], np.abs(T[3:] - np.eye(4)[3, :n]).max(initial=0) < 1e-9
        if not (np.abs(R @ R.T - EYE3).max() < 1e-6 and np.linalg.det(R) > 0 and last):
            raise ModelError(f"{what} is not rigid, expected a rotation matrix{' in a pose' * (n == 4)}.")
    return T
