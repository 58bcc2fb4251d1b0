"""Spatial and planar arithmetic under the original names  [RBDA ch. 2].

Spatial vectors are motion [ω; v] and force [n; f] (6,); planar vectors are [ω; vx; vy] and [n; fx; fy] (3,).
Every X is the motion coordinate transform from A to B, 6×6 or, planar, 3×3. Points are columns.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sixd.errors import ModelError, ShapeError
from sixd.io.spatial_v2 import matlab
from sixd.io.spatial_v2.matlab import scalar, single
from sixd.io.spatial_v2.structures import planar_pose
from sixd.spatial import transform as native
from sixd.spatial.inertia import Inertia
from sixd.spatial.rotation import skew, unskew
from sixd.spatial.scalar import Array, ArrayLike, Scalar, atan2, cos, exact, is_object, sin

# all of this arithmetic also accepts SymPy's symbols
numbers, vector = partial(matlab.numbers, symbols=True), partial(matlab.vector, symbols=True)
square, columns = partial(matlab.square, symbols=True), partial(matlab.columns, symbols=True)


def crm(v: ArrayLike) -> Array:
    """Return v×: (6, 6) of a spatial motion vector, (3, 3) of a planar one."""
    x = vector("crm", "v", v, 6, 3)
    if x.size == 6:
        return native.crm(x)
    w, vx, vy = x
    return np.array([[0, 0, 0], [vy, 0, -w], [-vx, w, 0]])


def crf(v: ArrayLike) -> Array:
    """Return v×*: (6, 6) or (3, 3), minus the transpose of ``crm(v)``."""
    return -crm(v).T


def mcI(m: ArrayLike, c: ArrayLike | None = None, I: ArrayLike | None = None) -> Any:
    """Return the inertia of a mass [kg], centre of mass [m] and rotational inertia about the centre [kg m²]; or back.

    ``mcI(m, c, I)`` with c (3,), I (3, 3) gives (6, 6); with c (2,) and a number I the planar (3, 3).
    ``m, c, I = mcI(inertia)`` splits an inertia whose mass is not 0.
    """
    if c is None:
        return _split(square("mcI", "inertia", m, 6, 3))
    mass, at = scalar("mcI", "m", m), vector("mcI", "c", c, 3, 2)
    if at.size == 3:
        about = square("mcI", "I", I, 3)
        return Inertia(mass, at, exact(about) if is_object(mass, at) else about).matrix
    (moment,), (x, y) = vector("mcI", "I", I, 1), at
    return np.array([[moment + mass * (x * x + y * y), -mass * y, mass * x], [-mass * y, mass, 0], [mass * x, 0, mass]])


def _split(inertia: Array) -> tuple[Scalar, Array, Any]:
    m = inertia[-1, -1]
    if m == 0:
        raise ModelError("mcI: the inertia has no mass and so no centre of mass, expected a nonzero mass.")
    if len(inertia) == 6:
        c = unskew(inertia[:3, 3:]) / m
        return m, c, inertia[:3, :3] - m * (skew(c) @ skew(c).T)
    c = np.array([inertia[0, 2], -inertia[0, 1]]) / m
    return m, c, inertia[0, 0] - m * (c @ c)


# transforms -------------------------------------------------------------------------------------


def rotx(theta: Scalar) -> Array:
    """Return X (6, 6) for B rotated by ``theta`` [rad] about the common x axis."""
    return native.rotx(scalar("rotx", "theta", theta))


def roty(theta: Scalar) -> Array:
    """Return X (6, 6) for B rotated by ``theta`` [rad] about the common y axis."""
    return native.roty(scalar("roty", "theta", theta))


def rotz(theta: Scalar) -> Array:
    """Return X (6, 6) for B rotated by ``theta`` [rad] about the common z axis."""
    return native.rotz(scalar("rotz", "theta", theta))


def xlt(r: ArrayLike) -> Array:
    """Return X (6, 6) for B moved by ``r`` (3,) [m], in A's coordinates."""
    return native.xlt(vector("xlt", "r", r, 3))


def plux(E: ArrayLike, r: ArrayLike | None = None) -> Any:
    """Return X (6, 6) = [E 0; -E r× E] of a rotation E (3, 3) and a position r (3,) [m]; or ``E, r = plux(X)``."""
    if r is not None:
        return native.plucker(square("plux", "E", E, 3), vector("plux", "r", r, 3))
    X = square("plux", "X", E, 6)
    return X[:3, :3], -unskew(X[:3, :3].T @ X[3:, :3])


