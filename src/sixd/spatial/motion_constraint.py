"""One rigid body under a motion constraint, and two bodies under one pair of forces.

A body with motion subspace S (6, nf) and velocity v = S α accelerates by a = Φ f + b under a force f; the constraint
adds a force f_c with Sᵀf_c = 0. Numbers or SymPy expressions; all in one frame, of the reader's choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.errors import ModelError, ShapeError, SingularError
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, ArrayLike, Scalar, exact, is_object, require_scalars
from sixd.spatial.transform import crf

_RANK = 1e-12  # entries below this part of the largest count as zero


@dataclass(frozen=True, eq=False)
class ConstrainedBody:
    """A rigid body with velocity v = S α: a = Φ f + b under a force f (6,), for any f.

    ``Phi`` (6, 6) = S (SᵀI S)⁻¹ Sᵀ, the inverse inertia that the constraint leaves: ΦIΦ = Φ, of rank nf; ``b`` (6,) the
    acceleration without force; ``H`` (nf, nf) = SᵀI S and ``C`` (nf,) = Sᵀ(I Ṡα + v×*I v) of H α̇ + C = Sᵀf; ``T``
    (6, 6 - nf) the constraint-force subspace, SᵀT = 0; ``I`` (6, 6), ``S`` (6, nf), ``alpha`` (nf,), ``v`` (6,).
    """

    I: Array
    S: Array
    alpha: Array
    v: Array
    S_rate_alpha: Array
    H: Array
    C: Array
    Phi: Array
    b: Array
    T: Array

    def acceleration(self, f: ArrayLike) -> Array:
        """a (6,) = Φ f + b under the force f (6,) [N m, N]."""
        return _tidy(self.Phi @ _vector("ConstrainedBody.acceleration", "f", f, 6) + self.b)

    def alpha_rate(self, f: ArrayLike) -> Array:
        """α̇ (nf,) with H α̇ + C = Sᵀf."""
        where = "ConstrainedBody.alpha_rate"
        return _tidy(_solved(where, self.H, self.S.T @ _vector(where, "f", f, 6) - self.C))

    def constraint_force(self, f: ArrayLike) -> Array:
        """f_c (6,) = I a + v×*I v - f: the force of the constraint, in the span of T."""
        v, I = self.v, self.I
        f = _vector("ConstrainedBody.constraint_force", "f", f, 6)
        return _tidy(I @ self.acceleration(f) + crf(v) @ (I @ v) - f)


def constrained_body(
    inertia: Inertia | ArrayLike, S: ArrayLike, alpha: ArrayLike | None = None, *, S_rate: ArrayLike | None = None
) -> ConstrainedBody:
    """Φ and b of a rigid body whose velocity is v = S α: it accelerates by a = Φ f + b under a force f.

    Parameters
    ----------
    inertia : ``sixd.Inertia``, or the matrix (6, 6).
    S : motion subspace (6, nf), angular rows first, in the frame of the inertia; (6,) for one DoF.
    alpha : velocity (nf,); zero if omitted.
    S_rate : Ṡ (6, nf), the rate of S as vectors. If S is fixed in the body, Ṡ = v×S, and if it is fixed in the ground,
        Ṡ = 0: in both Ṡα = 0, and it can be omitted. For a joint on the ground whose S varies in the body's frame it is
        ``joint.subspace_rate(q, alpha)``, up to such terms.

    >>> import numpy as np, sixd
    >>> hinge = sixd.constrained_body(sixd.Inertia(2, (0.5, 0, 0), (0, 0, 0.1)), [0, 0, 1, 0, 0, 0], [3.0])
    >>> weight = np.array([0, 0, -9.81, 0, -2 * 9.81, 0])
    >>> hinge.alpha_rate(weight)
    array([-16.35])
    >>> hinge.constraint_force(weight)[3:]
    array([-9.  ,  3.27,  0.  ])
    """
    where = "constrained_body"
    I, S = _matrix(where, "inertia", inertia), _subspace(where, S)
    nf = S.shape[1]
    alpha = np.zeros(nf, dtype=int) if alpha is None else _vector(where, "alpha", alpha, nf)
    rate = np.zeros((6, nf), dtype=int) if S_rate is None else _subspace(where, S_rate, "S_rate")
    if rate.shape != S.shape:
        raise ShapeError(f"{where}: S_rate has shape {rate.shape}, expected {S.shape}, that of S.")
    if is_object(I, S, alpha, rate):
        I, S, alpha, rate = (exact(x) for x in (I, S, alpha, rate))
    T = force_subspace(S, where=where)
    v, c = S @ alpha, rate @ alpha
    net = I @ c + crf(v) @ (I @ v)
    H, C = S.T @ I @ S, S.T @ net
    Phi = S @ _solved(where, H, S.T)
    v, c, H, C, Phi, b = (_tidy(x) for x in (v, c, H, C, Phi, c - Phi @ net))
    return ConstrainedBody(I, S, alpha, v, c, H, C, Phi, b, T)


def force_subspace(S: ArrayLike, *, where: str = "force_subspace") -> Array:
    """T (6, 6 - nf) with SᵀT = 0 for a motion subspace S (6, nf): the forces that do no work on S.

    By elimination: columns are unit vectors where S has single entries. Of symbols, denominators are cleared.
    """
    S = _subspace(where, S)
    rows, left = [list(r) for r in S.T], list(range(S.shape[1]))
    pivots: list[tuple[int, int]] = []
    symbolic = is_object(S)
    largest = 0.0 if symbolic else float(np.abs(S).max(initial=0.0))
    while left:
        i, j = max(
            ((i, j) for i in left for j in range(6)),
            key=lambda at: _weight(rows[at[0]][at[1]], symbolic) - 1e-6 * at[1],
        )
        if _weight(rows[i][j], symbolic) <= _RANK * largest:
            raise SingularError(
                f"{where}: S has rank {len(pivots)}, expected {S.shape[1]}, the number of its columns. Leave "
                f"out columns that depend on others."
            )
        rows[i] = [_short(x / rows[i][j]) for x in rows[i]]
        for k in range(len(rows)):
            if k != i and rows[k][j] != 0:
                factor = rows[k][j]
                rows[k] = [_short(a - factor * b) for a, b in zip(rows[k], rows[i], strict=True)]
                rows[k][j] = 0 * factor
        left.remove(i)
        pivots.append((i, j))
    others = [j for j in range(6) if j not in {j for _, j in pivots}]
    T = np.zeros((6, len(others)), dtype=object if symbolic else float)
    for k, j in enumerate(others):
        T[j, k] = 1
        for i, p in pivots:
            T[p, k] = 0 - rows[i][j]
        if symbolic:
            T[:, k] = _cleared(T[:, k])
    return T + 0 if symbolic else T + 0.0


def relative_inertia(A: Inertia | ArrayLike, B: Inertia | ArrayLike) -> Array:
    """Relative inertia (6, 6) of two bodies that act on each other by ±f: I⁻¹ = I_A⁻¹ + I_B⁻¹, by I = A (A + B)⁻¹ B.

    ``A`` and ``B`` are of class ``sixd.Inertia`` or (…, 6, 6), in one frame. Of numbers, singular ones (points, thin
    rods) are accepted; of symbols, A + B must be invertible. A composite body has A + B instead.
    """
    A, B = _matrix("relative_inertia", "A", A), _matrix("relative_inertia", "B", B)
    if is_object(A, B):
        A, B = exact(A), exact(B)
        return _tidy(A @ _solved("relative_inertia", A + B, B))
    total = A + B
    if not np.isfinite(total).all():
        raise ModelError("relative_inertia: A or B has entries that are not finite, expected finite numbers.")
    if total.size and np.linalg.cond(total).max() < 1e12:
        product = A @ np.linalg.solve(total, B)
    else:  # forces in the null space of both bodies do not affect the result
        product = A @ np.linalg.pinv(total, rcond=_RANK, hermitian=True) @ B
    return (product + np.swapaxes(product, -1, -2)) / 2


# arguments and linear algebra ---------------------------------------------------------------------


def _matrix(where: str, what: str, inertia: object) -> Array:
    if isinstance(inertia, Inertia):
        return inertia.matrix
    require_scalars(f"{where}: {what}", inertia)
    A = np.asarray(inertia)
    if A.shape[-2:] != (6, 6):
        raise ShapeError(f"{where}: {what} has shape {A.shape}, expected a sixd.Inertia or (6, 6).")
    return A if A.dtype == object else A.astype(float)


def _subspace(where: str, S: ArrayLike, what: str = "S") -> Array:
    require_scalars(f"{where}: {what}", S)
    S = np.asarray(S)
    S = S[:, None] if S.shape == (6,) else S
    if S.ndim != 2 or len(S) != 6 or S.shape[1] > 6:
        raise ShapeError(f"{where}: {what} has shape {S.shape}, expected (6, nf): a column for each DoF.")
    return S if S.dtype == object else S.astype(float)


def _vector(where: str, what: str, x: ArrayLike, n: int) -> Array:
    require_scalars(f"{where}: {what}", x)
    x = np.asarray(x)
    x = x.ravel() if x.shape in ((), (n, 1)) else x
    if x.shape != (n,):
        raise ShapeError(f"{where}: {what} has shape {x.shape}, expected ({n},).")
    return x


def _solved(where: str, A: Array, B: Array) -> Array:
    """A⁻¹ B; SymPy's for symbols."""
    if not is_object(A, B):
        try:
            return np.linalg.solve(A.astype(float), B.astype(float))
        except np.linalg.LinAlgError:
            raise SingularError(
                f"{where}: the matrix {A.tolist()} is singular, expected an inertia along every DoF. Give the body "
                f"a mass, or extent."
            ) from None
    import sympy

    M = sympy.Matrix(A)
    det = _short(M.det(method="berkowitz"))
    if det == 0:
        raise SingularError(f"{where}: the matrix {M.tolist()} is singular, expected an inertia along every DoF.")
    solution = M.adjugate() * sympy.Matrix(B) / det
    return _tidy(np.array(solution.tolist(), dtype=object).reshape(B.shape))


