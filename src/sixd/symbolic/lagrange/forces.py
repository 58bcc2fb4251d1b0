"""Generalised forces of forces at points, as SymPy expressions: τ = Jᵀf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sixd.errors import ShapeError
from sixd.lazy import Expr, sympy
from sixd.spatial.scalar import is_sympy
from sixd.symbolic import arguments
from sixd.symbolic.arguments import Coordinates, VectorLike
from sixd.symbolic.echelon import tidy


def point_forces(
    positions: VectorLike | Sequence[VectorLike], q: Coordinates, directions: VectorLike | Sequence[Expr] | None = None
) -> Any:
    """Input matrix T(q) (n, m) of forces at points: generalised forces are τ = T f.

    Parameters
    ----------
    positions : a point (2,) or (3,) [m], functions of q, or a list of such points.
    q : the n coordinates.
    directions : for each point a vector along which its force acts, or a list of such vectors; functions of q if the
        direction rotates with a body. f is in units of the vector's length: give unit vectors for newtons. By default
        the axes: f then holds the components of the force at the first point, then at the second, …

    Returns
    -------
    T : SymPy matrix (n, m), for ``sixd.lagrange(…, inputs=T)``.

    >>> import sympy as sp, sixd
    >>> theta, r = sp.symbols("theta r")
    >>> sixd.point_forces((r * sp.cos(theta), r * sp.sin(theta)), (theta, r))
    Matrix([
    [-r*sin(theta), r*cos(theta)],
    [   cos(theta),   sin(theta)]])
    """
    where = "point_forces"
    q = arguments.coordinates(where, q)
    points = [arguments.vector(where, "position", p, (2, 3)) for p in _list_of_vectors(where, "positions", positions)]
    qd = arguments.velocities(where, q, None)
    for p in points:
        arguments.require_positions(where, "positions", p, qd, "Forces need positions only.")
    axes = _axes(where, points, positions, directions)
    columns = []
    for p, vectors in zip(points, axes, strict=True):
        J = sympy.Matrix(p.rows, len(q), lambda i, j, p=p: p[i].diff(q[j]))
        columns += [[tidy(e) for e in J.T * d] for d in vectors]
    return sympy.Matrix(len(columns), len(q), [e for c in columns for e in c]).T


def _axes(where: str, points: list[Expr], positions: Any, directions: Any) -> list[list[Expr]]:
    """For each point the vectors along which forces act."""
    if directions is None:
        return [[sympy.eye(p.rows).col(k) for k in range(p.rows)] for p in points]
    single = len(points) == 1 and not _is_nested(positions)
    listed = [directions] if single else arguments.entries_of(where, "directions", directions)
    if len(listed) != len(points):
        raise ShapeError(f"{where}: directions has {len(listed)} entries, expected {len(points)}, one for each point.")
    groups = (_list_of_vectors(where, "directions", g) for g in listed)
    return [
        [arguments.vector(where, "direction", d, (p.rows,)) for d in g] for p, g in zip(points, groups, strict=True)
    ]


def _is_nested(x: Any) -> bool:
    """Whether x is a list of vectors rather than one vector."""
    return not isinstance(x, sympy.MatrixBase) and any(arguments.is_listed(e) and not isinstance(e, str) for e in x)


def _list_of_vectors(where: str, what: str, x: Any) -> list[Expr]:
    if not arguments.is_listed(x) or isinstance(x, str) or (is_sympy(x) and not hasattr(x, "shape")):
        raise ShapeError(f"{where}: {what} is {x!r}, expected a vector, or a list of vectors.")
    return arguments.entries_of(where, what, x) if _is_nested(x) else [x]
