"""Shapes for the zoo's models: rods, boxes and balls added to the bodies of a built model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sixd.model import Model, Shape, Visual
from sixd.spatial import placement
from sixd.spatial.rotation import frame_along
from sixd.spatial.scalar import Array, ArrayLike

Color = tuple[float, float, float, float]
STEEL: Color = (0.42, 0.45, 0.50, 1.0)
DARK: Color = (0.17, 0.18, 0.20, 1.0)
WHITE: Color = (0.91, 0.92, 0.93, 1.0)
RED: Color = (0.78, 0.33, 0.29, 1.0)
GOLD: Color = (0.86, 0.64, 0.28, 1.0)
BLUE: Color = (0.26, 0.46, 0.68, 1.0)


class Appearance:
    """Collects shapes for a model; points (3,) [m] are in the joint frames of its bodies, body 0 is the world."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.visuals = list(model.visuals)

    def add(self, body: int | str, shape: Shape, pose: Array, color: Color) -> None:
        """Add a shape at a pose (4, 4) in the body's joint frame."""
        number = self.model.body_names.index(body) + 1 if isinstance(body, str) else body
        self.visuals.append(Visual(number, shape, pose, color))

    def rod(
        self, body: int | str, start: ArrayLike, end: ArrayLike, radius: float, color: Color, kind: str = "cylinder"
    ) -> None:
        """Add a cylinder or a capsule from one point to another."""
        pose, length = between(start, end)
        self.add(body, Shape(kind, (float(radius), length)), pose, color)

    def path(self, body: int | str, points: Sequence[ArrayLike], radius: float, color: Color) -> None:
        """Add a bent tube: capsules from point to point."""
        for start, end in pairwise(points):
            self.rod(body, start, end, radius, color, "capsule")

    def box(self, body: int | str, low: ArrayLike, high: ArrayLike, color: Color) -> None:
        """Add a box between two corners, along the body's axes."""
        low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        x, y, z = (float(s) for s in high - low)
        self.add(body, Shape("box", (x, y, z)), placement((low + high) / 2), color)

    def ball(self, body: int | str, at: ArrayLike, radius: float, color: Color) -> None:
        """Add a sphere about a point."""
        self.add(body, Shape("sphere", (float(radius),)), placement(at), color)

    def apply(self) -> Model:
        """Return the model with these shapes."""
        return dataclasses.replace(self.model, visuals=tuple(self.visuals))


def between(start: ArrayLike, end: ArrayLike) -> tuple[Array, float]:
    """Return the pose (4, 4) of a shape along z halfway between two points, and their distance."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(end - start))
    return placement((start + end) / 2, R=frame_along((end - start) / length)), length


def torus(radius: float, thickness: float) -> Shape:
    """Return a ring about y as a mesh; ``radius`` is the outer one, ``thickness`` the diameter of its tube [m]."""
    columns, rows, r = 64, 12, thickness / 2
    i, k = np.meshgrid(np.arange(columns), np.arange(rows), indexing="ij")
    around, about = 2 * np.pi * i / columns, 2 * np.pi * k / rows
    out = radius - r + r * np.cos(about)
    vertices = np.stack([out * np.sin(around), r * np.sin(about), out * np.cos(around)], axis=-1).reshape(-1, 3)
    a, b = i * rows + k, i * rows + (k + 1) % rows
    c, d = (i + 1) % columns * rows + k, (i + 1) % columns * rows + (k + 1) % rows
    triangles = np.concatenate([np.stack([a, c, d], axis=-1), np.stack([a, d, b], axis=-1)]).reshape(-1, 3)
    return Shape("mesh", vertices=vertices, triangles=triangles)