def _tidy(x: Array) -> Array:
    if not is_object(x):
        return x
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(x.shape):
        out[index] = _short(x[index])
    return out


def _short(e: Scalar) -> Any:
    """A SymPy expression as one fraction with factored parts; other scalars as they are."""
    if not hasattr(e, "free_symbols"):
        return e
    import sympy

    factored = sympy.factor(sympy.cancel(sympy.together(e)))
    if not factored.has(sympy.sin, sympy.cos):
        return factored
    return sympy.trigsimp(factored).replace(sympy.tan, lambda x: sympy.sin(x) / sympy.cos(x))


def _weight(e: Scalar, symbolic: bool) -> float:
    """How good a pivot is: the size of a number; of expressions numbers come first, then short ones; 0 for zero."""
    if not hasattr(e, "free_symbols"):
        return abs(float(e)) * (1e6 if symbolic else 1)
    import sympy

    if e == 0 or sympy.simplify(e) == 0:
        return 0.0
    return 1e6 if e.is_number else 1e3 / (1 + float(sympy.count_ops(e)))


def _cleared(column: Array) -> list[Any]:
    """The column times the common denominator of its entries."""
    import sympy

    below = sympy.Integer(1)
    for e in column:
        below = sympy.lcm(below, sympy.fraction(sympy.together(sympy.sympify(e)))[1])
    return [_short(sympy.sympify(e) * below) for e in column]
