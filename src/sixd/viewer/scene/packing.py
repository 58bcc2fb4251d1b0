"""Arrays and pieces as the page's scene holds them: base64 of little-endian numbers, each geometry once."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from sixd.spatial.scalar import Array
from sixd.viewer.bodies.meshes import Mesh
from sixd.viewer.bodies.pieces import Piece


def buffer(array: Any, kind: str) -> dict[str, Any]:
    """An array of "float32", "float64", "uint32" or "uint8", flat."""
    with np.errstate(over="ignore"):  # what is too large for float32 is infinite there, and not drawn
        flat = np.ascontiguousarray(np.asarray(array).ravel(), dtype=np.dtype(kind).newbyteorder("<"))
    return {"type": kind, "length": flat.size, "data": base64.b64encode(flat.tobytes()).decode("ascii")}


def numbers(array: Any) -> list[float]:
    """An array as plain numbers, flat."""
    return [float(x) for x in np.asarray(array, dtype=float).ravel()]


def bounded(limits: Any) -> list[float | None]:
    """Limits, None where there is none: JSON has no infinity."""
    return [float(x) if np.isfinite(x) else None for x in np.asarray(limits, dtype=float).ravel()]


class Packed:
    """The geometries and visuals of a scene; pieces that share a shape share its geometry."""

    def __init__(self, turn: Array) -> None:
        self.turn = turn  # (4, 4) of the world in the page
        self.geometries: list[dict[str, Any]] = []
        self.visuals: list[dict[str, Any]] = []
        self._known: dict[Any, int] = {}

    def add(self, piece: Piece) -> None:
        """Add a piece; what is fixed to the world is turned with it."""
        pose = self.turn @ piece.pose if piece.body == 0 else piece.pose
        self.visuals.append({
            "body": piece.body, "geometry": self._geometry(piece), "pose": numbers(pose),
            "color": numbers(piece.color),
        })  # fmt: skip

    def _geometry(self, piece: Piece) -> int:
        key: Any = (piece.kind, piece.size, id(piece.mesh), id(piece.points), piece.smooth)
        if key not in self._known:
            self._known[key] = len(self.geometries)
            self.geometries.append(_geometry(piece))
        return self._known[key]


def _geometry(piece: Piece) -> dict[str, Any]:
    if piece.mesh is not None:
        return _mesh(piece.mesh, piece.smooth)
    if piece.kind == "line":
        return {"kind": "line", "positions": buffer(piece.points, "float32")}
    if piece.kind == "plane":
        return {"kind": "plane"}
    return {"kind": piece.kind, "size": numbers(piece.size)}


def _mesh(mesh: Mesh, smooth: bool) -> dict[str, Any]:
    packed = {
        "kind": "mesh", "positions": buffer(mesh.vertices, "float32"), "indices": buffer(mesh.triangles, "uint32"),
        "smooth": smooth,
    }  # fmt: skip
    return packed if mesh.colors is None else {**packed, "colors": buffer(mesh.colors, "uint8")}
