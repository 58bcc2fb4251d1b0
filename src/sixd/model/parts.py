"""The small value types of a Model: joints by name, frames, shapes to draw and for collisions, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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


def joint_values(model: Any, i: int) -> dict[str, Array]:
    """Return limits, rest position and passive properties of the joint that moves body i of a model, by name."""
    per_q = {key: getattr(model, key)[model.iq[i]] for key in PER_Q}
    return per_q | {key: getattr(model, key)[model.iv[i]] for key in PER_V}


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
    "plane": (), "mesh": (), "line": (), "hull": (), "height_field": ("x", "y", "depth"),
}  # fmt: skip
SHAPE_KINDS = tuple(SHAPE_SIZES)


@dataclass(frozen=True)
class Shape:
    """A shape to draw, or for collisions. ``size`` [m] by kind: box (x, y, z), cylinder and capsule (radius, length)
    along z, cone (radius, height) with its tip towards z, sphere (radius,), ellipsoid (a, b, c), plane (), mesh () with
    ``file`` and ``scale`` or with ``vertices`` (n, 3) and ``triangles`` (m, 3), line () through its ``vertices``, hull
    (), the convex hull of its ``vertices``, height_field (x, y, depth) with ``heights`` (rows, columns) [m].

    Solids have their centre of mass at the origin, like the inertias ``sixd.box``, ``sixd.cone``, …: a cone's base
    is at z = -height/4, its tip at 3 height/4. A plane bounds the half space z <= 0. A height field has its columns
    along x from -x/2 to x/2, its rows along y from -y/2 to y/2, and is solid from z = -depth up to its heights."""

    kind: str
    size: tuple[float, ...] = ()
    file: str | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    vertices: Any = field(default=None, compare=False, repr=False)
    triangles: Any = field(default=None, compare=False, repr=False)
    heights: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in SHAPE_KINDS:
            raise unknown_name("Shape", "kind", self.kind, SHAPE_KINDS)
        names = SHAPE_SIZES[self.kind]
        if np.shape(self.size) != (len(names),):
            raise ShapeError(
                f"Shape: the size of a {self.kind} is {self.size!r}, expected ({', '.join(names)}"
                f"{',' if len(names) == 1 else ''}) [m]."
            )
        if self.kind == "hull":
            _require_grid("vertices of a hull", self.vertices, 1, "(n, 3)", width=3)
        if self.kind == "height_field":
            _require_grid("heights of a height_field", self.heights, 2, "(rows, columns), at least two of each")


def _require_grid(what: str, value: Any, least: int, wanted: str, width: int | None = None) -> None:
    """Raise unless ``value`` is a matrix of finite numbers with at least so many rows."""
    array = np.asarray([] if value is None else value)
    fits = (
        array.ndim == 2 and len(array) >= least and (array.shape[1] >= 2 if width is None else array.shape[1] == width)
    )
    if not fits or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        got = f"have shape {array.shape}" if not fits else "contain NaN, infinity or other objects"
        raise ShapeError(f"Shape: the {what} {got}, expected finite numbers {wanted} [m].")


@dataclass(frozen=True, eq=False)
class Visual:
    """A shape on a body: ``pose`` (4, 4) in the body's frame, ``color`` rgba in [0, 1]."""

    body: int
    shape: Shape
    pose: Array = field(default_factory=lambda: np.eye(4))
    color: tuple[float, ...] | None = None
    name: str = ""


@dataclass(frozen=True, eq=False)
class Collision:
    """A shape of a body for distances and contact: ``pose`` (4, 4) in the body's frame, a ``name`` of its own in the
    model, and ``link``, the frame that it was added to.

    ``contype`` and ``conaffinity`` are MuJoCo's bit masks: two shapes can touch if the contype of one and the
    conaffinity of the other have a bit in common; None has all bits. ``paired`` names shapes that it can touch in any
    case. ``with_parent``: it can also touch shapes of the parent of its body.
    """

    body: int
    shape: Shape
    pose: Array = field(default_factory=lambda: np.eye(4))
    name: str = ""
    link: str = ""
    contype: int | None = None
    conaffinity: int | None = None
    paired: tuple[str, ...] = ()
    with_parent: bool = False

    def __post_init__(self) -> None:
        pose = np.array(self.pose)
        pose.flags.writeable = False  # compiled code holds its numbers
        object.__setattr__(self, "pose", pose)


def all_shapes(model: Any) -> list[Visual | Collision]:
    """Return the shapes of a model to draw, then those for collisions."""
    return [*model.visuals, *model.collisions]


def with_names(collisions: Iterable[Collision], frames: Collection[str]) -> tuple[Collision, ...]:
    """Return collision shapes with names that differ: those without get their link's, with a number if it has several.

    A name that is used twice, as in a file, is preceded by that of its link the second time.
    """
    collisions = list(collisions)
    on_link = Counter(c.link for c in collisions)
    names: list[str] = [""] * len(collisions)
    used: set[str] = set()
    for k, c in enumerate(collisions):
        if c.name:
            names[k] = _unused(c.name if c.name not in used else f"{c.link}:{c.name}", used)
    for k, c in enumerate(collisions):
        if not c.name and on_link[c.link] == 1:
            names[k] = _unused(c.link, used)
    taken, number = {*used, *frames}, Counter[str]()
    for k, c in enumerate(collisions):
        while not names[k]:
            number[c.link] += 1
            name = f"{c.link}_{number[c.link]}"
            names[k] = "" if name in taken else name
    return tuple(c if c.name == n else replace(c, name=n) for c, n in zip(collisions, names, strict=True))


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    used.add(name)
    return name


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
