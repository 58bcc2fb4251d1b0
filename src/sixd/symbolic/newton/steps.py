"""The steps of the recursive Newton-Euler algorithm as data, text, LaTeX and Markdown, in Craig's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sixd.constraints.reduced_model import Reduced
from sixd.errors import UnknownNameError, require_known
from sixd.lazy import Expr
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, is_zero
from sixd.symbolic.newton.letters import latex_letters, text_letters
from sixd.symbolic.writing.latex import latex
from sixd.symbolic.writing.latex_lines import WIDEST, aligned_latex, latex_width
from sixd.symbolic.writing.unicode_text import aligned, symbol_text, text, width

if TYPE_CHECKING:
    from sixd.symbolic.newton.result import NewtonEuler

FORMS = ("weight", "base")
OUTWARD = ("omega", "omegad", "vd", "vd_com", "F", "N")
INWARD = ("f", "n")
_TEXT = {"omega": "ω", "omegad": "ω̇", "vd": "v̇", "vd_com": "v̇_C", "tau": "τ"}
_LATEX = {
    "omega": (r"\omega", ""), "omegad": (r"\dot{\omega}", ""), "vd": (r"\dot{v}", ""), "vd_com": (r"\dot{v}", "C"),
}  # fmt: skip
_BRACKETS = 4  # width of an equals sign and brackets, in letters of LaTeX
_WIDE = 96  # columns up to which a vector is written in one line
_NOISE = 1e-14  # numbers below this, relative to the largest of the same quantity, are written as 0

# what each stage computes, as text and as LaTeX; p is the parent, J the joint, C the centre of mass of a body
RULES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "outward": (
        ("ω", "R ω_p + ω_J", r"\omega", r"R\,\omega_p + \omega_J"),
        ("ω̇", "R ω̇_p + (R ω_p)×ω_J + ω̇_J",
         r"\dot\omega", r"R\,\dot\omega_p + (R\,\omega_p)\times\omega_J + \dot\omega_J"),
        ("v̇", "R (v̇_p + ω̇_p×P + ω_p×(ω_p×P)) + 2 (R ω_p)×v_J + ω_J×v_J + v̇_J",
         r"\dot v", r"R\,(\dot v_p + \dot\omega_p\times P + \omega_p\times(\omega_p\times P))"
                    r" + 2\,(R\,\omega_p)\times v_J + \omega_J\times v_J + \dot v_J"),
        ("v̇_C", "v̇ + ω̇×c + ω×(ω×c)", r"\dot v_C", r"\dot v + \dot\omega\times c + \omega\times(\omega\times c)"),
        ("F", "m v̇_C", "F", r"m\,\dot v_C"),
        ("N", "I_C ω̇ + ω×(I_C ω)", "N", r"I_C\,\dot\omega + \omega\times I_C\,\omega"),
    ),
    "inward": (
        ("f", "F<W><F> + Σ Rᵀf of the children", "f", r"F<W><F> + \sum R^T f_{\text{child}}"),
        ("n", "N + c×<B><N> + Σ (Rᵀn + P×Rᵀf) of the children",
         "n", r"N + c\times <B><N> + \sum (R^T n + P\times R^T f)_{\text{child}}"),
    ),
    "torque": (("τ", "<G>Sᵀ[n; f]<M><E>", r"\tau", r"<G>S^T \begin{bmatrix} n \\ f \end{bmatrix}<M><E>"),),
}  # fmt: skip
# parts of the rules that depend on the result: weight, other forces and moments, passive joint forces, and coordinates
# y of a reduced model, q̇ = G ẏ
_PARTS = {
    "<W>": (" - m g", r" - m\,g"),
    "<F>": (" - f_ext", r" - f_{\text{ext}}"),
    "<N>": (" - n_ext", r" - n_{\text{ext}}"),
    "<M>": (" + armature q̈ + passive forces", r" + \text{armature}\;\ddot q + \text{passive forces}"),
    "<G>": ("Gᵀ(", r"G^T\bigl("),
    "<E>": ("), q̇ = G ẏ", r"\bigr),\quad \dot q = G\,\dot y"),
    "<B>": ("(F - m g)", r"(F - m\,g)"),
}
LEGEND = (
    "p: parent; R: from its axes to the body's; P, c: the body's origin in p, its centre of mass; [ω_J; v_J] = S q̇",
    r"$p$ is the parent, $R$ turns its axes into the body's, $P$ is the body's origin in $p$, $c$ its centre of mass; "
    r"$[\omega_J; v_J] = S \dot q$ is the velocity of the joint.",
)
TITLES = {"outward": "Outward iterations", "inward": "Inward iterations", "torque": "Joint forces"}


@dataclass(frozen=True)
class NewtonEulerStep:
    """One line: the value of a quantity of a body; of the stage "torque", of a joint.

    ``quantity`` is a field of ``NewtonEuler``, ``value`` (3,), or (nv of the joint,) for "tau"; ``number`` is the
    body's, or that of the joint's first degree of freedom, from 1.
    """

    stage: str
    name: str
    number: int
    quantity: str
    value: Array


class NewtonEulerSteps:
    """The steps of ``NewtonEuler.steps``: iterate over them, or get a value by body and quantity.

    ``str`` returns aligned text, ``latex`` and ``markdown`` mathematics; a notebook shows the latter.
    """

    def __init__(
        self, result: NewtonEuler, gravity: str, steps: tuple[NewtonEulerStep, ...], is_part: bool = False
    ) -> None:
        self.result, self.gravity, self.steps, self.is_part = result, gravity, steps, is_part
        self._values = {(step.name, step.quantity): step.value for step in steps}

    def __iter__(self) -> Iterator[NewtonEulerStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, key: tuple[str, str]) -> Array:
        """The value of a step: ``steps["link2", "n"]`` (3,), of a joint ``steps["joint2", "tau"]``."""
        if key in self._values:
            return self._values[key]
        if not isinstance(key, tuple) or len(key) != 2:
            raise UnknownNameError(f"steps: got {key!r}, expected a name and a quantity: steps['link2', 'n'].")
        require_known("steps", "quantity", key[1], (*OUTWARD, *INWARD, "tau"))
        require_known(
            "steps", "joint" if key[1] == "tau" else "body", key[0], [n for n, x in self._values if x == key[1]]
        )
        raise AssertionError

    def select(self, stage: str | None = None, name: str | None = None) -> NewtonEulerSteps:
        """The lines of one stage ("outward", "inward" or "torque"), of one body or joint, or both."""
        if stage is not None:
            require_known("select", "stage", stage, TITLES)
        if name is not None:
            require_known("select", "body or joint", name, [step.name for step in self.steps])
        kept = [s for s in self.steps if stage in (None, s.stage) and name in (None, s.name)]
        return NewtonEulerSteps(self.result, self.gravity, tuple(kept), is_part=True)

    # text -----------------------------------------------------------------------------------------

    def __str__(self) -> str:
        letters = text_letters(self.result)
        if self.is_part:
            return aligned([line for step in self.steps for line in self._lines(step, letters)])
        blocks = [f"{self._heading()}\n{LEGEND[0]}"]
        for stage, title in TITLES.items():
            blocks.append(f"{title}\n{_indented(aligned(self._rules(stage, 0)))}")
            for name, steps in _grouped(self.steps, stage):
                body = aligned([x for step in steps for x in self._lines(step, letters)])
                blocks.append(_indented(body if stage == "torque" else f"{name}\n{_indented(body)}"))
        return "\n\n".join(blocks)

    def _heading(self) -> str:
        axes = {"body": "in the axes of each body", "aligned": "in world axes", "world": "in world coordinates"}
        form = "the base accelerates by v̇₀ = -g" if self.gravity == "base" else "the weight is in f and n"
        return f"Newton-Euler of {self.result.model.name!r}, {axes[self.result.expressed_in]}; {form}"

    def _rules(self, stage: str, column: int) -> list[tuple[str, str]]:
        """(left, right) of the equations of a stage, as text (column 0) or LaTeX (2)."""
        base, forces, reduced = self.gravity == "base", self.result.has_forces, isinstance(self.result.model, Reduced)
        present = {"<W>": not base, "<B>": not base, "<F>": forces, "<N>": forces, "<G>": reduced, "<E>": reduced}
        tree = _tree(self.result.model)
        passive = *tree.armature, *tree.damping, *tree.friction, *tree.stiffness
        present["<M>"] = any(not is_zero(x) for x in passive)
        rules = []
        for rule in RULES[stage]:
            right = rule[column + 1]
            for part, is_present in present.items():
                right = right.replace(part, _PARTS[part][column // 2] if is_present else "F" if part == "<B>" else "")
            rules.append((rule[column], right))
        return rules

    def _lines(self, step: NewtonEulerStep, letters: Mapping[Expr, str]) -> list[tuple[str, str]]:
        entries = [self._entry(x, step.quantity, letters) for x in step.value]
        letter = _TEXT.get(step.quantity, step.quantity)
        if step.quantity == "tau":
            return [(symbol_text(f"τ{step.number + k}"), x) for k, x in enumerate(entries)]
        left, line = symbol_text(f"{letter}{step.number}"), ",  ".join(entries)
        left = f"v̇_C{left[-len(str(step.number)) :]}" if step.quantity == "vd_com" else left
        if width(line) <= _WIDE:
            return [(left, f"[{line}]")]
        return [(left + axis, x) for axis, x in zip("xyz", entries, strict=True)]

    def _entry(self, x: Scalar, quantity: str, letters: Mapping[Expr, str]) -> str:
        if self.result.ring is not None or hasattr(x, "free_symbols"):
            return text(x, letters)
        return self._number(x, quantity)

    def _number(self, x: float, quantity: str) -> str:
        largest = max((float(np.abs(s.value).max(initial=0)) for s in self.steps if s.quantity == quantity), default=0)
        return f"{0.0 if abs(x) < _NOISE * largest else float(x):.4g}".replace("-", "\u2212")

    def __repr__(self) -> str:
        return f"<Steps of {self.result.model.name!r}: {len(self)} lines; print shows them>"

    # mathematics ----------------------------------------------------------------------------------

    def latex(self, *, short: bool = True, digits: int | None = 4) -> str:
        """LaTeX of all lines, in one aligned block; ``short`` and ``digits`` as in ``Equations.latex``."""
        letters = latex_letters(self.result)
        return aligned_latex(x for step in self.steps for x in self._latex_lines(step, letters, short, digits))

    def markdown(self, *, short: bool = True, digits: int | None = 4) -> str:
        """The same as Markdown, stage by stage, with the equations of each."""
        if self.is_part:
            return f"$$\n{self.latex(short=short, digits=digits)}\n$$\n"
        letters = latex_letters(self.result)
        parts = [self._heading().replace("v̇₀ = -g", r"$\dot v_0 = -g$") + f". {LEGEND[1]}"]
        for stage, title in TITLES.items():
            parts += [f"**{title}**", _block(self._rules(stage, 2))]
            for name, steps in _grouped(self.steps, stage):
                parts += [] if stage == "torque" else [f"*{name}*"]
                parts.append(_block(x for step in steps for x in self._latex_lines(step, letters, short, digits)))
        return "\n\n".join(parts) + "\n"

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def _latex_lines(
        self, step: NewtonEulerStep, letters: Mapping[Expr, str], short: bool, digits: int | None
    ) -> list[tuple[str, str]]:
        """(left, right) of a vector, or of each component if one is wide."""
        entries = [self._latex_entry(x, step.quantity, letters, short, digits) for x in step.value]
        if step.quantity == "tau":
            return [(rf"\tau_{{{step.number + k}}}", x) for k, x in enumerate(entries)]
        letter, index = _LATEX.get(step.quantity, (step.quantity, ""))
        axes = step.number if self.result.expressed_in == "body" else 0
        left = rf"{{}}^{{{axes}}}{letter}_{{{index}{step.number}"
        if all(x == "0" for x in entries):
            return [(f"{left}}}", "0")]
        if max(map(latex_width, entries)) > WIDEST - latex_width(left) - _BRACKETS:
            return [(f"{left}{axis}}}", x) for axis, x in zip("xyz", entries, strict=True)]
        return [(f"{left}}}", r"\begin{bmatrix} " + r" \\ ".join(entries) + r" \end{bmatrix}")]

    def _latex_entry(
        self, x: Scalar, quantity: str, letters: Mapping[Expr, str], short: bool, digits: int | None
    ) -> str:
        if self.result.ring is not None or hasattr(x, "free_symbols"):
            return latex(x, letters, short=short, digits=digits)
        return self._number(x, quantity).replace("\u2212", "-")


def make_steps(result: NewtonEuler, gravity: str) -> NewtonEulerSteps:
    """The steps of a result of one state."""
    raw, model, show = result.raw, result.model, result.shown
    tree = _tree(model)
    names, values = tree.body_names, raw
    if gravity == "base":
        masses = [tree.inertia[i][5, 5] for i in tree.bodies]
        weight = np.array([g * m for g, m in zip(raw.gravity, masses, strict=True)]).reshape(raw.F.shape)
        values = raw._replace(vd=raw.vd - raw.gravity, vd_com=raw.vd_com - raw.gravity, F=raw.F - weight)
    order = [("outward", k, field) for k in range(len(names)) for field in OUTWARD]
    order += [("inward", k, field) for k in reversed(range(len(names))) for field in INWARD]
    steps = [NewtonEulerStep(stage, names[k], k + 1, f, show(getattr(values, f)[k])) for stage, k, f in order]
    for joint in model.joint_names:
        own = model.v_slice(joint)
        steps.append(NewtonEulerStep("torque", joint, own.start + 1, "tau", show(raw.tau[own])))
    return NewtonEulerSteps(result, gravity, tuple(steps))


def _tree(model: System) -> Model:
    """The tree of a model, a reduced model or the equations of one."""
    while not isinstance(model, Model):
        model = model.model  # type: ignore[attr-defined]
    return model


def _grouped(steps: tuple[NewtonEulerStep, ...], stage: str) -> list[tuple[str, list[NewtonEulerStep]]]:
    """The steps of a stage by body, in order; those of "torque" together."""
    groups: dict[str, list[NewtonEulerStep]] = {}
    for step in steps:
        if step.stage == stage:
            groups.setdefault("" if stage == "torque" else step.name, []).append(step)
    return list(groups.items())


def _block(equations: Iterable[tuple[str, str]]) -> str:
    return f"$$\n{aligned_latex(equations)}\n$$"


def _indented(lines: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in lines.split("\n"))
