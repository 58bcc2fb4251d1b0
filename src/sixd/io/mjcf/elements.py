"""Joints and inertias of a model as elements of MJCF, and the record of lost properties."""

from __future__ import annotations

import numpy as np

from sixd.errors import ModelError
from sixd.io.mjcf.parts import SLIDES_AND_BALL, JointPart, parts_of
from sixd.io.writing import numbers, quoteattr
from sixd.model import Free, JointRecord, Model
from sixd.notebook import listed
from sixd.spatial.inertia import Inertia
from sixd.spatial.rotation import EYE3, quaternion_from_rotation
from sixd.spatial.scalar import Array

LEAST = 1e-14  # kg and kg m²; MuJoCo refuses moving bodies with less than 1e-15
# of the largest moment; MuJoCo refuses full matrices of rods and plates, whose moments it computes inexactly
_NEARLY = 1e-9
_RAISED = f"MuJoCo refuses moving bodies without mass or moments; the file has {LEAST:g} kg or kg m² for {{}}"
_MOST_NAMES = 6  # in a message


class Losses:
    """What the file does not hold, or not exactly: names by reason."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {}

    def add(self, reason: str, name: str) -> None:
        """Add the name of a joint, body, frame or shape to a reason, a text with {} for the names."""
        names = self.names.setdefault(reason, [])
        if name not in names:
            names.append(name)

    def text(self) -> str:
        """Return all of it as sentences; empty if nothing is lost."""
        return " ".join(reason.format(listed(names, _MOST_NAMES)) + "." for reason, names in self.names.items())


def pose_attributes(pose: Array) -> str:
    """Return the attributes of a pose (4, 4); a zero position and the identity are left out."""
    text = f" pos={numbers(pose[:3, 3])}" if pose[:3, 3].any() else ""
    if not np.array_equal(pose[:3, :3], EYE3):
        text += f" quat={numbers(quaternion_from_rotation(pose[:3, :3]))}"
    return text


# joints -------------------------------------------------------------------------------------------


def chosen_parts(model: Model, i: int) -> tuple[JointPart, ...]:
    """Return the parts of the joint of body i in a file; raises for a joint that MJCF cannot hold."""
    joint, name = model.joints[i], model.joint_names[i - 1]
    parts = parts_of(joint)
    if not parts:
        raise ModelError(
            f"to_mjcf: MJCF cannot hold joint {name!r} ({type(joint).__name__}), only hinges, slides, balls and free "
            f"joints. Lock it with model.lock, or keep the model in Python."
        )
    if type(joint) is not Free:
        return parts
    iv = model.iv[i]
    alike = len(set(model.damping[iv].tolist())) == 1 and not (model.armature[iv].any() or model.friction[iv].any())
    return parts if alike and model.parent[i] == 0 else SLIDES_AND_BALL


def joint_element(joint: JointRecord, part: JointPart, name: str, in_body: Array, losses: Losses) -> str:
    """Return a part of a joint as an element; ``in_body`` (4, 4) is the pose of the joint's frame in the body's."""
    text = f"name={quoteattr(name)}"
    if part.kind == "free":
        _note_limits(joint, part, losses)
        damping = joint.damping[0]
        return f'<joint {text} type="free" damping={numbers(damping)}/>' if damping else f"<freejoint {text}/>"
    text += f" type={quoteattr(part.kind)}"
    if in_body[:3, 3].any() and part.kind != "slide":
        text += f" pos={numbers(in_body[:3, 3])}"
    if part.kind != "ball":
        text += f" axis={numbers(in_body[:3, :3] @ np.asarray(part.axis, dtype=float))}"
    if part.multiplier is None:
        text += _passive(joint, part) + _note_limits(joint, part, losses)
    return f"<joint {text}/>"


def _passive(joint: JointRecord, part: JointPart) -> str:
    """Return the attributes of damping, friction, armature and spring; raises for values that MJCF cannot hold."""
    text = ""
    if type(joint.joint) is Free:
        _require_isotropic(joint)
    for what, attribute in _PASSIVE.items():
        values = getattr(joint, what)[part.v]
        if len(set(values.tolist())) > 1:
            raise ModelError(f"to_mjcf: MJCF holds one {what} per joint, but {joint.name!r} has {values.tolist()}.")
        if values[0]:
            text += f" {attribute}={numbers(values[0])}"
    rest = joint.rest[part.q]
    if not joint.stiffness[part.v].any() or not rest[part.kind == "ball" :].any():
        return text
    if part.kind == "ball":
        raise ModelError(
            f"to_mjcf: the spring of joint {joint.name!r} is at rest at {rest.tolist()}, expected (1, 0, 0, 0): in "
            f"MJCF the spring of a ball is at rest in its neutral orientation. Rotate the joint's placement instead."
        )
    return f"{text} springref={numbers(rest)}"


_PASSIVE = {"damping": "damping", "friction": "frictionloss", "armature": "armature", "stiffness": "stiffness"}


def _require_isotropic(joint: JointRecord) -> None:
    """Raise unless a free joint's properties are equal along the parent's axes (MuJoCo's slides) and the body's."""
    if joint.armature[3:].any() or joint.friction[3:].any() or len(set(joint.damping[3:].tolist())) > 1:
        raise ModelError(
            f"to_mjcf: MJCF cannot hold friction and armature of the translations of free joint {joint.name!r}, nor "
            f"damping that differs between them: in MuJoCo they act along the parent's axes, here along the body's. "
            f"Leave them out."
        )


def _note_limits(joint: JointRecord, part: JointPart, losses: Losses) -> str:
    """Return the attributes of the limits; limits that MJCF cannot hold are added to ``losses``."""
    low, high, effort = joint.lower[part.q], joint.upper[part.q], joint.effort_limit[part.v]
    limited = bool(np.isfinite([low, high]).any())
    if np.isfinite(joint.velocity_limit).any():
        losses.add("The velocity limits of {} are not in the file, MJCF has none", joint.name)
    text = ""
    if part.kind not in ("hinge", "slide"):
        if limited or np.isfinite(effort).any():
            losses.add("The limits of {}, which are balls or free, are not in the file", joint.name)
        return text
    if limited and low[0] < high[0]:
        text += f' limited="true" range={numbers([low[0], high[0]])}'
    elif limited:
        losses.add("The limits of {} are not in the file: MuJoCo expects the lower one below the upper", joint.name)
    if np.isfinite(effort[0]) and effort[0] > 0:
        text += f' actuatorfrclimited="true" actuatorfrcrange={numbers([-effort[0], effort[0]])}'
    elif np.isfinite(effort[0]):
        losses.add("The effort limits of {} are not in the file: MuJoCo expects them above 0", joint.name)
    return text


# inertias -----------------------------------------------------------------------------------------


def inertial_element(body: str, inertia: Inertia, losses: Losses) -> str:
    """Return the inertia of a moving body, in the body's frame; raises if MuJoCo would refuse it."""
    empty = not inertia.parameters.any()
    problem = None if empty or inertia.mass == 0 else inertia.problem()
    if problem is not None or (inertia.mass == 0 and inertia.first_moment.any()):
        problem = problem or "it has a first moment but no mass"
        raise ModelError(
            f"to_mjcf: MuJoCo refuses the inertia of body {body!r}: {problem}. Correct the file or the parameters that "
            f"it comes from; sixd.check lists all such bodies."
        )
    mass, I = float(inertia.mass), inertia.about_com
    moments, axes = (np.diag(I).copy(), EYE3) if _is_diagonal(I) else np.linalg.eigh(I)
    low, middle, high = np.sort(moments)
    if mass < LEAST or low < LEAST:
        losses.add(_RAISED, body)
    if min(low, low + middle - high) > max(_NEARLY * high, LEAST):
        return _inertial(max(mass, LEAST), inertia.com, I)
    moments = np.maximum(moments, LEAST)
    largest = np.argmax(moments)
    moments[largest] = min(moments[largest], np.delete(moments, largest).sum())
    return _inertial(max(mass, LEAST), inertia.com, np.diag(moments), axes)


def fixed_inertial_element(inertia: Inertia, losses: Losses) -> str | None:
    """Return the inertia fixed to the world, None if it is zero; it has no effect on the dynamics."""
    if not inertia.parameters.any():
        return None
    if inertia.mass <= 0 or inertia.problem() is not None:
        losses.add("The inertia fixed to the {} is not physical and not in the file", "world")
        return None
    return _inertial(float(inertia.mass), inertia.com, inertia.about_com)


def _inertial(mass: float, com: Array, I: Array, axes: Array = EYE3) -> str:
    """Return the element of a matrix I in the axes that are the columns of ``axes``, by default the body's."""
    text = f"<inertial pos={numbers(com)} mass={numbers(mass)}"
    if not np.array_equal(axes, EYE3):
        right_handed = axes * np.sign(np.linalg.det(axes))
        text += f" quat={numbers(quaternion_from_rotation(right_handed))}"
    if _is_diagonal(I):
        return f"{text} diaginertia={numbers(np.diag(I))}/>"
    return f"{text} fullinertia={numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])}/>"


def _is_diagonal(I: Array) -> bool:
    return np.array_equal(I, np.diag(np.diag(I)))
