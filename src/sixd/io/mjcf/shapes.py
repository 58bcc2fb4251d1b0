"""The shapes of a model as geoms of MJCF, which are drawn and touch nothing, and their meshes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from sixd.io.files import claimed_name
from sixd.io.mjcf.elements import Losses, pose_attributes
from sixd.io.writing import numbers, quoteattr
from sixd.model import Shape, Visual
from sixd.spatial.scalar import Array

# the factors from the sizes of a shape to MuJoCo's radii and half lengths
_FACTORS: dict[str, tuple[float, ...]] = {
    "box": (0.5, 0.5, 0.5), "cylinder": (1, 0.5), "capsule": (1, 0.5), "sphere": (1,), "ellipsoid": (1, 1, 1),
}  # fmt: skip
_PLANE = (0, 0, 0.1)  # infinite, with grid lines a decimetre apart
_MESHES = (".stl", ".obj", ".msh")
_MOST_TRIANGLES = 200_000  # of an STL file that MuJoCo reads

_LEAST_AREA = 1e-12  # m², of a mesh; MuJoCo refuses surfaces near 0
_NO_MESH = "Meshes {} are not in the file, MuJoCo does not read them"


class Shapes:
    """Converts visuals to geoms; ``assets`` collects the meshes that they need."""

    def __init__(self, losses: Losses) -> None:
        self.losses = losses
        self.assets: list[str] = []
        self._meshes: dict[object, str] = {}
        self._names: set[str] = set()

    def element(self, visual: Visual, to_body: Array) -> str | None:
        """Return the geom of a visual, ``to_body`` (4, 4) from the model's body to that of the file; None if lost."""
        form = self._form(visual.shape, moving=visual.body > 0)
        if form is None:
            return None
        text = form + pose_attributes(to_body @ visual.pose)
        if visual.color is not None:
            text += f" rgba={numbers(visual.color)}"
        if visual.name and all(c.isprintable() for c in visual.name):
            text = f"name={quoteattr(claimed_name(visual.name, self._names))} {text}"
        return f"<geom {text}/>"

    def _form(self, shape: Shape, *, moving: bool) -> str | None:
        size = np.asarray(shape.size, dtype=float)
        if shape.kind in _FACTORS and 0 < size.min() <= size.max() < np.inf:
            return f"type={quoteattr(shape.kind)} size={numbers(size * _FACTORS[shape.kind])}"
        if shape.kind == "plane" and not moving:
            return f'type="plane" size={numbers(_PLANE)}'
        if shape.kind == "mesh":
            name = self._mesh(shape)
            return None if name is None else f'type="mesh" mesh={quoteattr(name)}'
        where = " on moving bodies" if shape.kind == "plane" else ""
        where = " of size 0 or infinite" if shape.kind in _FACTORS else where
        self.losses.add("Shapes of these kinds are not in the file, MuJoCo does not have them: {}", shape.kind + where)
        return None

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
