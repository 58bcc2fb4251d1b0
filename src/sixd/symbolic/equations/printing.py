"""How equations of motion are shown: LaTeX, Markdown, Jupyter, Python and C code, operation counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import unknown_name
from sixd.symbolic.equations.linearization import Linear, linearize

if TYPE_CHECKING:
    from sixd.symbolic.equations.equations import Equations

FIELDS = ("M", "C", "g", "b", "h", "tau", "T", "V", "L", "A", "phi", "Gamma")
_NAMES = {"g": "g", "tau": r"\tau", "phi": r"\varphi", "T": "T", "V": "V", "L": "L"}
LANGUAGES = ("python", "c")
# functions that code is written for: the fields that they evaluate
_FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mass_matrix": ("M", ("q",)),
    "coriolis_matrix": ("C", ("q", "qd")),
    "gravity_force": ("g", ("q",)),
    "bias_force": ("h", ("q", "qd")),
    "inverse_dynamics": ("tau", ("q", "qd", "qdd")),
}


class Shown:
    """Ways to look at equations; a part of ``Equations``."""

    def latex(self: Equations, *fields: Any, short: bool = True, digits: int | None = 4) -> str:  # type: ignore[misc]
        """LaTeX of some fields ("M", "C", "g", "tau", "Gamma", …), an equation a line; by default M, C, g and, if there
        are, b and A.

        ``short`` writes s and c for sines and cosines with the numbers of their coordinates: c_{12} = cos(q1 + q2). Of
        "Gamma" the symbols that are not zero are written. A SymPy expression or matrix is printed in the same letters.
        ``digits`` of floating-point numbers are written, None writes all; ``.M`` and the other fields have all.
        """
        if len(fields) == 1 and not isinstance(fields[0], str):
            return self._latex(fields[0], short, digits)
        lines = [f"{left} &= {right}" for f in self._chosen(fields) for left, right in self._lines(f, short, digits)]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def markdown(self: Equations, *fields: str, short: bool = True, digits: int | None = 4) -> str:  # type: ignore[misc]
        """The same as a piece of Markdown, with a line on the meaning of each letter."""
        parts = [f"### Equations of motion of {self.name}", _STANDARD_FORM["b" in self._chosen(())]]
        parts += [
            f"$${left} = {right}$$" for f in self._chosen(fields) for left, right in self._lines(f, short, digits)
        ]
        if re.search(r"\b[sc]_\{\d", "".join(parts)):
            parts.append("$s_{12}$ is $\\sin(q_1 + q_2)$, $c_{12}$ its cosine.")
        return "\n\n".join(parts) + "\n"

    def _repr_markdown_(self) -> str:
        return self.markdown()  # type: ignore[misc]

    def code(self: Equations, language: str = "python", functions: Sequence[str] = ("inverse_dynamics",)) -> str:  # type: ignore[misc]
        """Source code that evaluates some of mass_matrix, coriolis_matrix, gravity_force, bias_force, inverse_dynamics.

        "python": plain functions of lists, with the standard library's math; shared parts are computed once. "c": C99
        as ``sixd.export_c`` writes it. Parameters that are symbols become arguments after the others.
        """
        if language not in LANGUAGES:
            raise unknown_name("code: language", "choice", language, LANGUAGES)
        for name in (functions := [functions] if isinstance(functions, str) else list(functions)):
            if name not in _FUNCTIONS:
                raise unknown_name("code", "function", name, _FUNCTIONS)
        if language == "c":
            from sixd.api import dynamics as api
            from sixd.engine.kernel import export_c

            parameters = tuple(map(str, self.symbols))
            made = [export_c(getattr(api, f), self, parameters=parameters) for f in functions]
            return "\n".join(str(c.source) for c in made)
        from sixd.symbolic.equations.source_code import write_function

        bodies = [write_function(self, name, *_FUNCTIONS[name]) for name in functions]
        return "\n\n\n".join(["from math import *", *bodies]) + "\n"

    def count_ops(self: Equations) -> dict[str, int]:  # type: ignore[misc]
        """Operations of M, C, g and b as they are written, in all, and in all after shared parts are taken out."""
        import sympy

        fields = {name: list(getattr(self, name)) for name in ("M", "C", "g", "b")}
        # M is symmetric: its upper triangle is all that is to be computed
        n = self.nv
        fields["M"] = [self.M[i, j] for i in range(n) for j in range(i, n)]
        counts = {name: int(sum(sympy.count_ops(x) for x in entries)) for name, entries in fields.items()}
        everything = [x for entries in fields.values() for x in entries]
        shared, left = sympy.cse(everything, list=False)
        after = sum(sympy.count_ops(x) for _, x in shared) + sum(sympy.count_ops(x) for x in left)
        return counts | {"total": sum(counts.values()), "after_cse": int(after)}

    def linearize(self: Equations, q: Any, qd: Any = None, f: Any = None) -> Linear:  # type: ignore[misc]
        """(A, B) of ẋ = A x + B u for small deviations x = (δq, δq̇) and u = δf from a state and input force.

        q, qd (n,) and f (m,) are numbers or SymPy expressions; qd and f are zero if omitted. Shapes (2n, 2n), (2n, m).
        """
        return linearize(self, q, qd, f)

    def _chosen(self: Equations, fields: tuple[str, ...]) -> list[str]:  # type: ignore[misc]
        for name in fields:
            if name not in FIELDS:
                raise unknown_name("latex", "field", name, FIELDS)
        if fields:
            return list(fields)
        return ["M", "C", "g"] + ["b"] * any(x != 0 for x in self.b) + ["A"] * bool(self.constraints)

    def _lines(self: Equations, field: str, short: bool, digits: int | None) -> list[tuple[str, str]]:  # type: ignore[misc]
        """Left and right sides of what is printed of a field."""
        if field == "Gamma":
            places = [(i, j, k) for i, j, k in np.ndindex((self.nv,) * 3) if self.Gamma[i, j, k] != 0]
            return [
                (f"\\Gamma_{{{i + 1}{j + 1}{k + 1}}}", self._latex(self.Gamma[i, j, k], short, digits))
                for i, j, k in places
            ]
        return [(_NAMES.get(field, field), self._latex(getattr(self, field), short, digits))]

    def _latex(self: Equations, expression: Any, short: bool, digits: int | None) -> str:  # type: ignore[misc]
        from sixd.symbolic.writing.latex import latex

        return latex(expression, self._letters, short=short, digits=digits)


# with damping and friction, or without
_STANDARD_FORM = {
    False: r"$M \ddot q + C \dot q + g = \tau$",
    True: r"$M \ddot q + C \dot q + g + b = \tau$, b for damping and friction",
}
