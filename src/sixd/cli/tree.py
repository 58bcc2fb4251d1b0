"""A robot's tree as a table: bodies with branch lines in the first column, their joints in the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from sixd.cli.output import digits, printable
from sixd.model import Model
from sixd.model.printing import describe_joint
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from rich.table import Table

MOST_BODIES = 200
_WIDEST = 24  # characters of branch lines: deeper chains are not indented further


def branches(model: Model) -> Iterator[tuple[str, int]]:
    """Yield the branch lines to draw before each body, and its index, depth first."""
    children = model.tree.children
    stack = [(body, "", body == children(0)[-1]) for body in reversed(children(0))]
    while stack:
        body, indent, last = stack.pop()
        yield indent + ("└ " if last else "├ "), body
        below = children(body)
        if len(indent) < _WIDEST:
            indent += "  " if last else "│ "
        stack.extend((b, indent, b == below[-1]) for b in reversed(below))


def tree_table(model: Model, width: int) -> Table:
    """Return the tree as a table; if there is no room, the least important columns are left out and named below it."""
    from rich.table import Table
    from rich.text import Text

    lines = list(islice(branches(model), MOST_BODIES))
    longest = max((len(indent) + len(model.body_names[i - 1]) for indent, i in lines), default=0)
    columns, lost = _columns(model, [i for _, i in lines], width - longest - 2)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", caption_justify="left", caption_style="dim")
    if lost:
        table.caption = f"No room for: {', '.join(lost)}."
    table.add_column("body", no_wrap=longest <= width, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right" if name == "mass [kg]" else "left", overflow="fold")
    fixed = float(model.inertia[0][5, 5])
    table.add_row("world", *(f"{digits(fixed)} fixed" if fixed and name == "mass [kg]" else "" for name in columns))
    for k, (indent, i) in enumerate(lines):
        body = Text.assemble((indent, "dim"), (printable(model.body_names[i - 1]), "bold"))
        table.add_row(body, *(Text(cells[k]) for cells in columns.values()))
    if model.nb > MOST_BODIES:
        table.add_row(f"… and {model.nb - MOST_BODIES} more")
    return table


def _columns(model: Model, bodies: list[int], room: int) -> tuple[dict[str, list[str]], list[str]]:
    """Return the cells by column, and the names of the columns for which there is no room."""
    columns = {name: [cell(model, i) for i in bodies] for name, cell in _CELLS.items()}
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    lost = set()
    for name in _DISPENSABLE:
        if sum(max(map(len, [key, *cells])) + 2 for key, cells in columns.items()) > room and name in columns:
            columns.pop(name)
            lost.add(name)
    return columns, [name for name in _CELLS if name in lost]


def unit(model: Model, i: int) -> str:
    """Return the unit of the coordinate of a joint with one coordinate; a helical joint's is an angle too."""
    return model.joints[i].coordinate_units[0] if model.joints[i].coordinate_units else "rad"


def _range(model: Model, i: int) -> str:
    low, high = model.lower[model.iq[i]], model.upper[model.iq[i]]
    if model.joints[i].nq != 1 or not np.isfinite([low[0], high[0]]).any():
        return ""
    return f"{_bound(low[0])} … {_bound(high[0])} {unit(model, i)}"


def _bound(x: float) -> str:
    return f"{x:.4g}" if np.isfinite(x) else ("-∞" if x < 0 else "∞")


def _limit(values: Array, unit: str) -> str:
    return f"{values[0]:.4g} {unit}" if len(values) == 1 and np.isfinite(values[0]) else ""


def _passive(model: Model, i: int) -> str:
    names = ("damping", "friction", "stiffness", "armature")
    values = [(name, getattr(model, name)[model.iv[i]]) for name in names]
    return ", ".join(f"{name} {x.max():.3g}" for name, x in values if np.any(x))


def _mass(model: Model, i: int) -> str:
    mass = float(model.inertia[i][5, 5])
    return digits(mass) if mass else "massless"


_CELLS: dict[str, Callable[[Model, int], str]] = {
    "joint": lambda model, i: printable(model.joint_names[i - 1]),
    "kind": lambda model, i: describe_joint(model.joints[i]),
    "range": _range,
    "effort": lambda model, i: _limit(model.effort_limit[model.iv[i]], "N" if unit(model, i) == "m" else "N m"),
    "speed": lambda model, i: _limit(model.velocity_limit[model.iv[i]], f"{unit(model, i)}/s"),
    "passive": _passive,
    "mass [kg]": _mass,
}
_DISPENSABLE = ("passive", "speed", "effort", "joint", "range", "mass [kg]", "kind")
