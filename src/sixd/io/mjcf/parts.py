"""The joints of a model as MJCF has them: hinges, slides, balls and free joints.

A joint of several degrees of freedom becomes a sequence of joints on one body, with the same coordinates; each moves
relative to the frame that the earlier ones have moved. A screw, or a rack with its pinion, becomes a hinge and a slide
coupled by an equality.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixd.model import Joint, joints
from sixd.spatial.scalar import Array

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class JointPart(NamedTuple):
    """A joint of MJCF: a part of a model's joint, or all of it."""

    suffix: str  # its name is JOINT:SUFFIX, or the joint's own if empty
    kind: str  # "hinge", "slide", "ball" or "free"
    axis: Sequence[float] | Array  # (3,) in the joint's frame
    q: slice  # its coordinates and degrees of freedom among those of the joint
    v: slice
    multiplier: float | None = None  # of a slide coupled to the hinge: it moves by this times the joint's coordinate

    def name(self, joint: str) -> str:
        """Return its name in the file, from the name of the joint."""
        return f"{joint}:{self.suffix}" if self.suffix else joint


def _scalar(suffix: str, kind: str, axis: Sequence[float] | Array, k: int) -> JointPart:
    return JointPart(suffix, kind, axis, slice(k, k + 1), slice(k, k + 1))


# a free joint on another body, or with a damping that differs between directions
SLIDES_AND_BALL = (
    *(JointPart(name, "slide", axis, slice(4 + k, 5 + k), slice(3 + k, 4 + k))
      for k, (name, axis) in enumerate({"x": X, "y": Y, "z": Z}.items())),
    JointPart("ball", "ball", Z, slice(0, 4), slice(0, 3)),
)  # fmt: skip


def parts_of(joint: Joint) -> tuple[JointPart, ...]:
    """Return the parts of a joint in order, () for a joint that MJCF cannot hold."""
    if type(joint) is joints.Revolute:
        return (_scalar("", "hinge", joint.axis, 0),)
    if type(joint) is joints.Prismatic:
        return (_scalar("", "slide", joint.axis, 0),)
    if type(joint) is joints.Spherical:
        return (JointPart("", "ball", Z, slice(0, 4), slice(0, 3)),)
    if type(joint) is joints.Free:
        return (JointPart("", "free", Z, slice(0, 7), slice(0, 6)),)
    if type(joint) is joints.Universal:
        return _scalar("x", "hinge", X, 0), _scalar("y", "hinge", Y, 1)
    if type(joint) is joints.Cylindrical:
        return _scalar("turn", "hinge", joint.axis, 0), _scalar("slide", "slide", joint.axis, 1)
    if type(joint) is joints.Planar:
        along_x, along_y, normal = joint.plane.T
        slides = _scalar("x", "slide", along_x, 1), _scalar("y", "slide", along_y, 2)
        return (*slides, _scalar("turn", "hinge", normal, 0))
    if type(joint) is joints.Helical:
        return _scalar("turn", "hinge", joint.axis, 0), _follower(joint.axis, joint.pitch)
    if type(joint) is joints.RackAndPinion:  # the rack is fixed in the parent: the slide comes first
        return _follower(Y, -joint.radius), _scalar("turn", "hinge", X, 0)
    return ()


def _follower(axis: Sequence[float], multiplier: float) -> JointPart:
    return _scalar("slide", "slide", axis, 0)._replace(multiplier=float(multiplier))
