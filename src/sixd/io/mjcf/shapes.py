"""The shapes of a model as geoms of MJCF, which are drawn and touch nothing, and their meshes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from sixd.io.files import unused_name
from sixd.io.mjcf.elements import Losses, pose_attributes
from sixd.io.writing import numbers, quoteattr
from sixd.model import Shape, Visual
from sixd.spatial.scalar import Array

# the factors from the sizes of a shape to MuJoCo's radii and half lengths
_FACTORS: dict[str, tuple[float, ...]] = {
    "box": (0.5, 0.5, 0.5), "cylinder": (1, 0.5), "capsule": (1, 0.5), "sphere": (1,), "ellipsoid": (1, 1, 1),
}  # fmt: skip
_PLANE = (0, 0, 0.1)  # without end, its lines a decimetre apart
_MESHES = (".stl", ".obj", ".msh")
_MOST_TRIANGLES = 200_000  # of an STL file that MuJoCo reads


class Shapes:
    """Turns visuals into geoms; the meshes that they need are collected in ``assets``."""

    def __init__(self, losses: Losses) -> None:
        self.losses = losses
        self.assets: list[str] = []
        self._meshes: dict[object, str] = {}
        self._taken: set[str] = set()

    def element(self, visual: Visual, to_body: Array) -> str | None:
        """Return the geom of a visual, ``to_body`` (4, 4) from the model's body to that of the file; None if lost."""
        form = self._form(visual.shape, moving=visual.body > 0)
        if form is None:
            return None
        text = form + pose_attributes(to_body @ visual.pose)
        if visual.color is not None:
            text += f" rgba={numbers(visual.color)}"
        if visual.name and all(c.isprintable() for c in visual.name):
            name = unused_name(visual.name, self._taken)
            self._taken.add(name)
            text = f"name={quoteattr(name)} {text}"
        return f"<geom {text}/>"

    def _form(self, shape: Shape, *, moving: bool) -> str | None:
        size = np.asarray(shape.size, dtype=float)
        if shape.kind in _FACTORS and size.min() > 0:
            return f"type={quoteattr(shape.kind)} size={numbers(size * _FACTORS[shape.kind])}"
        if shape.kind == "plane" and not moving:
            return f'type="plane" size={numbers(_PLANE)}'
        if shape.kind == "mesh":
            name = self._mesh(shape)
            return None if name is None else f'type="mesh" mesh={quoteattr(name)}'
        where = " of size 0" if shape.kind in _FACTORS else " on moving bodies" if shape.kind == "plane" else ""
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
        # a shell needs no volume, which open surfaces do not have
        name = self._meshes[key] = f"mesh{len(self._meshes)}"
        self.assets.append(f'<mesh name="{name}" inertia="shell" {source}/>')
        return name


def _inline(shape: Shape, losses: Losses) -> str | None:
    vertices, triangles = np.asarray(shape.vertices), shape.triangles
    if triangles is None or len(vertices) < 4 or not len(triangles):
        losses.add("Meshes {} are not in the file, MuJoCo does not read them", "of fewer than four vertices")
        return None
    faces = quoteattr(" ".join(str(int(k)) for k in np.ravel(triangles)))
    return f"vertex={numbers(vertices * shape.scale)} face={faces}"


def _file(shape: Shape, losses: Losses) -> str | None:
    path = Path(shape.file or "")
    if path.suffix.lower() not in _MESHES:
        found = f"in {path.suffix}" if path.suffix else "without a file"
    elif not path.is_file():
        found = "that are not found"
    elif path.suffix.lower() == ".stl" and not _is_readable_stl(path):
        found = f"in .stl as text or of more than {_MOST_TRIANGLES:,} triangles"
    elif not str(path).isprintable():
        found = "with a control character in their path"
    else:
        return f"file={quoteattr(os.path.abspath(path))} scale={numbers(shape.scale)}"
    losses.add("Meshes {} are not in the file, MuJoCo does not read them", found)
    return None


def _is_readable_stl(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(84)
        count = int.from_bytes(head[80:], "little")
        return len(head) == 84 and path.stat().st_size == 84 + 50 * count and 0 < count <= _MOST_TRIANGLES
    except OSError:
        return False
