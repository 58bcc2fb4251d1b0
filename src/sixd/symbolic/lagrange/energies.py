"""Energies of rigid bodies in the user's coordinates, ready for ``sixd.lagrange``: T = ½ m v·v + ½ ωᵀIω, V = -m g·p.

Positions and rotations are SymPy functions of q; velocities follow by exact differentiation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError, require_known
from sixd.lazy import Expr, Matrix, sympy
from sixd.spatial.rotation import rotation_from_euler
from sixd.symbolic.arguments import (
    Coordinates,
    ExprLike,
    MatrixLike,
    VectorLike,
    coordinates,
    entries_of,
    expression,
    is_listed,
    matrix,
    require_positions,
    time_in,
    vector,
    velocities,
)
from sixd.symbolic.echelon import is_zero
from sixd.symbolic.ring.normal_form import canonical


def body_energy(
    mass: ExprLike,
    position: VectorLike,
    q: Coordinates,
    qd: Coordinates | None = None,
    *,
    angle: ExprLike | None = None,
    rotation: MatrixLike | None = None,
    euler: tuple[str, VectorLike] | None = None,
    inertia: ExprLike | VectorLike | MatrixLike = 0,
    gravity: VectorLike | None = None,
) -> tuple[Any, Any]:
    """(T, V) [J] of a rigid body: kinetic energy and potential energy in gravity, as SymPy expressions.

    Parameters
    ----------
    mass : [kg].
    position : (2,) or (3,) of the centre of mass [m], functions of q.
    q, qd : coordinates and velocities; q1 has qd1, theta has thetad, if qd is omitted.
    angle : of a planar body [rad], positive from x to y, a function of q.
    rotation : of a spatial body, R_WB (3, 3), which maps body to world components, functions of q; or
    euler : (sequence, angles), such as ``("ZXZ", (q1, q3, q2))`` for R = Rz(q1) Rx(q3) Rz(q2). Capitals rotate
        about the moving axes, small letters about the fixed ones, as in ``sixd.spatial.rotation_from_euler``.
    inertia : about the centre of mass [kg m²]: of a planar body its moment about z, of a spatial body the three
        principal moments or the matrix (3, 3), in body axes.
    gravity : (2,) or (3,) acceleration [m/s²], such as (0, -g); zero if omitted.

    >>> import sympy as sp, sixd
    >>> m, I, g, x, y, theta = sp.symbols("m I g x y theta")
    >>> T, V = sixd.body_energy(m, (x, y), (x, y, theta), angle=theta, inertia=I, gravity=(0, -g))
    >>> T, V
    (I*thetad**2/2 + m*(xd**2 + yd**2)/2, g*m*y)
    """
    where = "body_energy"
    q = coordinates(where, q)
    qd = velocities(where, q, qd)
    m = expression(where, "mass", mass)
    p = vector(where, "position", position, (2, 3))
    require_positions(where, "position", p, qd)
    _require_no_time(where, p, q)
    if p.rows == 2:
        rotational = _planar(where, angle, rotation, euler, inertia, q, qd)
    else:
        rotational = _spatial(where, angle, rotation, euler, inertia, q, qd)
    v = rate(p, q, qd)
    T = m * canonical(v.dot(v)) / 2 + rotational
    if gravity is None:
        return T, 0 * m
    g = vector(where, "gravity", gravity, (p.rows,))
    return T, canonical(-m * g.dot(p))


def angular_velocity(R: MatrixLike, q: Coordinates, qd: Coordinates | None = None, frame: str = "body") -> Any:
    """ω (3, 1) [rad/s] of the rotation R_WB(q) (3, 3), a SymPy column.

    ``frame``: "body" gives its components in body axes (Ṙ = R ω̂), "space" in world axes (Ṙ = ω̂ R).
    """
    where = "angular_velocity"
    q = coordinates(where, q)
    qd = velocities(where, q, qd)
    require_known(f"{where}: frame", "choice", frame, ("body", "space"))
    R = _checked_rotation(where, R, qd)
    return _angular_velocity(R, q, qd, frame)


def rate(x: Matrix, q: Sequence[Expr], qd: Sequence[Expr]) -> Any:
    """dx/dt = Σ ∂x/∂q_i q̇_i of a matrix of functions of q."""
    total = x * 0
    for s, v in zip(q, qd, strict=True):
        total += x.diff(s) * v
    return total


def _angular_velocity(R: Matrix, q: Sequence[Expr], qd: Sequence[Expr], frame: str) -> Any:
    S = R.T * rate(R, q, qd) if frame == "body" else rate(R, q, qd) * R.T
    return sympy.Matrix([canonical(e) for e in (S[2, 1], S[0, 2], S[1, 0])])


def _checked_rotation(where: str, R: MatrixLike, qd: Sequence[Expr]) -> Any:
    """R (3, 3), checked to be a rotation: orthogonal, with determinant 1."""
    R = matrix(where, "rotation", R, (3, 3))
    require_positions(where, "rotation", R, qd)
    gaps = [*(R.T * R - sympy.eye(3)), R.det() - 1]
    rough = R.has(sympy.Float)  # rounded entries cannot be tested exactly
    if not all(_is_small(e) if rough else is_zero(e) for e in gaps):
        raise ModelError(
            f"{where}: rotation is not a rotation matrix: RᵀR - 1 and det R - 1 do not vanish, expected R_WB with "
            f"orthonormal columns. Make one with euler=, or fix its entries."
        )
    return R


def _is_small(e: Expr) -> bool:
    """Whether an expression is zero within rounding at one point."""
    point = {s: sympy.Float(0.3 + 0.1 * k) for k, s in enumerate(sorted(e.free_symbols, key=str))}
    value = e.xreplace(point).evalf()
    return bool(value.is_number and abs(value) < 1e-9)  # rotations written by hand have nine digits or more


def _planar(
    where: str,
    angle: ExprLike | None,
    rotation: MatrixLike | None,
    euler: tuple[str, VectorLike] | None,
    inertia: ExprLike | VectorLike | MatrixLike,
    q: Sequence[Expr],
    qd: Sequence[Expr],
) -> Any:
    """½ I ω² of a body in the plane."""
    if rotation is not None or euler is not None:
        raise ModelError(f"{where}: position has 2 components, expected 3 with a rotation. Give angle= in the plane.")
    if is_listed(inertia):
        raise ShapeError(f"{where}: inertia is {inertia!r}, expected one moment about z for a planar body.")
    I = expression(where, "inertia", inertia)
    if angle is None:
        _require_point(where, I == 0, "angle=")
    theta = sympy.Matrix([expression(where, "angle", 0 if angle is None else angle)])
    require_positions(where, "angle", theta, qd)
    return I * rate(theta, q, qd)[0] ** 2 / 2


def _spatial(
    where: str,
    angle: ExprLike | None,
    rotation: MatrixLike | None,
    euler: tuple[str, VectorLike] | None,
    inertia: ExprLike | VectorLike | MatrixLike,
    q: Sequence[Expr],
    qd: Sequence[Expr],
) -> Any:
    """½ ωᵀIω of a body in space, in body axes."""
    if angle is not None:
        raise ModelError(f"{where}: position has 3 components, expected 2 with an angle. Give rotation= or euler=.")
    I = _inertia_matrix(where, inertia)
    if rotation is None and euler is None:
        _require_point(where, not any(I), "rotation= or euler=")
    w = _angular_velocity(rotation_of(where, rotation, euler, qd), q, qd, "body")
    return (w.T * I * w)[0] / 2


def rotation_of(
    where: str, rotation: MatrixLike | None, euler: tuple[str, VectorLike] | None, qd: Sequence[Expr]
) -> Any:
    """R_WB (3, 3) from a matrix or Euler angles, checked; the identity if both are None."""
    if rotation is not None and euler is not None:
        raise ModelError(f"{where}: rotation and euler are both passed, expected one of them.")
    if euler is not None:
        return _from_euler(where, euler, qd)
    return sympy.eye(3) if rotation is None else _checked_rotation(where, rotation, qd)


def _from_euler(where: str, euler: tuple[str, VectorLike], qd: Sequence[Expr]) -> Any:
    if not isinstance(euler, (tuple, list)) or len(euler) != 2 or not isinstance(euler[0], str):
        raise ScalarTypeError(f"{where}: euler is {euler!r}, expected a sequence and its angles: ('ZXZ', (a, b, c)).")
    angles = vector(where, "the angles of euler", euler[1], (3,))
    require_positions(where, "the angles of euler", angles, qd)
    R = rotation_from_euler(euler[0], np.array(list(angles), dtype=object))
    return sympy.Matrix(3, 3, list(R.ravel()))


def _inertia_matrix(where: str, inertia: ExprLike | VectorLike | MatrixLike) -> Any:
    if not is_listed(inertia):
        if expression(where, "inertia", inertia) == 0:
            return sympy.zeros(3, 3)
        raise ShapeError(f"{where}: inertia is {inertia!r}, expected three principal moments or a matrix (3, 3).")
    if np.ndim(np.array(inertia, dtype=object)) == 1 or 1 in getattr(inertia, "shape", ()):
        return sympy.diag(*vector(where, "inertia", entries_of(where, "inertia", inertia), (3,)))
    I = matrix(where, "inertia", inertia, (3, 3))
    if not all(is_zero(e) for e in I - I.T):
        raise ModelError(f"{where}: inertia is not symmetric, expected I = Iᵀ about the centre of mass.")
    return I


def _require_point(where: str, is_point: bool, wanted: str) -> None:
    if not is_point:
        raise ModelError(f"{where}: inertia is passed without an orientation, expected {wanted} as well.")


def _require_no_time(where: str, p: Matrix, q: Sequence[Expr]) -> None:
    """Raise if a position depends on time explicitly: that part of its velocity would be lost."""
    if time_in(p.xreplace({x: sympy.Dummy() for x in q})) is not None:
        raise ModelError(
            f"{where}: the position {list(p)} depends on the time besides the coordinates {list(q)}, expected the "
            f"coordinates alone. Make the driven motion a coordinate with a constraint on its velocity."
        )
