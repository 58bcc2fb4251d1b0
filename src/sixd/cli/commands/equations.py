"""``sixd equations``: the equations of motion in closed form, as text, LaTeX, Markdown, Python or JSON."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import sixd
from sixd.atomic import write_together
from sixd.cli.arguments.files import FilePath, free_path, require_other
from sixd.cli.arguments.robot import RobotSource, robot_argument
from sixd.cli.group import command
from sixd.cli.output import console, dump, print_notes
from sixd.cli.usage import names_in, wrong_call
from sixd.errors import CompileWarning, SixdError
from sixd.model import Model
from sixd.model.system import System
from sixd.symbolic.equations.from_model import foreseen_seconds
from sixd.symbolic.equations.printing import FIELDS, MATRICES, chosen_fields, equations_text

if TYPE_CHECKING:
    from sixd.symbolic.equations.equations import Equations

FORMATS = ("text", "latex", "markdown", "python", "json")
_WITH_C = {"C", "h", "tau", "Gamma"}
_PATIENCE = 300.0  # expected seconds from which --force is required


@command(
    "equations",
    ("sixd equations two_link_arm", "M, C and g of a planar arm, one entry per line."),
    ("sixd equations cart_pole --format latex --what M,tau", "For a paper."),
    ("sixd equations two_link_arm --format python -o arm.py", "inverse_dynamics as plain Python, in a file."),
)
@robot_argument()
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How to print.")
@click.option(
    "--what",
    metavar="NAMES",
    help=f"Fields, separated by commas: {', '.join(FIELDS)}. Default: M, C, g, and b and A if the robot has them. "
    "Not for python, which is a program.",
)
@click.option("--reduce", is_flag=True, help="Use the independent coordinates of mimic joints and couplings.")
@click.option("-o", "--output", type=FilePath(), metavar="FILE", help="Write to a file.")
@click.option("--force", is_flag=True, help="Replace an existing file; continue even if it takes over five minutes.")
def equations(source: RobotSource, form: str, what: str | None, reduce: bool, output: Path | None, force: bool) -> None:
    """Print the equations of motion M q̈ + C q̇ + g + b = τ in closed form. q₁, q₂, … are the coordinates [rad or m] in
    the order of `sixd info`, q̇₁, … their rates, numbers are in SI units; M[1,2] is the entry in row 1, column 2.

    A six-axis robot takes a second; each further axis makes the equations six times as long. A warning precedes a long
    wait; more than five minutes require --force. M and g (--what M,g) take much less time than C. See docs/equations.md
    for more, such as symbols in place of numbers.
    """
    fields = _fields(what, form)
    if output is not None:
        require_other(source.robot, output)
        free_path(output, force)
    model = source.load()
    if not force:
        _require_patience(model, fields)
    with console(stderr=True).status(f"deriving the equations of {model.name}"):
        system: Any = model.reduce() if reduce else model
        with warnings.catch_warnings():
            if fields and not _WITH_C.intersection(fields):  # that C is long does not matter
                warnings.simplefilter("ignore", CompileWarning)
            derived = sixd.equations(system)
        text = render(derived, fields, form)
    if reduce:
        print_notes(_unreduced(model, system))
    if output is None:
        click.echo(text)
    else:
        write_together({output: text + "\n"}, f"cannot write {str(output)!r}")
        click.echo(f"{len(text) + 1:,} characters written to {output}")


def _fields(what: str | None, form: str) -> tuple[str, ...]:
    if what is None:
        return ()
    names = names_in("--what", what, "field", FIELDS)
    if form == "python":
        raise wrong_call("--what does not go with --format python, which is a program. Leave one of them out.")
    return tuple(names)


def _require_patience(model: Model, fields: tuple[str, ...]) -> None:
    longest = max(fields or ("C",), key=lambda name: foreseen_seconds(model, name))
    seconds = foreseen_seconds(model, longest)
    if seconds >= _PATIENCE:
        less = next((f"--what {names} is quick. " for names in ("M,g", "g") if _is_quick(model, names)), "")
        raise SixdError(
            f"equations: {longest} of {model.name!r} takes about {_long_time(seconds)}, expected less than "
            f"{_PATIENCE / 60:.0f} minutes. {less}Lock joints that do not matter (model.lock in Python), export a "
            f"function instead of printing the equations (`sixd export`), or add --force to continue."
        )


def _is_quick(model: Model, names: str) -> bool:
    return all(foreseen_seconds(model, name) < _PATIENCE for name in names.split(","))


def _long_time(seconds: float) -> str:
    for unit, size in (("years", 3.2e7), ("days", 86400.0), ("hours", 3600.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds / 60:.0f} minutes"


def _unreduced(model: Model, system: System) -> list[str]:
    """Return notes on constraints that --reduce did not eliminate."""
    if not model.constraints:
        return [f"--reduce has no effect: {model.name!r} has no constraints."]
    if not system.constraints:
        return []
    left = ", ".join(dict.fromkeys(c.label for c in system.constraints))
    effect = " has no effect" if system.nv == model.nv else ""
    return [f"--reduce{effect}: these constraints remain, since loops and rolling cannot be reduced: {left}."]


def render(derived: Equations, fields: tuple[str, ...], form: str) -> str:
    """Return the equations as text in one of the formats."""
    if form == "latex":
        return derived.latex(*fields)
    if form == "markdown":
        return derived.markdown(*fields).rstrip("\n")
    if form == "python":
        return derived.code("python").rstrip("\n")
    chosen = chosen_fields(derived, fields)
    if form == "json":
        facts = {"robot": derived.name, "q": list(derived.q), "qd": list(derived.qd), "joints": derived.joint_names}
        return dump(facts | {name: _nested(name, getattr(derived, name)) for name in chosen})
    return equations_text(derived, fields, digits=None, longest=None)


def written(value: object) -> str:
    """Return an expression as text, numbers without trailing zeros."""
    from sympy import sstr

    return str(sstr(value, full_prec=False))


def _nested(name: str, field: Any) -> Any:
    """Return nested lists of text; a vector, which SymPy holds as a matrix of one column, as one list."""
    values = np.array(field.tolist() if hasattr(field, "shape") else field, dtype=object)
    is_column = name not in MATRICES and values.ndim == 2 and values.shape[1] == 1
    return np.vectorize(written, otypes=[object])(values[:, 0] if is_column else values).tolist()
