"""Points of bodies that touch a ground: specified by frame, or from the bodies' visual shapes; and their axes.

Shared by the compliant and the rigid ground. ``where`` is the name of the element in messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from sixd.errors import ModelError, ShapeError
from sixd.forces.elements import finite_number, finite_vector, read_only, set_fields, tree_of
from sixd.model.model import Model
from sixd.model.parts import Shape
from sixd.model.system import System
from sixd.spatial.rotation import unit_vector
from sixd.spatial.scalar import Array, ArrayLike, require_scalars


def plane_axes(normal: ArrayLike) -> tuple[Array, Array]:
    """Return the normal (3,), and two tangents (2, 3), of which the first is x where that lies in the plane."""
    n = np.array(normal)
    along = np.eye(3)[0 if abs(n[0]) < 0.9 else 1]
    first = unit_vector(along - n * (n @ along))
    return n, np.array([first, np.cross(n, first)]) + 0.0  # no -0


def set_plane(where: str, ground: Any) -> None:
    """Check the plane and the points of a ground, a frozen dataclass in its ``__post_init__``, and set them."""
    set_fields(ground, height=finite_number(where, "height", ground.height, "m"))
    normal = unit_vector(finite_vector(where, "normal", ground.normal, 3), name=f"{where}: normal")
    set_fields(ground, normal=tuple(normal.tolist()))
    if ground.points is not None:
        set_fields(ground, points=read_points(where, ground.points))


def require_moving(where: str, model: System, points: Mapping[str, Array]) -> None:
    """Raise unless all frames are of moving bodies."""
    tree = tree_of(where, model)
    for name in points:
        if tree.frame(name, where).body == 0:
            raise ModelError(f"{where}: frame {name!r} is fixed in the world, expected one of a moving body.")


def read_points(where: str, points: object) -> dict[str, Array]:
    """Return name -> (k, 4), read-only; points without a radius get 0."""
    if not isinstance(points, Mapping):
        raise ModelError(f"{where}: points is a {type(points).__name__}, expected {{frame: points (k, 3)}}.")
    table: dict[str, Array] = {}
    for name, value in points.items():
        require_scalars(f"{where}: points of {name!r}", value)
        array = np.atleast_2d(np.asarray(value))
        if array.ndim != 2 or array.shape[1] not in (3, 4) or not len(array):
            raise ShapeError(
                f"{where}: points of {name!r} have shape {np.shape(value)}, expected (k, 3), or (k, 4) with radii."
            )
        if array.dtype == object or not np.isfinite(array).all() or (array[:, 3:] < 0).any():
            raise ModelError(f"{where}: points of {name!r} are {value!r}, expected finite numbers, radii at least 0.")
        table[name] = read_only(np.concatenate([array, np.zeros((len(array), 4 - array.shape[1]))], axis=1))
    if not table:
        raise ModelError(f"{where}: points is empty, expected {{frame: points (k, 3)}}.")
    return table


# points of shapes ------------------------------------------------------------------------------


def shape_points(where: str, model: Model, rim: int = 8) -> dict[str, Array]:
    """Return name of a joint's frame -> (k, 4), positions in it and radii [m]: the contact points of the boxes,
    cylinders, cones, spheres, capsules and ellipsoids among the visuals of the body that the joint carries.

    ``rim`` is the number of points on each rim of a cylinder or cone. An ellipsoid gives the ends of its axes.
    """
    if isinstance(rim, bool) or not isinstance(rim, (int, np.integer)) or rim < 3:
        raise ModelError(f"{where}: rim is {rim!r}, expected a whole number of at least 3.")
    table: dict[str, list[Array]] = {}
    for visual in model.visuals:
        points = _local_points(visual.shape, int(rim))
        if visual.body and len(points):
            # poses of shapes refer to the joint's frame, which every body has under this name
            name = f"joint:{model.joint_names[visual.body - 1]}"
            T = np.asarray(visual.pose, dtype=float)
            positions = points[:, :3] @ T[:3, :3].T + T[:3, 3]
            table.setdefault(name, []).append(np.concatenate([positions, points[:, 3:]], axis=1))
    if not table:
        raise ModelError(
            f"{where}: model {model.name!r} has no boxes, cylinders, spheres or capsules on its moving bodies to take "
            f"points from, expected some. Give points={{frame: (k, 3)}}."
        )
    return {name: np.unique(np.concatenate(parts).round(12), axis=0) for name, parts in table.items()}


def _local_points(shape: Shape, rim: int) -> Array:
    """Return the points (k, 4), positions and radii, in the shape's own axes."""
    size, kind = shape.size, shape.kind
    angles = 2 * np.pi * np.arange(rim) / rim
    rows: list[Any] = []
    if kind == "box":
        rows = [(*corner, 0) for corner in product(*((-a / 2, a / 2) for a in size))]
    elif kind == "cylinder":
        rows = [(size[0] * np.cos(a), size[0] * np.sin(a), z, 0) for z in (-size[1] / 2, size[1] / 2) for a in angles]
    elif kind == "cone":
        rows = [(size[0] * np.cos(a), size[0] * np.sin(a), -size[1] / 4, 0) for a in angles]
        rows.append((0, 0, 3 * size[1] / 4, 0))
    elif kind == "sphere":
        rows = [(0, 0, 0, size[0])]
    elif kind == "capsule":
        rows = [(0, 0, z, size[0]) for z in (-size[1] / 2, size[1] / 2)]
    elif kind == "ellipsoid":
        rows = [(*end, 0) for a, axis in zip(size, np.eye(3), strict=True) for end in (axis * a, axis * -a)]
    return np.array(rows, dtype=float).reshape(-1, 4)
