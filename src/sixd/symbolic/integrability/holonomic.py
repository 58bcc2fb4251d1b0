"""Whether constraints on velocities are constraints on positions: Frobenius' test, exact, and the integrals.

A(q) q̇ = 0 allows the motions of the null space of A. They stay within surfaces φ(q) = const if and only if they are
closed under Lie brackets; brackets that lead out of them are added until the span is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sixd.errors import ModelError
from sixd.lazy import Expr, Matrix, sympy
from sixd.symbolic import arguments
from sixd.symbolic.arguments import Coordinates, ExprLike, MatrixLike, VectorLike
from sixd.symbolic.echelon import Echelon, cleared, echelon, is_zero, tidy
from sixd.symbolic.integrability.integrals import integral_of_form, integrals_of, is_integral


@dataclass(frozen=True)
class Integrability:
    """The result of :func:`is_holonomic`; true in a condition if the constraints are holonomic.

    holonomic : whether all constraints together can be integrated.
    integrals : for each row of A a φ(q), constant along every motion, that can replace the row; None if it does not
        exist, if the methods do not yield it, or if the row is redundant.
    reason : the result as text.
    rows : for each row of A whether it can be integrated without the others.
    redundant : indices of rows of A that are combinations of the others.
    rank : number of independent rows of A at generic points; n - rank velocities are free.
    degree : dimension of the set of configurations that can be reached: of the smallest involutive distribution that
        contains the allowed motions. n - degree integrals exist.
    growth : dimensions of the allowed motions, with their brackets, with brackets of these, …, up to ``degree``.
    """

    holonomic: bool
    integrals: tuple[Expr, ...]
    reason: str
    rows: tuple[bool, ...]
    redundant: tuple[int, ...]
    rank: int
    degree: int
    growth: tuple[int, ...]

    def __bool__(self) -> bool:
        return self.holonomic


def is_holonomic(
    A: MatrixLike | VectorLike | ExprLike, q: Coordinates, *, qd: Coordinates | None = None
) -> Integrability:
    """Test whether the constraints A(q) q̇ = 0 are holonomic, by Frobenius' theorem, and find their integrals.

    Parameters
    ----------
    A : SymPy matrix (k, n) of functions of q (a flat list is one row); or, with ``qd``, one or several
        expressions that are linear in the velocities and must vanish.
    q : the n coordinates, SymPy symbols or functions of time.
    qd : their velocities, for constraints that are expressions in velocities.

    Returns
    -------
    Integrability : ``.holonomic``, ``.integrals``, ``.reason``, … Results hold at generic points, where A has its
        largest rank.

    The test is exact for entries that are rational in symbols, sines and cosines. The search for integrals tries a few
    methods (exact forms, integrating factors, polynomials) and may miss one that exists; every integral returned is
    checked.

    >>> import sympy as sp, sixd
    >>> x, y, theta = sp.symbols("x y theta")
    >>> sixd.is_holonomic([[x, y]], [x, y]).integrals
    (x**2 + y**2,)
    >>> edge = sixd.is_holonomic([[sp.sin(theta), -sp.cos(theta), 0]], [x, y, theta])
    >>> edge.holonomic, edge.degree
    (False, 3)
    """
    where = "is_holonomic"
    positions = arguments.coordinates(where, q)
    A = _matrix_of(where, A, positions, qd)
    # SymPy does not integrate over functions of time: replace them by symbols
    names = {x: sympy.Symbol(x.func.__name__) for x in positions if not isinstance(x, sympy.Symbol)}
    if set(names.values()) & A.free_symbols:
        names = {x: sympy.Dummy(s.name) for x, s in names.items()}
    symbols, A = tuple(names.get(x, x) for x in positions), A.xreplace(names)
    back = {s: x for x, s in names.items()}

    reduced = echelon(A, symbols)
    growth, beyond = _closure(reduced, symbols)
    rank, degree = len(reduced.pivots), growth[-1]
    # a row alone is integrable if ω ∧ dω = 0, that is, if its own brackets add nothing; also a row of zeros
    rows = tuple(len(_closure(echelon(A.row(i), symbols), symbols)[0]) == 1 for i in range(A.rows))
    redundant = tuple(i for i in range(A.rows) if i not in reduced.sources)
    integrals = _assigned(A, reduced, beyond, rows, symbols)
    holonomic = degree == len(symbols) - rank
    count = sum(phi is not None for phi in integrals)
    reason = _reason(len(symbols), rank, degree, rows, redundant, count)
    shown = tuple(None if phi is None else phi.xreplace(back) for phi in integrals)
    return Integrability(holonomic, shown, reason, rows, redundant, rank, degree, growth)


def _matrix_of(where: str, A: MatrixLike | VectorLike | ExprLike, q: tuple[Expr, ...], qd: Coordinates | None) -> Any:
    """A (k, n): the argument, or the coefficients of expressions in velocities."""
    if qd is None:
        A = arguments.matrix(where, "A", A, (None, len(q)))
        fix = "Give qd= for constraints written in velocities."
        arguments.require_positions(where, "A", A, arguments.velocities(where, q, None), fix)
        return A
    speeds = arguments.velocities(where, q, qd)
    rows = [arguments.expression(where, "a constraint", e) for e in arguments.listed(where, "A", A)]
    A = sympy.Matrix(len(rows), len(q), lambda i, j: sympy.diff(rows[i], speeds[j]))
    arguments.require_positions(where, "A", A, speeds, "The constraints must be linear in the velocities.")
    for i, e in enumerate(rows):
        rest = tidy(e.xreplace(dict.fromkeys(speeds, sympy.Integer(0))))
        if rest != 0:
            raise ModelError(
                f"{where}: the constraint {e} has the term {rest} without a velocity, expected A(q) q̇ = 0. A "
                f"constraint on positions is holonomic already; for a prescribed motion add time to q."
            )
        if all(is_zero(a) for a in A.row(i)) and e != 0:
            raise ModelError(f"{where}: the constraint {e} contains no velocity of {list(speeds)}.")
    return A


# Frobenius --------------------------------------------------------------------------------------


def _closure(reduced: Echelon, q: Sequence[Expr]) -> tuple[tuple[int, ...], Any]:
    """(growth, W): dimensions of the brackets' filtration, and the directions they add to the null space, as columns.

    The fields X_f = ∂_f - Σ_i B_if ∂_p(i) of the null space commute except in their pivot components, so that a bracket
    is determined by its r pivot components, a column of W (r, m).
    """
    N, r = reduced.null_space, len(reduced.pivots)
    fields = [list(N.col(j)) for j in range(N.cols)]
    pivots = reduced.pivots

    def bracket(X: Sequence[Expr], Y: Sequence[Expr]) -> list[Expr]:
        """Pivot components of [X, Y] = (X·∂)Y - (Y·∂)X."""
        return [tidy(_along(X, Y[p], q) - _along(Y, X[p], q)) for p in pivots]

    def lifted(w: Sequence[Expr]) -> list[Expr]:
        table = dict(zip(pivots, w, strict=True))
        return [table.get(k, sympy.Integer(0)) for k in range(len(q))]

    kept: list[list[Expr]] = []  # scaled by functions: without denominators they stay short
    new = [cleared(bracket(X, Y)) for k, X in enumerate(fields) for Y in fields[:k]]
    growth = [N.cols]
    while new:
        both = [*kept, *new]
        independent = sorted(echelon(sympy.Matrix(both), q).sources)
        if len(independent) == len(kept):
            break
        kept = [both[i] for i in independent]
        growth.append(N.cols + len(kept))
        if len(kept) == r:
            break
        new = [cleared(bracket(X, lifted(w))) for X in fields for w in kept]
    return tuple(growth), sympy.Matrix(len(kept), r, [e for w in kept for e in w]).T


def _along(X: Sequence[Expr], f: Expr, q: Sequence[Expr]) -> Any:
    """X(f) = Σ X_i ∂f/∂q_i."""
    return sum(a * f.diff(x) for a, x in zip(X, q, strict=True) if a != 0)


# integrals --------------------------------------------------------------------------------------


def _assigned(A: Matrix, reduced: Echelon, beyond: Matrix, rows: tuple[bool, ...], q: Sequence[Expr]) -> list[Expr]:
    """An integral for each row of A that one can replace: the row's own, else one of a combination with the row."""
    chosen: list[Expr] = [None] * A.rows
    N = reduced.null_space
    for i in reduced.sources:
        phi = integral_of_form(list(A.row(i)), q) if rows[i] else None
        if phi is not None and is_integral(phi, N, q):
            chosen[i] = phi
    # combinations c of the reduced rows that vanish on all brackets: c W = 0
    within = echelon(echelon(beyond.T, q).null_space.T * reduced.rows, q)
    own = [phi for phi in chosen if phi is not None]
    for phi in integrals_of(within, q, own)[len(own) :]:
        for i in sorted(reduced.sources):
            # φ can replace row i if the others with dφ still have full rank
            if chosen[i] is None and _have_full_rank(A, reduced.sources, [*chosen[:i], phi, *chosen[i + 1 :]], q):
                chosen[i] = phi
                break
    return chosen


