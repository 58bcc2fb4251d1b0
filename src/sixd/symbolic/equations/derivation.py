"""Lagrange's equations step by step: T, V, L, ∂L/∂q̇, its time derivative, ∂L/∂q, collected into M, C and g.

Each step is computed in the ring from the energies, for equations from a model and for those from energies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from sixd.errors import ModelError
from sixd.lazy import Expr, Matrix, sympy
from sixd.symbolic.equations import printing
from sixd.symbolic.writing.latex import latex
from sixd.symbolic.writing.latex_lines import WIDEST, aligned_latex, latex_width
from sixd.symbolic.writing.unicode_text import aligned, text

if TYPE_CHECKING:
    from sixd.symbolic.equations.equations import Equations
    from sixd.symbolic.ring.poly import Poly


@dataclass(frozen=True, eq=False)
class Derivation:
    """The steps from the energies to the equations of motion d/dt ∂L/∂q̇ - ∂L/∂q + r = τ, as SymPy expressions.

    ``T``, ``V``, ``L`` = T - V; columns (n,): ``dL_dqd`` = ∂L/∂q̇ (the momenta), ``ddt_dL_dqd`` = d/dt ∂L/∂q̇, which
    contains the accelerations, ``dL_dq`` = ∂L/∂q, ``resistance`` r (forces not in L: damping and friction),
    ``tau`` their sum; and the same collected: ``M`` (n, n), ``C`` (n, n), ``g`` (n,), ``b`` (n,) with
    τ = M q̈ + C q̇ + g + b, which is T(q) f for inputs f. ``equations`` are the equations that they belong to.

    ``print`` writes the steps as text; ``latex()`` and ``markdown()`` for papers; notebooks render them.
    """

    equations: Equations
    T: Any
    V: Any
    L: Any
    dL_dqd: Any
    ddt_dL_dqd: Any
    dL_dq: Any
    resistance: Any
    tau: Any
    M: Any
    C: Any
    g: Any
    b: Any

    def __str__(self) -> str:
        letters = printing.text_letters(self.equations)
        force = printing.motion_form(self.equations).partition(" = ")[2]
        blocks = [f"{self.equations.name}: d/dt ∂L/∂q̇ - ∂L/∂q{' + r' * self._resisted} = {force}, L = T - V"]

        written = partial(text, names=letters)
        for heading, lines in self._blocks(letters, written, "∂", "d/dt "):
            blocks.append(f"{heading}\n" + aligned([(left, written(right)) for left, right in lines]))
        blocks.append(f"Collected: {printing.motion_form(self.equations)}")
        for name in self._collected:
            blocks.append(aligned(printing.entries(name, getattr(self.equations, name), letters)))
        return "\n\n".join(blocks)

    def latex(self, *, short: bool = True, digits: int | None = 4) -> str:
        """The steps as LaTeX, one equation a line; ``short`` and ``digits`` as for ``Equations.latex``."""
        return aligned_latex(line for _, block in self._latex_blocks(short, digits) for line in block)

    def markdown(self, *, short: bool = True, digits: int | None = 4) -> str:
        """The steps as Markdown, each below its heading."""
        blocks = self._latex_blocks(short, digits)
        return printing.paragraphs([f"{heading}:\n\n$$\n{aligned_latex(block)}\n$$" for heading, block in blocks])

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def __repr__(self) -> str:
        return f"<Derivation of {self.equations.name!r}: Lagrange's equations in {len(self.dL_dq)} coordinates>"

    # what is written ------------------------------------------------------------------------------

    @property
    def _resisted(self) -> bool:
        return any(x != 0 for x in self.resistance)

    @property
    def _collected(self) -> list[str]:
        return [name for name in printing.chosen_fields(self.equations, ()) if name != "A"]

    def _latex_blocks(self, short: bool, digits: int | None) -> list[tuple[str, list[tuple[str, str]]]]:
        letters = printing.symbol_letters(self.equations)
        written = partial(latex, coordinates=letters, short=short, digits=digits)

        steps = self._blocks(letters, written, r"\partial ", r"\frac{d}{dt} ")
        blocks = [(heading, [(left, written(right)) for left, right in lines]) for heading, lines in steps]
        fields = [(printing.NAMES.get(name, name), getattr(self.equations, name)) for name in self._collected]
        collected = [line for name, value in fields for line in _matrix_lines(name, value, written)]
        form = printing.form_latex(printing.motion_form(self.equations))
        return [*blocks, (f"Collected, ${form}$", collected)]

    def _blocks(
        self, letters: dict[Expr, str], written: Callable[[Expr], str], curly: str, rate: str
    ) -> list[tuple[str, list[tuple[str, Any]]]]:
        """Headings, and below them left sides in these letters with their expressions."""
        tex = curly != "∂"

        def derivative(x: Expr) -> str:
            return f"\\frac{{{curly}L}}{{{curly}{letters[x]}}}" if tex else f"∂L/∂{letters[x]}"

        def numbered(letter: str) -> list[str]:
            return [f"{letter}_{{{k + 1}}}" if tex else f"{letter}[{k + 1}]" for k in range(len(self.tau))]

        system, forces = self.equations, numbered(r"\tau" if tex else "τ")
        if printing.has_inputs(system):
            inputs = sympy.symbols(f"f1:{system.input_matrix.cols + 1}")
            forces = [written(x) for x in system.input_matrix * sympy.Matrix(len(inputs), 1, inputs)]
        resistance = [("Damping and friction", list(zip(numbered("b"), self.resistance, strict=True)))]
        return [
            ("Energies", [("T", self.T), ("V", self.V), ("L", self.L)]),
            ("Momenta", list(zip(map(derivative, system.qd), self.dL_dqd, strict=True))),
            ("Their rates", [(rate + derivative(v), x) for v, x in zip(system.qd, self.ddt_dL_dqd, strict=True)]),
            ("Derivatives of L", list(zip(map(derivative, system.q), self.dL_dq, strict=True))),
            *(resistance if self._resisted else []),
            ("Forces", list(zip(forces, self.tau, strict=True))),
        ]


def _matrix_lines(name: str, value: Matrix, written: Callable[[Expr], str]) -> list[tuple[str, str]]:
    """A matrix as one line, or its entries, a line for each, if it is too wide."""
    whole = written(value)
    if max(map(latex_width, whole.split(r"\\"))) <= WIDEST:
        return [(name, whole)]
    symmetric = value.rows == value.cols and value == value.T
    lines = []
    for i, j in product(range(value.rows), range(value.cols)):
        if value[i, j] != 0 and not (symmetric and i > j):
            own = [(i, j)] if i == j or not symmetric else [(i, j), (j, i)]
            names = [f"{name}_{{{a + 1}}}" if value.cols == 1 else f"{name}_{{{a + 1}{b + 1}}}" for a, b in own]
            lines.append((" = ".join(names), written(value[i, j])))
    return lines


def derivation(system: Equations) -> Derivation:
    """Lagrange's equations step by step: T, V, L, ∂L/∂q̇, its time derivative, ∂L/∂q, collected into M, C, g.

    ``print`` it, or use its fields; ``.latex()`` and ``.markdown()`` are text for papers.
    """
    if system.nq != system.nv:
        raise ModelError(
            f"derivation: {system.name!r} has quaternions among its coordinates, whose rates are not its velocities, "
            f"expected as many coordinates as velocities. Use revolute joints (Euler angles) in place of spherical and "
            f"free ones."
        )
    form = system.form
    ring, (T, V) = form.ring, form.energies
    q, qd, qdd = (list(x) for x in (form.q, form.qd, form.qdd))
    momenta = [T.diff(v) for v in qd]
    speeds, accelerations = ring.array(qd), ring.array(qdd)

    def rate(p: Poly) -> Poly:
        moved = [p.diff(x) * v for x, v in zip(q, speeds, strict=True)]
        return sum(moved + [p.diff(v) * a for v, a in zip(qd, accelerations, strict=True)], ring.zero)

    rates, gradient = [rate(p) for p in momenta], [(T - V).diff(x) for x in q]
    forces = form.polys["M"] @ accelerations + form.coriolis @ speeds + form.polys["g"] + form.polys["b"]
    rest = [f - p + s for f, p, s in zip(forces, rates, gradient, strict=True)]

    def column(polys: Sequence[Poly]) -> Any:
        return sympy.Matrix(len(polys), 1, [form.collected(ring.convert(p)) for p in polys])

    return Derivation(
        system,
        *(form.collected(T), system.V, form.collected(T) - system.V),
        *(column(momenta), column(rates), column(gradient)),
        sympy.Matrix(len(rest), 1, [form.shown(ring.convert(p)) for p in rest]),
        *(system.tau, system.M, system.C, system.g, system.b),
    )
