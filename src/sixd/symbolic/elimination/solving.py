"""Holonomic constraints solved for coordinates: linear equations first, then angles, then SymPy's solver.

All branches are returned; the caller selects one. Every solution is checked by substitution into the equations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sixd.errors import ModelError
from sixd.lazy import Expr, sympy
from sixd.symbolic.echelon import is_zero, tidy
from sixd.symbolic.ring.normal_form import canonical

if TYPE_CHECKING:
    Branch: TypeAlias = dict[Expr, Expr]

_MOST_BRANCHES = 16  # two for each of four circles; users cannot choose among more


class SolvedStep(NamedTuple):
    """Equations, and branches each of which solves all of them."""

    solved: tuple[Expr, ...] = ()
    branches: Sequence[Branch] = ()


def solutions(where: str, equations: Sequence[Expr], q: Sequence[Expr], candidates: Sequence[Expr]) -> list[Branch]:
    """All branches {coordinate: expression in the remaining ones}; raises ``ModelError`` without a solution."""
    solved = [b for b in _branches(where, [tidy(e) for e in equations], q, list(candidates)) if _holds(equations, b)]
    if not solved:
        raise ModelError(
            f"{where}: no closed form was found for {[str(x) for x in candidates]} from {[str(e) for e in equations]}. "
            f"Choose other dependent coordinates, give the map yourself (explicit=), or keep the constraints."
        )
    return solved


def _branches(where: str, equations: list[Expr], q: Sequence[Expr], candidates: list[Expr]) -> list[Branch]:
    """All branches: solve one equation (or all that are left), substitute it into the others, and solve these."""
    left = [e for e in equations if not _vanishes(e)]
    if not left:
        return [{}]
    contradiction = [e for e in left if not e.has(*q)]
    if contradiction:
        raise ModelError(
            f"{where}: the constraints contradict each other: they lead to {contradiction[0]} = 0. Drop one of them."
        )
    results: list[Branch] = []
    dead_ends: list[ModelError] = []
    steps = (way(left, q, candidates) for way in (_linear, _single, _together))
    step = next((step for step in steps if step.branches), SolvedStep())
    for known in step.branches:
        inner = [_short(e.xreplace(known)) for e in left if e not in step.solved]
        try:
            branches = _branches(where, inner, q, [x for x in candidates if x not in known])
        except ModelError as error:  # of this branch alone
            dead_ends.append(error)
            continue
        results += [{x: _short(value.xreplace(b)) for x, value in known.items()} | b for b in branches]
    if dead_ends and not results:
        raise dead_ends[0]
    return results[:_MOST_BRANCHES]


def _linear(equations: list[Expr], q: Sequence[Expr], candidates: list[Expr]) -> SolvedStep:
    """The coordinate with the simplest coefficient among those in which an equation is linear."""
    best: tuple[Any, SolvedStep] | None = None
    for k, e in enumerate(equations):
        for j, x in enumerate(candidates):
            factor = _short(e.diff(x)) if e.has(x) else sympy.Integer(0)
            if factor == 0 or factor.has(x):
                continue
            number = factor.is_number
            cost = (factor.has(*q), not number, 0 if number else int(sympy.count_ops(factor)), k, -j)
            if best is None or cost < best[0]:
                best = cost, SolvedStep((e,), [{x: _short(-e.xreplace({x: sympy.Integer(0)}) / factor)}])
    return best[1] if best is not None else SolvedStep()


def _single(equations: list[Expr], q: Sequence[Expr], candidates: list[Expr]) -> SolvedStep:
    """One equation, for a coordinate that occurs in no other equation."""
    for e in equations:
        for x in reversed(candidates):
            if e.has(x) and not any(f.has(x) for f in equations if f is not e):
                branches = [{x: value} for value in _roots(e, x)]
                if branches:
                    return SolvedStep((e,), branches)
    return SolvedStep()


def _together(equations: list[Expr], q: Sequence[Expr], candidates: list[Expr]) -> SolvedStep:
    """All equations at once, by SymPy, with one angle at most: on a loop of rods SymPy searches for minutes."""
    if len(equations) == 1:
        return SolvedStep()
    waves = {f for e in equations for f in e.atoms(sympy.sin, sympy.cos)}
    for unknowns in itertools.combinations(reversed(candidates), len(equations)):
        angles = [x for x in unknowns if any(f.has(x) for f in waves)]
        if len(angles) > 1 or not all(_is_plain(e, x) for e in equations for x in unknowns):
            continue
        try:
            branches = sympy.solve(equations, unknowns, dict=True)
        except (NotImplementedError, sympy.PolynomialError):
            continue
        full = [{x: _plain_roots(b[x]) for x in unknowns} for b in branches if set(b) == set(unknowns)]
        if full:
            return SolvedStep(tuple(equations), full)
    return SolvedStep()


def _roots(e: Expr, x: Expr) -> Iterator[Expr]:
    """Solutions of e = 0 for x: for a cos x + b sin x + c by arcs, else by SymPy."""
    form = _cosine_form(e, x)
    if form is None:
        try:
            roots = sympy.solve(e, x) if _is_plain(e, x) else []
        except (NotImplementedError, sympy.PolynomialError):
            roots = []
        yield from map(_plain_roots, roots)
        return
    a, b, c = form
    if a == 0:
        arc = sympy.asin(_short(-c / b))
        yield from (arc, sympy.pi - arc)
    elif c == 0:
        yield from (sympy.atan2(-a, b), sympy.atan2(a, -b))
    else:
        middle = sympy.atan2(b, a) if b != 0 else sympy.Integer(0)
        arc = sympy.acos(_short(-c / (sympy.sqrt(_short(a**2 + b**2)) if b != 0 else a)))
        yield from (middle + arc, middle - arc)


def _cosine_form(e: Expr, x: Expr) -> tuple[Any, Any, Any] | None:
    """(a, b, c) of e = a cos x + b sin x + c, up to a factor, with a, b, c free of x; None if e has another form."""
    c, s = sympy.Dummy("c"), sympy.Dummy("s")
    above = canonical(sympy.fraction(sympy.together(e))[0])  # sums of angles expanded, no sin²
    flat = sympy.expand(above.xreplace({sympy.cos(x): c, sympy.sin(x): s}))
    if flat.has(x):
        return None
    a, b, rest = flat.coeff(c, 1), flat.coeff(s, 1), flat.coeff(c, 0).coeff(s, 0)
    if (a == 0 and b == 0) or a.has(c, s) or b.has(c, s) or sympy.expand(flat - a * c - b * s - rest) != 0:
        return None
    return _short(a), _short(b), _short(rest)


def _is_plain(e: Expr, x: Expr) -> bool:
    """Whether x occurs in an equation in one way only: as x, in sine and cosine, or in one other function.

    On other equations SymPy searches for half a minute before it fails.
    """
    above = sympy.fraction(sympy.together(e))[0]
    try:
        ways = {g for g in sympy.Poly(above).gens if g.has(x)}
    except sympy.PolynomialError:
        return False
    return len(ways) < 2 or ways <= {sympy.sin(x), sympy.cos(x)}


def _plain_roots(value: Expr) -> Any:
    """Radicands multiplied out: √(R² - x²), not √((R - x)(R + x))."""
    half = sympy.Rational(1, 2)
    return value.replace(lambda e: e.is_Pow and e.exp == half, lambda e: sympy.sqrt(sympy.expand(e.base)))


def _has_branches(e: Expr) -> bool:
    """Whether it contains roots or arcs, which the normal form of polynomials does not simplify."""
    arcs = e.has(sympy.acos, sympy.asin, sympy.atan2, sympy.atan)
    return arcs or any(not p.exp.is_Integer for p in e.atoms(sympy.Pow))


def _short(e: Expr) -> Any:
    """:func:`tidy` if that is fast, else the expression itself."""
    return e if _has_branches(e) or _is_infinite(e) else tidy(e)


def _vanishes(e: Expr) -> bool:
    """Whether e = 0: exact, or, if it has roots or arcs, by its values at points in 40 digits."""
    return not _is_infinite(e) and (_vanishes_at_points(e) if _has_branches(e) else is_zero(e))


def _is_infinite(e: Expr) -> bool:
    return bool(e.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo))


def _holds(equations: Sequence[Expr], branch: Branch) -> bool:
    finite = not any(map(_is_infinite, branch.values()))
    return finite and all(_vanishes(e.xreplace(branch)) for e in equations)


def _vanishes_at_points(value: Expr) -> bool:
    """Whether a value is zero at points of its symbols, real or not.

    Rounding in 40 digits stays below 1e-25; floats in the expression are good to 1e-15 and leave less than 1e-10.
    """
    import mpmath

    def angle(y: complex, x: complex) -> Any:  # atan2, of complex numbers too
        return -1j * mpmath.log((x + 1j * y) / mpmath.sqrt(x * x + y * y))

    symbols = sorted(value.free_symbols, key=sympy.default_sort_key)
    function = sympy.lambdify(symbols, value, [{"atan2": angle}, "mpmath"])
    with mpmath.workdps(40):
        # points whose components have no relations: roots of primes, of magnitude about 1
        points = [[mpmath.sqrt(sympy.prime(k + 2 + shift)) / (k + 2) for k in range(len(symbols))] for shift in (0, 7)]
        return all(abs(function(*point)) < (1e-10 if value.has(sympy.Float) else 1e-25) for point in points)
