"""Layouts: the slice of each joint's coordinates in another program's state, and the rule that converts them.

Joints are matched by name with the other program's model; without one their order is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, unknown_name
from sixd.interop import joints as conversions
from sixd.interop.joints import CONTINUOUS, SAME, SAME_BALL, JointConversion, mujoco_free, permuted
from sixd.io.mjcf.compiled import BALL, FREE, HINGE, SLIDE, complete_names
from sixd.io.mjcf.parts import SLIDES_AND_BALL, JointPart, parts_of
from sixd.model import Free, Model, Planar, Prismatic, Revolute, Spherical
from sixd.model.model import require_model

if TYPE_CHECKING:
    import pinocchio
    from mujoco import MjModel

# for each joint: the first letters of the name of Pinocchio's class, and the rule
_PINOCCHIO: dict[type, tuple[str, JointConversion]] = {
    Revolute: ("JointModelR", SAME),
    Prismatic: ("JointModelP", SAME),
    Spherical: ("JointModelSpherical", conversions.SPHERICAL_XYZW),
    Free: ("JointModelFreeFlyer", conversions.FREE_FLYER),
    Planar: ("JointModelPlanar", conversions.PLANAR),
}
_MUJOCO_NAMES = {FREE: "free", BALL: "ball", SLIDE: "slide", HINGE: "hinge"}


class JointEntry(NamedTuple):
    """A joint, its rule, and the slices of its coordinates in both programs."""

    name: str
    rule: JointConversion
    q: slice
    v: slice
    other_q: slice
    other_v: slice


class StateLayout(NamedTuple):
    """The joints of the other program's state, and its sizes."""

    entries: list[JointEntry]
    nq: int
    nv: int


# Pinocchio --------------------------------------------------------------------------------------


def pinocchio_layout(where: str, model: Model, other: pinocchio.Model | None) -> StateLayout:
    """Return the layout of a ``pinocchio.Model``, or of the one that Pinocchio's URDF reader would create."""
    require_model(where, model)
    if other is None:
        return _in_sequence(model, [(i, _pinocchio_rule(where, model, i, None)) for i in pinocchio_order(model)])
    if not hasattr(other, "joints") or not hasattr(other, "names"):
        raise ScalarTypeError(f"{where}: pinocchio_model is a {type(other).__name__}, expected a pinocchio.Model.")
    theirs = dict(zip(list(other.names)[1:], list(other.joints)[1:], strict=True))
    _match_names(where, model, "the Pinocchio model", theirs)
    joints = [(i, theirs[name]) for i, name in enumerate(model.joint_names, start=1)]
    entries = [_entry(model, i, _pinocchio_rule(where, model, i, j), j.idx_q, j.idx_v) for i, j in joints]
    return StateLayout(entries, other.nq, other.nv)


def pinocchio_order(model: Model) -> list[int]:
    """Return the bodies in Pinocchio's URDF order: depth first, a link's joints by name (fixed ones too)."""
    below: dict[str, list[str]] = {}
    for name, frame in model.frames.items():
        if name.startswith("joint:"):
            # the joint above this one; frames without a joint of their own are skipped
            above = frame.parent
            while above in model.frames and not above.startswith("joint:"):
                above = model.frames[above].parent
            below.setdefault(above if above in model.frames else "", []).append(name)
    order, stack = [], [""]
    numbers = {f"joint:{name}": k + 1 for k, name in enumerate(model.joint_names)}
    while stack:
        name = stack.pop()
        if name in numbers:
            order.append(numbers[name])
        stack.extend(sorted(below.get(name, ()), key=str.encode, reverse=True))
    return order


def _pinocchio_rule(where: str, model: Model, i: int, theirs: pinocchio.JointModel | None) -> JointConversion:
    joint = model.joints[i]
    if type(joint) not in _PINOCCHIO:
        raise _lacking(where, model, i, "Pinocchio")
    if isinstance(joint, Planar) and tuple(joint.normal) != (0, 0, 1):
        raise ModelError(
            f"{where}: planar joint {model.joint_names[i - 1]!r} has the normal {joint.normal}, expected (0, 0, 1): "
            f"Pinocchio ignores the axis. Rotate the joint's frame instead."
        )
    prefix, rule = _PINOCCHIO[type(joint)]
    if isinstance(joint, Revolute) and (joint.continuous if theirs is None else theirs.nq == CONTINUOUS.nq):
        rule = CONTINUOUS
    if theirs is not None:
        kind = theirs.shortname()
        if not kind.startswith(prefix) or (theirs.nq, theirs.nv) != (rule.nq, joint.nv):
            raise _different(where, model, i, f"a {kind} of Pinocchio's")
    return rule


# MuJoCo -----------------------------------------------------------------------------------------