def _have_full_rank(A: Matrix, sources: Sequence[int], chosen: Sequence[Expr], q: Sequence[Expr]) -> bool:
    """Whether the rows ``sources`` of A are independent after dφ replaced those with a chosen φ."""
    rows = [A.row(k) if chosen[k] is None else sympy.Matrix([chosen[k]]).jacobian(q) for k in sources]
    return len(echelon(sympy.Matrix.vstack(*rows), q).pivots) == len(rows)


def _reason(n: int, rank: int, degree: int, rows: Sequence[bool], redundant: Sequence[int], count: int) -> str:
    """The result as text; ``count`` integrals were found."""
    parts = []
    if degree == n - rank:
        motions = {0: "no motion is allowed", 1: "one motion is allowed, along curves"}
        parts.append(f"holonomic: {motions.get(n - rank, f'the {n - rank} allowed motions are closed under brackets')}")
    else:
        parts.append(
            f"not holonomic: brackets of the {n - rank} allowed motions lead out of them, to {degree} of {n} dimensions"
        )
        alone = [str(i) for i, integrable in enumerate(rows) if integrable and i not in redundant]
        if alone:
            parts.append(f"integrable without the others are rows {', '.join(alone)}")
    if redundant:
        parts.append(f"rows {', '.join(map(str, redundant))} are combinations of the others")
    if count < n - degree:
        parts.append(
            f"integrals exist {n - degree}, found {count}: no closed form for the others by the methods tried. Keep "
            f"those rows as constraints on velocities, or give the integral yourself"
        )
    return "; ".join(parts) + "."
