"""Pieces: the coloured shapes on bodies that make up a scene, and their bounding boxes. Knows nothing of the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sixd.geometry.meshes import Mesh
from sixd.model.joints import Joint
from sixd.spatial.scalar import Array
from sixd.spatial.transform import make_pose

# muted colours, distinguishable side by side and on light or dark ground
PALETTE = tuple(
    tuple(int(text[k : k + 2], 16) / 255 for k in (0, 2, 4))
    for text in (
        "4c78a8", "e39a5b", "5fa777", "c8635e", "8a78b5", "c9ab4b", "4fa3a5", "b5748f", "7d9a52", "8d7f73",
    )
)  # fmt: skip
NEUTRAL = (0.80, 0.81, 0.84)  # of meshes without a colour
METAL = (0.33, 0.36, 0.41)  # of joints
GROUND = (0.55, 0.57, 0.60)  # of pieces fixed to the world
AXLES = ("hinge", "screw", "sleeve")  # symbols of joints that turn about their ``axis``


def axis_of(joint: Joint) -> Array:
    """Return the axis (3,) of a joint whose symbol has one."""
    return np.array([float(x) for x in joint.axis])  # type: ignore[attr-defined]


def body_color(body: int) -> tuple[float, ...]:
    """Return the colour (3,) of a body that has none of its own."""
    return GROUND if body == 0 else PALETTE[(body - 1) % len(PALETTE)]


@dataclass(frozen=True, eq=False)
class DrawnPiece:
    """A shape on a body: ``kind`` and ``size`` as in ``sixd.Shape``, or points (n, 3) of a line, or a mesh."""

    body: int
    kind: str
    size: tuple[float, ...] = ()
    pose: Array = field(default_factory=lambda: np.eye(4))
    color: tuple[float, ...] = (*NEUTRAL, 1.0)
    points: Array | None = None
    mesh: Mesh | None = None
    name: str = ""  # of its shape

    def half_box(self) -> tuple[Array, Array] | None:
        """Return centre and half extents (3,) of the bounding box in the piece's axes; None for a plane."""
        s = self.size
        if self.kind == "box":
            return np.zeros(3), np.array(s) / 2
        if self.kind in ("cylinder", "capsule"):
            return np.zeros(3), np.array([s[0], s[0], s[1] / 2 + (s[0] if self.kind == "capsule" else 0)])
        if self.kind == "cone":
            return np.array([0, 0, s[1] / 4]), np.array([s[0], s[0], s[1] / 2])
        if self.kind in ("sphere", "ellipsoid"):
            return np.zeros(3), np.broadcast_to(np.array(s), (3,))
        points: Any = self.points if self.mesh is None else self.mesh.vertices
        if points is None or not len(points):
            return None
        low, high = points.min(axis=0), points.max(axis=0)
        return (low + high) / 2, (high - low) / 2


def box_corners(pieces: list[DrawnPiece], poses: Array) -> Array:
    """Return the world corners (n, 3) of the pieces' bounding boxes; ``poses`` (…, nb + 1, 4, 4) of the bodies."""
    corners = [np.zeros((0, 3))]
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    for piece in pieces:
        box = piece.half_box()
        if box is not None:
            T = poses[..., piece.body, :, :] @ piece.pose
            placed = (box[0] + signs * box[1]) @ np.swapaxes(T[..., :3, :3], -1, -2) + T[..., None, :3, 3]
            corners.append(placed.reshape(-1, 3))
    return np.concatenate(corners)


def along(start: Any, end: Any) -> tuple[Array, float]:
    """Return the pose (4, 4) of a shape along z that lies between two points, and their distance."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(end - start))
    return make_pose(turned_to(end - start), (start + end) / 2), length


def turned_to(direction: Any) -> Array:
    """Return the smallest rotation (3, 3) that takes z to the direction; the identity for a zero vector."""
    d = np.asarray(direction, dtype=float)
    norm = np.linalg.norm(d)
    if norm == 0:
        return np.eye(3)
    x, y, z = d / norm
    if z < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    k = 1 / (1 + z)
    return np.array([[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]])
