"""The URDF writer: a model as URDF text that has the same dynamics when it is read back."""

from __future__ import annotations

import os
import sys
import warnings

import numpy as np

from sixd.errors import ModelError, ModelWarning
from sixd.io.writing import base_frame, numbers, quoteattr, require_writable, write_text
from sixd.model import Collision, Free, Joint, JointRecord, Mimic, Model, Planar, Prismatic, Revolute, Shape, Visual
from sixd.model.parts import SHAPE_SIZES, all_shapes
from sixd.notebook import listed
from sixd.spatial.rotation import rotation_to_rpy
from sixd.spatial.scalar import Array
from sixd.spatial.transform import inverse_pose

_MOST_NAMES = 6  # in a message


def to_urdf(model: Model, path: str | os.PathLike[str] | None = None) -> str:
    """Return the model as URDF text; with ``path`` also write it there, completely or not at all.

    The root link is ``world``; inertia fixed to the world is written to the first link on it. Other frames become
    massless links on fixed joints. A joint, spring, armature or constraint that URDF cannot hold raises an error with
    its name. URDF has no gravity: a field other than 9.81 m/s² along -z causes a warning. So do shapes that URDF
    cannot hold: cones, ellipsoids, planes, lines, height fields, hulls and meshes without a file; and masks of
    collision shapes, or other rules about which may touch. If a body's named frame is not at its
    joint (standard DH), the link is at the joint and the named frame becomes the link NAME_frame.
    """
    require_writable("to_urdf", model)
    _warn_of_losses(model)
    mimics = {}
    for c in model.constraints:
        if not isinstance(c, Mimic):
            raise ModelError(f"to_urdf: URDF cannot hold the constraint {c}. Write the model without it.")
        mimics[c.joint] = c
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(model.name)}>"]
    base = base_frame(model)
    for i, name in enumerate(("world", *model.body_names)):
        inertial = [] if base and i == 0 else _inertial(model, name)
        own = [c for c in model.collisions if c.body == i and not _has_own_link(model, c)]
        lines += _link(name, [*inertial, *_shapes([v for v in model.visuals if v.body == i], own)])
    for name in model.joint_names:
        lines += _joint(model, model.joint(name), mimics.get(name))
    lines += _fixed_frames(model, base)
    return write_text("\n".join([*lines, "</robot>", ""]), path)


def _warn_of_losses(model: Model) -> None:
    """Warn of gravity, shapes and rules of collision that URDF cannot hold."""
    if not np.array_equal(model.gravity, [0, 0, -9.81]):
        message = (
            f"to_urdf: gravity {model.gravity.tolist()} is not in the file; use model.with_gravity after reading it."
        )
        warnings.warn(message, ModelWarning, stacklevel=3)
    lost = sorted({part.shape.kind for part in all_shapes(model) if _shape(part.shape) is None})
    if lost:
        message = f"to_urdf: shapes of the kinds {', '.join(lost)} are not in the file, URDF has no such shapes."
        warnings.warn(message, ModelWarning, stacklevel=3)
    ruled = [c.name for c in model.collisions if c.paired or c.with_parent or {c.contype, c.conaffinity} - {None, 1}]
    if ruled:
        message = f"to_urdf: which shapes {listed(ruled, _MOST_NAMES)} may touch is not in the file, URDF has no masks."
        warnings.warn(message, ModelWarning, stacklevel=3)


def _numbers(values: object) -> str:
    """Return numbers as a quoted attribute; infinity, which other readers refuse, becomes the largest float."""
    return numbers(np.clip(np.asarray(values, dtype=float), -sys.float_info.max, sys.float_info.max))


def _origin(pose: Array) -> str:
    return f"<origin xyz={_numbers(pose[:3, 3])} rpy={_numbers(rotation_to_rpy(pose[:3, :3]))}/>"


def _inertial(model: Model, body: str, frame: Array | None = None) -> list[str]:
    """Return the ``<inertial>`` of a body, in its own frame or in another frame on it."""
    inertia = model.body_inertia(body)
    if body == "world" and not inertia.parameters.any():
        return []
    if frame is not None:
        inertia = inertia.moved(inverse_pose(frame))
    try:
        com, I = inertia.com, inertia.about_com
    except ModelError as error:
        raise ModelError(f"to_urdf: URDF cannot hold the inertia of body {body!r}: {error}") from None
    upper = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), I[np.triu_indices(3)], strict=True)
    tensor = " ".join(f"{key}={_numbers(x)}" for key, x in upper)
    return [
        "    <inertial>",
        f'      <origin xyz={_numbers(com)} rpy="0 0 0"/>',
        f"      <mass value={_numbers(inertia.mass)}/>",
        f"      <inertia {tensor}/>",
        "    </inertial>",
    ]


def _link(name: str, body: list[str]) -> list[str]:
    return [f"  <link name={quoteattr(name)}>", *body, "  </link>"] if body else [f"  <link name={quoteattr(name)}/>"]


def _has_own_link(model: Model, collision: Collision) -> bool:
    """Whether the link of a collision shape is a frame on its body, which becomes a link of the file."""
    frame = model.frames.get(collision.link)
    is_link = collision.link not in ("world", *model.body_names) and not collision.link.startswith("joint:")
    return is_link and frame is not None and frame.body == collision.body


