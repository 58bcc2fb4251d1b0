"""Equations of motion as text, LaTeX and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import require_known
from sixd.symbolic.writing.latex import latex, text

if TYPE_CHECKING:
    from sixd.symbolic.equations.equations import Equations

FIELDS = ("M", "C", "g", "b", "h", "tau", "T", "V", "L", "A", "phi", "Gamma")
_LETTERS = {"tau": r"\tau", "phi": r"\varphi"}  # LaTeX of the fields that are not printed by their name
_WIDEST = 2000  # characters of a field that are printed as text


def equations_text(system: Equations) -> str:
    """The usual fields, one per line; numbers with four digits, long fields cut."""
    fields = chosen_fields(system, ())
    form = "M q̈ + C q̇ + g + b = τ, b for damping and friction," if "b" in fields else "M q̈ + C q̇ + g = τ"
    lines = [f"{system.name}: {form} in {', '.join(map(str, system.q))}"]
    lines += [f"{name} = {text(getattr(system, name))}" for name in fields]
    cut = [line if len(line) <= _WIDEST else f"{line[:_WIDEST]} … ({len(line)} characters)" for line in lines]
    return "\n".join(cut)


def equations_latex(system: Equations, fields: tuple[Any, ...], short: bool, digits: int | None) -> str:
    """See ``Equations.latex``."""
    if len(fields) == 1 and not isinstance(fields[0], str):
        return latex(fields[0], _symbol_letters(system), short=short, digits=digits)
    lines = [f"{left} &= {right}" for left, right in _sides(system, fields, short, digits)]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def equations_markdown(system: Equations, fields: tuple[str, ...], short: bool, digits: int | None) -> str:
    """See ``Equations.markdown``."""
    form = r"$M \ddot q + C \dot q + g = \tau$"
    if "b" in chosen_fields(system, ()):
        form = r"$M \ddot q + C \dot q + g + b = \tau$, b for damping and friction"
    parts = [f"### Equations of motion of {system.name}", form]
    parts += [f"$${left} = {right}$$" for left, right in _sides(system, fields, short, digits)]
    if re.search(r"\b[sc]_\{\d", "".join(parts)):
        parts.append("$s_{12}$ is $\\sin(q_1 + q_2)$, $c_{12}$ its cosine.")
    return "\n\n".join(parts) + "\n"


def chosen_fields(system: Equations, fields: tuple[str, ...]) -> list[str]:
    """The fields, checked; if there are none, M, C, g, and b and A unless they are zero or empty."""
    for name in fields:
        require_known("latex", "field", name, FIELDS)
    if fields:
        return list(fields)
    return ["M", "C", "g"] + ["b"] * any(x != 0 for x in system.b) + ["A"] * bool(system.constraints)


def _sides(system: Equations, fields: tuple[str, ...], short: bool, digits: int | None) -> Iterator[tuple[str, str]]:
    """LaTeX of the left and right sides of the equations that define the fields."""
    letters = _symbol_letters(system)
    for field in chosen_fields(system, fields):
        value = getattr(system, field)
        entries = [(_LETTERS.get(field, field), value)]
        if field == "Gamma":
            indices = [index for index in np.ndindex((system.nv,) * 3) if value[index] != 0]
            entries = [(f"\\Gamma_{{{i + 1}{j + 1}{k + 1}}}", value[i, j, k]) for i, j, k in indices]
        for left, right in entries:
            yield left, latex(right, letters, short=short, digits=digits)


def _symbol_letters(system: Equations) -> dict[Any, str]:
    """LaTeX of the coordinates and rates; rates get dots, unless the user gave a velocity a name of its own."""
    import sympy

    letters = {x: sympy.latex(x) for x in system.q}
    for k, (v, a) in enumerate(zip(system.qd, system.qdd, strict=True)):
        base = letters[system.q[k]] if system.nq == system.nv else f"q_{{{k + 1}}}"
        letter, line, index = base.partition("_")
        dotted = str(v) == str(a).replace("dd", "d", 1)
        letters[v] = f"\\dot{{{letter}}}{line}{index}" if dotted else f"{{{sympy.latex(v)}}}"
        letters[a] = f"\\ddot{{{letter}}}{line}{index}"
    return letters
