"""Holonomic constraints solved for coordinates: linear ones first, then angles, then what SymPy can solve.

All branches are found; which one is meant, the caller decides. Every solution is put back into the equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sixd.errors import ModelError
from sixd.symbolic.echelon import is_zero, tidy

Branch = dict[Any, Any]
_MOST_BRANCHES = 16  # two each of four circles; more are no use to choose from


def solutions(where: str, equations: Sequence[Any], q: Sequence[Any], candidates: Sequence[Any]) -> list[Branch]:
    """Every branch {coordinate: expression in those that are left}, or an error that says why there is none."""
    found = [b for b in _branches(where, [tidy(e) for e in equations], q, list(candidates)) if _holds(equations, b)]
    if not found:
        raise ModelError(
            f"{where}: no closed form was found for {[str(x) for x in candidates]} from {[str(e) for e in equations]}. "
            f"Choose other dependent coordinates, or give the map yourself."
        )
    return found


def _branches(where: str, equations: list[Any], q: Sequence[Any], candidates: list[Any]) -> list[Branch]:
    """Solve one equation (or a pair, or all that are left), put it into the others, and go on with these."""
    left = [e for e in equations if not is_zero(e)]
    if not left:
        return [{}]
    contradiction = [e for e in left if not e.has(*q)]
    if contradiction:
        raise ModelError(
            f"{where}: the constraints contradict each other: they lead to {contradiction[0]} = 0. Drop one of them."
        )
    results: list[Branch] = []
    for step in _steps(left, q, candidates):
        others = [x for x in candidates if x not in step]
        inner = [tidy(e.xreplace(step)) for e in left]
        for branch in _branches(where, inner, q, others):
            full = {x: tidy(value.xreplace(branch)) for x, value in step.items()} | branch
            results.append(full)
            if len(results) >= _MOST_BRANCHES:
                return results
    return results


def _steps(equations: list[Any], q: Sequence[Any], candidates: list[Any]) -> list[Branch]:
    """The branches of one step."""
    for way in (_linear, _angle_pair, _single):
        found = way(equations, q, candidates)
        if found:
            return found
    return _together(equations, candidates)


def _linear(equations: list[Any], q: Sequence[Any], candidates: list[Any]) -> list[Branch]:
    """The coordinate with the simplest coefficient among those in which an equation is linear."""
    import sympy

    best: tuple[Any, Branch] | None = None
    for k, e in enumerate(equations):
        for j, x in enumerate(candidates):
            if not e.has(x):
                continue
            slope = tidy(e.diff(x))
            if slope.has(x):
                continue
            cost = (slope.has(*q), not slope.is_number, sympy.count_ops(slope), k, -j)
            if best is None or cost < best[0]:
                best = cost, {x: tidy((x * slope - e) / slope)}
    return [best[1]] if best is not None else []


def _angle_pair(equations: list[Any], q: Sequence[Any], candidates: list[Any]) -> list[Branch]:
    """A loop of rods: a cos x + U = 0 and a sin x + V = 0 (or with both in each) give x, once U² + V² = a² holds.

    The latter is solved first, for another coordinate.
    """
    import sympy

    for x in candidates:
        with_x = [e for e in equations if e.has(x)]
        if len(with_x) != 2:
            continue
        parts = [_cosine_form(e, x) for e in with_x]
        if parts[0] is None or parts[1] is None:
            continue
        (a, b, u), (c, d, v) = parts
        determinant = tidy(a * d - b * c)
        if determinant.has(*q) or is_zero(determinant):
            continue
        cosine, sine = tidy((b * v - d * u) / determinant), tidy((c * u - a * v) / determinant)
        rest = tidy(cosine**2 + sine**2 - 1)
        others = [y for y in candidates if y != x]
        if rest.has(x) or not rest.has(*others or [x]):
            continue
        found = _single([rest], q, others)
        return [step | {x: sympy.atan2(sine.xreplace(step), cosine.xreplace(step))} for step in found]
    return []


def _single(equations: list[Any], q: Sequence[Any], candidates: list[Any]) -> list[Branch]:
    """One equation for one coordinate that stands in no other equation, or in the only equation there is."""
    for e in equations:
        for x in reversed(candidates):
            alone = len(equations) == 1 or not any(f.has(x) for f in equations if f is not e)
            if e.has(x) and alone:
                found = [{x: value} for value in _roots(e, x)]
                if found:
                    return found
    return []


def _roots(e: Any, x: Any) -> Iterator[Any]:
    """Solutions of e = 0 for x: of a cos x + b sin x + c by arcs, else by SymPy."""
    import sympy

    form = _cosine_form(e, x)
    if form is not None:
        a, b, c = form
        if is_zero(c):
            yield from (sympy.atan2(-a, b), sympy.atan2(a, -b))
            return
        middle = sympy.atan2(b, a) if not is_zero(b) else sympy.Integer(0)
        size = sympy.sqrt(tidy(a**2 + b**2)) if not is_zero(b) else a
        arc = sympy.acos(tidy(-c / size))
        yield from (middle + arc, middle - arc)
        return
    try:
        yield from sympy.solve(e, x)
    except (NotImplementedError, sympy.PolynomialError):
        return


def _cosine_form(e: Any, x: Any) -> tuple[Any, Any, Any] | None:
    """(a, b, c) of e = a cos x + b sin x + c with a, b, c free of x; None if it has not that form."""
    import sympy

    c, s = sympy.Dummy("c"), sympy.Dummy("s")
    above = sympy.fraction(sympy.together(e))[0]
    swapped = sympy.expand_trig(above).xreplace({sympy.cos(x): c, sympy.sin(x): s})
    if swapped.has(x):
        return None
    flat = sympy.expand(swapped)
    a, b = flat.coeff(c, 1).coeff(s, 0), flat.coeff(s, 1).coeff(c, 0)
    rest = flat.coeff(c, 0).coeff(s, 0)
    if sympy.expand(flat - a * c - b * s - rest) != 0 or (a == 0 and b == 0):
        return None
    return tidy(a), tidy(b), tidy(rest)


def _together(equations: list[Any], candidates: list[Any]) -> list[Branch]:
    """All equations at once, by SymPy."""
    import itertools

    import sympy

    count = len(equations)
    for unknowns in itertools.combinations(reversed(candidates), count):
        try:
            found = sympy.solve(equations, unknowns, dict=True)
        except (NotImplementedError, sympy.PolynomialError):
            continue
        full = [b for b in found if set(b) == set(unknowns)]
        if full:
            return full
    return []


def _holds(equations: Sequence[Any], branch: Branch) -> bool:
    """Whether a branch satisfies the equations: exactly, or, with arcs and roots in it, at a point of many digits."""
    import sympy

    for e in equations:
        value = e.xreplace(branch)
        if value.has(sympy.acos, sympy.asin, sympy.atan2, sympy.atan) or value.atoms(sympy.Pow) - e.atoms(sympy.Pow):
            if not _vanishes_at_points(value):
                return False
        elif not is_zero(value):
            return False
    return True


def _vanishes_at_points(value: Any) -> bool:
    """Whether a value is zero at points of its symbols, real or not; 30 digits tell rounding from more than that."""
    import sympy

    symbols = sorted(value.free_symbols, key=sympy.default_sort_key)
    for shift in (0, 7):
        point = {s: sympy.sqrt(sympy.prime(k + 2 + shift)) / (k + 2) for k, s in enumerate(symbols)}
        number = value.xreplace(point).evalf(30)
        if not number.is_number or not abs(number) < 1e-20:
            return False
    return True
