"""Integrals of one differential form: φ(q) with dφ = μ Σ ω_i dq_i for a factor μ(q).

Closed forms are integrated by paths along the coordinates. Factors that are tried: functions of a single coordinate,
and products of powers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sixd.symbolic.echelon import is_zero, tidy


def integral_of_form(form: Sequence[Any], q: Sequence[Any]) -> Any:
    """φ with dφ = μ Σ form_i dq_i for some factor μ(q), or None."""
    import sympy

    # all symbols real and positive meanwhile: no cases in the antiderivatives
    symbols = sorted(set(q).union(*(e.free_symbols for e in form)), key=sympy.default_sort_key)
    stand_in = {s: sympy.Dummy(s.name, positive=True) for s in symbols}
    x, a = [stand_in[s] for s in q], [e.xreplace(stand_in) for e in form]
    for factor in _factors(a, x):
        scaled = [tidy(e * factor) for e in a]
        phi = _potential(scaled, x) if _is_closed(scaled, x) else None
        if phi is not None:
            return presentable(phi, x).xreplace({v: k for k, v in stand_in.items()})
    return None


def _is_closed(a: Sequence[Any], x: Sequence[Any]) -> bool:
    pairs = itertools.combinations(range(len(x)), 2)
    return all(is_zero(a[i].diff(x[j]) - a[j].diff(x[i])) for i, j in pairs)


def _potential(a: Sequence[Any], x: Sequence[Any]) -> Any:
    """φ with dφ = a, coordinate by coordinate; None if an antiderivative is not found."""
    import sympy

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


def _antiderivative(f: Any, s: Any) -> Any:
    """∫ f ds, unevaluated if not found; without the two of SymPy's methods that search for long."""
    import sympy

    return sympy.integrate(f, s, heurisch=False, meijerg=False)


def _factors(a: Sequence[Any], x: Sequence[Any]) -> Iterator[Any]:
    """Integrating factors to try: 1, functions of one coordinate, a product of powers."""
    import sympy

    yield sympy.Integer(1)
    yield from (f for j in range(len(x)) if (f := _factor_of_one(a, x, j)) is not None)
    product = _factor_product(a, x)
    if product is not None:
        yield product


def _factor_of_one(a: Sequence[Any], x: Sequence[Any], j: int) -> Any:
    """μ(x_j) with d(μ a) = 0: g = μ'/μ must solve g a_b = ∂_b a_j - ∂_j a_b for every b; None if there is none."""
    import sympy

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


def _factor_product(a: Sequence[Any], x: Sequence[Any]) -> Any:
    """μ = Π f^e over the factors f of the form's entries and the coordinates, with rational e; None if there is none.

    d(μ a) = 0 is linear in the exponents; they are found at a few points in floats, and proved by the caller.
    """
    import sympy
    from sympy.core.function import AppliedUndef

    bases = set(x)
    for e in a:
        for part in sympy.fraction(sympy.together(e)):
            bases |= {f for f, _ in sympy.factor_list(part)[1] if f.has(*x)}
    found = sorted(bases, key=sympy.default_sort_key)
    pairs = list(itertools.combinations(range(len(x)), 2))
    columns = [[f.diff(x[i]) / f * a[j] - f.diff(x[j]) / f * a[i] for i, j in pairs] for f in found]
    right = [a[i].diff(x[j]) - a[j].diff(x[i]) for i, j in pairs]
    symbols = sorted(set(x).union(*(e.free_symbols for e in a)), key=sympy.default_sort_key)
    if any(e.has(AppliedUndef) for e in (*right, *(e for column in columns for e in column))):
        return None  # functions without a value
    function = sympy.lambdify(symbols, [*columns, right], "numpy")
    rng = np.random.default_rng(0)
    points = [function(*rng.uniform(0.3, 1.2, len(symbols))) for _ in range(2 * len(found) + 2)]
    table = np.concatenate([np.array(p, dtype=float).T for p in points])
    if not np.isfinite(table).all():
        return None
    exponents, *_ = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=1e-10)
    powers = [Fraction(float(e)).limit_denominator(12) for e in exponents]
    gap = table[:, :-1] @ np.array(powers, dtype=float) - table[:, -1]
    if np.abs(gap).max() > 1e-8 * np.abs(table).max():
        return None
    return sympy.Mul(*(f ** sympy.Rational(e.numerator, e.denominator) for f, e in zip(found, powers, strict=True)))


def presentable(phi: Any, x: Sequence[Any]) -> Any:
    """The same level sets in a plainer form: no constants or constant factors, products in the place of logarithms."""
    import sympy

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
