"""SRDF: what MoveIt's files add to a robot. Group states become named configurations, and the pairs of links whose
collisions are disabled are kept in ``model.disabled_collisions``.

Groups, end effectors and virtual joints are skipped; a virtual joint that moves is reported by ``sixd.check``.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import numpy as np

from sixd.errors import ModelError, unknown_name
from sixd.io.xml import Element
from sixd.model import Free, Joint, Mimic, Model, ModelBuilder, Planar
from sixd.model.parts import Finding
from sixd.spatial.scalar import Array

# the coordinates of MoveIt's joints of several in our order: planar x y θ, floating x y z qx qy qz qw
_ORDERS: dict[type[Joint], list[int]] = {Planar: [2, 0, 1], Free: [6, 3, 4, 5, 0, 1, 2]}


def add_srdf(model: Model, root: Element) -> Model:
    """Return the model with the group states and disabled pairs of a parsed SRDF file."""
    if root.tag != "robot":
        raise root.error(f"the root tag is <{root.tag}>, expected <robot> (SRDF). Is it the right file?")
    if root.find("link") is not None:
        raise root.error("the file has <link> elements: it is a URDF, expected an SRDF. Exchange the two files?")
    builder = ModelBuilder.from_model(model)
    states = root.find_all("group_state")
    count = Counter(state.text("name") for state in states)
    for state in states:
        name = state.text("name")
        if count[name] > 1:
            name = f"{state.text('group')}/{name}"
        values = _values(model, state, builder.notes)
        try:
            builder.add_configuration(name, _with_followers(model, values))
        except ModelError as error:
            raise state.error(str(error)) from None
    for joint in root.find_all("virtual_joint"):
        if joint.text("type") != "fixed":
            message = (
                f"the SRDF's virtual joint is {joint.text('type')}, which is not taken; load with floating_base=True"
            )
            builder.notes.append(Finding("virtual-joint", joint.text("name"), message, True))
    pairs = [_pair(model, element, builder.notes) for element in root.find_all("disable_collisions")]
    configurations = builder.build().configurations
    disabled = dict.fromkeys([*model.disabled_collisions, *(p for p in pairs if p is not None)])
    return dataclasses.replace(
        model, configurations=configurations, notes=tuple(builder.notes), disabled_collisions=tuple(disabled)
    )


def _values(model: Model, state: Element, notes: list[Finding]) -> dict[str, Array]:
    """Return the coordinates of the joints that a ``<group_state>`` names; those that do not move are left out."""
    values: dict[str, Array] = {}
    for element in state.find_all("joint"):
        name = element.text("name")
        if name not in model.joint_names:
            if f"joint:{name}" not in model.frames:
                hint = str(unknown_name(f"state {state.text('name')!r}", "joint", name, model.joint_names))
                notes.append(Finding("group-state", name, f"{element.location}: {hint} It is left out."))
            continue
        joint = model.joint(name).joint
        numbers = np.array(element.numbers("value", joint.nq))
        values[name] = numbers[_ORDERS[type(joint)]] if type(joint) in _ORDERS else numbers
    return values


def _with_followers(model: Model, values: dict[str, Array]) -> dict[str, Any]:
    """Return the coordinates with those of mimic joints, which group states leave out."""
    relations = [c for c in model.constraints if isinstance(c, Mimic)]
    found, before = dict(values), -1
    while len(found) != before:  # a follower may be the source of another
        before = len(found)
        for c in relations:
            if c.joint not in found and c.source in found:
                found[c.joint] = c.map(found[c.source])
    return found


def _pair(model: Model, element: Element, notes: list[Finding]) -> tuple[str, str] | None:
    """Return the two links of a ``<disable_collisions>``; None, with a note, if the model does not have them."""
    links = element.text("link1"), element.text("link2")
    for name in links:
        if name not in model.frames:
            message = f"{element.location}: the model has no link {name!r}; the pair is left out"
            notes.append(Finding("disabled-pair", name, message, True))
            return None
    return links
