"""Derivatives of the elementary functions of ``sixd.spatial``, written once for any scalar.

Dual numbers (``sixd.spatial.dual``) and derivatives of traces (``sixd.trace.derivative``) both use this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sixd.spatial.scalar import Scalar, cos, sign, sin, sqrt

Part = Callable[..., Scalar]  # a function of the value and the arguments


class Rule(NamedTuple):
    """Partial derivatives sign · above / (divisor · below) of a function; omitted parts are 1.

    ``signs`` (1, -1 or 0) and ``above`` have an entry for each argument. Signs, the common denominator and its
    whole-number factor are kept apart: a dual number then needs one division and stays exact over SymPy
    (slope / (2 √x)), and a trace folds the constants (0.5 / √x).
    """

    signs: tuple[int, ...] = (1,)
    above: tuple[Part, ...] | None = None
    below: Part | None = None
    divisor: int = 1

    def partials(self, value: Scalar, *arguments: Scalar) -> list[Scalar]:
        """Return each partial derivative as one scalar."""
        below = None if self.below is None else self.below(value, *arguments)
        found: list[Scalar] = []
        for k, direction in enumerate(self.signs):
            x = 1 if self.above is None else self.above[k](value, *arguments)
            x = x if direction > 0 else -x if direction else 0
            x = x if self.divisor == 1 else x / self.divisor
            found.append(x if below is None else x / below)
        return found


RULES: dict[str, Rule] = {
    "sin": Rule(above=(lambda y, x: cos(x),)),
    "cos": Rule(signs=(-1,), above=(lambda y, x: sin(x),)),
    "tan": Rule(above=(lambda y, x: 1 + y * y,)),
    "asin": Rule(below=lambda y, x: sqrt(1 - x * x)),
    "acos": Rule(signs=(-1,), below=lambda y, x: sqrt(1 - x * x)),
    "atan2": Rule(
        signs=(1, -1), above=(lambda angle, y, x: x, lambda angle, y, x: y), below=lambda angle, y, x: y * y + x * x
    ),
    "sqrt": Rule(below=lambda y, x: y, divisor=2),
    "exp": Rule(above=(lambda y, x: y,)),
    "log": Rule(below=lambda y, x: x),
    "absolute": Rule(above=(lambda y, x: sign(x),)),
    "sign": Rule(signs=(0,)),
}

# functions that return one of their two arguments: the condition under which it is the first
CHOOSES_FIRST: dict[str, Callable[[Any, Any], Any]] = {
    "minimum": lambda a, b: a <= b,
    "maximum": lambda a, b: a >= b,
}
