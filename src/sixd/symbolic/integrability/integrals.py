"""Integrals of Pfaffian constraints that are known to have them: functions φ(q) that stay constant along every motion.

Systems are taken apart form by form (``pfaff.py``), each on the level sets of the integrals found before; polynomials
are tried, too. Whatever is found is checked.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from sixd.errors import SixdError
from sixd.symbolic.echelon import Echelon, cleared, echelon, is_zero, tidy
from sixd.symbolic.integrability.pfaff import integral_of_form, presentable

_MOST_TERMS = 150  # of a polynomial that is tried: its equations take about a second


def is_integral(phi: Any, N: Any, q: Sequence[Any]) -> bool:
    """Whether φ does not change along the columns of N (n, m) and is no constant."""
    slope = [phi.diff(x) for x in q]
    along = (sum((a * b for a, b in zip(slope, N.col(j), strict=True)), 0 * phi) for j in range(N.cols))
    return any(not is_zero(a) for a in slope) and all(is_zero(a) for a in along)


def integrals_of(reduced: Echelon, q: Sequence[Any], known: Sequence[Any] = ()) -> list[Any]:
    """Independent integrals of an integrable system of rank r, ``known`` first; fewer than r if no more were found."""
    N, rank = reduced.null_space, len(reduced.pivots)
    found = list(known)

    def keep(phi: Any) -> None:
        if phi is not None and len(found) < rank and is_integral(phi, N, q) and is_independent(phi, found, q):
            found.append(phi)

    rows = [list(reduced.rows.row(i)) for i in range(rank)]
    for way in (_form_by_form, _polynomials):
        for phi in way(rows, N, q, found) if len(found) < rank else ():
            keep(phi)
    while found and len(found) < rank:  # each new one may open the way to others
        before = len(found)
        for phi in _on_level_sets(rows, q, found):
            keep(phi)
        if len(found) == before:
            break
    return found


def is_independent(phi: Any, found: Sequence[Any], q: Sequence[Any]) -> bool:
    """Whether the slope of φ is no combination of those of the others, at generic points."""
    import sympy

    slopes = sympy.Matrix(len(found) + 1, len(q), [f.diff(x) for f in (*found, phi) for x in q])
    return len(echelon(slopes, q).pivots) > len(found)


def _form_by_form(rows: list[list[Any]], N: Any, q: Sequence[Any], found: list[Any]) -> Iterator[Any]:
    return (integral_of_form(row, q) for row in rows)


def _polynomials(rows: list[list[Any]], N: Any, q: Sequence[Any], found: list[Any]) -> Iterator[Any]:
    """Polynomials of degree two in the coordinates and their sines and cosines that N does not change."""
    import sympy
    from sympy.polys.matrices import DomainMatrix

    from sixd.symbolic.ring.ring import Ring

    ring = Ring()
    fields = [cleared(N.col(j)) for j in range(N.cols)]
    for e in itertools.chain(*fields):
        ring.convert(e)  # all of them first: they settle which angles the sines are of
    letters = [*q, *_angles([ring.convert(e).to_sympy() for e in itertools.chain(*fields)], q)]
    squares = [a * b for a, b in itertools.combinations_with_replacement(letters, 2)]
    terms = [*letters, *(m for m in squares if not (m.is_Pow and isinstance(m.base, sympy.sin)))]
    terms = terms if len(terms) <= _MOST_TERMS else letters
    # each term along each field, sorted by monomials: their coefficients must cancel
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
        yield presentable(tidy(sum(c * m for c, m in zip(null.row(i), terms, strict=True))), q)


def _angles(expressions: Sequence[Any], q: Sequence[Any]) -> list[Any]:
    """Sines and cosines of coordinates in the expressions."""
    import sympy

    found = {f for e in expressions for f in e.atoms(sympy.sin, sympy.cos) if f.free_symbols & set(q)}
    return sorted(found, key=sympy.default_sort_key)


def _coefficients(form: Any, letters: Sequence[Any]) -> dict[tuple[int, ...], Any] | None:
    """Coefficients of a polynomial in the letters, by exponents; None if it is none."""
    import sympy

    if form == 0:
        return {}
    try:
        poly = sympy.Poly(form, *letters)
    except sympy.PolynomialError:
        return None
    return None if any(c.has(*letters) for c in poly.coeffs()) else dict(poly.terms())


def _on_level_sets(rows: list[list[Any]], q: Sequence[Any], found: list[Any]) -> Iterator[Any]:
    """Forms pulled back to the level sets of the integrals at hand, where coordinates are functions of the others."""
    import sympy

    from sixd.symbolic.elimination.solving import solutions

    levels = [sympy.Dummy(f"c{k}", positive=True) for k in range(len(found))]
    equations = [f - c for f, c in zip(found, levels, strict=True)]
    try:
        branches = solutions("is_holonomic", equations, q, q)
    except SixdError:
        return
    back = dict(zip(levels, found, strict=True))
    for table in branches[:2]:
        left = [s for s in q if s not in table]
        for row in rows:
            pulled = []
            for s in left:
                slope = sum(e * table[t].diff(s) for t, e in zip(q, row, strict=True) if t in table)
                pulled.append(tidy((row[list(q).index(s)] + slope).xreplace(table)))
            if all(is_zero(e) for e in pulled):
                continue
            phi = integral_of_form(pulled, left)
            if phi is not None:
                yield phi.xreplace(back)
