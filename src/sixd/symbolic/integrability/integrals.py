"""Integrals of Pfaffian constraints that are known to have them: functions φ(q) that stay constant along every motion.

One differential form ω is integrated as it is or after a factor μ: dφ = μ ω. A system is integrated form by form, then
with polynomials, then on the level sets of the integrals found before. Every integral is checked before it is returned.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sixd.errors import SixdError
from sixd.lazy import Expr, Matrix, sympy
from sixd.symbolic.echelon import Echelon, cleared, echelon, is_zero, tidy
from sixd.symbolic.elimination.solving import solutions
from sixd.symbolic.ring.ring import Ring

_MOST_TERMS = 150  # of a trial polynomial: its equations take about a second


# systems ------------------------------------------------------------------------------------------


def is_integral(phi: Expr, N: Matrix, q: Sequence[Expr]) -> bool:
    """Whether φ is constant along the columns of N (n, m), and not constant everywhere."""
    gradient = [phi.diff(x) for x in q]
    along = (sum((a * b for a, b in zip(gradient, N.col(j), strict=True)), 0 * phi) for j in range(N.cols))
    return any(not is_zero(a) for a in gradient) and all(is_zero(a) for a in along)


def integrals_of(reduced: Echelon, q: Sequence[Expr], known: Sequence[Expr] = ()) -> list[Expr]:
    """Independent integrals of an integrable system of rank r, ``known`` first; fewer if the methods yield fewer."""
    N, rank = reduced.null_space, len(reduced.pivots)
    rows = [list(reduced.rows.row(i)) for i in range(rank)]
    integrals = list(known)

    def keep(candidates: Iterator[Expr]) -> None:
        for phi in candidates if len(integrals) < rank else ():
            if phi is not None and is_integral(phi, N, q) and _is_independent(phi, integrals, q):
                integrals.append(phi)
                if len(integrals) == rank:
                    return

    keep(integral_of_form(row, q) for row in rows)
    keep(_polynomials(N, q))
    before = 0
    while before < len(integrals) < rank:  # each new integral makes the level sets smaller
        before = len(integrals)
        keep(_on_level_sets(rows, q, integrals))
    return integrals


def _is_independent(phi: Expr, others: Sequence[Expr], q: Sequence[Expr]) -> bool:
    """Whether the gradient of φ is independent of the gradients of the others, at generic points."""
    gradients = sympy.Matrix(len(others) + 1, len(q), [f.diff(x) for f in (*others, phi) for x in q])
    return len(echelon(gradients, q).pivots) > len(others)


def _polynomials(N: Matrix, q: Sequence[Expr]) -> Iterator[Expr]:
    """Polynomials of degree two in the coordinates and their sines and cosines that are constant along N."""
    from sympy.polys.matrices import DomainMatrix

    ring = Ring()
    fields = [cleared(N.col(j)) for j in range(N.cols)]
    for e in itertools.chain(*fields):
        ring.convert(e)  # all of them first, so that every base angle is known
    letters = [*q, *_angles([ring.convert(e).to_sympy() for e in itertools.chain(*fields)], q)]
    squares = [a * b for a, b in itertools.combinations_with_replacement(letters, 2)]
    terms = [*letters, *(m for m in squares if not (m.is_Pow and isinstance(m.base, sympy.sin)))]
    terms = terms if len(terms) <= _MOST_TERMS else letters
    # derivative of each term along each field, sorted by monomials: their coefficients must cancel
    table: dict[tuple[int, tuple[int, ...]], dict[int, Any]] = {}
    for column, m in enumerate(terms):
        for k, field in enumerate(fields):
            along = ring.convert(sympy.sympify(sum(m.diff(s) * e for s, e in zip(q, field, strict=True))))
            coefficients = _coefficients(along.to_sympy(exact=True), letters)
            if coefficients is None:
                return
            for key, value in coefficients.items():
                table.setdefault((k, key), {})[column] = value
    M = sympy.Matrix(len(table), len(terms), [r.get(j, 0) for r in table.values() for j in range(len(terms))])
    null = DomainMatrix.from_Matrix(M).to_field().nullspace().to_Matrix() if table else sympy.eye(len(terms))
    for i in range(null.rows):
        yield _presentable(tidy(sum(c * m for c, m in zip(null.row(i), terms, strict=True))), q)


def _angles(expressions: Sequence[Expr], q: Sequence[Expr]) -> list[Expr]:
    """Sines and cosines of coordinates in the expressions."""
    waves = {f for e in expressions for f in e.atoms(sympy.sin, sympy.cos) if f.free_symbols & set(q)}
    return sorted(waves, key=sympy.default_sort_key)


def _coefficients(form: Expr, letters: Sequence[Expr]) -> dict[tuple[int, ...], Any] | None:
    """Coefficients of a polynomial in the letters, by exponents; None if the form is not a polynomial."""
    if form == 0:
        return {}
    try:
        poly = sympy.Poly(form, *letters)
    except sympy.PolynomialError:
        return None
    return None if any(c.has(*letters) for c in poly.coeffs()) else dict(poly.terms())


def _on_level_sets(rows: list[list[Expr]], q: Sequence[Expr], integrals: Sequence[Expr]) -> Iterator[Expr]:
    """Integrals of the forms on the level sets of ``integrals``, where some coordinates are functions of the others."""
    levels = [sympy.Dummy(f"c{k}", positive=True) for k in range(len(integrals))]
    equations = [f - c for f, c in zip(integrals, levels, strict=True)]
    try:
        branches = solutions("is_holonomic", equations, q, q)
    except SixdError:
        return
    back = dict(zip(levels, integrals, strict=True))
    for table in branches[:2]:
        left = [s for s in q if s not in table]
        for row in rows:
            pulled = []
            for s in left:
                moved = sum(e * table[t].diff(s) for t, e in zip(q, row, strict=True) if t in table)
                pulled.append(tidy((row[list(q).index(s)] + moved).xreplace(table)))
            if all(is_zero(e) for e in pulled):
                continue
            phi = integral_of_form(pulled, left)
            if phi is not None:
                yield phi.xreplace(back)


# one form -----------------------------------------------------------------------------------------


def integral_of_form(form: Sequence[Expr], q: Sequence[Expr]) -> Any:
    """φ with dφ = μ Σ form_i dq_i for some factor μ(q); None if the methods do not yield one."""
    # with all symbols real and positive the antiderivatives have no case distinctions
    symbols = sorted(set(q).union(*(e.free_symbols for e in form)), key=sympy.default_sort_key)
    stand_in = {s: sympy.Dummy(s.name, positive=True) for s in symbols}
    x, a = [stand_in[s] for s in q], [e.xreplace(stand_in) for e in form]
    for factor in _factors(a, x):
        scaled = [tidy(e * factor) for e in a]
        phi = _potential(scaled, x) if _is_closed(scaled, x) else None
        if phi is not None:
            return _presentable(phi, x).xreplace({v: k for k, v in stand_in.items()})
    return None


def _is_closed(a: Sequence[Expr], x: Sequence[Expr]) -> bool:
    pairs = itertools.combinations(range(len(x)), 2)
    return all(is_zero(a[i].diff(x[j]) - a[j].diff(x[i])) for i, j in pairs)


def _potential(a: Sequence[Expr], x: Sequence[Expr]) -> Any:
    """φ with dφ = a, coordinate by coordinate; None if SymPy has no antiderivative."""
    phi = sympy.Integer(0)
    for e, s in zip(a, x, strict=True):
        rest = tidy(e - phi.diff(s))
        if rest == 0:
            continue
        part = _antiderivative(sympy.powsimp(sympy.expand(rest)), s)
        part = _antiderivative(rest, s) if part.has(sympy.Integral) else part
        if part.has(sympy.Integral, sympy.Piecewise, sympy.I):
            return None
        phi = phi + part
    return phi


def _antiderivative(f: Expr, s: Expr) -> Any:
    """∫ f ds, unevaluated if SymPy fails; without the two of its methods that search for long."""
    return sympy.integrate(f, s, heurisch=False, meijerg=False)


def _factors(a: Sequence[Expr], x: Sequence[Expr]) -> Iterator[Expr]:
    """Integrating factors to try: 1, functions of one coordinate, a product of powers."""
    yield sympy.Integer(1)
    yield from (f for j in range(len(x)) if (f := _factor_of_one(a, x, j)) is not None)
    product = _factor_product(a, x)
    if product is not None:
        yield product


def _factor_of_one(a: Sequence[Expr], x: Sequence[Expr], j: int) -> Any:
    """μ(x_j) with d(μ a) = 0: g = μ'/μ must solve g a_b = ∂_b a_j - ∂_j a_b for every b; None if no g does."""
    g = None
    for b in range(len(x)):
        gap = a[j].diff(x[b]) - a[b].diff(x[j])
        if b == j or (is_zero(a[b]) and is_zero(gap)):
            continue
        if is_zero(a[b]):
            return None
        ratio = tidy(gap / a[b])
        if any(ratio.has(s) for s in x if s != x[j]) or (g is not None and not is_zero(ratio - g)):
            return None
        g = ratio
    if g is None or g == 0:
        return None
    power = _antiderivative(g, x[j])
    return None if power.has(sympy.Integral, sympy.Piecewise) else sympy.powsimp(sympy.exp(power))


