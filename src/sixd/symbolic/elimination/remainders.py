"""Expressions where holonomic constraints hold: remainders of their numerators and denominators by φ(q) = 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sixd.lazy import Expr, sympy
from sixd.symbolic.echelon import tidy

_MOST_GENERATORS = 8  # each is eliminated, one after the other


def on_constraints(phi: Sequence[Expr], q: Sequence[Expr]) -> Callable[[Expr], Expr]:
    """A function that makes an expression tidy, and shorter if φ(q) = 0 allows it: x² + y² becomes 1 on a circle.

    φ are polynomials in coordinates, and in sines and cosines of them; others are not used.
    """
    own = [e for e in map(sympy.sympify, phi) if e.is_polynomial(*_generators([e], q))]
    generators = _generators(own, q)
    angles = {x.args[0] for x in generators if x.args}
    divisors = [*own, *(sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1 for x in angles)]
    if not own or len(generators) > _MOST_GENERATORS:
        return tidy

    def length(e: Expr) -> tuple[int, int]:
        return int(sympy.count_ops(e)), len(e.free_symbols & set(q))

    def shortest(expr: Expr) -> Any:
        source = tidy(expr)
        parts, forms = sympy.fraction(sympy.together(source)), []
        for x in generators if any(source.has(y) for y in generators) else []:
            order = [x, *(y for y in generators if y != x)]
            with suppress(sympy.PolynomialError):  # other functions of the coordinates
                above, below = (sympy.reduced(part, divisors, *order, order="lex")[1] for part in parts)
                forms += [above / below] if below != 0 else []
        return min([source, *(tidy(e) for e in sorted(forms, key=length)[:1])], key=length)  # the first of equals

    return shortest


def _generators(expressions: Sequence[Expr], q: Sequence[Expr]) -> list[Expr]:
    """The coordinates in expressions, and the sines and cosines with coordinates."""
    waves = set().union(*(e.atoms(sympy.sin, sympy.cos) for e in expressions))
    angles = {x.args[0] for x in waves if x.free_symbols & set(q)}
    free = [x for x in q if any(e.subs(dict.fromkeys(waves, 0)).has(x) for e in expressions)]
    return free + [f(x) for x in sorted(angles, key=sympy.default_sort_key) for f in (sympy.sin, sympy.cos)]
