"""Expressions as readable text: subscripts, superscripts, Greek letters and dots, in the order of textbooks.

``I1 + m1*r1**2`` is I₁ + m₁ r₁², ``qd1`` is q̇₁. Factors are separated by spaces. Nothing here knows mechanics.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from sixd.lazy import Expr, Matrix, sympy
from sixd.symbolic.writing.latex import rounded
from sixd.symbolic.writing.order import Order

WIDTH = 100  # columns of a line
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DOTS = {1: "\u0307", 2: "\u0308"}


def text(expression: Expr | Matrix | float, names: Mapping[Expr, str] | None = None, *, digits: int | None = 4) -> str:
    """A SymPy expression as one line of text, or a matrix as aligned rows.

    ``names`` says how symbols are written; those with a dot (q̇) count as rates, and come last in products and first
    in sums. Other symbols get subscripts and Greek letters by their names. Floats have ``digits`` digits, or all.
    """
    printer = _printer(dict(names or {}), digits)
    if isinstance(expression, sympy.MatrixBase):
        return grid([[printer.doprint(x) for x in row] for row in expression.tolist()])
    return str(printer.doprint(sympy.sympify(expression)))


def symbol_text(name: str, dots: int = 0) -> str:
    """The text of a symbol's name: θ₁ for theta1 or theta_1, with one or two dots for rates."""
    from sympy.printing.pretty.pretty_symbology import greek_unicode

    stem, number = re.fullmatch(r"(.*?)_?(\d*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    if not stem:
        return name
    letter, _, rest = stem.partition("_")
    letter = greek_unicode.get(letter, letter)
    letter = unicodedata.normalize("NFC", letter + _DOTS.get(dots, ""))
    return letter + (f"_{rest}" if rest else "") + number.translate(_SUBSCRIPTS)


def width(line: str) -> int:
    """Width of a line in columns; combining dots have none."""
    return sum(not unicodedata.combining(c) for c in line)


def grid(rows: Sequence[Sequence[str]]) -> str:
    """Entries in aligned columns between tall brackets."""
    if not rows or not rows[0]:
        return "[]"
    sizes = [max(width(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = ["  ".join(x + " " * (n - width(x)) for x, n in zip(row, sizes, strict=True)) for row in rows]
    if len(lines) == 1:
        return f"[{lines[0]}]"
    ends = ["⎡⎤", *["⎢⎥"] * (len(lines) - 2), "⎣⎦"]
    return "\n".join(f"{end[0]}{line}{end[1]}" for line, end in zip(lines, ends, strict=True))


def aligned(equations: Sequence[tuple[str, str]]) -> str:
    """Lines "left = right" with their signs below one another; long ones broken before a plus or minus."""
    if not equations:
        return ""
    margin = max(width(left) for left, _ in equations)
    lines = []
    for left, right in equations:
        indent = " " * (margin + 3)
        parts = [line for block in right.split("\n") for line in broken(block, WIDTH - len(indent))]
        lines.append(f"{left}{' ' * (margin - width(left))} = {parts[0]}")
        lines += [indent + part for part in parts[1:]]
    return "\n".join(lines)


def broken(line: str, columns: int) -> list[str]:
    """The line in parts of at most so many columns, broken before a plus or minus outside of most brackets."""
    parts = []
    while width(line) > columns:
        best, depth, column = None, 0, 0
        for k, c in enumerate(line):
            depth += (c == "(") - (c == ")")
            column += not unicodedata.combining(c)
            if column > columns:
                break
            is_sign = k > 3 and line[k : k + 3] in (" + ", " - ")
            if is_sign and (best is None or depth <= best[1] or column < columns / 3):
                best = (k, depth)
        if best is None:
            break
        parts.append(line[: best[0]])
        line = "  " + line[best[0] + 1 :]
    return [*parts, line]


def _printer(names: dict[Expr, str], digits: int | None) -> Any:
    from sympy.printing.str import StrPrinter

    decomposed = {s: unicodedata.normalize("NFD", t) for s, t in names.items()}
    rates = {s: 2 if _DOTS[2] in t else 1 for s, t in decomposed.items() if _DOTS[1] in t or _DOTS[2] in t}
    textbook = Order(rates)

    class UnicodePrinter(StrPrinter):
        """SymPy's printer with the letters, powers and order of textbooks."""

        def _print_Symbol(self, expr: Expr) -> str:
            return names.get(expr) or symbol_text(expr.name)

        _print_Dummy = _print_Symbol

        def _print_Float(self, expr: Expr) -> str:
            return rounded(expr, digits) or str(super()._print_Float(expr))

        def _print_Pi(self, expr: Expr) -> str:
            return "π"

        def _print_Abs(self, expr: Expr) -> str:
            return f"|{self._print(expr.args[0])}|"

        def _print_Equality(self, expr: Expr) -> str:
            return f"{self._print(expr.lhs)} = {self._print(expr.rhs)}"

        def _print_Function(self, expr: Expr) -> str:
            return f"{expr.func.__name__}({', '.join(map(self._print, expr.args))})"

        def _print_Add(self, expr: Expr, order: str | None = None) -> str:
            terms = textbook.terms(expr)
            out = self._print(terms[0])
            for x in terms[1:]:
                minus = x.could_extract_minus_sign() and not (-x).is_Add
                out += f" - {self._print(-x)}" if minus else f" + {self._print(x)}"
            return out

        def _print_Mul(self, expr: Expr) -> str:
            if expr.could_extract_minus_sign() and not (-expr).is_Add:
                return f"-{self._factor(-expr, first=True)}"
            above, below = _fraction(expr)
            factors = [self._factor(x, first=len(above) == 1 and not below) for x in textbook.factors(above)]
            top = " ".join(x for x in factors if x != "1") or "1"  # 1.0 may stand in front
            if not below:
                return top
            bottom = " ".join(self._factor(x) for x in textbook.factors(below))
            return f"{top}/({bottom})" if len(below) > 1 else f"{top}/{bottom}"

        def _factor(self, x: Expr, first: bool = False) -> str:
            """A factor, in brackets if it is a sum."""
            out = self._print(x)
            fraction = x.is_Rational and not x.is_Integer and not first
            return f"({out})" if x.is_Add or fraction or (x.is_Number and x < 0) else str(out)

        def _print_Pow(self, expr: Expr, rational: bool = False) -> str:
            base, exponent = expr.args
            if exponent == sympy.Rational(1, 2):
                return f"√{self._print(base)}" if base.is_Symbol or base.is_Integer else f"√({self._print(base)})"
            if exponent.could_extract_minus_sign():
                below = self._print(base**-exponent)
                return f"1/{below}" if (base**-exponent).is_Atom or exponent != -1 else f"1/({below})"
            if not exponent.is_Integer:
                return f"{self._atom(base)}^{self._atom(exponent)}"
            power = str(int(exponent)).translate(_SUPERSCRIPTS)
            if isinstance(base, sympy.Function) and not isinstance(base, sympy.Abs) and len(base.args) == 1:
                return f"{base.func.__name__}{power}({self._print(base.args[0])})"
            return f"{self._atom(base)}{power}"

        def _atom(self, x: Expr) -> str:
            out = self._print(x)
            plain = x.is_Symbol or (x.is_Integer and x >= 0) or isinstance(x, sympy.Function)
            return str(out) if plain else f"({out})"

    return UnicodePrinter({"full_prec": False})


def _fraction(expr: Expr) -> tuple[list[Expr], list[Expr]]:
    """Factors above and below the line."""
    above, below = [], []
    for x in expr.as_ordered_factors():
        if x.is_Rational and not x.is_Integer:
            above += _whole(x.p)
            below += _whole(x.q)
        elif x.is_Pow and x.exp.could_extract_minus_sign():
            below.append(x.base**-x.exp)
        else:
            above.append(x)
    return above, below


def _whole(n: int) -> list[Expr]:
    return [] if n == 1 else [sympy.Integer(n)]
