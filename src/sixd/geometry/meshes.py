"""Triangle meshes: read from files, welded, simplified by clustering vertices, and split along creases.

Triangles are counter-clockwise seen from outside. Knows neither robots nor the page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sixd.errors import FileError, MissingPackageError
from sixd.file_limits import mesh_problem
from sixd.spatial.scalar import Array

# bytes of all meshes of a page before base64: some 180,000 triangles, which a laptop draws easily
BUDGET = 4_000_000
CREASE = np.cos(np.radians(35.0))  # a sharper edge stays an edge: modelling programs smooth below 30° to 40°
_STEPS = 1 << 20  # cells along the mesh of the grid on which vertices are welded


@dataclass(frozen=True, eq=False)
class Mesh:
    """vertices (n, 3) [m], triangles (m, 3) indices of vertices, colors (n, 3) 0 … 255, or None."""

    vertices: Array
    triangles: Array
    colors: Array | None = None

    @property
    def size(self) -> int:
        """Number of bytes in a page before base64."""
        return len(self.vertices) * (12 if self.colors is None else 15) + len(self.triangles) * 12

    @property
    def diameter(self) -> float:
        """Diagonal [m] of the bounding box."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0))) if len(self.vertices) else 0.0

    def scaled(self, scale: Sequence[float]) -> Mesh:
        """Return the mesh scaled along its axes; a mirror image keeps its outside."""
        flip = np.prod(scale) < 0
        return Mesh(self.vertices * np.asarray(scale), self.triangles[:, ::-1] if flip else self.triangles, self.colors)


def read_mesh(file: str, where: str = "view") -> Mesh:
    """Return the mesh of an STL, OBJ, DAE … file, its parts joined and welded; raise FileError if it cannot be read."""
    if not os.path.isfile(file):  # a device might never end
        raise FileError(f"{where}: the mesh {file!r} is not found. Give sixd.load its folder by package_dirs.")
    problem = mesh_problem(file)
    if problem is not None:
        raise FileError(f"{where}: the mesh {file!r} is not read: {problem}.")
    try:
        import trimesh  # noqa: F401
    except ImportError:
        done, install = "shown" if where == "view" else "read", "pip install trimesh pillow pycollada"
        raise MissingPackageError(
            f"{where}: meshes are not {done}, trimesh reads them. Install it with: {install}."
        ) from None
    try:
        return _read(file, os.stat(file).st_mtime_ns)
    except ValueError as error:
        raise FileError(f"{where}: the mesh {file!r} {error}.") from None


@lru_cache(maxsize=128)
def _read(file: str, changed: int) -> Mesh:
    import trimesh

    try:
        scene = trimesh.load_scene(file, process=False)  # vertices are welded here
        parts = [_part(scene, node) for node in scene.graph.nodes_geometry]
    except Exception as error:  # trimesh's readers raise many kinds
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"cannot be read: {why}") from None
    parts = [p for p in parts if len(p.triangles)]
    if not parts:
        raise ValueError("has no triangles")
    return weld(join(parts))


def _part(scene: Any, node: str) -> Mesh:
    """A part of trimesh's scene, in metres, in the file's axes (the "up" of a DAE file is ignored, as in ROS)."""
    pose, name = scene.graph[node]
    geometry = scene.geometry[name]
    faces = np.asarray(getattr(geometry, "faces", ()), dtype=np.int64).reshape(-1, 3)
    vertices = np.asarray(geometry.vertices, dtype=float).reshape(-1, 3)
    vertices = vertices @ pose[:3, :3].T + pose[:3, 3]
    unit = str(geometry.metadata.get("units", scene.metadata.get("units", ""))).split(" * ")
    if len(unit) == 2:  # "0.001 * meters", of DAE files
        vertices = vertices * float(unit[0])
    if np.linalg.det(pose[:3, :3]) < 0:
        faces = faces[:, ::-1]
    good = np.isfinite(vertices).all(axis=1)[faces].all(axis=1) if len(faces) else np.zeros(0, dtype=bool)
    return Mesh(np.nan_to_num(vertices), faces[good], _colors(geometry))


def _colors(geometry: Any) -> Array | None:
    """Colours (n, 3) of a part's vertices, or that of its material; None if it has none."""
    visual, n = geometry.visual, len(geometry.vertices)
    if visual.kind == "texture":
        material = visual.material
        image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
        if image is None or visual.uv is None:
            return np.tile(np.asarray(material.main_color, dtype=np.uint8)[:3], (n, 1))
        return np.asarray(material.to_color(visual.uv), dtype=np.uint8)[:, :3]
    if visual.kind in ("vertex", "face"):
        return np.asarray(visual.vertex_colors, dtype=np.uint8)[:, :3]
    return None


