"""The shapes of a model as geoms of MJCF, to draw and for collisions, with their meshes and height fields."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sixd.io.files import claimed_name
from sixd.io.mjcf.elements import Losses, pose_attributes
from sixd.io.writing import numbers, quoteattr
from sixd.model import Collision, Shape, Visual
from sixd.spatial.scalar import Array
from sixd.spatial.transform import placement

# the factors from the sizes of a shape to MuJoCo's radii and half lengths
_FACTORS: dict[str, tuple[float, ...]] = {
    "box": (0.5, 0.5, 0.5), "cylinder": (1, 0.5), "capsule": (1, 0.5), "sphere": (1,), "ellipsoid": (1, 1, 1),
}  # fmt: skip
_PLANE = (0, 0, 0.1)  # infinite, with grid lines a decimetre apart
_MESHES = (".stl", ".obj", ".msh")
_MOST_TRIANGLES = 200_000  # of an STL file that MuJoCo reads

_LEAST_HEIGHT = 1e-6  # m, of a height field; MuJoCo expects one above 0
_LEAST_AREA = 1e-12  # m², of a mesh; MuJoCo refuses surfaces near 0
_NO_MESH = "Meshes {} are not in the file, MuJoCo does not read them"


class Shapes:
    """Converts visuals and collision shapes to geoms; ``assets`` collects the meshes that they need."""

    def __init__(self, losses: Losses, names: Iterable[str]) -> None:
        self.losses = losses
        self.colliding: set[str] = set()  # names of the collision shapes that are in the file
        self.assets: list[str] = []
        self._meshes: dict[object, str] = {}
        self._names = set(names)  # of collision shapes

    def element(self, part: Visual | Collision, to_body: Array, twin: Collision | None = None) -> str | None:
        """Return the geom of a shape, ``to_body`` (4, 4) from the model's body to that of the file; None if lost.

        ``twin``: a collision shape that is the same geom as the visual.
        """
        shape, pose = part.shape, part.pose
        if shape.kind == "height_field":  # MuJoCo's begin at their lowest height
            pose = pose @ placement((0, 0, np.min(shape.heights)))
        form = self._form(shape, moving=part.body > 0)
        if form is None:
            return None
        text = form + pose_attributes(to_body @ pose)
        if isinstance(part, Visual) and part.color is not None:
            text += f" rgba={numbers(part.color)}"
        collision = part if isinstance(part, Collision) else twin
        if collision is not None:
            self.colliding.add(collision.name)
            contype, conaffinity = (1 if x is None else int(x) for x in (collision.contype, collision.conaffinity))
            text += f' contype="{contype}" conaffinity="{conaffinity}"' + (' group="3"' if twin is None else "")
        name = part.name if collision is None else collision.name
        if name and all(c.isprintable() for c in name):
            # names of collision shapes differ and are in use elsewhere, those of visuals give way to them
            name = name if collision is not None else claimed_name(name, self._names)
            text = f"name={quoteattr(name)} {text}"
        return f"<geom {text}/>"

    def _form(self, shape: Shape, *, moving: bool) -> str | None:
        size = np.asarray(shape.size, dtype=float)
        if shape.kind in _FACTORS and 0 < size.min() <= size.max() < np.inf:
            return f"type={quoteattr(shape.kind)} size={numbers(size * _FACTORS[shape.kind])}"
        if shape.kind == "plane" and not moving:
            return f'type="plane" size={numbers(_PLANE)}'
        if shape.kind == "height_field":
            return self._height_field(shape)
        if shape.kind in ("mesh", "hull"):
            name = self._mesh(shape)
            return None if name is None else f'type="mesh" mesh={quoteattr(name)}'
        where = " on moving bodies" if shape.kind == "plane" else ""
        where = " of size 0 or infinite" if shape.kind in _FACTORS else where
        self.losses.add("Shapes of these kinds are not in the file, MuJoCo does not have them: {}", shape.kind + where)
        return None

    def _height_field(self, shape: Shape) -> str:
        heights = np.asarray(shape.heights, dtype=float)
        x, y, depth = shape.size
        range_, base = float(np.ptp(heights)), depth + float(heights.min())
        size = numbers([x / 2, y / 2, max(range_, _LEAST_HEIGHT), max(base, _LEAST_HEIGHT)])
        name = f"field{len(self.assets)}"
        shares = (heights - heights.min())[::-1] / (range_ or 1.0)  # in a file the last row comes first
        rows, columns = heights.shape
        self.assets.append(
            f'<hfield name="{name}" nrow="{rows}" ncol="{columns}" size={size} elevation={numbers(shares)}/>'
        )
        return f'type="hfield" hfield="{name}"'

    def _mesh(self, shape: Shape) -> str | None:
        """Return the name of a shape's mesh among the assets, None if MuJoCo cannot read it."""
        key: object = (shape.file, shape.scale) if shape.vertices is None else id(shape)
        if key in self._meshes:
            return self._meshes[key]
        source = _file(shape, self.losses) if shape.vertices is None else _inline(shape, self.losses)
        if source is None:
            return None
        # a shell needs no volume; open surfaces have none
        name = self._meshes[key] = f"mesh{len(self._meshes)}"
        self.assets.append(f'<mesh name="{name}" inertia="shell" {source}/>')
        return name


def _inline(shape: Shape, losses: Losses) -> str | None:
    points = np.asarray(shape.vertices, dtype=float).reshape(-1, 3) * shape.scale
    faces = np.asarray([] if shape.triangles is None else shape.triangles, dtype=int).reshape(-1, 3)
    if shape.kind == "hull" and len(points) > 3:  # of which MuJoCo needs the vertices alone
        return f"vertex={numbers(points)}"
    problem = None
    if len(points) < 4 or not len(faces):
        problem = "of fewer than four vertices"
    elif not np.isfinite(points).all() or faces.min() < 0 or faces.max() >= len(points):
        problem = "with invalid vertices or triangles"
    elif not _area(points[faces]) > _LEAST_AREA:
        problem = "without a surface"
    if problem is not None:
        losses.add(_NO_MESH, problem)
        return None
    return f"vertex={numbers(points)} face={quoteattr(' '.join(map(str, faces.ravel().tolist())))}"


def _area(triangles: Array) -> float:
    """Return the area [m²] of triangles (m, 3, 3)."""
    first, second = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    return float(np.linalg.norm(np.cross(first, second), axis=1).sum() / 2)


def _file(shape: Shape, losses: Losses) -> str | None:
    path = Path(shape.file or "")
    if path.suffix.lower() not in _MESHES:
        problem = f"in {path.suffix}" if path.suffix else "without a file"
    elif not path.is_file():
        problem = "that are not found"
    elif path.suffix.lower() == ".stl" and not _is_readable_stl(path):
        problem = f"in .stl as text or of more than {_MOST_TRIANGLES:,} triangles"
    elif not str(path).isprintable():
        problem = "with a control character in their path"
    else:
        return f"file={quoteattr(os.path.abspath(path))} scale={numbers(shape.scale)}"
    losses.add(_NO_MESH, problem)
    return None


def _is_readable_stl(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(84)
        count = int.from_bytes(head[80:], "little")
        return len(head) == 84 and path.stat().st_size == 84 + 50 * count and 0 < count <= _MOST_TRIANGLES
    except OSError:
        return False
