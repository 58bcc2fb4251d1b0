"""Linearization of equations of motion about a state: ẋ = A x + B u for small x = (δq, δq̇) and u = δf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.errors import ModelError, ShapeError, SingularError
from sixd.lazy import Expr, Matrix, Symbol, sympy
from sixd.spatial.scalar import is_sympy
from sixd.symbolic.arguments import ExprLike, VectorLike
from sixd.symbolic.ring.derivative import real_derivative

if TYPE_CHECKING:
    from sixd.symbolic.equations.equations import Equations


class Linear(NamedTuple):
    """A (2n, 2n) and B (2n, m) of ẋ = A x + B u; NumPy arrays if all entries are numbers, else SymPy matrices."""

    A: Any
    B: Any


def linearize(
    system: Equations, q: VectorLike, qd: VectorLike | None = None, f: VectorLike | ExprLike | None = None
) -> Linear:
    """(A, B) of ẋ = A x + B u for small deviations x = (δq, δq̇) and u = δf from a state and input force.

    q, qd (n,) and f (m,) are numbers or SymPy expressions; qd and f are zero if omitted. Shapes (2n, 2n), (2n, m).
    """
    n, m = system.nv, system.input_matrix.shape[1]
    if system.nq != n:
        raise ModelError(f"linearize: {system.name!r} has quaternions, expected coordinates with q̇ = qd.")
    if system.constraints:
        raise ModelError(
            f"linearize: {system.name!r} has constraints, expected independent coordinates. Use .eliminate() first, "
            f"or, for numbers, sixd.linearize(system, q, qd)."
        )
    point = dict(zip(system.q, _entries("q", q, n), strict=True))
    point |= dict(zip(system.qd, _entries("qd", qd, n), strict=True))
    force = sympy.Matrix(_entries("f", f, m)) if m else sympy.zeros(0, 1)

    def at(matrix: Matrix) -> Any:
        return matrix.subs(point, simultaneous=True)

    M, h, T = at(system.M), at(system.h), at(system.input_matrix)
    if n and M.det() == 0:
        raise SingularError(f"linearize: the mass matrix of {system.name!r} is singular in that configuration.")
    accelerations = M.LUsolve(T * force - h) if n else sympy.zeros(0, 1)
    # M δq̈ = (∂T/∂q f - ∂M/∂q q̈ - ∂h/∂q) δq - ∂h/∂q̇ δq̇ + T δf
    d_q = sympy.zeros(n, n)
    for k, x in enumerate(system.q):
        T_x, M_x, h_x = (at(_derivatives(matrix, x)) for matrix in (system.input_matrix, system.M, system.h))
        d_q[:, k] = T_x * force - M_x * accelerations - h_x
    d_qd = -at(sympy.Matrix.hstack(*(_derivatives(system.h, v) for v in system.qd))) if n else sympy.zeros(0, 0)
    if d_q.has(sympy.DiracDelta) or d_qd.has(sympy.DiracDelta):
        raise ModelError(
            f"linearize: the forces of {system.name!r} jump in that state, as dry friction does at rest, expected a "
            f"state where they are differentiable. Give velocities other than 0, or leave friction out."
        )
    below = M.LUsolve(d_q.row_join(d_qd).row_join(T)) if n else sympy.zeros(0, 2 * n + m)
    both = sympy.zeros(n, n).row_join(sympy.eye(n)).row_join(sympy.zeros(n, m)).col_join(below)
    A, B = both[:, : 2 * n], both[:, 2 * n :]
    if not both.free_symbols:
        return Linear(np.array(A, dtype=float), np.array(B, dtype=float))
    return Linear(A.applyfunc(sympy.simplify), B.applyfunc(sympy.simplify))


def _derivatives(matrix: Matrix, symbol: Symbol) -> Any:
    return matrix.applyfunc(lambda e: real_derivative(e, symbol))


def _entries(name: str, values: Any, n: int) -> list[Expr]:
    """The n values of an argument as finite SymPy expressions, zero if it is None."""
    if values is None:
        return [sympy.Integer(0)] * n
    listed = list(values) if np.ndim(values) or is_sympy(values) else [values]
    if len(listed) != n:
        raise ShapeError(f"linearize: {name} has {len(listed)} entries, expected {n}.")
    entries = [sympy.sympify(x) for x in listed]
    if any(x.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo) for x in entries):
        raise ShapeError(f"linearize: {name} is {listed}, expected finite numbers or expressions.")
    return entries