def join(parts: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one; if only some have colours, the others become light grey."""
    first = np.cumsum([0, *(len(p.vertices) for p in parts)])
    colors = None
    if any(p.colors is not None for p in parts):
        grey = np.array([[204, 204, 209]], dtype=np.uint8)
        colors = np.concatenate([np.repeat(grey, len(p.vertices), 0) if p.colors is None else p.colors for p in parts])
    triangles = np.concatenate([p.triangles + k for p, k in zip(parts, first[:-1], strict=True)])
    return Mesh(np.concatenate([p.vertices for p in parts]), triangles, colors)


def weld(mesh: Mesh) -> Mesh:
    """Return the mesh with vertices of the same position and colour merged."""
    return cluster(mesh, np.ptp(mesh.vertices, axis=0).max(initial=0.0) / _STEPS)


def cluster(mesh: Mesh, cell: float) -> Mesh:
    """Return the mesh with the vertices of the same colour in each ``cell`` [m] of a grid merged at their mean."""
    low = mesh.vertices.min(axis=0)
    steps = np.rint((mesh.vertices - low) / cell).astype(np.int64) if cell > 0 else np.zeros(mesh.vertices.shape, int)
    # three numbers of up to 21 bits in one of 63
    _, index = np.unique((steps[:, 0] << 42) + (steps[:, 1] << 21) + steps[:, 2], return_inverse=True)
    if mesh.colors is not None:
        color = mesh.colors.astype(np.int64) @ np.array([1 << 16, 1 << 8, 1])
        _, index = np.unique((index.astype(np.int64) << 24) + color, return_inverse=True)
    count = np.bincount(index)
    mean = np.stack([np.bincount(index, weights=x) / count for x in mesh.vertices.T], axis=1)
    colors = None
    if mesh.colors is not None:
        colors = np.zeros((len(count), 3), dtype=np.uint8)
        colors[index] = mesh.colors
    return _cleaned(Mesh(mean, index[mesh.triangles], colors))


def _cleaned(mesh: Mesh) -> Mesh:
    """The mesh without degenerate or repeated triangles and without unused vertices."""
    t = mesh.triangles
    t = t[(t[:, 0] != t[:, 1]) & (t[:, 1] != t[:, 2]) & (t[:, 2] != t[:, 0])]
    turned = np.stack([np.roll(t, -k, axis=1) for k in range(3)])  # the smallest vertex first, the order kept
    t = turned[t.argmin(axis=1), np.arange(len(t))] if len(t) else t
    n = len(mesh.vertices)
    if n < 1 << 21:  # so that three numbers fit one of 63 bits, which sorts much faster
        _, first = np.unique((t[:, 0] * n + t[:, 1]) * n + t[:, 2], return_index=True)
        t = t[first]
    used, index = np.unique(t, return_inverse=True)
    colors = None if mesh.colors is None else mesh.colors[used]
    return Mesh(mesh.vertices[used], index.reshape(-1, 3), colors)


def fit(meshes: Sequence[Mesh], budget: int = BUDGET) -> list[Mesh]:
    """Return the meshes split along creases, and simplified until together they have at most ``budget`` bytes.

    The cells grow with the mesh, but less than in proportion: small parts stay recognisable, and cost less.
    """
    if not meshes:
        return []
    largest = max(m.diameter for m in meshes)
    simpler, fraction = list(meshes), 1e-3
    ready = [split_creases(m) for m in simpler]
    while (total := sum(m.size for m in ready)) > budget and fraction < 1:
        cells = [fraction * np.sqrt(m.diameter * largest) for m in meshes]
        simpler = [cluster(m, cell) if len(m.triangles) > 100 else m for m, cell in zip(simpler, cells, strict=True)]
        ready = [split_creases(m) for m in simpler]
        # the number of triangles goes with the inverse square of the cell
        fraction *= min(2.0, max(1.25, np.sqrt(total / budget) / 1.2))
    return ready


def split_creases(mesh: Mesh) -> Mesh:
    """Return the mesh with vertices, and so normals, shared by triangles only where the surface is smooth."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    t = mesh.triangles
    if not len(t):
        return mesh
    a, b, c = (mesh.vertices[t[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = normals / np.where(length > 0, length, 1)
    # sort the sides of all triangles, so that those between the same two vertices are adjacent
    corner = np.arange(t.size).reshape(t.shape)
    start, end = corner.ravel(), np.roll(corner, -1, axis=1).ravel()
    v, w = t.ravel()[start], t.ravel()[end]
    swap = v > w
    start, end = np.where(swap, end, start), np.where(swap, start, end)
    key = np.minimum(v, w) * len(mesh.vertices) + np.maximum(v, w)
    order = np.argsort(key, kind="stable")
    here, there = order[:-1], order[1:]
    smooth = (normals[here // 3] * normals[there // 3]).sum(axis=1) > CREASE
    here, there = (side[(key[order[:-1]] == key[order[1:]]) & smooth] for side in (here, there))
    rows, columns = np.concatenate([start[here], end[here]]), np.concatenate([start[there], end[there]])
    links = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(t.size, t.size))
    count, label = connected_components(links, directed=False)
    source = np.zeros(count, dtype=np.int64)
    source[label] = t.ravel()
    colors = None if mesh.colors is None else mesh.colors[source]
    return Mesh(mesh.vertices[source], label.reshape(t.shape), colors)
