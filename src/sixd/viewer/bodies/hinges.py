"""Joints of a mechanism without shapes: hinges as cylinders along their axes, slides as boxes on rails, balls."""

from __future__ import annotations

import numpy as np

from sixd.model.joints import Cylindrical, Helical, Planar, Prismatic, RackAndPinion, Revolute, Spherical, Universal
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.viewer.bodies.pieces import (
    GROUND,
    METAL,
    Piece,
    along,
    body_color,
    turned_to,
)


def joint_pieces(model: Model, i: int, r: float, size: float) -> list[Piece]:
    """What shows how the joint of body i moves, beside rods of radius r [m] in a mechanism of that size [m]."""
    joint, color = model.joints[i], (*METAL, 1.0)
    T = np.eye(4)
    if isinstance(joint, (Revolute, Helical, Cylindrical)):
        T[:3, :3] = turned_to(joint.axis)
        length = 4.5 * r if isinstance(joint, Revolute) else 8 * r
        return [Piece(i, "cylinder", (1.7 * r, length), T, color)]
    if isinstance(joint, Prismatic):
        T[:3, :3] = turned_to(joint.axis)
        own = (*body_color(i), 1.0)
        return [Piece(i, "box", (5 * r, 5 * r, 9 * r), T, own), _rail(model, i, joint, r, size)]
    if isinstance(joint, (Spherical, Universal)):
        return [Piece(i, "sphere", (2 * r,), T, color)]
    if isinstance(joint, RackAndPinion):
        T[:3, :3] = turned_to((1, 0, 0))
        return [Piece(i, "cylinder", (max(abs(float(joint.radius)), r), 2 * r), T, color)]
    if isinstance(joint, Planar):
        T[:3, :3] = joint.plane
        return [Piece(i, "box", (5 * r, 5 * r, 1.2 * r), T, color)]
    return []


def _rail(model: Model, i: int, joint: Prismatic, r: float, size: float) -> Piece:
    """The rail of a slide, on the body that carries it."""
    rod, length = along(*rail_ends(model, i, joint, r, size))
    T = np.asarray(model.placement[i], dtype=float)
    return Piece(model.parent[i], "cylinder", (0.5 * r, length), T @ rod, (*GROUND, 1.0))


def rail_ends(model: Model, i: int, joint: Prismatic, r: float, size: float) -> tuple[Array, Array]:
    """The ends (3,) of the rail of slide i, in its predecessor frame: at its limits, or as far as the mechanism."""
    low, high = (float(x[model.iq[i]][0]) for x in (model.lower, model.upper))
    half = max((0.25 if model.parent[i] else 0.6) * size, 10 * r)
    low, high = low if np.isfinite(low) else -half, high if np.isfinite(high) else half
    axis = np.asarray(joint.axis, dtype=float)
    return axis * low, axis * high
