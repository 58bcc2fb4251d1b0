"""Equations of motion as text, LaTeX and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sixd.errors import require_known
from sixd.lazy import Expr, Matrix, sympy
from sixd.symbolic.writing.latex import latex
from sixd.symbolic.writing.unicode_text import aligned, symbol_text, text

if TYPE_CHECKING:
    from sixd.model.model import Model
    from sixd.symbolic.equations.equations import Equations

FIELDS = ("M", "C", "g", "b", "h", "tau", "T", "V", "L", "A", "phi", "Gamma", "input_matrix")
# the fields that are not printed by their name, as text and as LaTeX
NAMES = {"tau": "τ", "phi": "φ", "Gamma": "Γ", "input_matrix": "T(q)"}
_LETTERS = {"tau": r"\tau", "phi": r"\varphi", "input_matrix": "T(q)"}
MATRICES = ("M", "C", "A", "T(q)")  # also where they have one column
_LONGEST = 1000  # characters of an entry that are printed as text
_FEW = 9  # entries of a field up to which its zeros are listed


def equations_text(
    system: Equations, fields: tuple[str, ...] = (), digits: int | None = 4, longest: int | None = _LONGEST
) -> str:
    """The fields entry by entry, M[1,2] = …; the zeros of large fields share a line, and long entries are cut."""
    chosen = chosen_fields(system, fields)
    letters, about = text_letters(system), f", {_about_b(system)}," if "b" in chosen else ""
    blocks = [f"{system.name}: {motion_form(system)}{about} in {', '.join(letters[x] for x in system.q)}"]
    if system.nq != system.nv:
        blocks[0] += f", velocities {', '.join(letters[v] for v in system.qd)}"
    blocks += [aligned(entries(name, getattr(system, name), letters, digits, longest)) for name in chosen]
    return "\n\n".join(blocks)


def entries(
    name: str, value: Expr | Matrix, letters: Mapping[Expr, str], digits: int | None = 4, longest: int | None = _LONGEST
) -> list[tuple[str, str]]:
    """(left, right) for each entry of a field that is not zero, numbered from 1, and one for those that are.

    Equal entries across the diagonal of a symmetric matrix share a line.
    """
    shape = getattr(value, "shape", ())
    name = NAMES.get(name, name)
    if not shape:
        return [(name, _cut(text(value, letters, digits=digits), longest))]
    column = len(shape) == 2 and shape[1] == 1 and name not in MATRICES
    symmetric = len(shape) == 2 and shape[0] == shape[1] > 1 and value == value.T
    few = int(np.prod(shape)) <= _FEW
    lines: list[tuple[str, str]] = []
    zeros: list[str] = []
    for index in np.ndindex(*shape):
        if symmetric and index[0] > index[1]:
            continue
        at = [index[:1] if column else index] + ([index[::-1]] if symmetric and index[0] != index[1] else [])
        labels = [f"{name}[{','.join(str(i + 1) for i in k)}]" for k in at]
        if value[index] == 0 and not few:
            zeros += labels
        else:
            lines.append((" = ".join(labels), _cut(text(value[index], letters, digits=digits), longest)))
    if zeros:
        lines.append((f"other {name}" if lines else name, "0"))
    return lines


def _cut(line: str, longest: int | None) -> str:
    return line if longest is None or len(line) <= longest else f"{line[:longest]} … ({len(line)} characters)"


def motion_form(system: Equations) -> str:
    """The general form of the equations of motion; T(q) f are the forces of inputs."""
    left = "M q̈ + C q̇ + g + b" if any(x != 0 for x in system.b) else "M q̈ + C q̇ + g"
    return f"{left} = {'T(q) f' if has_inputs(system) else 'τ'}"


def has_inputs(system: Equations) -> bool:
    """Whether the inputs are other than the generalised forces themselves."""
    return bool(system.input_matrix != sympy.eye(system.nv))


def form_latex(form: str) -> str:
    """LaTeX of such a form."""
    for letter, tex in (("q̈", r"\ddot q"), ("q̇", r"\dot q"), ("τ", r"\tau")):
        form = form.replace(letter, tex)
    return form


def _about_b(system: Equations) -> str:
    """The origin of the forces b: a model's joints, dissipation, or gyroscopic terms."""
    tree: Model | None = getattr(system.model, "model", system.model)  # type: ignore[arg-type]  # of a reduced model, its tree
    if tree is None:
        return "b for " + ("damping and friction" if any(system.lossy) else "gyroscopic forces")
    forces = {"damping": tree.damping, "friction": tree.friction, "springs": tree.stiffness}
    return "b for " + " and ".join(", ".join(name for name, x in forces.items() if any(x != 0)).rsplit(", ", 1))


