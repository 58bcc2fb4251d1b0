"""Views: from where a mechanism is seen, and the map from space to the page.

Parallel projection. The rows of a view's ``axes`` are the page's right and up, and the direction towards the reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError, unknown_name
from sixd.geometry.pieces import axis_of
from sixd.model.model import Model
from sixd.spatial.scalar import Array

# where the reader is
_TOWARDS = {"front": (0, -1, 0), "top": (0, 0, 1), "side": (1, 0, 0), "iso": (0.52, -0.75, 0.42)}
_PARALLEL = 0.999


@dataclass(frozen=True, eq=False)
class View:
    """Parallel projection: ``axes`` (3, 3), rows right, up, towards the reader; ``scale`` [px/m]; ``planar`` or not."""

    axes: Array
    planar: bool
    scale: float = 1.0

    def page(self, points: Any) -> Array:
        """Return page coordinates (…, 2) [px], y down, of points (…, 3) [m] in the world."""
        return np.asarray(points, dtype=float) @ (self.axes[:2].T * (self.scale, -self.scale))

    def direction(self, vector: Any) -> Array:
        """Return the page direction (2,) of a vector, of length 1 for a unit vector across the view."""
        return np.asarray(vector, dtype=float) @ (self.axes[:2].T * (1, -1))

    def depth(self, point: Any) -> float:
        """Return how near a point is to the reader [px]."""
        return float(self.axes[2] @ np.asarray(point, dtype=float)) * self.scale

    def facing(self, vector: Any) -> float:
        """Return the part of a unit vector that points to the reader, -1 … 1."""
        v = np.asarray(vector, dtype=float)
        return float(self.axes[2] @ v / (np.linalg.norm(v) or 1.0))


def choose_view(model: Model, poses: Array, view: Any) -> View:
    """Return the view that the user names, or that shows a mechanism best; ``poses`` (nb + 1, 4, 4) of its bodies."""
    up, normal = _up(model), _common_normal(model, poses)
    if view is None:
        if normal is None:
            return View(_oblique(up), planar=False)
        return View(look(_reader_side(normal, up), up), planar=True)
    towards = read_direction(view)
    if isinstance(view, str) and view == "iso":
        return View(_oblique(up), planar=False)
    planar = normal is not None and abs(float(normal @ towards)) > _PARALLEL
    return View(look(towards, up), planar=planar)


def read_direction(view: Any) -> Array:
    """Return the unit vector (3,) towards the reader that ``view`` means: a word or three numbers."""
    if isinstance(view, str):
        if view not in _TOWARDS:
            raise unknown_name("draw: view", "word", view, tuple(_TOWARDS))
        view = _TOWARDS[view]
    try:
        v = np.asarray(view, dtype=float)
    except (TypeError, ValueError):
        words = ", ".join(map(repr, _TOWARDS))
        raise ScalarTypeError(f"draw: view is {view!r}, expected {words} or three numbers.") from None
    if v.shape != (3,) or not np.isfinite(v).all() or not np.linalg.norm(v):
        raise ShapeError(f"draw: view is {view!r}, expected a direction of three numbers, not all zero.")
    return np.asarray(v / np.linalg.norm(v))


def look(towards: Array, up: Array) -> Array:
    """Return the axes (3, 3) of a reader in the direction ``towards``, with ``up`` upwards on the page."""
    w = np.asarray(towards, dtype=float) / np.linalg.norm(towards)
    if abs(float(w @ up)) > _PARALLEL:  # up and down: y is upwards, or x
        up = np.array([0.0, 1.0, 0.0]) if abs(w[1]) < _PARALLEL else np.array([0.0, 0.0, -1.0 if w[1] > 0 else 1.0])
    right = np.cross(up, w)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(w, right), w])


def plain_view(view: Any) -> View:
    """Return the view of a single body: oblique unless the user names another."""
    z = np.array([0.0, 0.0, 1.0])
    oblique = view is None or (isinstance(view, str) and view == "iso")
    return View(_oblique(z) if oblique else look(read_direction(view), z), planar=False)


def _oblique(up: Array) -> Array:
    """The axes of the usual view in space: the first horizontal axis to the right, the second away."""
    k = int(np.argmax(np.abs(up)))
    x, y, z = _TOWARDS["iso"]
    towards = np.zeros(3)
    towards[[(k + 1) % 3, (k + 2) % 3]] = x, y
    return look(towards + up * z, up)


def _up(model: Model) -> Array:
    """The unit vector against gravity, to the nearest axis of the world; z without gravity."""
    g = np.asarray(model.gravity, dtype=float)
    k = int(np.argmax(np.abs(g)))
    return np.eye(3)[2] if not g.any() else -np.eye(3)[k] * np.sign(g[k])


def _reader_side(normal: Array, up: Array) -> Array:
    """The normal or its opposite: turning by a positive angle about z is counter-clockwise; x points to the right."""
    k = int(np.argmax(np.abs(normal)))
    towards = normal * np.sign(normal[k])
    right = np.cross(up, towards) if abs(float(up @ towards)) < _PARALLEL else np.eye(3)[0]
    j = int(np.argmax(np.abs(right)))
    return towards if right[j] > 0 else -towards


def _common_normal(model: Model, poses: Array) -> Array | None:
    """The unit normal (3,) in the world of the plane in which all bodies move, None if there is none."""
    normal: Array | None = None
    slides = []
    for i in model.bodies:
        joint: Any = model.joints[i]
        R = poses[i][:3, :3]
        if joint.symbol == "slide":
            slides.append(R @ axis_of(joint))
            continue
        if joint.symbol == "hinge":
            n = R @ axis_of(joint)
        elif joint.symbol == "plate":
            n = R @ np.asarray(joint.normal, dtype=float)
        elif joint.symbol == "pinion":
            n = R[:, 0]
        else:
            return None
        if normal is not None and abs(float(normal @ n)) < _PARALLEL:
            return None
        normal = n if normal is None else normal
    if normal is None and slides:
        normal = _across(slides, model)
    if normal is None or any(abs(float(normal @ s)) > 1e-3 for s in slides):
        return None
    return normal


def _across(slides: list[Array], model: Model) -> Array | None:
    """A normal of the plane of slides alone; gravity is in the plane where the slides leave a choice."""
    rank = np.linalg.matrix_rank(np.array(slides), tol=1e-6)
    if rank > 2:
        return None
    second = slides[1] if rank == 2 and len(slides) > 1 else _up(model)
    n = np.cross(slides[0], second)
    if np.linalg.norm(n) < 1e-6:
        n = np.cross(slides[0], np.roll(slides[0], 1))
    length = float(np.linalg.norm(n))
    return n / length if length > 1e-9 else None
