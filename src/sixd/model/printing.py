"""A model as text: a tree for terminals, a table for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.model.joints import Joint
from sixd.notebook import MOST_ROWS, listed, table
from sixd.spatial.scalar import Scalar, is_number, is_zero

if TYPE_CHECKING:
    from sixd.model.model import Model

_MOST_LINES = 200
_WIDEST = 45  # characters of indentation


def render(model: Model) -> str:
    """Return the tree, one line per body: name, joint, limits and mass. Deep chains are indented up to some width."""
    lines = [_head(model), "world"]
    children = model.tree.children
    stack = [(body, "", body == children(0)[-1]) for body in reversed(children(0))]  # with the rails before it
    while stack and len(lines) < _MOST_LINES:
        body, rails, last = stack.pop()
        lines.append(rails + ("└─ " if last else "├─ ") + _describe(model, body))
        below = children(body)
        if len(rails) < _WIDEST or len(below) > 1:
            rails += "   " if last else "│  "
        stack.extend((b, rails, b == below[-1]) for b in reversed(below))
    if stack:
        lines.append(f"… and {model.nb - (_MOST_LINES - 2)} more")
    if model.constraints:
        lines += ["constraints:", *(f"  {c}" for c in model.constraints)]
    return "\n".join(lines)


def render_html(model: Model) -> str:
    """Return a table with a line for each body; a long one is cut."""
    lines: list[list[Any]] = []
    for i in list(model.bodies)[: MOST_ROWS + 1]:
        joint, parent = model.joints[i], model.parent[i]
        lines.append([
            model.body_names[i - 1], "world" if parent == 0 else model.body_names[parent - 1],
            model.joint_names[i - 1], describe_joint(joint), _limits(model, i), model.inertia[i][5, 5],
        ])  # fmt: skip
    lines += [[]] * (model.nb - len(lines))  # lines that the table only counts
    notes = [f"frames: {listed(n for n in model.frames if not n.startswith('joint:'))}"]
    if model.constraints:
        notes.append(f"constraints: {listed((c.label for c in model.constraints), 6)}")
    return table(_head(model), ("body", "on", "joint", "kind", "limits", "mass [kg]"), lines, note="; ".join(notes))


def _head(model: Model) -> str:
    mass = model.mass
    text = f"{model.name}: {model.nb} {'body' if model.nb == 1 else 'bodies'}, nq = {model.nq}, nv = {model.nv}"
    text += f", mass {mass:.6g} kg" if is_number(mass) else f", mass {mass} kg"
    fixed = model.inertia[0][5, 5]
    return text if is_zero(fixed) else f"{text}, and {_kilograms(fixed)} fixed to the world"


def _describe(model: Model, i: int) -> str:
    mass = model.inertia[i][5, 5]
    text = f"{model.body_names[i - 1]}  ({model.joint_names[i - 1]}: {describe_joint(model.joints[i])}"
    limits = _limits(model, i)
    text += f" {limits})" if limits else ")"
    return text + ("  massless" if is_zero(mass) else f"  {_kilograms(mass)}")


def _kilograms(mass: Scalar) -> str:
    return f"{mass:.4g} kg" if is_number(mass) else f"{mass} kg"


def _limits(model: Model, i: int) -> str:
    """Return the limits of a joint with one coordinate; empty if it has none."""
    low, high = model.lower[model.iq[i]], model.upper[model.iq[i]]
    limited = len(low) == 1 and is_number(low[0]) and is_number(high[0]) and np.isfinite([low[0], high[0]]).any()
    return f"{low[0]:.4g} … {high[0]:.4g}" if limited else ""


def describe_joint(joint: Joint) -> str:
    """Return the kind and axis of a joint: "revolute z", "free"."""
    kind = type(joint).__name__
    kind = "".join((" " if c.isupper() and k else "") + c.lower() for k, c in enumerate(kind))
    axis = getattr(joint, "axis", None)
    if axis is None:
        return kind
    for k, letter in enumerate("xyz"):
        if all(is_number(a) for a in axis) and abs(abs(axis[k]) - 1) < 1e-12:
            return f"{kind} {'-' if axis[k] < 0 else ''}{letter}"
    return f"{kind} ({', '.join(f'{a:.3g}' if is_number(a) else str(a) for a in axis)})"
