"""LaTeX of expressions in the shorthand of robotics: c_{12} for cos(q1 + q2), dots for rates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from numbers import Integral
from typing import Any

from sixd.errors import ScalarTypeError
from sixd.lazy import Expr, Matrix, sympy
from sixd.symbolic.writing.order import Order


def latex(
    expression: Expr | Matrix,
    coordinates: Mapping[Expr, str] | Iterable[Expr] = (),
    *,
    short: bool = True,
    digits: int | None = 4,
) -> str:
    r"""LaTeX of a SymPy expression or matrix.

    Parameters
    ----------
    coordinates : the symbols whose sines and cosines are abbreviated: with q1 and q2 among them, sin(q1 + q2) is
        printed s_{12}. A mapping {symbol: LaTeX} also says how a symbol is printed, {qd1: r"\dot{q}_1"}.
    short : False prints \sin(q_1 + q_2) in full.
    digits : significant digits of floating-point numbers; None prints all. Integers and fractions are exact.

    sin(q1 - q2) is s_{1-2}; sums with other factors, and angles with other symbols in them, are printed in full. The
    order is that of textbooks: in a sum accelerations come first, then velocities; in a product parameters, then sines
    and cosines, then rates. A symbol whose LaTeX has a dot is a rate.
    """
    if digits is not None and (not isinstance(digits, Integral) or isinstance(digits, bool) or digits < 1):
        raise ScalarTypeError(f"latex: digits is {digits!r}, expected a whole number from 1, or None for all digits.")
    names = dict(coordinates) if isinstance(coordinates, Mapping) else {}
    labels = _labels(coordinates, names) if short else {}
    used = {str(s) for s in getattr(expression, "free_symbols", ())}
    if any(re.fullmatch(r"[sc]_?\d+", name) for name in used):  # a parameter s1 would look like sin(q1)
        labels = {}
    return str(_printer(names, labels, digits).doprint(expression))


def rounded(x: float, digits: int | None) -> str:
    """A number with so many digits, "0.3497" or "3.497e-08"; "" for ``digits`` None and for infinite values."""
    value = 0.0 if digits is None else float(x)
    return f"{float(f'{value:.{digits}g}'):.15g}" if digits is not None and isfinite(value) else ""


def _labels(coordinates: Iterable[Expr], names: Mapping[Expr, str]) -> dict[Expr, str]:
    """The number at the end of each coordinate's name; rates have none, nor do coordinates with the same number."""
    numbered: dict[str, list[Expr]] = {}
    for symbol in coordinates:
        match = re.search(r"\d+$", str(symbol))
        if match and "dot{" not in names.get(symbol, ""):
            numbered.setdefault(match[0], []).append(symbol)
    return {symbols[0]: number for number, symbols in numbered.items() if len(symbols) == 1}


def _printer(names: dict[Expr, str], labels: dict[Expr, str], digits: int | None) -> Any:
    from sympy.printing.latex import LatexPrinter

    rates = {symbol: 2 if r"\ddot" in text else 1 for symbol, text in names.items() if "dot{" in text}

    textbook = Order(rates)

    class SixdLatexPrinter(LatexPrinter):
        """SymPy's printer with abbreviated sines and cosines, and terms and factors in textbook order."""

        def _as_ordered_terms(self, expr: Expr, order: str | None = None) -> list[Expr]:
            return textbook.terms(expr)

        def _print_Mul(self, expr: Expr) -> str:
            if expr.could_extract_minus_sign() and not (-expr).is_Add:
                return f"- {self._print(-expr)}"
            factors = textbook.factors(expr.as_ordered_factors())
            number = factors[0]
            fraction = number.is_Rational and not number.is_Integer
            flat = not any(x.is_Pow and x.exp.could_extract_minus_sign() for x in factors)
            if fraction and flat and len(factors) > 2 and any(x.is_Add for x in factors):
                # 1/2 m (a + b), not m (a + b)/2; a sum alone stays above the line
                return rf"\frac{{{number.p}}}{{{number.q}}} {self._print(sympy.Mul(*factors[1:], evaluate=False))}"
            return str(super()._print_Mul(sympy.Mul(*factors, evaluate=False)))

        def _print_Float(self, expr: Expr) -> str:
            mantissa, _, exponent = rounded(expr, digits).partition("e")
            if not mantissa:
                return str(super()._print_Float(expr))
            return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa

        def _print_Function(self, expr: Expr, exp: str | None = None) -> str:
            letter = {sympy.sin: "s", sympy.cos: "c"}.get(expr.func)
            numbers = _numbers(expr.args[0], labels) if letter else None
            if numbers is None:
                return str(super()._print_Function(expr, exp))
            return f"{letter}_{{{numbers}}}" + (f"^{{{exp}}}" if exp is not None else "")

    return SixdLatexPrinter({"symbol_names": names, "order": "none"})


def _numbers(angle: Expr, labels: dict[Expr, str]) -> str | None:
    """12 for q1 + q2, 1-2 for q1 - q2; None if it is not a plain sum of coordinates."""
    terms = angle.args if angle.is_Add else (angle,)
    plus, minus = ([n for x in terms if (n := labels.get(sign * x)) is not None] for sign in (1, -1))
    if len(plus) + len(minus) < len(terms):
        return None
    comma = "," if max(map(len, labels.values())) > 1 else ""  # 1,2 where there is a 12
    added, subtracted = (sorted(numbers, key=lambda n: (len(n), n)) for numbers in (plus, minus))
    return comma.join(added) + "".join(f"-{n}" for n in subtracted)
