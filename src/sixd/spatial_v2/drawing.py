"""A model's looks for the viewer: its drawing instructions as visuals, and its camera.

The instructions are read by ``sixd.io.spatial_v2.drawing``, which ``sixd.load`` uses too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd.errors import ModelError
from sixd.io.spatial_v2.drawing import read_appearance
from sixd.io.spatial_v2.matlab import count, scalar, vector
from sixd.io.spatial_v2.structures import Parts, read
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial_v2.structure import assemble

_WHERE = "showmotion"
_HALF_HEIGHT = np.tan(np.radians(17))  # of the page's picture, at unit distance


def drawn_model(model: Mapping[str, Any]) -> tuple[Model, Parts]:
    """The sixd Model of a dictionary with its appearance, and what was read."""
    parts = read(_WHERE, model)
    visuals = read_appearance(_WHERE, model.get("appearance"), parts.count)
    return dataclasses.replace(assemble(parts), visuals=visuals), parts


def read_camera(
    model: Mapping[str, Any], parts: Parts, pose: Array, start: Array, reach: Array
) -> dict[str, Any] | None:
    """The viewer's camera for the field ``camera``; None if there is none, and the usual one would do.

    ``pose`` (nb + 1, 4, 4) of the bodies at the start, and boxes (2, 3) around all that moves, at the start and in the
    whole motion, in the world's axes. A zoom of 1 fills the picture at the start. The original's tracking follows the
    horizontal part of a motion alone; here the body stays in the middle.
    """
    camera = model.get("camera")
    flat = parts.dimension == 3 and parts.gravity[1] < 0
    if camera is None and not flat:
        return None
    box = reach if camera is None else start
    camera = camera if isinstance(camera, Mapping) else {}
    body = count(_WHERE, "camera.body", camera.get("body", 0))
    if body > parts.count:
        raise ModelError(f"{_WHERE}: camera.body is {body}, expected 0 … {parts.count}.")
    direction = _direction(camera, "direction", (0, 0.4, 1) if flat else (0, -1, 0.8))
    up = _direction(camera, "up", (0, 1, 0) if flat else (0, 0, 1))
    if np.linalg.norm(np.cross(direction, up)) < 1e-9:
        raise ModelError(f"{_WHERE}: camera.up is along camera.direction, expected it across.")
    zoom = float(scalar(_WHERE, "camera.zoom", camera.get("zoom", 1)))
    if not zoom > 0:
        raise ModelError(f"{_WHERE}: camera.zoom is {zoom}, expected a positive number.")
    point = vector(_WHERE, "camera.trackpoint", camera.get("trackpoint", np.zeros(3)), 3)
    across, along = vector(_WHERE, "camera.locus", camera.get("locus", np.zeros(2)), 2)
    target = pose[body][:3, :3] @ point + pose[body][:3, 3] if body or "trackpoint" in camera else box.mean(axis=0)
    radius = max(float(np.linalg.norm(box[1] - box[0])) / 2, 1e-6)
    distance = radius / _HALF_HEIGHT / zoom
    # the point stands at ``locus`` of the picture, so the camera looks beside it
    right = np.cross(up, direction)
    right = right / np.linalg.norm(right)
    half = _HALF_HEIGHT * distance
    target = target - right * (across * half) - np.cross(direction, right) * (along * half)
    name = f"body{body}" if body else None
    return {"position": target + direction * distance, "target": target, "up": up, "track": name}


def _direction(camera: Mapping[str, Any], name: str, usual: tuple[float, ...]) -> Array:
    d = vector(_WHERE, f"camera.{name}", camera.get(name, usual), 3)
    length = np.linalg.norm(d)
    if not length > 0 or not np.isfinite(length):
        raise ModelError(f"{_WHERE}: camera.{name} is {d.tolist()}, expected a direction.")
    return d / length
