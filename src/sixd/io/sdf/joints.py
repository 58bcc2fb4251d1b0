"""SDF joints: type and axes, limits, damping, friction and springs, mimic relations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sixd.errors import unknown_name
from sixd.io.sdf.frames import FrameGraph
from sixd.io.sdf.scopes import Scope, SdfElement, joint_key
from sixd.io.sdf.values import flag_in, limit_in, number_in, numbers_in
from sixd.io.xml import Element
from sixd.model import Fixed, Helical, Joint, Mimic, Prismatic, Revolute, Spherical, Universal
from sixd.model.parts import Finding
from sixd.spatial.scalar import Array

_AXES = {"revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "ball": 0, "fixed": 0}
REVERSIBLE = ("revolute", "continuous", "prismatic", "screw", "fixed")  # kinds that work from child to parent too
_UNREAD = {"revolute2": "two axes", "gearbox": "a ratio between two links"}
_ORTHOGONAL = 1e-9


@dataclass(frozen=True, eq=False)
class Connection:
    """A joint of the document: its whole name, the links it connects, its type and its element."""

    name: str
    parent: str
    child: str
    kind: str
    scope: Scope
    part: SdfElement

    @property
    def element(self) -> Element:
        """The ``<joint>``."""
        return self.part.element

    @property
    def frame(self) -> str:
        """Whole name of the joint's frame."""
        return joint_key(self.name)


@dataclass(frozen=True, eq=False)
class JointMotion:
    """How a joint moves: ``rotation`` (3, 3) maps the axes of ``joint`` to those of the joint's frame."""

    joint: Joint
    axes: list[Array]
    rotation: Array = field(default_factory=lambda: np.eye(3))


def read_kind(joint: Element) -> str:
    """Return the type of a ``<joint>``; raises for unsupported types."""
    kind, name = joint.text("type"), joint.text("name")
    if kind in _UNREAD:
        raise joint.error(
            f"joint {name!r} has the type {kind!r} ({_UNREAD[kind]}), which is not supported; expected one of "
            f"{', '.join(_AXES)}. Write it as revolute joints with a small link between them."
        )
    if kind not in _AXES:
        raise joint.error(str(unknown_name(f"joint {name!r}", "joint type", kind, _AXES)))
    return kind


def read_motion(connection: Connection, graph: FrameGraph) -> JointMotion:
    """Return the motion of a joint from parent to child, in its own frame."""
    kind, joint = connection.kind, connection.element
    axes = [_axis(connection, tag, graph) for tag in ("axis", "axis2")[: _AXES[kind]]]
    if kind == "fixed":
        return JointMotion(Fixed(), axes)
    if kind == "ball":
        return JointMotion(Spherical(), axes)
    if kind == "prismatic":
        return JointMotion(Prismatic(axes[0]), axes)
    if kind == "screw":
        return JointMotion(Helical(axes[0], _pitch(joint)), axes)
    if kind == "universal":
        a, b = axes
        if abs(a @ b) > _ORTHOGONAL:
            raise joint.error(f"the axes of the universal joint {connection.name!r} are not at right angles.")
        b = b - a * (a @ b)
        b = b / np.linalg.norm(b)
        return JointMotion(Universal(), axes, np.stack([a, b, np.cross(a, b)], axis=1))
    return JointMotion(Revolute(axes[0], continuous=kind == "continuous"), axes)


def reverse(connection: Connection, motion: JointMotion) -> JointMotion:
    """Return the motion of the parent seen from the child, with the same coordinate."""
    joint, axes = motion.joint, [-a for a in motion.axes]
    if isinstance(joint, Fixed):
        return motion
    if isinstance(joint, (Revolute, Prismatic, Helical)):
        return JointMotion(replace(joint, axis=axes[0]), axes)
    raise connection.element.error(
        f"the tree of links needs joint {connection.name!r} ({connection.kind}) in reverse, from child to parent, "
        f"which this type does not allow. Exchange its parent and child."
    )


