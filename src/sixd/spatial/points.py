"""Points, point velocities, forces at points, and the two kinds of acceleration.

All quantities of one call are in one frame; points are coordinates in that frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array
from sixd.spatial.transform import pose_from_transform


def transform_point(X_BA: Array, p_A: Any) -> Array:
    """Coordinates in B (3,) or (3, n) of points given in A [m]."""
    T_AB, p = pose_from_transform(X_BA), np.asarray(p_A)
    r = T_AB[:3, 3]
    return T_AB[:3, :3].T @ (p - (r if p.ndim == 1 else r[:, None]))


def point_velocity(v: Any, p: Any) -> Array:
    """Velocity (3,) [m/s] of the body-fixed point at ``p`` (3,) [m] of a body with spatial velocity v."""
    v = np.asarray(v)
    return v[3:] + skew(v[:3]) @ np.asarray(p)


def point_acceleration(a: Any, v: Any, p: Any) -> Array:
    """Classical acceleration (3,) [m/s²] of the body-fixed point at ``p``, from spatial a and v."""
    a, v = np.asarray(a), np.asarray(v)
    return a[3:] + skew(a[:3]) @ np.asarray(p) + skew(v[:3]) @ point_velocity(v, p)


def force_at_point(f: Any, p: Any) -> Array:
    """Spatial force [p×f; f] (6,) of the linear force ``f`` (3,) [N] through the point ``p`` [m]."""
    f = np.asarray(f)
    return np.concatenate([skew(p) @ f, f])


def classical_acceleration(a: Any, v: Any) -> Array:
    """[ω̇; v̇ + ω×v] (6,): the origin point's own acceleration, from the spatial one  [RBDA section 2.11]."""
    a, v = np.asarray(a), np.asarray(v)
    return np.concatenate([a[:3], a[3:] + skew(v[:3]) @ v[3:]])


def spatial_acceleration(classical: Any, v: Any) -> Array:
    """[ω̇; p̈ - ω×v] (6,): inverse of :func:`classical_acceleration`."""
    a, v = np.asarray(classical), np.asarray(v)
    return np.concatenate([a[:3], a[3:] - skew(v[:3]) @ v[3:]])
