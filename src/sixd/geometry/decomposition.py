"""Approximate convex decomposition of meshes by the optional package ``coacd``, cached on disk: it takes seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.errors import FileError, MissingPackageError, ModelError, ScalarTypeError
from sixd.geometry.hulls import MOST_VERTICES, Hull, convex_hull, surface
from sixd.geometry.meshes import Mesh
from sixd.model.parts import Shape
from sixd.runtime import cache

CONCAVITY = 0.05  # coacd's own default: how far the parts may differ from the mesh, relative to its size


def convex_parts(shape: Shape, *, concavity: float = CONCAVITY, most: int | None = MOST_VERTICES) -> list[Hull]:
    """Return the hulls of convex parts that together have the shape of a mesh, each with at most ``most`` vertices.

    ``concavity`` is how far they may differ from it, as coacd measures it: 0.01 … 1, smaller for more parts.
    """
    if isinstance(concavity, bool) or not isinstance(concavity, (int, float)) or not 0.01 <= concavity <= 1:
        raise ScalarTypeError(f"convex_parts: concavity is {concavity!r}, expected a number from 0.01 to 1.")
    mesh = surface(shape)
    if not len(mesh.triangles):
        raise ModelError("convex_parts: the mesh has no triangles, expected a surface.")
    parts = _parts(mesh, float(concavity))
    return [convex_hull(Shape("hull", vertices=part, scale=shape.scale), most=most) for part in parts]


def _parts(mesh: Mesh, concavity: float) -> list[Any]:
    """Return the vertices (n, 3) of each part, from the cache if they are there."""
    vertices, triangles = np.asarray(mesh.vertices, dtype="<f8"), np.asarray(mesh.triangles, dtype="<i4")
    key = f"convex parts {cache.digest(vertices.tobytes(), triangles.tobytes())} {concavity!r}"
    entry = cache.read(key)
    if entry is not None:
        points = np.frombuffer(entry.image, dtype="<f8").reshape(-1, 3)
        return np.split(points, np.cumsum(entry.header["sizes"])[:-1])
    parts = _decompose(vertices, triangles, concavity)
    header = {"name": "convex parts", "sizes": [len(part) for part in parts]}
    cache.write(key, cache.CachedKernel(header, np.concatenate(parts).tobytes()))
    return parts


def _decompose(vertices: Any, triangles: Any, concavity: float) -> list[Any]:
    try:
        import coacd
    except ImportError:
        raise MissingPackageError(
            "convex_parts: meshes are decomposed by coacd, which is not installed. Run: pip install coacd"
        ) from None
    coacd.set_log_level("error")
    try:
        found = coacd.run_coacd(coacd.Mesh(vertices, triangles), threshold=concavity)
    except RuntimeError as error:
        raise FileError(f"convex_parts: coacd cannot decompose the mesh: {error}. Use its convex hull.") from None
    return [np.asarray(points, dtype="<f8").reshape(-1, 3) for points, _ in found]
