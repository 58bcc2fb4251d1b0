"""Principal moments and axes of a symmetric matrix (3, 3): by floats, or exactly where the roots have a short form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.errors import ModelError
from sixd.spatial.scalar import Array, Scalar, is_object

if TYPE_CHECKING:
    from sympy import Matrix

_EQUAL = 1e-12  # of the largest entry: moments this close have no axes of their own


class PrincipalMoments(NamedTuple):
    """Principal ``moments`` (3,) [kg m²] and ``axes`` (3, 3), the unit vectors as columns, right-handed.

    The matrix is axes · diag(moments) · axesᵀ.
    """

    moments: Array
    axes: Array


def principal(matrix: Array) -> PrincipalMoments:
    """Moments and axes of a symmetric matrix (3, 3)."""
    return _exact(matrix) if is_object(matrix) else _numeric(np.asarray(matrix, dtype=float))


def _numeric(A: Array) -> PrincipalMoments:
    moments, V = np.linalg.eigh((A + A.T) / 2)
    scale = max(np.abs(moments).max(), np.finfo(float).tiny)
    axes: list[Array] = []
    k = 0
    while k < 3:  # groups of equal moments: use the frame's axes nearest to their space
        same = [j for j in range(k, 3) if abs(moments[j] - moments[k]) <= _EQUAL * scale]
        space = V[:, same]
        own: list[Array] = []
        for _ in same:
            shadows = [space @ (space.T @ e) for e in np.eye(3)]
            shadows = [s - sum((a * (a @ s) for a in own), np.zeros(3)) for s in shadows]
            best = shadows[int(np.argmax([round(float(s @ s), 9) for s in shadows]))]
            own.append(best / np.sqrt(best @ best))
        axes += own
        k += len(same)
    first, second = (a if a[np.argmax(np.abs(a).round(9))] > 0 else -a for a in axes[:2])
    return PrincipalMoments(moments, np.array([first, second, np.cross(first, second)]).T + 0.0)


def _exact(A: Array) -> PrincipalMoments:
    import sympy

    M = sympy.Matrix(3, 3, lambda i, j: sympy.sympify(A[i, j]))
    M = M.applyfunc(lambda e: sympy.nsimplify(e, rational=True) if e.is_Float else e)
    mixed = [(i, j) for i, j in ((0, 1), (0, 2), (1, 2)) if sympy.simplify(M[i, j]) != 0]
    if not mixed:
        pairs = [(M[k, k], sympy.eye(3).col(k)) for k in range(3)]
    elif len(mixed) == 1:
        pairs = _one_axis_known(M, *mixed[0])
    else:
        pairs = _by_factors(M)
    if not M.free_symbols:
        pairs.sort(key=lambda pair: float(pair[0]))
    first, second = pairs[0][1], pairs[1][1]
    axes = sympy.Matrix.hstack(first, second, first.cross(second).applyfunc(_simple))
    moments = np.array([moment for moment, _ in pairs], dtype=object)
    return PrincipalMoments(moments, np.array(axes.tolist(), dtype=object))


def _one_axis_known(M: Matrix, i: int, j: int) -> list[tuple[Any, Any]]:
    """Axes i and j turned in their plane by φ, tan 2φ = 2c/(a - b): moments (a + b)/2 ± √(((a - b)/2)² + c²)."""
    import sympy

    a, b, c = M[i, i], M[j, j], M[i, j]
    middle, root = (a + b) / 2, sympy.sqrt((a - b) ** 2 + 4 * c**2) / 2
    angle = sympy.atan2(2 * c, a - b) / 2
    pairs: list[tuple[Any, Any]] = [(M[k, k], sympy.eye(3).col(k)) for k in range(3)]
    x, y = sympy.eye(3).col(i), sympy.eye(3).col(j)
    pairs[i] = (middle + root, x * sympy.cos(angle) + y * sympy.sin(angle))
    pairs[j] = (middle - root, y * sympy.cos(angle) - x * sympy.sin(angle))
    return pairs


def _by_factors(M: Matrix) -> list[tuple[Any, Any]]:
    """The roots of the characteristic polynomial where it has a factor, and the axes that belong to them."""
    import sympy

    x = sympy.Dummy("x")
    pairs: list[tuple[Any, Any]] = []
    polynomial = sympy.expand((x * sympy.eye(3) - M).det(method="berkowitz"))
    for factor, count in sympy.factor_list(polynomial)[1]:
        if not factor.has(x):
            continue
        if sympy.degree(factor, x) > 2:
            return _without_factors(M)
        for moment in map(_simple, sympy.solve(factor, x)):
            space = (M - moment * sympy.eye(3)).applyfunc(_simple).nullspace(simplify=_simple)
            if len(space) != count:
                return _without_factors(M)
            axes: list[Any] = []
            for v in space:
                for a in axes:
                    v = v - a * a.dot(v)
                axes.append(_unit(v.applyfunc(_simple)))
            pairs += [(moment, a) for a in axes]
    return pairs


def _without_factors(M: Matrix) -> list[tuple[Any, Any]]:
    import sympy

    if M.free_symbols:
        raise ModelError(
            f"Inertia.principal: the characteristic polynomial of {M.tolist()} has no factor, expected one, so that "
            f"the moments have a short form. Give numbers for {', '.join(sorted(map(str, M.free_symbols)))}."
        )
    numbers = _numeric(np.array(M.tolist(), dtype=float))
    return [(sympy.Float(m), sympy.Matrix(axis)) for m, axis in zip(numbers.moments, numbers.axes.T, strict=True)]


def _unit(axis: Matrix) -> Any:
    import sympy

    length = sympy.sqrt(_simple(axis.dot(axis)))
    return axis.applyfunc(lambda e: _simple(e / length))


def _simple(e: Scalar) -> Any:
    import sympy

    return sympy.radsimp(sympy.simplify(e))