def _shapes(visuals: list[Visual], collisions: list[Collision], in_link: Array | None = None) -> list[str]:
    """Return the shapes of a link; ``in_link`` (4, 4) is the pose of their body in it, the identity by default."""
    lines: list[str] = []
    parts: list[Visual | Collision] = [*visuals, *collisions]
    for part in parts:
        shape = _shape(part.shape)
        if not shape:
            continue
        inside = f"{_origin(part.pose if in_link is None else in_link @ part.pose)}<geometry>{shape}</geometry>"
        if isinstance(part, Collision):
            lines.append(f"    <collision name={quoteattr(part.name)}>{inside}</collision>")
        else:
            color = f'<material name=""><color rgba={_numbers(part.color)}/></material>' if part.color else ""
            lines.append(f"    <visual>{inside}{color}</visual>")
    return lines


def _shape(shape: Shape) -> str | None:
    """Return the element of a shape; None if URDF does not have it."""
    if shape.kind == "box":
        return f"<box size={_numbers(shape.size)}/>"
    if shape.kind in ("cylinder", "capsule", "sphere"):
        sizes = zip(SHAPE_SIZES[shape.kind], shape.size, strict=True)
        return f"<{shape.kind} " + " ".join(f"{name}={_numbers(x)}" for name, x in sizes) + "/>"
    if shape.kind == "mesh" and shape.file:
        return f"<mesh filename={quoteattr(shape.file)} scale={_numbers(shape.scale)}/>"
    return None


def _kind(joint: Joint) -> tuple[str, tuple[float, ...] | None] | None:
    """Return the type and axis of a joint in URDF; None if URDF does not have it."""
    if type(joint) is Revolute:
        return ("continuous" if joint.continuous else "revolute"), joint.axis
    if type(joint) is Prismatic:
        return "prismatic", joint.axis
    if type(joint) is Planar:
        return "planar", joint.normal
    return ("floating", None) if type(joint) is Free else None


def _joint(model: Model, joint: JointRecord, mimic: Mimic | None) -> list[str]:
    name, known = joint.name, _kind(joint.joint)
    if known is None:
        raise ModelError(
            f"to_urdf: URDF cannot hold joint {name!r} ({type(joint.joint).__name__}), only revolute, continuous, "
            f"prismatic, planar and floating joints. Lock it with model.lock, or keep the model in Python."
        )
    kind, axis = known
    for what in ("armature", "stiffness"):
        if getattr(joint, what).any():
            raise ModelError(f"to_urdf: URDF cannot hold the {what} of joint {name!r}. Write model.without_passive().")
    for what in ("damping", "friction", "effort_limit", "velocity_limit"):
        values = getattr(joint, what).tolist()
        if len(set(values)) > 1:
            raise ModelError(f"to_urdf: URDF holds one {what} per joint, but {name!r} has {values}.")
    pose = model.placement[model.joint_index(name)]
    lines = _joint_lines(name, kind, joint.parent_body, joint.body, pose)
    if axis is not None:
        lines.append(f"    <axis xyz={_numbers(axis)}/>")
    limits = {"effort": joint.effort_limit[0], "velocity": joint.velocity_limit[0]}
    if kind in ("revolute", "prismatic"):  # for which URDF requires <limit>
        limits |= {"lower": joint.lower[0], "upper": joint.upper[0]}
    if "lower" in limits or any(np.isfinite(x) for x in limits.values()):
        lines.append("    <limit " + " ".join(f"{key}={_numbers(x)}" for key, x in limits.items()) + "/>")
    if joint.damping[0] or joint.friction[0]:
        lines.append(f"    <dynamics damping={_numbers(joint.damping[0])} friction={_numbers(joint.friction[0])}/>")
    if mimic is not None:
        relation = f"multiplier={_numbers(mimic.multiplier)} offset={_numbers(mimic.offset)}"
        lines.append(f"    <mimic joint={quoteattr(mimic.source)} {relation}/>")
    return [*lines, "  </joint>"]


def _joint_lines(name: str, kind: str, parent: str, child: str, pose: Array) -> list[str]:
    return [
        f"  <joint name={quoteattr(name)} type={quoteattr(kind)}>",
        f"    <parent link={quoteattr(parent)}/>",
        f"    <child link={quoteattr(child)}/>",
        f"    {_origin(pose)}",
    ]


def _fixed_frames(model: Model, base: str | None) -> list[str]:
    """Return the frames that are not bodies, as links on fixed joints; ``base`` gets the inertia of the world."""
    lines = []
    body_names, bodies = ("world", *model.body_names), set(model.body_names)
    joints = set(model.joint_names)
    moved: list[str] = []
    for frame_name, frame in model.frames.items():
        if frame_name.startswith("joint:") or frame_name == "world":
            continue
        name = frame_name
        if name in bodies:
            if np.array_equal(frame.pose, np.eye(4)):
                continue
            name = f"{name}_frame"
            moved.append(frame_name)
        parent = frame.parent
        joint = parent[6:] if parent.startswith("joint:") and parent[6:] not in joints else f"{name}_fixed"
        joints.add(joint)
        inertial = _inertial(model, "world", frame.pose) if frame_name == base else []
        own = [c for c in model.collisions if c.link == frame_name and _has_own_link(model, c)]
        lines += _link(name, [*inertial, *_shapes([], own, inverse_pose(frame.pose))])
        lines += [*_joint_lines(joint, "fixed", body_names[frame.body], name, frame.pose), "  </joint>"]
    if moved:
        message = f"to_urdf: the frames {', '.join(moved)} are not on their joints and are written as NAME_frame."
        warnings.warn(message, ModelWarning, stacklevel=3)
    return lines
