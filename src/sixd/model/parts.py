"""Small records that a Model carries: joints, frames, visual shapes and findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sixd.errors import ShapeError, unknown_name
from sixd.model.joints import Joint
from sixd.spatial.scalar import Array

# fields of a model with an entry for each coordinate of q, and for each freedom
PER_Q = ("lower", "upper", "rest")
PER_V = ("stiffness", "damping", "friction", "armature", "effort_limit", "velocity_limit")


@dataclass(frozen=True, eq=False)
class JointRecord:
    """A joint of a model: its kind, what it joins, and its limits and passive properties (arrays of nq or nv)."""

    name: str
    joint: Joint
    parent_body: str
    body: str
    lower: Array
    upper: Array
    rest: Array
    stiffness: Array
    damping: Array
    friction: Array
    armature: Array
    effort_limit: Array
    velocity_limit: Array


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed in a body: ``pose`` (4, 4) in the body's frame; ``parent`` is the frame it was hung on."""

    body: int
    pose: Array
    parent: str = ""


# each kind of shape with the names of its sizes
SHAPE_SIZES = {
    "box": ("x", "y", "z"), "cylinder": ("radius", "length"), "capsule": ("radius", "length"),
    "cone": ("radius", "height"), "sphere": ("radius",), "ellipsoid": ("a", "b", "c"),
    "plane": (), "mesh": (), "line": (),
}  # fmt: skip
SHAPE_KINDS = tuple(SHAPE_SIZES)


@dataclass(frozen=True)
class Shape:
    """Geometry to look at. ``size`` [m] by kind: box (x, y, z), cylinder and capsule (radius, length) along z, cone
    (radius, height) with its tip towards z, sphere (radius,), ellipsoid (a, b, c), plane (), mesh () with ``file`` and
    ``scale`` or with ``vertices`` (n, 3) and ``triangles`` (m, 3), line () through its ``vertices``.

    Solids have their centre of mass at the origin, as the inertias ``sixd.box``, ``sixd.cone``, … have: a cone's base
    lies at z = -height/4, its tip at 3 height/4."""

    kind: str
    size: tuple[float, ...] = ()
    file: str | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    vertices: Any = field(default=None, compare=False, repr=False)
    triangles: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in SHAPE_KINDS:
            raise unknown_name("Shape", "kind", self.kind, SHAPE_KINDS)
        names = SHAPE_SIZES[self.kind]
        if np.shape(self.size) != (len(names),):
            raise ShapeError(
                f"Shape: the size of a {self.kind} is {self.size!r}, expected ({', '.join(names)}"
                f"{',' if len(names) == 1 else ''}) [m]."
            )


@dataclass(frozen=True, eq=False)
class Visual:
    """A shape on a body: ``pose`` (4, 4) in the body's frame, ``color`` rgba in [0, 1]."""

    body: int
    shape: Shape
    pose: Array = field(default_factory=lambda: np.eye(4))
    color: tuple[float, float, float, float] | None = None
    name: str = ""


@dataclass(frozen=True)
class Finding:
    """Something doubtful in a model: a short ``code``, the body or joint it is about, and what to do."""

    code: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.code}]"
