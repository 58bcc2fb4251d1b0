"""Plücker transforms, poses, the two cross products of spatial vectors, and points of a body.

Spatial vectors are angular first: motion [ω; v], force [n; f]. ``X_BA`` (6, 6) maps motion coordinates
from A to B; forces map back with its transpose: f_A = X_BA.T @ f_B. A pose ``T_AB`` (4, 4) locates
frame B in A: p_A = T_AB p_B. Letters as in RBDA chapter 2; every function accepts any scalar.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sixd.errors import ModelError, ShapeError
from sixd.spatial.rotation import EYE3, ZERO3, axis_rotation, rotation_from_rpy, skew
from sixd.spatial.scalar import Array, ArrayLike, Scalar, Vector, exact, is_object, require_scalars


@lru_cache(maxsize=64)
def _upper(n: int) -> tuple[Array, Array]:
    """Row and column, in the upper triangle, of the entry equal to each entry of a symmetric n×n matrix."""
    k = np.arange(n)
    return np.minimum.outer(k, k), np.maximum.outer(k, k)


def blocks(A: Array, B: Array, C: Array, D: Array) -> Array:
    """[[A, B], [C, D]] (6, 6) of four 3×3 blocks, numbers or objects."""
    out = np.empty((6, 6), dtype=np.result_type(A, B, C, D))
    out[:3, :3], out[:3, 3:], out[3:, :3], out[3:, 3:] = A, B, C, D
    return out


def plucker(E: Array, r: Vector) -> Array:
    """X_BA (6, 6) for a frame B at ``r`` (3,) in A [m] whose axes give E = R_BA (3, 3)  [RBDA 2.24]."""
    E = np.asarray(E)
    return blocks(E, ZERO3, -E @ skew(r), E)


def _rotation_transform(i: int, angle: Scalar) -> Array:
    E = axis_rotation(EYE3[i], angle).T
    return blocks(E, ZERO3, ZERO3, E)


def rotx(angle: Scalar) -> Array:
    """X_BA (6, 6) for B turned by ``angle`` [rad] about the common x axis."""
    return _rotation_transform(0, angle)


def roty(angle: Scalar) -> Array:
    """X_BA (6, 6) for B turned by ``angle`` [rad] about the common y axis."""
    return _rotation_transform(1, angle)


def rotz(angle: Scalar) -> Array:
    """X_BA (6, 6) for B turned by ``angle`` [rad] about the common z axis."""
    return _rotation_transform(2, angle)


def xlt(r: Vector) -> Array:
    """X_BA (6, 6) for B moved by ``r`` (3,) [m] in A, axes parallel."""
    return plucker(EYE3, r)


def inverse_transform(X_BA: Array) -> Array:
    """X_AB: the inverse, by transposing 3×3 blocks."""
    E, B = X_BA[:3, :3], X_BA[3:, :3]
    return blocks(E.T, ZERO3, B.T, E.T)


def force_transform(X_BA: Array) -> Array:
    """X*_BA = inverse transpose of X_BA: maps force coordinates from A to B."""
    return inverse_transform(X_BA).T


def rotate_both(R: Array, v: Array) -> Array:
    """[R ω; R v]: components of a spatial vector or of columns (6, …) in turned axes, same origin."""
    return np.concatenate([R @ v[:3], R @ v[3:]])


def mirror_upper(A: Array) -> Array:
    """The symmetric matrix with A's upper triangle; compiled code then skips the lower one, half the work."""
    return A[_upper(len(A))]


def congruence(X_BA: Array, I_B: Array) -> Array:
    """X_BA.T @ I_B @ X_BA: a symmetric inertia in B coordinates, in A coordinates  [RBDA 2.66]."""
    return mirror_upper(X_BA.T @ (I_B @ X_BA))


# poses ------------------------------------------------------------------------------------------


def placement(xyz: ArrayLike = (0, 0, 0), rpy: Vector | None = None, *, R: ArrayLike | None = None) -> Array:
    """Pose T_AB (4, 4) of a frame at ``xyz`` [m], turned by roll-pitch-yaw [rad] or by the matrix R_AB.

    >>> placement((0, 0, 0.5))[:3, 3]
    array([0. , 0. , 0.5])
    """
    if rpy is not None and R is not None:
        raise ModelError("placement: got both rpy and R, expected one of them. Leave one out.")
    require_scalars("placement: xyz, rpy or R", xyz, () if rpy is None else rpy, () if R is None else R)
    R = rotation_from_rpy((0, 0, 0) if rpy is None else rpy) if R is None else np.asarray(R)
    p = np.asarray(xyz)
    if R.shape != (3, 3) or p.shape != (3,):
        raise ShapeError(f"placement: xyz has shape {p.shape}, R {R.shape}; expected (3,) and (3, 3).")
    numbers = [x.astype(float) for x in (p, R) if x.dtype != object]
    if not all(np.isfinite(x).all() for x in numbers):
        raise ModelError(f"placement: xyz is {p.tolist()}, R {R.tolist()}; expected finite numbers.")
    if R.dtype != object and np.abs(R @ R.T - EYE3).max() > 1e-6:
        raise ModelError(f"placement: R is {R.tolist()}, expected a rotation matrix.")
    return make_pose(R, p)


