"""Inertia of the solid inside a closed triangle mesh."""

from __future__ import annotations

import warnings
from collections import Counter
from os import PathLike
from typing import Any

import numpy as np

from sixd.errors import MissingPackageError, ModelError, ModelWarning, ShapeError
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array


def mesh(vertices: Any, triangles: Any = None, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Uniform solid bounded by triangles, in the mesh's own frame.

    ``vertices`` (n, 3) [m] and ``triangles`` (m, 3) vertex numbers, counter-clockwise from outside; or,
    alone, an object with ``.vertices`` and ``.faces`` (a trimesh) or the path of a mesh file (needs the
    extra ``sixd[mesh]``). A mesh that is not closed has no inside: the result is then doubtful, and
    a warning says so.
    """
    if isinstance(vertices, (str, PathLike)):
        vertices = _read(vertices)
    if triangles is None:
        if not hasattr(vertices, "faces"):
            raise ShapeError("mesh: triangles are missing. Give (m, 3) vertex numbers, or a trimesh, or a path.")
        vertices, triangles = vertices.vertices, vertices.faces
    P, T = np.asarray(vertices, dtype=float), np.asarray(triangles)
    if T.dtype.kind == "f" and (np.floor(T) == T).all():
        T = T.astype(int)
    if T.dtype.kind not in "iu":
        raise ShapeError(f"mesh: triangles hold {T.dtype} values, expected whole vertex numbers.")
    if P.ndim != 2 or P.shape[1] != 3 or T.ndim != 2 or T.shape[1] != 3 or not len(T):
        raise ShapeError(f"mesh: vertices have shape {P.shape}, triangles {T.shape}; expected (n, 3) and (m, 3).")
    if T.min() < 0 or T.max() >= len(P):
        raise ShapeError(f"mesh: triangles name vertices {T.min()} to {T.max()}, expected 0 to {len(P) - 1}.")
    if not np.isfinite(P).all():
        raise ModelError("mesh: vertices contain NaN or infinity, expected finite coordinates.")
    if (mass is None) == (density is None):
        raise ModelError("mesh: give exactly one of mass=… [kg] and density=… [kg/m³].")
    if not _is_closed(T):
        warnings.warn("mesh: the surface is not closed, so its volume is doubtful.", ModelWarning, stacklevel=2)

    # signed tetrahedra from a point amid the vertices (less cancellation than from a far origin)
    middle = P.mean(axis=0)
    A, B, C = (P[T[:, k]] - middle for k in range(3))
    volumes = np.einsum("ij,ij->i", A, np.cross(B, C)) / 6
    volume = volumes.sum()
    extent = np.ptp(P, axis=0).max()
    if not abs(volume) > 1e-14 * extent**3:
        raise ModelError("mesh: the volume is zero, expected a solid. Is the surface flat or open?")
    total = A + B + C
    first = (volumes[:, None] * total).sum(axis=0) / 4
    second = sum(np.einsum("i,ij,ik->jk", volumes, V, V) for V in (A, B, C, total)) / 20
    rho = density if mass is None else mass / abs(volume)
    assert rho is not None
    rho = rho * np.sign(volume)  # triangles seen from inside give a negative volume
    about = np.trace(second) * np.eye(3) - second
    return Inertia.from_moments(rho * volume, rho * first, rho * about).translated(middle)


def _is_closed(triangles: Array) -> bool:
    """Every directed edge occurs as often as its reverse."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    times = Counter((a, b) for a, b in edges.tolist())
    return all(times[b, a] == n for (a, b), n in times.items())


def _read(path: str | PathLike[str]) -> Any:
    try:
        import trimesh
    except ImportError:
        raise MissingPackageError(
            "mesh: reading a mesh file needs trimesh, which is not installed. Run: pip install 'sixd[mesh]'"
        ) from None
    try:
        read: Any = trimesh.load(str(path), force="mesh")
    except Exception as error:
        raise ModelError(f"mesh: cannot read {str(path)!r}: {error}.") from error
    read.merge_vertices()
    return read
