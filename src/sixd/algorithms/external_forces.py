"""A wrench on a frame as external forces on the bodies. Letters: RBDA section 5.3."""

from __future__ import annotations

import numpy as np

from sixd.algorithms.kinematics import frame_transform
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import force_at_point, rotate_both

_ZERO3, _ZERO6 = np.zeros(3, dtype=int), np.zeros(6, dtype=int)


def external_force(
    model: Model, q: Array, wrench: Array, point: Array | None = None, *, frame: str, expressed_in: str = "world"
) -> Array:
    """f_ext (nb, 6), world axes, moment about the world's origin, of ``wrench`` (6,), or a force (3,), on the frame.

    ``point`` (3,) is where the force acts. It and the wrench are in the coordinates of ``expressed_in``.
    """
    force = wrench if len(wrench) == 6 else np.concatenate([_ZERO3, wrench])
    if point is not None:
        force = np.concatenate([force[:3], _ZERO3]) + force_at_point(force[3:], point)
    X_FW = frame_transform(model, q, frame)
    if expressed_in == "body":
        force = X_FW.T @ force
    elif expressed_in == "aligned":
        R = X_FW[:3, :3].T
        force = X_FW.T @ rotate_both(R.T, force)
    body = model.frame(frame).body
    return np.array([force if i == body else _ZERO6 for i in model.bodies])