def _axis(connection: Connection, tag: str, graph: FrameGraph) -> Array:
    """Return an axis as a unit vector in the joint's frame."""
    joint, part = connection.element, connection.part
    axis = joint.find(tag)
    if axis is None:
        raise joint.error(f"joint {connection.name!r} ({connection.kind}) has no <{tag}>, expected one.")
    direction = np.array(numbers_in(axis, "xyz", 3))
    written = axis.find("xyz") or axis
    length = np.linalg.norm(direction / max(np.abs(direction).max(), 1.0))
    if length < 1e-12:
        raise written.error(f"joint {connection.name!r} has the axis {direction.tolist()}, expected a direction.")
    direction = direction / np.abs(direction).max()
    name = written.attributes.get("expressed_in", "").strip()
    frame = connection.frame
    if name:
        frame = connection.scope.resolve(written, name, part.home, f"joint {connection.name!r}: expressed_in")
    elif part.document.version < (1, 7) and flag_in(axis, "use_parent_model_frame", part.document.version < (1, 5)):
        frame = part.home  # SDF 1.4 always means the model's axes
    direction = graph.relative(connection.frame, frame)[:3, :3] @ direction
    direction = direction / np.linalg.norm(direction)
    direction[np.abs(direction) < 4e-16] = 0.0
    return direction / np.linalg.norm(direction)


def _pitch(joint: Element) -> float:
    """Return the pitch [m/rad] of a screw; SDF has metres per revolution or, before 1.10, minus radians per metre."""
    old = joint.find("thread_pitch")
    if joint.find("screw_thread_pitch") is None and old is not None and old.content:
        value = number_in(joint, "thread_pitch")
        if abs(value) < 1e-300:
            raise old.error("<thread_pitch> is zero, expected radians per metre, with the opposite sign.")
        return -1.0 / value
    return number_in(joint, "screw_thread_pitch", 1.0) / (2 * np.pi)


def read_properties(connection: Connection, notes: list[Finding]) -> dict[str, Any]:
    """Return limits, damping, friction and springs as arguments of ``add_body``; limits in wrong order are noted."""
    joint, kind = connection.element, connection.kind
    elements = [joint.find(tag) for tag in ("axis", "axis2")[: _AXES[kind]]]
    values = [_axis_properties(axis) for axis in elements if axis is not None]
    if not values:
        return {}
    properties: dict[str, Any] = {key: np.array([v[key] for v in values]) for key in values[0]}
    lower, upper = properties.pop("lower"), properties.pop("upper")
    if (lower > upper).any():
        message = (
            f"the lower limit {lower.tolist()} is above the upper {upper.tolist()}; the joint is left without limits"
        )
        notes.append(Finding("limits", connection.name, f"{message}: correct them"))
    elif kind != "continuous":
        properties["limits"] = (lower, upper)
    return properties


def _axis_properties(axis: Element) -> dict[str, float]:
    limit, dynamics = (axis.find(tag) or Element(tag, {}, axis.line, axis.source) for tag in ("limit", "dynamics"))
    effort, velocity = (limit_in(limit, tag, -1.0) for tag in ("effort", "velocity"))
    return {
        "lower": limit_in(limit, "lower", -np.inf),
        "upper": limit_in(limit, "upper", np.inf),
        "effort": effort if effort >= 0 else np.inf,  # a negative one means none
        "velocity": velocity if velocity >= 0 else np.inf,
        "damping": number_in(dynamics, "damping", 0.0),
        "friction": number_in(dynamics, "friction", 0.0),
        "stiffness": number_in(dynamics, "spring_stiffness", 0.0),
        "rest": number_in(dynamics, "spring_reference", 0.0),
    }


def read_mimic(connection: Connection) -> tuple[Mimic | None, Finding | None]:
    """Return the mimic relation of a joint: q = multiplier (q_leader - reference) + offset; or why it cannot hold."""
    name, scope = connection.name, connection.scope
    second, axis = connection.element.find("axis2"), connection.element.find("axis")
    if second is not None and second.find("mimic") is not None:
        return None, Finding("mimic", name, "a relation of a second axis is not supported and is ignored")
    mimic = None if axis is None else axis.find("mimic")
    if mimic is None or connection.kind in ("fixed", "ball"):
        return None, None
    leader = mimic.text("joint")
    source = scope.find(leader) if leader not in scope.joints else joint_key(scope.prefix + leader)
    if source is None or not source.startswith("joint:"):
        raise mimic.error(str(unknown_name(f"joint {name!r}: mimic", "joint", leader, scope.joints)))
    if mimic.attributes.get("axis", "axis").strip() not in ("", "axis"):
        message = f"it mimics the second axis of {leader!r}, which is not supported; the relation is ignored"
        return None, Finding("mimic", name, message)
    multiplier = number_in(mimic, "multiplier")
    offset = number_in(mimic, "offset", 0.0) - multiplier * number_in(mimic, "reference", 0.0)
    return Mimic(name, source.removeprefix("joint:"), multiplier, offset), None
