"""URDF joints: type and axis, limits, damping and friction, mimic relations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd.errors import unknown_name
from sixd.io.xml import Element
from sixd.model import Fixed, Free, Joint, Mimic, Planar, Prismatic, Revolute, Spherical
from sixd.model.parts import Finding

_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")
_WITHOUT_AXIS: dict[str, Joint] = {"fixed": Fixed(), "floating": Free(), "spherical": Spherical()}
_UNLIMITED = 1e300  # some writers put numbers near the end of float's range where there is no limit


def read_joint(joint: Element) -> Joint:
    """Return the joint of a ``<joint>``: its type, with its axis."""
    name, kind = joint.text("name"), joint.text("type")
    if kind not in _TYPES:
        raise joint.error(str(unknown_name(f"joint {name!r}", "joint type", kind, _TYPES)))
    if kind in _WITHOUT_AXIS:
        return _WITHOUT_AXIS[kind]
    axis = joint.find("axis")
    direction = (1.0, 0.0, 0.0) if axis is None else tuple(axis.numbers("xyz", 3, (1.0, 0.0, 0.0)))
    if axis is not None and np.linalg.norm(direction) < 1e-12:
        raise axis.error(f'joint {name!r} has axis {direction}, expected a direction. Write xyz="0 0 1", say.')
    if kind == "prismatic":
        return Prismatic(direction)
    return Planar(direction) if kind == "planar" else Revolute(direction, continuous=kind == "continuous")


def read_dynamics(joint: Element) -> dict[str, float]:
    """Return damping and friction of a ``<joint>`` as arguments of ``add_body``; empty without ``<dynamics>``."""
    dynamics = joint.find("dynamics")
    return {} if dynamics is None else {key: dynamics.number(key, 0.0) for key in ("damping", "friction")}


def read_limits(joint: Element, notes: list[Finding]) -> dict[str, Any]:
    """Return the limits of a ``<joint>`` on effort, velocity and position as arguments of ``add_body``.

    Position limits in the wrong order are left out and noted, since either end may be the mistake. A ``<limit>`` with
    neither end is noted too: by URDF's rule both would be 0, and the joint could not move.
    """
    limit = joint.find("limit")
    if limit is None:
        return {}
    limits: dict[str, Any] = {key: _limit(limit, key, np.inf) for key in ("effort", "velocity")}
    if joint.text("type") not in ("revolute", "prismatic"):
        return limits
    if not any(limit.attributes.get(key, "").strip() for key in ("lower", "upper")):
        message = "its <limit> has neither lower nor upper and is ignored; write them, or the type continuous"
        notes.append(Finding("no-limits", joint.text("name"), message))
        return limits
    lower, upper = (_limit(limit, key, 0.0) for key in ("lower", "upper"))
    if lower <= upper:
        return limits | {"limits": (lower, upper)}
    message = f"the lower limit {lower:g} is above the upper {upper:g}; the joint is left without limits: correct them"
    notes.append(Finding("limits", joint.text("name"), message))
    return limits


def _limit(limit: Element, key: str, default: float) -> float:
    value = limit.number(key, default, infinite=True)
    return value if abs(value) < _UNLIMITED else np.inf * np.sign(value)


def read_mimic(joint: Element, joints: Mapping[str, Element], notes: list[Finding]) -> Mimic | None:
    """Return the mimic relation of a ``<joint>``, if it has one; an impossible one is added to ``notes`` instead."""
    mimic, name = joint.find("mimic"), joint.text("name")
    if mimic is None or joint.text("type") == "fixed":
        return None
    source = mimic.text("joint")
    if source not in joints or joints[source].text("type") == "fixed" or source == name:
        reason = "does not exist" if source not in joints else "does not move independently"
        notes.append(Finding("mimic", name, f"it mimics {source!r}, which {reason}; the relation is ignored"))
        return None
    return Mimic(name, source, mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))
