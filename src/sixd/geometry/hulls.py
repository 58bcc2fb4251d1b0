"""Convex hulls of shapes with vertices: exact, or of few vertices with the greatest deviation.

A simplified hull is that of some of the exact hull's vertices: a simplex, then always the vertex farthest in front of
a face. It lies inside the exact one. Hulls are cached by the file, or by the vertices themselves.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError
from sixd.geometry.meshes import Mesh, read_mesh, weld
from sixd.model.parts import Shape
from sixd.runtime.cache import digest
from sixd.spatial.scalar import Array
from sixd.spatial.shapes import is_closed

MOST_VERTICES = 64  # up to which a maximum over all vertices takes less time than a walk along the edges
_FLAT = 1e-9  # relative: thinner meshes have the hull of a polygon; files have single precision, 6e-8
_CHUNK = 4096  # points whose distances to all faces are computed at once, 4 MB


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex polytope.

    vertices : (n, 3) [m], all of them on its surface.
    triangles : (m, 3) indices of vertices, counter-clockwise seen from outside; both sides of a flat hull.
    deviation : [m] by which the exact hull reaches beyond it; 0 if it is exact.
    excess : volume of the exact hull relative to that of the mesh, minus 1; NaN if the surface is not closed.
    """

    vertices: Array
    triangles: Array
    deviation: float
    excess: float


@dataclass(frozen=True)
class _Source:
    """A surface by a key: the vertices and triangles themselves, or a file that is read when they are needed."""

    key: str
    file: str | None = None
    mesh: Mesh | None = field(default=None, compare=False)

    def read(self) -> Mesh:
        """Return the surface; raise FileError if its file cannot be read."""
        if self.mesh is not None:
            return self.mesh
        return read_mesh(str(self.file), "convex_hull")


def surface(shape: Shape) -> Mesh:
    """Return the surface of a mesh or hull, not scaled; raise FileError if its file cannot be read."""
    return _source(shape).read()


def convex_hull(shape: Shape, *, most: int | None = MOST_VERTICES) -> Hull:
    """Return the convex hull of a mesh or hull, with at most ``most`` vertices; None for all of them.

    A mesh that is missing or cannot be read raises FileError with its name.
    """
    if shape.kind not in ("mesh", "hull"):
        raise ModelError(f"convex_hull: the shape is a {shape.kind}, expected a mesh or hull.")
    if most is not None and (isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 4):
        raise ScalarTypeError(f"convex_hull: most is {most!r}, expected a whole number of at least 4, or None for all.")
    x, y, z = (float(s) for s in shape.scale)
    return _hull(_source(shape), (x, y, z), None if most is None else int(most))


def hull_planes(vertices: Array) -> Array:
    """Return the planes (m, 4) of the faces of the convex hull of vertices (n, 3): n·x ≤ d inside, each (n, d)."""
    points, solid = _extreme(np.unique(np.asarray(vertices, dtype=float), axis=0))
    if solid is None:
        return _polygon_planes(points)
    planes: Array = solid.equations * [1, 1, 1, -1]
    _, first = np.unique(planes.round(12), axis=0, return_index=True)  # triangles of one face
    return planes[np.sort(first)]


def _polygon_planes(points: Array) -> Array:
    """Return the planes of a flat hull with corners in order: both sides, and those of its edges; of a line or a point,
    which rays do not meet, a plane that nothing is behind."""
    if len(points) < 3:
        return np.array([[0.0, 0.0, 1.0, -np.inf]])
    n = np.cross(points[1] - points[0], points[2] - points[0])
    n = n / np.linalg.norm(n)
    middle, sides = points.mean(axis=0), [n, -n]
    offsets = [n @ middle, -(n @ middle)]
    for a, b in zip(points, np.roll(points, -1, axis=0), strict=True):
        out = np.cross(b - a, n)
        out = out / np.linalg.norm(out) * (1 if out @ (a - middle) > 0 else -1)
        sides.append(out)
        offsets.append(out @ a)
    return np.column_stack([np.array(sides), offsets])


def hull_mesh(shape: Shape) -> Mesh:
    """Return the surface of a hull, exactly."""
    hull = convex_hull(shape, most=None)
    return Mesh(hull.vertices, hull.triangles)


