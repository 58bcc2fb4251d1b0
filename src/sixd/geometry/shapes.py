"""The pieces that show a model: its own shapes and meshes, and sticks for bodies without any.

A missing mesh is reported in the notes; its body is drawn by sticks unless it has other shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from sixd.errors import FileError, MissingPackageError
from sixd.file_limits import LARGEST_MESHES
from sixd.geometry import sticks
from sixd.geometry.hulls import height_mesh, hull_mesh
from sixd.geometry.meshes import Mesh, fit, read_mesh, weld
from sixd.geometry.pieces import NEUTRAL, DrawnPiece, body_color
from sixd.model.model import Model
from sixd.model.parts import Shape, Visual
from sixd.spatial.scalar import Array

_MESHES = ("mesh", "hull", "height_field")  # kinds that are drawn as meshes


def draw(
    model: Model, poses: Array, notes: list[str], touching: Mapping[int, Array] = MappingProxyType({})
) -> tuple[list[DrawnPiece], float | None]:
    """Return the pieces that show a model, and the radius [m] of the rods if the base is drawn by sticks, else None.

    Parameters
    ----------
    poses : (nb + 1, 4, 4) of its bodies.
    notes : gains which meshes are missing or simplified.
    touching : body -> points (k, 4) by which it meets the ground, positions in its frame and radii [m].
    """
    meshes = _meshes(model, notes)
    pieces = [replace(piece, name=v.name) for v in model.visuals if (piece := _piece(v, meshes)) is not None]
    shown = {p.body for p in pieces if p.kind != "plane"}
    missing = {v.body for v in model.visuals} - shown - {0}
    # a file that shows most of a robot leaves out bodies on purpose; a file that shows little is completed
    bodies = missing if _shown_mass(model, shown | missing) > 0.5 else set(model.bodies) - shown
    if any(model.parent[i] == 0 and model.joints[i].symbol != "none" for i in bodies) and 0 not in shown:
        bodies.add(0)
    if not bodies:
        return pieces, None
    size = sticks.mechanism_size(model, poses)
    radius = sticks.rod_radius(model, bodies, size)
    pieces += sticks.Sticks(model, radius, size, touching).draw(bodies)
    return pieces, radius if 0 in bodies else None


def _shown_mass(model: Model, bodies: set[int]) -> float:
    """The fraction of the total mass that these bodies have; of the number of bodies, if none has mass."""
    weights = {i: max(float(model.inertia[i][5, 5]), 0.0) for i in model.bodies}
    if not any(weights.values()):
        weights = dict.fromkeys(weights, 1.0)
    return sum(w for i, w in weights.items() if i in bodies) / (sum(weights.values()) or 1.0)


def _key(shape: Shape) -> tuple[object, ...]:
    inline = shape.heights if shape.vertices is None else shape.vertices
    return (shape.kind, shape.file if inline is None else id(inline), shape.scale, shape.size)


def _meshes(model: Model, notes: list[str]) -> dict[tuple[object, ...], Mesh]:
    """The meshes that can be read, simplified to fit the page's budget."""
    found: dict[tuple[object, ...], Mesh] = {}
    lost: dict[str, str] = {}
    for shape in (v.shape for v in model.visuals if v.shape.kind in _MESHES):
        if _key(shape) in found or shape.file in lost:
            continue
        if shape.kind != "mesh":
            found[_key(shape)] = height_mesh(shape) if shape.kind == "height_field" else hull_mesh(shape)
            continue
        if shape.vertices is not None and shape.triangles is not None:
            vertices, triangles = np.asarray(shape.vertices, float), np.asarray(shape.triangles, dtype=np.int64)
            found[_key(shape)] = weld(Mesh(vertices, triangles).scaled(shape.scale))
        elif shape.file is not None:
            try:
                if sum(mesh.size for mesh in found.values()) > LARGEST_MESHES:
                    more = f"more than {LARGEST_MESHES >> 20} MiB"
                    raise FileError(f"further meshes are not read: those before them have {more}.")
                found[_key(shape)] = read_mesh(shape.file).scaled(shape.scale)
            except (FileError, MissingPackageError) as error:
                lost[shape.file] = str(error).removeprefix("view: ")
    notes += _missing_notes(lost)
    before = sum(len(m.triangles) for m in found.values())
    small = dict(zip(found, fit(list(found.values())), strict=True))
    after = sum(len(m.triangles) for m in small.values())
    if after < 0.98 * before:
        notes.append(f"Meshes are shown with {after:,} of their {before:,} triangles.")
    return small


def _missing_notes(lost: dict[str, str]) -> list[str]:
    """One note for each reason, not for each mesh."""
    missing = [Path(file).name for file, why in lost.items() if "is not found" in why]
    others = list(dict.fromkeys(w.replace(f, Path(f).name) for f, w in lost.items() if "is not found" not in w))
    if missing:
        names = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
        others.insert(0, f"Meshes not found: {names}. Give sixd.load their folder by package_dirs.")
    return [text[:1].upper() + text[1:] for text in others]


def _piece(visual: Visual, meshes: dict[tuple[object, ...], Mesh]) -> DrawnPiece | None:
    shape, body = visual.shape, visual.body
    pose = np.asarray(visual.pose, dtype=float)
    color = tuple(float(x) for x in visual.color) if visual.color is not None else (*body_color(body), 1.0)
    if shape.kind in _MESHES:
        mesh = meshes.get(_key(shape))
        if mesh is None:
            return None
        if mesh.colors is not None:
            color = (1.0, 1.0, 1.0, color[3])
        elif visual.color is None and shape.file is not None:
            color = (*NEUTRAL, 1.0)
        return DrawnPiece(body, "mesh", (), pose, color, mesh=mesh)
    if shape.kind == "line":
        return DrawnPiece(body, "line", (), pose, color, points=np.asarray(shape.vertices, dtype=float))
    return DrawnPiece(body, shape.kind, tuple(float(x) for x in shape.size), pose, color)
