"""Arrays and pieces in the form of the scene's JSON: base64 of little-endian numbers, each geometry once."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from sixd.geometry.meshes import Mesh
from sixd.geometry.pieces import DrawnPiece
from sixd.spatial.scalar import Array


def buffer(array: Any, kind: str) -> dict[str, Any]:
    """Return an array as flat base64 of "float32", "float64", "uint32" or "uint8"."""
    with np.errstate(over="ignore"):  # values too large for float32 become infinite, and are not drawn
        flat = np.ascontiguousarray(np.asarray(array).ravel(), dtype=np.dtype(kind).newbyteorder("<"))
    return {"type": kind, "length": flat.size, "data": base64.b64encode(flat.tobytes()).decode("ascii")}


def flat_list(array: Any) -> list[float]:
    """Return the entries of an array as a flat list of floats."""
    return [float(x) for x in np.asarray(array, dtype=float).ravel()]


def finite_or_none(limits: Any) -> list[float | None]:
    """Return a flat list of limits with None for infinity, which JSON does not have."""
    return [float(x) if np.isfinite(x) else None for x in np.asarray(limits, dtype=float).ravel()]


class Packed:
    """The geometries and visuals of a scene; pieces that share a shape share its geometry."""

    def __init__(self, turn: Array) -> None:
        self.turn = turn  # (4, 4) rotation of the world in the page
        self.geometries: list[dict[str, Any]] = []
        self.visuals: list[dict[str, Any]] = []
        self._known: dict[Any, int] = {}

    def add(self, piece: DrawnPiece, name: str = "") -> None:
        """Add a piece; one that is fixed to the world is rotated with it. ``name`` is that of a collision shape."""
        pose = self.turn @ piece.pose if piece.body == 0 else piece.pose
        self.visuals.append({
            "body": piece.body, "geometry": self._geometry(piece), "pose": flat_list(pose),
            "color": flat_list(piece.color), **({"name": name} if name else {}),
        })  # fmt: skip

    def _geometry(self, piece: DrawnPiece) -> int:
        key: Any = (piece.kind, piece.size, id(piece.mesh), id(piece.points))
        if key not in self._known:
            self._known[key] = len(self.geometries)
            self.geometries.append(_geometry(piece))
        return self._known[key]


def _geometry(piece: DrawnPiece) -> dict[str, Any]:
    if piece.mesh is not None:
        return _mesh(piece.mesh)
    if piece.kind == "line":
        return {"kind": "line", "positions": buffer(piece.points, "float32")}
    return {"kind": "plane"} if piece.kind == "plane" else {"kind": piece.kind, "size": flat_list(piece.size)}


def _mesh(mesh: Mesh) -> dict[str, Any]:
    packed = {
        "kind": "mesh", "positions": buffer(mesh.vertices, "float32"), "indices": buffer(mesh.triangles, "uint32"),
        "smooth": True,
    }  # fmt: skip
    return packed if mesh.colors is None else {**packed, "colors": buffer(mesh.colors, "uint8")}
