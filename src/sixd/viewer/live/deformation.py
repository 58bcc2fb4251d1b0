"""Shapes that change with a slider: a rod whose length is a symbol is drawn longer as the slider moves.

The pieces of the mechanism are drawn once for each end of a slider's range; the page interpolates between these and the
start, for poses and sizes alike. That is exact for what is linear in the slider, as lengths mostly are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd.errors import SixdError
from sixd.geometry import shapes
from sixd.geometry.pieces import DrawnPiece
from sixd.spatial.scalar import Array
from sixd.viewer.live.sliders import Adjustable
from sixd.viewer.scene.drawn_model import drawn_model
from sixd.viewer.scene.packing import flat_list
from sixd.viewer.scene.poses import display_turn, kinematics, world_poses


def deformations(adjusted: Adjustable, scene: Mapping[str, Any], q: Array) -> dict[str, Any]:
    """Return {"deformed": [{"visual", "slider", "low", "high"}, …]}: the change of a visual's pose and scale.

    ``low`` and ``high`` are the 12 numbers of a 3×4 matrix each, rotation and scale and position, less those of the
    start.
    """
    found: list[dict[str, Any]] = []
    usual = _pieces(adjusted, {}, q)
    for k, slider in enumerate(adjusted.sliders):
        ends = [_pieces(adjusted, {slider.symbol: x}, q) for x in (max(slider.low, 1e-3 * slider.high), slider.high)]
        if usual is None or any(end is None or not _alike(usual, end) for end in ends):
            continue
        for n, piece in enumerate(usual):
            changes = [_matrix(end[n], piece) - _matrix(piece, piece) for end in ends if end is not None]
            if np.abs(changes).max() > 1e-9 * _extent(piece) and not piece.mesh:
                low, high = (flat_list(change) for change in changes)
                found.append({"visual": n, "slider": k, "low": low, "high": high})
    return {"deformed": found}


def _pieces(adjusted: Adjustable, values: Mapping[str, float], q: Array) -> list[DrawnPiece] | None:
    """The pieces that show the system with other numbers of sliders; None if it cannot be drawn."""
    try:
        system = adjusted.at(values)
        model = drawn_model(system)
        turn = display_turn(model)
        poses = world_poses(kinematics(system, turn), q)
        return shapes.draw(model, np.concatenate([np.eye(4)[None], turn.T @ poses[1:]]), [])[0]
    except SixdError:
        return None


def _alike(a: list[DrawnPiece], b: list[DrawnPiece]) -> bool:
    return [(p.body, p.kind) for p in a] == [(p.body, p.kind) for p in b]


def _matrix(piece: DrawnPiece, usual: DrawnPiece) -> Array:
    """The pose (3, 4) of a piece, its axes scaled so that the shape of the usual piece gets its size."""
    scale = np.ones(3)
    if piece.size and all(usual.size):
        # a cylinder, capsule or cone has radius and height, a sphere a radius, a box and an ellipsoid three sizes
        ratio = np.array(piece.size) / np.array(usual.size)
        scale = ratio[[[0, 0, 0], [0, 0, 1], [0, 1, 2]][len(ratio) - 1]]
    return np.concatenate([piece.pose[:3, :3] * scale, piece.pose[:3, 3:]], axis=1)


def _extent(piece: DrawnPiece) -> float:
    return float(np.linalg.norm(piece.pose[:3, 3])) + max(piece.size, default=0.0) or 1.0
