"""A human figure of simple shapes, free in space."""

from __future__ import annotations

from sixd.model import Free, Joint, Model, ModelBuilder, Revolute, Shape, Spherical
from sixd.spatial import Inertia, box, capsule, placement, sphere
from sixd.spatial.scalar import Scalar
from sixd.zoo.appearance import Color

Point = tuple[float, float, float]
_SKIN, _SUIT, _TRUNKS = (0.88, 0.68, 0.55, 1.0), (0.20, 0.45, 0.70, 1.0), (0.15, 0.25, 0.40, 1.0)


def humanoid(stiffness: Scalar = 0.0, damping: Scalar = 0.0, gravity: Scalar = 9.81) -> Model:
    """Return a human figure of 74 kg and 1.73 m: 13 bodies, 30 DoF, z up, facing x, upright at neutral q.

    The pelvis has a free joint; spine, neck, shoulders and hips are spherical, elbows, knees and ankles hinges about y.
    Positive angles bend an elbow forward, a knee back, and point a foot down. All joints have the same ``stiffness``
    [N m/rad] towards the upright figure and ``damping`` [N m s/rad].
    """
    builder = ModelBuilder("humanoid", (0, 0, -gravity))
    passive = {"stiffness": stiffness, "damping": damping}

    def add(
        name: str, parent: str, joint: Joint, at: Point, shape: Shape, inertia: Inertia, color: Color, center: Point
    ) -> None:
        """Add a body with its joint at ``at`` in the parent and its shape around ``center``."""
        springs = {} if parent == "world" else passive
        moved = inertia.translated(center)
        builder.add_body(name, parent, joint, placement=placement(at), inertia=moved, **springs)
        builder.add_visual(name, shape, placement(center), color=color)

    def block(
        name: str, parent: str, joint: Joint, at: Point, size: Point, mass: float, color: Color, center: Point
    ) -> None:
        add(name, parent, joint, at, Shape("box", size), box(*size, mass=mass), color, center)

    def limb(
        name: str, parent: str, joint: Joint, at: Point, radius: float, length: float, mass: float, color: Color
    ) -> None:
        """Add a capsule that hangs from its joint, as long as the bone."""
        solid = capsule(radius, length, mass=mass)
        add(name, parent, joint, at, Shape("capsule", (radius, length)), solid, color, (0, 0, -length / 2))

    block("pelvis", "world", Free(), (0, 0, 0), (0.18, 0.30, 0.16), 11.0, _TRUNKS, (0, 0, 0))
    block("chest", "pelvis", Spherical(), (0, 0, 0.10), (0.20, 0.34, 0.38), 24.0, _SUIT, (0, 0, 0.21))
    ball = Shape("sphere", (0.11,))
    add("head", "chest", Spherical(), (0, 0, 0.42), ball, sphere(0.11, mass=5.0), _SKIN, (0, 0, 0.15))
    for side, y in (("left", 1), ("right", -1)):
        limb(f"{side}_upper_arm", "chest", Spherical(), (0, 0.22 * y, 0.36), 0.045, 0.28, 2.1, _SUIT)
        limb(f"{side}_forearm", f"{side}_upper_arm", Revolute((0, -1, 0)), (0, 0, -0.30), 0.038, 0.34, 1.9, _SKIN)
        limb(f"{side}_thigh", "pelvis", Spherical(), (0, 0.10 * y, -0.06), 0.075, 0.38, 8.5, _TRUNKS)
        limb(f"{side}_shin", f"{side}_thigh", Revolute("y"), (0, 0, -0.42), 0.05, 0.36, 3.5, _SKIN)
        foot = (0.24, 0.09, 0.06)
        block(f"{side}_foot", f"{side}_shin", Revolute("y"), (0, 0, -0.41), foot, 1.0, _TRUNKS, (0.06, 0, -0.03))
    builder.add_frame("eyes", "head", placement((0.11, 0, 0.17)))
    return builder.build()