def _factor_product(a: Sequence[Expr], x: Sequence[Expr]) -> Any:
    """μ = Π f^e over the factors f of the form's entries and the coordinates, with rational e; None if no e do.

    d(μ a) = 0 is linear in the exponents: floats at a few points determine them, and the caller proves the result.
    """
    from sympy.core.function import AppliedUndef

    bases = set(x)
    for e in a:
        for part in sympy.fraction(sympy.together(e)):
            bases |= {f for f, _ in sympy.factor_list(part)[1] if f.has(*x)}
    factors = sorted(bases, key=sympy.default_sort_key)
    pairs = list(itertools.combinations(range(len(x)), 2))
    columns = [[f.diff(x[i]) / f * a[j] - f.diff(x[j]) / f * a[i] for i, j in pairs] for f in factors]
    right = [a[i].diff(x[j]) - a[j].diff(x[i]) for i, j in pairs]
    symbols = sorted(set(x).union(*(e.free_symbols for e in a)), key=sympy.default_sort_key)
    if any(e.has(AppliedUndef) for e in (*right, *(e for column in columns for e in column))):
        return None  # undefined functions have no values
    function = sympy.lambdify(symbols, [*columns, right], "numpy")
    rng = np.random.default_rng(0)
    points = [function(*rng.uniform(0.3, 1.2, len(symbols))) for _ in range(2 * len(factors) + 2)]
    table = np.concatenate([np.array(p, dtype=float).T for p in points])
    if not np.isfinite(table).all():
        return None
    exponents, *_ = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=1e-10)
    powers = [Fraction(float(e)).limit_denominator(12) for e in exponents]
    gap = table[:, :-1] @ np.array(powers, dtype=float) - table[:, -1]
    if np.abs(gap).max() > 1e-8 * np.abs(table).max():
        return None
    return sympy.Mul(*(f ** sympy.Rational(e.numerator, e.denominator) for f, e in zip(factors, powers, strict=True)))


def _presentable(phi: Expr, x: Sequence[Expr]) -> Any:
    """The same level sets in a simpler form: no constants or constant factors, products instead of logarithms."""
    phi = sympy.expand_log(sympy.expand(phi)).as_independent(*x, as_Add=True)[1]
    terms = sympy.Add.make_args(sympy.factor_terms(phi).as_independent(*x, as_Add=False)[1].expand())
    parts = [t.as_coeff_Mul() for t in terms]
    if all(isinstance(t, sympy.log) and c.is_Rational for c, t in parts):
        scale = sympy.ilcm(*(c.q for c, _ in parts))
        phi = sympy.Mul(*(t.args[0] ** (c * scale) for c, t in parts))
    phi = sympy.factor_terms(phi).as_independent(*x, as_Add=False)[1]
    phi = sympy.expand(phi) if phi.is_polynomial(*x) else phi
    phi = phi.as_content_primitive()[1]
    first = sympy.Add.make_args(phi)
    negative = sum(t.could_extract_minus_sign() for t in first)
    return sympy.expand(-phi) if 2 * negative > len(first) else phi
