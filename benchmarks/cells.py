"""Cells in which an arm moves: a panda among four obstacles, and one that reaches through a window. Only sixd."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

import sixd
from benchmarks.robots import file_of
from benchmarks.tasks import Array

_FINGERS = {"panda_finger_joint1": 0.02, "panda_finger_joint2": 0.02}
_CLEAR = 0.01  # m: the distance that ends of queries have at least
_SLIT = (0.42, 0.30)  # m: width and height of the window


@dataclass(frozen=True, eq=False)
class Cell:
    """A robot among obstacles, its tool, and the pairs that its SRDF file leaves."""

    name: str
    model: sixd.Model
    tool: str
    pairs: sixd.CollisionPairs

    def clear(self, q: Array, least: float = _CLEAR) -> Array:
        """Return which configurations keep a distance."""
        free: Array = ~sixd.in_collision(self.model, q, self.pairs, margin=least)
        return free


def _box(x: float, y: float, z: float) -> sixd.Shape:
    return sixd.Shape("box", (x, y, z))


def _panda() -> sixd.Model:
    file = file_of("panda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its meshes are not convex
        model = sixd.load(file, srdf=file.parent.parent / "srdf/panda.srdf")
        return sixd.convex_collisions(
            model.lock({k: v for k, v in _FINGERS.items() if k in model.reduce().joint_names})
        )


def _cell(name: str, obstacles: dict[str, tuple[sixd.Shape, tuple[float, float, float]]]) -> Cell:
    model = _panda()
    for key, (shape, place) in obstacles.items():
        model = model.with_collision("world", shape, sixd.placement(place), name=key)
    return Cell(name, model, "panda_hand_tcp", sixd.collision_pairs(model))


def four_obstacles() -> Cell:
    """A table, a post, a wall and a ball."""
    return _cell(
        "four obstacles",
        {
            "table": (_box(1.0, 1.6, 0.1), (0.5, 0, -0.06)),
            "post": (_box(0.1, 0.1, 0.8), (0.45, 0.25, 0.4)),
            "wall": (_box(0.5, 0.06, 0.5), (0.45, -0.35, 0.3)),
            "ball": (sixd.Shape("sphere", (0.12,)), (0.5, 0, 0.75)),
        },
    )


def window() -> Cell:
    """A wall in front of the arm with a window, through which the hand fits."""
    width, height = _SLIT
    x, z = 0.45, 0.5
    side = (1.4 - width) / 2
    return _cell(
        "window",
        {
            "left": (_box(0.04, side, 1.4), (x, (width + side) / 2, 0.6)),
            "right": (_box(0.04, side, 1.4), (x, -(width + side) / 2, 0.6)),
            "below": (_box(0.04, width, z - height / 2), (x, 0, (z - height / 2) / 2)),
            "above": (_box(0.04, width, 1.3 - z - height / 2), (x, 0, (1.3 + z + height / 2) / 2)),
        },
    )


def queries(cell: Cell, count: int, seed: int = 0) -> list[tuple[Array, Array]]:
    """Return random pairs of configurations without collisions; of the window those whose hands are on both sides."""
    rng = np.random.default_rng(seed)
    drawn = cell.model.random_configuration(rng, size=400 * count if cell.name == "window" else 4 * count)
    free = drawn[cell.clear(drawn)]
    if cell.name != "window":
        return list(zip(free[:count], free[count : 2 * count], strict=True))
    p = np.asarray(sixd.pose(cell.model, free, cell.tool))[:, :3, 3]
    ahead = (np.abs(p[:, 1]) < 0.4) & (p[:, 2] > 0.2) & (p[:, 2] < 0.8)
    through, before = free[ahead & (p[:, 0] > 0.52)], free[p[:, 0] < 0.4]
    return list(zip(before[:count], through[:count], strict=False))
