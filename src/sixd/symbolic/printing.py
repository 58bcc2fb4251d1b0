"""LaTeX of expressions in the short hand of robotics: c_{12} for cos(q1 + q2), dots for rates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any


def latex(expression: Any, coordinates: Mapping[Any, str] | Iterable[Any] = (), *, short: bool = True) -> str:
    r"""LaTeX of a SymPy expression or matrix.

    Parameters
    ----------
    coordinates : the symbols whose sines and cosines are abbreviated: with q1 and q2 among them, sin(q1 + q2) is
        printed s_{12}. A mapping {symbol: LaTeX} says besides how a symbol is printed, {qd1: r"\dot{q}_1"}.
    short : False prints \sin(q_1 + q_2) in full.

    Sums with other factors than 1, and angles with other symbols in them, are printed in full.
    """
    names = dict(coordinates) if isinstance(coordinates, Mapping) else {}
    labels = _labels(coordinates) if short else {}
    return str(_printer(names, labels).doprint(expression))


def _labels(coordinates: Iterable[Any]) -> dict[Any, str]:
    """The number at the end of each coordinate's name; of several with one number, such as q1 and qd1, the first's."""
    found: dict[str, Any] = {}
    for symbol in coordinates:
        match = re.search(r"\d+$", str(symbol))
        if match:
            found.setdefault(match[0], symbol)
    return {symbol: number for number, symbol in found.items()}


def _printer(names: dict[Any, str], labels: dict[Any, str]) -> Any:
    import sympy
    from sympy.printing.latex import LatexPrinter

    class Printer(LatexPrinter):
        """SymPy's printer with abbreviated sines and cosines."""

        def _print_Function(self, expr: Any, exp: Any = None) -> str:
            letter = {sympy.sin: "s", sympy.cos: "c"}.get(expr.func)
            numbers = _numbers(expr.args[0], labels) if letter else None
            if numbers is None:
                return str(super()._print_Function(expr, exp))
            return f"{letter}_{{{numbers}}}" + (f"^{{{exp}}}" if exp is not None else "")

    return Printer({"symbol_names": names})


def _numbers(angle: Any, labels: dict[Any, str]) -> str | None:
    """12 for q1 + q2; None if it is no plain sum of coordinates."""
    found = [labels.get(x) for x in (angle.args if angle.is_Add else (angle,))]
    numbers = sorted((n for n in found if n is not None), key=lambda n: (len(n), n))
    if len(numbers) < len(found):
        return None
    return ("," if len(numbers[-1]) > 1 and len(numbers) > 1 else "").join(numbers)