def height_mesh(shape: Shape) -> Mesh:
    """Return the surface of a height field, without its sides and base."""
    heights = np.asarray(shape.heights, dtype=float)
    rows, columns = heights.shape
    x, y = np.meshgrid(np.linspace(-0.5, 0.5, columns) * shape.size[0], np.linspace(-0.5, 0.5, rows) * shape.size[1])
    corner = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (part.ravel() for part in (corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1]))
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return Mesh(np.stack([x.ravel(), y.ravel(), heights.ravel()], axis=1), triangles)


def _source(shape: Shape) -> _Source:
    if shape.vertices is None:
        file = str(shape.file)
        changed = os.stat(file).st_mtime_ns if os.path.isfile(file) else 0
        return _Source(f"{file}\0{changed}", file)
    vertices = np.ascontiguousarray(shape.vertices, dtype=float)
    triangles = np.ascontiguousarray(np.zeros((0, 3)) if shape.triangles is None else shape.triangles, dtype=np.int64)
    return _Source(digest(vertices.tobytes(), triangles.tobytes()), mesh=Mesh(vertices, triangles))


@lru_cache(maxsize=512)
def _hull(source: _Source, scale: tuple[float, float, float], most: int | None) -> Hull:
    mesh = source.read().scaled(scale)
    if not len(mesh.vertices) or not np.isfinite(mesh.vertices).all():
        problem = "has vertices that are not finite" if len(mesh.vertices) else "has no vertices"
        name = "" if source.file is None else f" {source.file!r}"
        raise ModelError(f"convex_hull: the mesh{name} {problem}, expected at least one finite vertex.")
    points, solid = _extreme(mesh.vertices)
    if solid is None:
        return _read_only(points, _both_sides(len(points)), 0.0, np.nan)
    excess = _excess(mesh, float(solid.volume))
    if most is None or len(points) <= most:
        return _read_only(points, _outward(solid), 0.0, excess)
    chosen = _farthest(points, most)
    few = points[chosen]
    hull = _qhull(few)
    return _read_only(few, _outward(hull), _deviation(points, few, hull), excess)


def _qhull(points: Array, **options: Any) -> Any:
    from scipy.spatial import ConvexHull

    return ConvexHull(points, **options)


def _read_only(vertices: Array, triangles: Array, deviation: float, excess: float) -> Hull:
    for array in (vertices, triangles):
        array.flags.writeable = False
    return Hull(vertices, triangles, deviation, excess)


def _extreme(points: Array) -> tuple[Array, Any]:
    """Return the vertices of the convex hull and qhull's hull of them; None for flat ones, in order around."""
    middle = points.mean(axis=0)
    _, extents, axes = np.linalg.svd(np.linalg.qr(points - middle, mode="r"))
    rank = int((extents > _FLAT * max(extents[0], 1e-300) * np.sqrt(len(points))).sum()) if extents[0] > 0 else 0
    if rank == 3:
        hull = _qhull(points)
        used = np.sort(hull.vertices)
        faces = np.searchsorted(used, hull.simplices)
        return points[used], SimpleNamespace(
            points=points[used], simplices=faces, equations=hull.equations, volume=hull.volume
        )
    flat = (points - middle) @ axes[:rank].T
    if rank == 2:
        return points[_qhull(flat).vertices], None
    ends = [0] if rank == 0 else sorted({int(flat.argmin()), int(flat.argmax())})
    return points[ends], None


def _both_sides(n: int) -> Array:
    """Return the triangles of a flat polygon of n corners in order, from both sides."""
    front = np.array([(0, k, k + 1) for k in range(1, n - 1)], dtype=np.int64).reshape(-1, 3)
    return np.concatenate([front, front[:, ::-1]])


def _outward(hull: Any) -> Array:
    """Return qhull's triangles counter-clockwise seen from outside."""
    triangles = hull.simplices.astype(np.int64)
    a, b, c = (hull.points[triangles[:, k]] for k in range(3))
    inside_out = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(axis=1) < 0
    triangles[inside_out] = triangles[inside_out][:, ::-1]
    return triangles


