"""SRDF, MoveIt's additions to a URDF: named configurations from group states, and disabled collision pairs.

Groups, end effectors and virtual joints are skipped; ``sixd.check`` reports a virtual joint that moves.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np

from sixd.errors import ModelError, unknown_name
from sixd.io.xml import Element
from sixd.model import Free, Joint, Model, ModelBuilder, Planar
from sixd.model.parts import Finding
from sixd.spatial.scalar import Array

# where our coordinates stand in MoveIt's: planar x y θ, floating x y z qx qy qz qw
_ORDERS: dict[type[Joint], list[int]] = {Planar: [2, 0, 1], Free: [6, 3, 4, 5, 0, 1, 2]}


def add_srdf(model: Model, root: Element) -> Model:
    """Return the model with the group states and disabled pairs of a parsed SRDF file."""
    if root.tag != "robot":
        raise root.error(f"the root tag is <{root.tag}>, expected <robot> (SRDF). Is it the right file?")
    if root.find("link") is not None:
        raise root.error("the file has <link> elements: it is a URDF, expected an SRDF. Exchange the two files?")
    builder = ModelBuilder.from_model(model)
    states = root.find_all("group_state")
    count = Counter(name for name, _ in {(state.text("name"), state.attributes.get("group")) for state in states})
    seen: set[str] = set()
    for state in states:
        name = state.text("name")
        if count[name] > 1:
            name = f"{state.text('group')}/{name}"
        if name in seen:
            message = f"{state.location}: its group has a second state of this name, which is used; rename one"
            builder.notes.append(Finding("group-state", name, message))
        seen.add(name)
        values = _values(model, state, builder.notes)
        try:
            builder.add_configuration(name, values)
        except ModelError as error:
            raise state.error(str(error)) from None
    for joint in root.find_all("virtual_joint"):
        if joint.text("type") != "fixed":
            message = f"the SRDF's virtual joint is {joint.text('type')} and is ignored; load with floating_base=True"
            builder.notes.append(Finding("virtual-joint", joint.text("name"), message, True))
    pairs = [_pair(model, element, builder.notes) for element in root.find_all("disable_collisions")]
    configurations = builder.build().configurations
    disabled = dict.fromkeys([*model.disabled_collisions, *(p for p in pairs if p is not None)])
    return dataclasses.replace(
        model, configurations=configurations, notes=tuple(builder.notes), disabled_collisions=tuple(disabled)
    )


def _values(model: Model, state: Element, notes: list[Finding]) -> dict[str, Array]:
    """Return the coordinates of the joints that a ``<group_state>`` names; fixed joints are left out."""
    values: dict[str, Array] = {}
    for element in state.find_all("joint"):
        name = element.text("name")
        if name not in model.joint_names:
            if f"joint:{name}" not in model.frames:
                hint = str(unknown_name(f"state {state.text('name')!r}", "joint", name, model.joint_names))
                notes.append(Finding("group-state", name, f"{element.location}: {hint} It is left out."))
            continue
        if name in values:
            message = f"{element.location}: state {state.text('name')!r} has it twice, the last is used; delete one"
            notes.append(Finding("group-state", name, message))
        joint = model.joint(name).joint
        numbers = np.array(element.numbers("value", joint.nq))
        values[name] = numbers[_ORDERS[type(joint)]] if type(joint) in _ORDERS else numbers
    return values


def _pair(model: Model, element: Element, notes: list[Finding]) -> tuple[str, str] | None:
    """Return the two links of a ``<disable_collisions>``; None, with a note, if the model does not have them."""
    links = element.text("link1"), element.text("link2")
    for name in links:
        if name not in model.frames:
            message = f"{element.location}: the model has no link {name!r}; the pair is left out"
            notes.append(Finding("disabled-pair", name, message, True))
            return None
    return links