def make_pose(R: Array, p: ArrayLike) -> Array:
    """The pose (4, 4) of a rotation and a position, without checks."""
    T = np.zeros((4, 4), dtype=np.result_type(R, np.asarray(p), float))
    T[:3, :3], T[:3, 3], T[3, 3] = R, p, 1
    return exact(T) if T.dtype == object else T


def compose(T_AB: Array, T_BC: Array) -> Array:
    """T_AC (4, 4); whole numbers stay exact next to symbols."""
    if is_object(T_AB, T_BC):
        return exact(T_AB) @ exact(T_BC)
    return T_AB @ T_BC


def inverse_pose(T_AB: Array) -> Array:
    """T_BA, the pose of A in B."""
    R, p = T_AB[:3, :3], T_AB[:3, 3]
    return make_pose(R.T, -R.T @ p)


def transform_from_pose(T_AB: Array) -> Array:
    """X_BA (6, 6) of the pose of B in A."""
    return plucker(T_AB[:3, :3].T, T_AB[:3, 3])


def pose_from_transform(X_BA: Array) -> Array:
    """Pose T_AB (4, 4) of B in A from X_BA."""
    E = X_BA[:3, :3]
    S = -E.T @ X_BA[3:, :3]  # skew(r), exactly skew only without rounding
    return make_pose(E.T, [S[2, 1], S[0, 2], S[1, 0]])


# cross products ---------------------------------------------------------------------------------


def crm(v: Vector) -> Array:
    """v× (6, 6): the rate of a motion vector carried along with velocity v  [RBDA 2.31]."""
    W = skew(v[:3])
    return blocks(W, ZERO3, skew(v[3:]), W)


def crf(v: Vector) -> Array:
    """v×* (6, 6) = -crm(v).T: the same for a force vector  [RBDA 2.32]."""
    return -crm(v).T


# points: all quantities of one call are in one frame ----------------------------------------------


def transform_point(X_BA: Array, p_A: ArrayLike) -> Array:
    """Coordinates in B (3,) or (3, n) of points in A [m]."""
    T_AB, p = pose_from_transform(X_BA), np.asarray(p_A)
    r = T_AB[:3, 3]
    return T_AB[:3, :3].T @ (p - (r if p.ndim == 1 else r[:, None]))


def point_velocity(v: Vector, p: Vector) -> Array:
    """Velocity (3,) [m/s] of the body-fixed point at ``p`` (3,) [m] of a body with spatial velocity v."""
    v = np.asarray(v)
    return v[3:] + skew(v[:3]) @ np.asarray(p)


def point_acceleration(a: Vector, v: Vector, p: Vector) -> Array:
    """Classical acceleration (3,) [m/s²] of the body-fixed point at ``p``, from spatial a and v."""
    a, v = np.asarray(a), np.asarray(v)
    return a[3:] + skew(a[:3]) @ np.asarray(p) + skew(v[:3]) @ point_velocity(v, p)


def force_at_point(f: Vector, p: Vector) -> Array:
    """Spatial force [p×f; f] (6,) of the linear force ``f`` (3,) [N] through the point ``p`` [m]."""
    f = np.asarray(f)
    return np.concatenate([skew(p) @ f, f])


def classical_acceleration(a: Vector, v: Vector) -> Array:
    """[ω̇; v̇ + ω×v] (6,): the origin point's own acceleration, from the spatial one  [RBDA section 2.11]."""
    a, v = np.asarray(a), np.asarray(v)
    return np.concatenate([a[:3], a[3:] + skew(v[:3]) @ v[3:]])


def spatial_acceleration(classical: Vector, v: Vector) -> Array:
    """[ω̇; p̈ - ω×v] (6,): inverse of :func:`classical_acceleration`."""
    a, v = np.asarray(classical), np.asarray(v)
    return np.concatenate([a[:3], a[3:] - skew(v[:3]) @ v[3:]])
