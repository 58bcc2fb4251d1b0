"""The small value types of a Model: joints by name, frames, shapes to draw, findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sixd.errors import ShapeError, unknown_name
from sixd.model.joints import Joint
from sixd.notebook import MOST_ROWS, matrix_rows, number, table
from sixd.spatial.scalar import Array

# fields of a model with an entry for each coordinate of q, and for each DoF
PER_Q = ("lower", "upper", "rest")
PER_V = ("stiffness", "damping", "friction", "armature", "effort_limit", "velocity_limit")
# what a joint has besides its kind, as arguments of ``ModelBuilder.add_body`` and ``Model.with_joints``
PROPERTIES = ("limits", "damping", "friction", "armature", "stiffness", "rest", "effort", "velocity")

FILE = "file"  # the name of the configuration in which a file has its bodies


@dataclass(frozen=True, eq=False)
class JointRecord:
    """A joint of a model: its kind, the two bodies it joins, its limits and passive properties (arrays of nq or nv)."""

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
    """A named frame fixed in a body: ``pose`` (4, 4) in the body's frame; ``parent`` is the frame it was added to."""

    body: int
    pose: Array
    parent: str = ""

    def _repr_html_(self) -> str:
        """The pose as a table, for notebooks."""
        on = f" at {self.parent}" if self.parent else ""
        return table(f"Frame: in body {self.body}{on}; its pose there [1, m]", (), matrix_rows(np.asarray(self.pose)))


class Frames(Mapping[str, Frame]):
    """The frames of a model by name, in the order in which they were added; read-only."""

    def __init__(self, frames: dict[str, Frame], body_names: tuple[str, ...]) -> None:
        self._frames, self._bodies = frames, ("world", *body_names)

    def __getitem__(self, name: str) -> Frame:
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __repr__(self) -> str:
        return f"Frames({self._frames!r})"

    def _repr_html_(self) -> str:
        """Names, bodies and origins as a table, for notebooks."""
        lines: list[list[Any]] = []
        for name, frame in list(self._frames.items())[: MOST_ROWS + 1]:
            origin = "(" + ", ".join(number(x) for x in np.asarray(frame.pose)[:3, 3].tolist()) + ")"
            lines.append([name, self._bodies[frame.body], origin, frame.parent])
        lines += [[]] * (len(self) - len(lines))  # lines that the table only counts
        return table(f"Frames: {len(self)}", ("frame", "in body", "origin there [m]", "added at"), lines)


# the names of the sizes of each kind of shape
SHAPE_SIZES = {
    "box": ("x", "y", "z"), "cylinder": ("radius", "length"), "capsule": ("radius", "length"),
    "cone": ("radius", "height"), "sphere": ("radius",), "ellipsoid": ("a", "b", "c"),
    "plane": (), "mesh": (), "line": (),
}  # fmt: skip
SHAPE_KINDS = tuple(SHAPE_SIZES)


@dataclass(frozen=True)
class Shape:
    """A shape to draw. ``size`` [m] by kind: box (x, y, z), cylinder and capsule (radius, length) along z, cone
    (radius, height) with its tip towards z, sphere (radius,), ellipsoid (a, b, c), plane (), mesh () with ``file`` and
    ``scale`` or with ``vertices`` (n, 3) and ``triangles`` (m, 3), line () through its ``vertices``.

    Solids have their centre of mass at the origin, like the inertias ``sixd.box``, ``sixd.cone``, …: a cone's base
    is at z = -height/4, its tip at 3 height/4."""

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
    color: tuple[float, ...] | None = None
    name: str = ""


@dataclass(frozen=True)
class Finding:
    """A possible mistake in a model: a short ``code``, the body or joint it concerns, and what to do.

    A ``quiet`` one is harmless for most users: ``sixd.check`` lists it, loading does not warn of it.
    """

    code: str
    where: str
    message: str
    quiet: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.code}]"