def plnr(theta: ArrayLike, r: ArrayLike | None = None) -> Any:
    """Return the planar X (3, 3) for B at ``r`` (2,) [m], rotated by ``theta`` [rad]; or ``theta, r = plnr(X)``."""
    if r is None:
        X = square("plnr", "X", theta, 3)
        return atan2(X[1, 2], X[1, 1]), planar_pose(X)[:2, 3]
    theta, (x, y) = scalar("plnr", "theta", theta), vector("plnr", "r", r, 2)
    s, c = sin(theta), cos(theta)
    return np.array([[1, 0, 0], [s * x - c * y, c, s], [c * x + s * y, -s, c]])


def pluho(x: ArrayLike) -> Array:
    """Return the homogeneous coordinate transform (4, 4) = [E -E r; 0 1] of a Plücker transform (6, 6); or back.

    It maps the coordinates of points from A to B. The pose of B in A, as for drawing, is its inverse.
    """
    a = square("pluho", "argument", x, 6, 4)
    if len(a) == 6:
        return native.inverse_pose(native.pose_from_transform(a))
    return native.transform_from_pose(native.inverse_pose(a))


def XtoV(X: ArrayLike) -> Array:
    """Return the displacement from A to B as a motion vector, (6,) or planar (3,), for small angles.

    It is an eigenvector of X: v = X v, the same in A and in B. Its angular part is sin θ instead of θ; without
    rotation it is exact.
    """
    a = square("XtoV", "X", X, 6, 3)
    if len(a) == 6:
        return -np.concatenate([unskew(a[:3, :3]), unskew(a[3:, :3])])
    c, s, b1, b2 = a[1, 1], a[1, 2], a[1, 0], a[2, 0]
    return np.array([s, (s * b1 + (1 + c) * b2) / 2, (s * b2 - (1 + c) * b1) / 2])


# points -----------------------------------------------------------------------------------------


def Xpt(X: ArrayLike, p: ArrayLike) -> Array:
    """Return the coordinates in B of points in A [m]: p is (3,) or 3×n, with a planar X (2,) or 2×n."""
    a = square("Xpt", "X", X, 6, 3)
    E, r = plux(a) if len(a) == 6 else (a[1:, 1:], planar_pose(a)[:2, 3])
    moved = E @ (columns("Xpt", "p", p, len(r)) - r[:, None])
    return moved[:, 0] if single(p) else moved


def Vpt(v: ArrayLike, p: ArrayLike) -> Array:
    """Return the velocities [m/s] of points ``p`` [m] fixed in bodies with velocity ``v``.

    v is (6,), 6×n, or planar (3,), 3×n; one v applies to all points. p is (3,) or 3×n, planar (2,) or 2×n; the result
    has its shape.
    """
    V = numbers("Vpt", "v", v)
    V = V if V.ndim == 2 and len(V) in (3, 6) else vector("Vpt", "v", V, 6, 3)[:, None]
    P = columns("Vpt", "p", p, len(V) // 3 + 1)
    if V.shape[1] not in (1, P.shape[1]):
        raise ShapeError(f"Vpt: v has {V.shape[1]} columns, p {P.shape[1]}; expected the same number, or one v.")
    angular = np.cross(V[:3], P, axis=0) if len(V) == 6 else V[0] * np.array([-P[1], P[0]])
    moved = V[-len(P) :] + angular
    return moved[:, 0] if single(p) else moved


def Fpt(fp: ArrayLike, p: ArrayLike) -> Array:
    """Return spatial forces [p×f; f] of forces ``fp`` [N] at points ``p`` [m], each (3,) or 3×n; planar (2,) or 2×n.

    Each force has its own point. The resultant of all is ``Fpt(fp, p).sum(axis=1)``.
    """
    a = numbers("Fpt", "fp", fp)
    d = a.size if a.ndim < 2 or a.shape[0] == 1 else len(a)
    if d not in (2, 3):
        raise ShapeError(f"Fpt: fp has shape {a.shape}, expected (3,), 3×n, or planar (2,), 2×n.")
    F, P = columns("Fpt", "fp", fp, d), columns("Fpt", "p", p, d)
    if F.shape != P.shape:
        raise ShapeError(f"Fpt: fp has {F.shape[1]} columns, p {P.shape[1]}; expected a point for each force.")
    moment = np.cross(P, F, axis=0) if d == 3 else P[:1] * F[1:] - P[1:] * F[:1]
    forces = np.concatenate([moment, F])
    return forces[:, 0] if single(fp) else forces