def mujoco_layout(where: str, model: Model, other: MjModel | None) -> StateLayout:
    """Return the layout of a ``mujoco.MjModel``, or of one in the model's own order."""
    require_model(where, model)
    if other is None:
        alone = {i: parts[:1] if len(parts) == 1 else () for i, parts in enumerate(map(parts_of, model.joints))}
        return _in_sequence(model, [(i, _mujoco_rule(where, model, i, alone[i])) for i in model.bodies])
    if not hasattr(other, "jnt_type"):
        raise ScalarTypeError(f"{where}: mujoco_model is a {type(other).__name__}, expected a mujoco.MjModel.")
    numbers = {name: k for k, name in enumerate(complete_names(other, "jnt", "joint"))}
    parts_by_body = {i: _mujoco_parts(model, i, numbers) for i in model.bodies}
    rules = {i: _mujoco_rule(where, model, i, parts) for i, parts in parts_by_body.items()}
    # a joint of several parts has the number of its first part
    for i, parts in parts_by_body.items():
        several = [numbers.pop(part.name(model.joint_names[i - 1]), None) for part in parts if part.suffix]
        if several and several[0] is not None:
            numbers[model.joint_names[i - 1]] = several[0]
    _match_names(where, model, "the MuJoCo model", numbers)
    entries = []
    for i, parts in parts_by_body.items():
        first = numbers[model.joint_names[i - 1]]
        for k, part in enumerate(parts, start=first):
            kind = _MUJOCO_NAMES.get(int(other.jnt_type[k])) if k < len(other.jnt_type) else None
            if kind != part.kind:
                raise _different(where, model, i, f"a {kind} joint of MuJoCo's")
        entries.append(_entry(model, i, rules[i], int(other.jnt_qposadr[first]), int(other.jnt_dofadr[first])))
    return StateLayout(entries, other.nq, other.nv)


def _mujoco_parts(model: Model, i: int, theirs: Mapping[str, int]) -> tuple[JointPart, ...]:
    """Return the parts of joint i in MuJoCo's model, as ``to_mjcf`` names them; a free joint has one or four parts."""
    name = model.joint_names[i - 1]
    if isinstance(model.joints[i], Free) and name not in theirs and SLIDES_AND_BALL[0].name(name) in theirs:
        return SLIDES_AND_BALL
    return parts_of(model.joints[i])


def _mujoco_rule(where: str, model: Model, i: int, parts: tuple[JointPart, ...]) -> JointConversion:
    joint = model.joints[i]
    if not parts or any(part.multiplier is not None for part in parts):
        raise _lacking(where, model, i, "MuJoCo")
    if parts is SLIDES_AND_BALL:
        return mujoco_free(np.eye(4))  # relative to the joint's frame
    if not isinstance(joint, Free):
        return SAME_BALL if isinstance(joint, Spherical) else permuted([part.q.start for part in parts])
    if model.parent[i] != 0:
        raise ModelError(
            f"{where}: the free joint {model.joint_names[i - 1]!r} is on body "
            f"{model.body_names[model.parent[i] - 1]!r}, expected the world: MuJoCo has free joints only there."
        )
    return mujoco_free(model.placement[i])


# both -------------------------------------------------------------------------------------------


def _in_sequence(model: Model, rules: list[tuple[int, JointConversion]]) -> StateLayout:
    """Return the layout with the joints in this order."""
    entries, iq, iv = [], 0, 0
    for i, rule in rules:
        entries.append(_entry(model, i, rule, iq, iv))
        iq, iv = iq + rule.nq, iv + model.joints[i].nv
    return StateLayout(entries, iq, iv)


def _entry(model: Model, i: int, rule: JointConversion, iq: int, iv: int) -> JointEntry:
    other = slice(iq, iq + rule.nq), slice(iv, iv + model.joints[i].nv)
    return JointEntry(model.joint_names[i - 1], rule, model.iq[i], model.iv[i], *other)


def _match_names(where: str, model: Model, other: str, theirs: Mapping[str, Any]) -> None:
    for name in model.joint_names:
        if name not in theirs:
            raise unknown_name(f"{where}: {other}", "joint", name, theirs)
    for name in theirs:
        if name not in model.joint_names:
            raise unknown_name(
                f"{where}: {other} has more joints than model {model.name!r}", "joint", name, model.joint_names
            )


def _lacking(where: str, model: Model, i: int, program: str) -> ModelError:
    name, kind = model.joint_names[i - 1], type(model.joints[i]).__name__
    return ModelError(f"{where}: joint {name!r} is {kind}, which {program} lacks. Lock it with model.lock, say.")


def _different(where: str, model: Model, i: int, theirs: str) -> ModelError:
    name, kind = model.joint_names[i - 1], type(model.joints[i]).__name__
    return ModelError(
        f"{where}: joint {name!r} is {kind} in model {model.name!r} but {theirs}, expected the same kind. "
        f"Do both models come from the same file?"
    )
