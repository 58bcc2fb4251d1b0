"""The ``<origin>`` of URDF elements as a pose."""

from __future__ import annotations

import numpy as np

from sixd.io.xml import Element
from sixd.spatial.rotation import quaternion_to_rotation, rotation_from_rpy, tidy_rotation
from sixd.spatial.scalar import Array
from sixd.spatial.transform import placement


def read_origin(element: Element) -> Array:
    """Return the pose (4, 4) of an element's ``<origin>``; the identity if it has none."""
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    xyz, rpy = origin.numbers("xyz", 3, (0.0, 0.0, 0.0)), origin.numbers("rpy", 3, (0.0, 0.0, 0.0))
    if "quat_xyzw" not in origin.attributes:
        return placement(xyz, R=tidy_rotation(rotation_from_rpy(rpy)))
    if "rpy" in origin.attributes:
        raise origin.error("<origin> has both rpy and quat_xyzw, expected one of them. Delete the other.")
    x, y, z, w = origin.numbers("quat_xyzw", 4)
    quaternion = np.array([w, x, y, z])
    largest = np.abs(quaternion).max()
    if largest == 0:
        raise origin.error('<origin> has a zero quaternion, expected a rotation. Write quat_xyzw="0 0 0 1" for none.')
    return placement(xyz, R=tidy_rotation(quaternion_to_rotation(quaternion / largest)))