def _velocity_names(system: Equations) -> list[tuple[str, int]]:
    """For each velocity a name and its number of dots: its coordinate's, or ω and v of a ball or free joint."""
    if system.nq == system.nv:
        return [(str(x), 1) for x in system.q]
    names: list[tuple[str, int]] = []
    for joint in system.joint_names:
        q, v = (list(x) for x in (system.q[system.q_slice(joint)], system.qd[system.v_slice(joint)]))
        own = [(f"{'omega' if i < 3 else 'v'}{len(names) + i + 1}", 0) for i in range(len(v))]
        names += [(str(x), 1) for x in q] if len(q) == len(v) else own
    return names


def text_letters(system: Equations) -> dict[Expr, str]:
    """Unicode of the coordinates and rates; rates get dots, unless the user named the velocity."""
    letters = {x: symbol_text(str(x)) for x in system.q}
    for v, a, (base, dots) in zip(system.qd, system.qdd, _velocity_names(system), strict=True):
        letters[v] = symbol_text(base, dots) if _is_dotted(v, a) else symbol_text(str(v))
        letters[a] = symbol_text(base, dots + 1)
    return letters


def equations_latex(system: Equations, fields: tuple[Expr, ...], short: bool, digits: int | None) -> str:
    """See ``Equations.latex``."""
    if len(fields) == 1 and not isinstance(fields[0], str):
        return latex(fields[0], symbol_letters(system), short=short, digits=digits)
    lines = [f"{left} &= {right}" for left, right in _sides(system, fields, short, digits)]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def equations_markdown(system: Equations, fields: tuple[str, ...], short: bool, digits: int | None) -> str:
    """See ``Equations.markdown``."""
    about = f", {_about_b(system)}" if "b" in chosen_fields(system, ()) else ""
    parts = [f"### Equations of motion of {system.name}", f"${form_latex(motion_form(system))}${about}"]
    parts += [f"$${left} = {right}$$" for left, right in _sides(system, fields, short, digits)]
    return paragraphs(parts)


def paragraphs(parts: Sequence[str]) -> str:
    """Markdown of the parts, with the meaning of s_{1} or s_{12} if their LaTeX contains such letters."""
    used = re.findall(r"\b[sc]_\{(\d+)", "".join(parts))
    single, summed = "$s_1$ is $\\sin q_1$, $c_1$ its cosine.", "$s_{12}$ is $\\sin(q_1 + q_2)$, $c_{12}$ its cosine."
    note = summed if any(len(digits) > 1 for digits in used) else single
    return "\n\n".join([*parts, *([note] if used else [])]) + "\n"


def chosen_fields(system: Equations, fields: tuple[str, ...]) -> list[str]:
    """The checked fields; by default M, C, g, and b, A and T(q) unless they are zero, empty or the identity."""
    for name in fields:
        require_known("latex", "field", name, FIELDS)
    if fields:
        return list(fields)
    more = {"b": any(x != 0 for x in system.b), "A": bool(system.constraints), "input_matrix": has_inputs(system)}
    return ["M", "C", "g", *(name for name, is_shown in more.items() if is_shown)]


def _sides(system: Equations, fields: tuple[str, ...], short: bool, digits: int | None) -> Iterator[tuple[str, str]]:
    """LaTeX of the left and right sides of the equations that define the fields."""
    letters = symbol_letters(system)
    for field in chosen_fields(system, fields):
        value = getattr(system, field)
        entries = [(_LETTERS.get(field, field), value)]
        if field == "Gamma":
            indices = [index for index in np.ndindex((system.nv,) * 3) if value[index] != 0]
            entries = [(f"\\Gamma_{{{i + 1}{j + 1}{k + 1}}}", value[i, j, k]) for i, j, k in indices]
        for left, right in entries:
            yield left, latex(right, letters, short=short, digits=digits)


def symbol_letters(system: Equations) -> dict[Expr, str]:
    """LaTeX of the coordinates and rates; rates get dots, unless the user named the velocity."""
    letters = {x: sympy.latex(x) for x in system.q}
    for v, a, (base, dots) in zip(system.qd, system.qdd, _velocity_names(system), strict=True):
        letter, line, index = sympy.latex(sympy.Symbol(base)).partition("_")
        dotted = [letter, f"\\dot{{{letter}}}", f"\\ddot{{{letter}}}"]
        letters[v] = dotted[dots] + line + index if _is_dotted(v, a) else f"{{{sympy.latex(v)}}}"
        letters[a] = dotted[dots + 1] + line + index
    return letters


def _is_dotted(v: Expr, a: Expr) -> bool:
    """Whether a velocity is named after its coordinate, as the acceleration is."""
    return str(v) == str(a).replace("dd", "d", 1)
