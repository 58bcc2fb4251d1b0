"""Letters of the symbols of a state: a velocity is its coordinate with a dot, an acceleration with two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sixd.lazy import Expr, sympy
from sixd.symbolic.writing.unicode_text import symbol_text

if TYPE_CHECKING:
    from sixd.symbolic.newton.result import NewtonEuler


def _rates(result: NewtonEuler) -> Iterator[tuple[Any, Any, int]]:
    """(coordinate, rate, dots) of joints whose velocity is the rate of a coordinate, where both are symbols."""
    model, (q, qd, qdd) = result.model, result.state
    for joint in model.joint_names:
        iq, iv = model.q_slice(joint), model.v_slice(joint)
        if iq.stop - iq.start == iv.stop - iv.start:
            for x, v, a in zip(q[iq], qd[iv], qdd[iv], strict=True):
                yield from ((x, y, dots) for y, dots in ((v, 1), (a, 2)) if _is_symbol(x) and _is_symbol(y))


def text_letters(result: NewtonEuler) -> dict[Expr, str]:
    """Unicode of the rates, θ̇₁ for the velocity of θ1."""
    return {y: symbol_text(x.name, dots) for x, y, dots in _rates(result)}


def latex_letters(result: NewtonEuler) -> dict[Expr, str]:
    """LaTeX of the coordinates and their rates."""
    letters = {x: sympy.latex(x) for x in result.state[0] if _is_symbol(x)}
    for x, y, dots in _rates(result):
        letter, line, index = letters[x].partition("_")
        letters[y] = f"\\{'d' * dots}ot{{{letter}}}{line}{index}"
    return letters


def _is_symbol(x: object) -> bool:
    return bool(getattr(x, "is_Symbol", False))
