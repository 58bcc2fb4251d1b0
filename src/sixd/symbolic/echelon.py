"""Exact linear algebra on matrices of SymPy functions: zero tests, rank, echelon form, null space.

Ranks are those at generic points: an entry counts as zero only if it vanishes identically.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from sixd.lazy import Expr, Matrix, sympy
from sixd.symbolic.ring.convert import plain_angles
from sixd.symbolic.ring.normal_form import canonical
from sixd.symbolic.ring.ring import Ring
from sixd.symbolic.writing.readable import readable


def is_zero(expr: Expr) -> bool:
    """Whether an expression vanishes identically.

    Exact for rational functions of symbols, sines, cosines and square roots, by the normal form of the numerator.
    Others (logarithms, powers with symbols) are nonzero if they are so at a point; else ``sympy.simplify`` decides.
    """
    above = canonical(_fraction(sympy.sympify(expr))[0])
    if above == 0:
        return True
    if _is_polynomial(above) or _is_nonzero_somewhere(above):
        return False
    return bool(sympy.simplify(above) == 0)


def tidy(expr: Expr) -> Any:
    """An equal expression as one fraction without common factors, or the expression itself if that is shorter."""
    source = sympy.sympify(expr)
    if not source.args:
        return source
    above, below = map(canonical, _fraction(source))
    if above == 0:
        return sympy.Integer(0)
    forms = [_grouped(above) / _grouped(below), source]
    with suppress(sympy.PolynomialError):  # Piecewise and the like
        forms.insert(1, _grouped(sympy.cancel(_with_sines(above, below) / below)))
    return min(forms, key=sympy.count_ops)  # the first of equals


def cleared(vector: Iterable[Expr]) -> list[Expr]:
    """A vector times the common denominator of its entries."""
    entries, below = list(vector), sympy.Integer(1)
    for e in entries:
        below = sympy.lcm(below, sympy.fraction(sympy.together(e))[1])
    return [tidy(sympy.cancel(e * below)) for e in entries]


def _fraction(expr: Expr) -> tuple[Any, Any]:
    """Numerator and denominator, with tan, cot, sec and csc as fractions of sine and cosine."""
    return sympy.fraction(sympy.together(plain_angles(expr)))


def _grouped(e: Expr) -> Any:
    """The same fraction, numerator and denominator in their shortest forms."""
    ring = Ring()
    above, below = (readable(ring.convert(x)) for x in sympy.fraction(e))
    return above / below


def _with_sines(above: Expr, below: Expr) -> Any:
    """The numerator with cos² = 1 - sin² for the sines in the denominator, so that they can cancel."""
    for s in below.atoms(sympy.sin):
        c = sympy.cos(s.args[0])
        if above.has(c):
            above = sympy.rem(above, c**2 + s**2 - 1, c)
    return above


def _is_polynomial(form: Expr) -> bool:
    """Whether a normal form is a polynomial in symbols, sines and cosines: then only 0 vanishes identically."""
    powers = all(p.exp.is_Integer and p.exp > 0 for p in form.atoms(sympy.Pow))
    known = all(isinstance(f, (sympy.sin, sympy.cos)) for f in form.atoms(sympy.Function) if f.args[0].free_symbols)
    return powers and known


def _is_nonzero_somewhere(form: Expr) -> bool:
    """Whether the value at one of two points is not zero; False if the expression has no values."""
    symbols = sorted(form.free_symbols, key=sympy.default_sort_key)
    for shift in (0, 5):
        # points whose components have no relations: roots of primes, of magnitude about 1
        point = {s: sympy.sqrt(sympy.prime(k + 2 + shift)) / (k + 2) for k, s in enumerate(symbols)}
        try:
            value = form.xreplace(point).evalf(30)
        except (TypeError, ValueError, NotImplementedError):  # functions without a value
            return False
        if value.is_number and value.is_comparable is not False and abs(value) > 1e-12:
            return True
    return False


class Echelon(NamedTuple):
    """Rows (r, n) that span those of a matrix of rank r: row i has 1 in column ``pivots[i]``, the others 0 there.

    ``sources``: the rows of the matrix that are independent, one for each pivot.
    """

    rows: Any
    pivots: tuple[int, ...]
    sources: tuple[int, ...]

    @property
    def others(self) -> tuple[int, ...]:
        """Columns without a pivot."""
        return tuple(j for j in range(self.rows.cols) if j not in self.pivots)

    @property
    def null_space(self) -> Any:
        """N (n, n - r) with rows · N = 0, the identity in the rows of ``others``."""
        N = sympy.zeros(self.rows.cols, len(self.others))
        for k, j in enumerate(self.others):
            N[j, k] = 1
            for i, p in enumerate(self.pivots):
                N[p, k] = -self.rows[i, j]
        return N


def echelon(A: Matrix, q: Iterable[Expr] = ()) -> Echelon:
    """Reduced rows of A (k, n) by elimination, the simplest pivot first: a number, then an expression free of q.

    Among equally simple pivots the rightmost is used, in the first row that has it.
    """
    coordinates = set(q)
    rows = [[tidy(e) for e in A.row(i)] for i in range(A.rows)]
    left, chosen = list(range(A.rows)), []
    while (best := _simplest(rows, left, coordinates)) is not None:
        i, j = best
        rows[i] = [tidy(e / rows[i][j]) for e in rows[i]]
        for k in range(A.rows):
            if k != i and rows[k][j] != 0:
                factor = rows[k][j]
                rows[k] = [tidy(a - factor * b) if b != 0 else a for a, b in zip(rows[k], rows[i], strict=True)]
        left.remove(i)
        chosen.append((j, i))
    chosen.sort()
    reduced = sympy.Matrix(len(chosen), A.cols, [e for _, i in chosen for e in rows[i]])
    return Echelon(reduced, tuple(j for j, _ in chosen), tuple(i for _, i in chosen))


def _simplest(rows: list[list[Expr]], left: list[int], coordinates: set[Expr]) -> tuple[int, int] | None:
    """(row, column) of the simplest entry that is not zero."""

    def cost(entry: tuple[int, int]) -> tuple[bool, bool, int, int, int]:
        i, j = entry
        e = rows[i][j]
        moving = any(e.has(x) for x in coordinates)
        size = min(sympy.count_ops(e), sympy.count_ops(-e))
        return moving, not e.is_number, 0 if e.is_number else int(size), -j, i

    entries = sorted(((i, j) for i in left for j in range(len(rows[i])) if rows[i][j] != 0), key=cost)
    return next(((i, j) for i, j in entries if not is_zero(rows[i][j])), None)
