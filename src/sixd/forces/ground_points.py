"""Points by which a model's shapes touch the ground: corners, rims and balls. Knows shapes alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from sixd.errors import ModelError
from sixd.model.model import Model
from sixd.model.parts import Shape
from sixd.spatial.scalar import Array


def shape_points(model: Model, rim: int = 8) -> dict[str, Array]:
    """Name of a joint's frame -> (k, 4): places in it and radii [m], of the boxes, cylinders, cones, spheres, capsules
    and ellipsoids among the visuals of the body it carries.

    ``rim`` is the number of points on each rim of a cylinder or cone. An ellipsoid gives the ends of its axes.
    """
    if isinstance(rim, bool) or not isinstance(rim, (int, np.integer)) or rim < 3:
        raise ModelError(f"Ground: rim is {rim!r}, expected a whole number of at least 3.")
    table: dict[str, list[Array]] = {}
    for visual in model.visuals:
        points = _local_points(visual.shape, int(rim))
        if visual.body and len(points):
            # places of shapes are in the joint's frame, which every body has under this name
            name = f"joint:{model.joint_names[visual.body - 1]}"
            T = np.asarray(visual.pose, dtype=float)
            placed = points[:, :3] @ T[:3, :3].T + T[:3, 3]
            table.setdefault(name, []).append(np.concatenate([placed, points[:, 3:]], axis=1))
    if not table:
        raise ModelError(
            f"Ground: model {model.name!r} has no boxes, cylinders, spheres or capsules on its moving bodies to take "
            f"points from, expected some. Give points={{frame: (k, 3)}}."
        )
    return {name: np.unique(np.concatenate(parts).round(12), axis=0) for name, parts in table.items()}


def _local_points(shape: Shape, rim: int) -> Array:
    """(k, 4) in the shape's own axes."""
    size, kind = shape.size, shape.kind
    rows: list[Any] = []
    if kind == "box":
        rows = [(*corner, 0) for corner in product(*((-a / 2, a / 2) for a in size))]
    elif kind == "cylinder":
        angles = 2 * np.pi * np.arange(rim) / rim
        rows = [(size[0] * np.cos(a), size[0] * np.sin(a), z, 0) for z in (-size[1] / 2, size[1] / 2) for a in angles]
    elif kind == "cone":
        angles = 2 * np.pi * np.arange(rim) / rim
        rows = [(size[0] * np.cos(a), size[0] * np.sin(a), -size[1] / 4, 0) for a in angles]
        rows.append((0, 0, 3 * size[1] / 4, 0))
    elif kind == "sphere":
        rows = [(0, 0, 0, size[0])]
    elif kind == "capsule":
        rows = [(0, 0, z, size[0]) for z in (-size[1] / 2, size[1] / 2)]
    elif kind == "ellipsoid":
        rows = [(*end, 0) for a, axis in zip(size, np.eye(3), strict=True) for end in (axis * a, axis * -a)]
    return np.array(rows, dtype=float).reshape(-1, 4)