def _excess(mesh: Mesh, volume: float) -> float:
    """Return how much larger the hull's volume is than that of a closed mesh, relative to the latter."""
    solid = weld(Mesh(mesh.vertices, mesh.triangles)) if len(mesh.triangles) else mesh
    if not len(solid.triangles) or not is_closed(solid.triangles):
        return float("nan")
    A, B, C = (solid.vertices[solid.triangles[:, k]] - solid.vertices.mean(axis=0) for k in range(3))
    own = abs(float((A * np.cross(B, C)).sum())) / 6
    return volume / own - 1 if own > 0 else float("nan")


# simplification -----------------------------------------------------------------------------------


def _farthest(points: Array, most: int) -> list[int]:
    """Return the indices of ``most`` of the vertices of a hull: a simplex, then always the farthest from the others."""
    chosen = _simplex(points)
    hull = _qhull(points[chosen], incremental=True)
    known = np.zeros(0, dtype=np.int64)
    heights, faces = np.full(len(points), -np.inf), np.full(len(points), -1)  # above the face that is farthest below
    while len(chosen) < most:
        # a new vertex replaces some faces: of most points only the heights above the new ones are needed
        names = np.sort(hull.simplices.astype(np.int64), axis=1) @ np.array([most * most, most, 1])
        lost = ~np.isin(faces, names)
        heights[lost] = -np.inf
        _raise(heights, faces, np.flatnonzero(lost), points, hull.equations, names)
        new = ~np.isin(names, known)
        _raise(heights, faces, np.flatnonzero(~lost), points, hull.equations[new], names[new])
        known = names
        heights[chosen] = -np.inf
        chosen.append(int(heights.argmax()))
        hull.add_points(points[chosen[-1:]])
    hull.close()
    return chosen


def _raise(heights: Array, faces: Array, rows: Array, points: Array, equations: Array, names: Array) -> None:
    """Replace the heights of some points, and the names of the faces, by larger ones above further faces."""
    for some in _parts(rows):
        above = _heights(points[some], equations)
        highest = above.argmax(axis=1)
        height = above[np.arange(len(some)), highest]
        higher = height > heights[some]
        heights[some[higher]], faces[some[higher]] = height[higher], names[highest[higher]]


def _simplex(points: Array) -> list[int]:
    """Return the indices of four vertices far from one another."""
    axis = np.ptp(points, axis=0).argmax()
    a, b = int(points[:, axis].argmin()), int(points[:, axis].argmax())
    along = (points[b] - points[a]) / np.linalg.norm(points[b] - points[a])
    away = points - points[a] - np.outer((points - points[a]) @ along, along)
    c = int((away**2).sum(axis=1).argmax())
    normal = np.cross(along, away[c])
    d = int(np.abs((points - points[a]) @ normal).argmax())
    return [a, b, c, d]


def _parts(points: Array) -> list[Array]:
    return [points[k : k + _CHUNK] for k in range(0, len(points), _CHUNK)]


def _heights(points: Array, equations: Array) -> Array:
    """Return the heights (n, m) of points above planes."""
    return points @ equations[:, :3].T + equations[:, 3]


def _deviation(points: Array, few: Array, hull: Any) -> float:
    """Return the largest distance of points from the hull of ``few``, which is attained at a face that they see."""
    largest, corners = 0.0, few[hull.simplices]
    for part in _parts(points):
        heights = _heights(part, hull.equations)
        k, face = np.nonzero(heights > 0)
        distances = np.full(len(part), np.inf)
        np.minimum.at(distances, k, _to_triangles(part[k], corners[face], heights[k, face]))
        largest = max(largest, float(distances[np.isfinite(distances)].max(initial=0.0)))
    return largest


def _to_triangles(points: Array, corners: Array, heights: Array) -> Array:
    """Return the distances (n,) of points from triangles (n, 3, 3), whose planes they are ``heights`` above."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inside = np.ones(len(points), dtype=bool)
    nearest = np.full(len(points), np.inf)
    for k in range(3):
        start, side = corners[:, k], corners[:, (k + 1) % 3] - corners[:, k]
        from_start = points - start
        inside &= (np.cross(normals, side) * from_start).sum(axis=1) >= 0
        share = np.clip((from_start * side).sum(axis=1) / (side * side).sum(axis=1), 0, 1)
        nearest = np.minimum(nearest, np.linalg.norm(from_start - share[:, None] * side, axis=1))
    return np.where(inside, heights, nearest)
