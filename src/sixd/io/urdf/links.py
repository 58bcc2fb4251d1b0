"""URDF links: inertia, shapes and colours; the pose of an ``<origin>``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sixd.io.urdf.meshes import Folders, find_mesh
from sixd.io.xml import Element
from sixd.model import Shape
from sixd.model.parts import SHAPE_SIZES, Finding
from sixd.spatial.inertia import Inertia
from sixd.spatial.rotation import quaternion_to_rotation, rotation_from_rpy, tidy_rotation
from sixd.spatial.scalar import Array
from sixd.spatial.transform import placement

KINDS = ("box", "cylinder", "capsule", "sphere", "mesh")  # of shapes


def read_origin(element: Element) -> Array:
    """Return the pose (4, 4) of an element's ``<origin>``; the identity if it has none."""
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    xyz, rpy = origin.numbers("xyz", 3, (0.0, 0.0, 0.0)), origin.numbers("rpy", 3, (0.0, 0.0, 0.0))
    if "quat_xyzw" not in origin.attributes:
        # 30 µs less than a rotation by zero angles; most origins have no rotation
        return placement(xyz, R=tidy_rotation(rotation_from_rpy(rpy)) if any(rpy) else np.eye(3))
    if "rpy" in origin.attributes:
        raise origin.error("<origin> has both rpy and quat_xyzw, expected one of them. Delete the other.")
    x, y, z, w = origin.numbers("quat_xyzw", 4)
    quaternion = np.array([w, x, y, z])
    largest = np.abs(quaternion).max()
    if largest == 0:
        raise origin.error('<origin> has a zero quaternion, expected a rotation. Write quat_xyzw="0 0 0 1" for none.')
    return placement(xyz, R=tidy_rotation(quaternion_to_rotation(quaternion / largest)))


def read_inertia(inertial: Element) -> Inertia:
    """Return the inertia of an ``<inertial>`` in the link's frame, zero for missing parts."""
    mass, matrix = inertial.find("mass"), inertial.find("inertia")
    m = 0.0 if mass is None else mass.number("value")
    I = np.zeros((3, 3))
    if matrix is not None:
        xx, xy, xz, yy, yz, zz = (matrix.number(k, 0.0) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = Inertia(m, about_com=I)
    return inertia if inertial.find("origin") is None else inertia.moved(read_origin(inertial))


def incomplete_inertial(inertial: Element, name: str) -> Finding | None:
    """Return the finding about an ``<inertial>`` without mass, matrix or diagonal entries, if there is one."""
    matrix = inertial.find("inertia")
    missing = ["<mass>"] if inertial.find("mass") is None else []
    if matrix is None:
        missing.append("<inertia>")
    else:
        missing += [key for key in ("ixx", "iyy", "izz") if not matrix.attributes.get(key, "").strip()]
    if not missing:
        return None
    return Finding("missing-inertia", name, f"its <inertial> has no {', '.join(missing)}, zero is assumed; write it")


def read_materials(robot: Element) -> dict[str, Element]:
    """Return the ``<color>`` of each named material of the file."""
    colors: dict[str, Element] = {}
    visuals = [v for link in robot.find_all("link") for v in link.find_all("visual")]
    for material in [*robot.find_all("material"), *(m for v in visuals for m in v.find_all("material"))]:
        color = material.find("color")
        if color is not None and len(color.attributes.get("rgba", "").split()) == 4:
            colors.setdefault(material.attributes.get("name", ""), color)
    return colors


def read_color(material: Element | None, known: dict[str, Element]) -> tuple[float, ...] | None:
    """Return the rgba of a ``<material>``: its own, or that of the file's material with its name."""
    if material is None:
        return None
    color = material.find("color")
    if color is None:
        color = known.get(material.attributes.get("name", ""))
    return None if color is None else tuple(color.numbers("rgba", 4))


def read_shape(holder: Element, package_dirs: Folders, folders: Sequence[Path]) -> Shape | None:
    """Return the shape of a ``<visual>`` or ``<collision>``; None for an unknown kind."""
    geometry = holder.find("geometry")
    if geometry is None or not geometry.children:
        return None
    element = geometry.children[0]
    if element.tag == "box":
        return Shape("box", tuple(element.numbers("size", 3)))
    if element.tag in KINDS[1:4]:
        return Shape(element.tag, tuple(element.number(name) for name in SHAPE_SIZES[element.tag]))
    if element.tag == "mesh":
        x, y, z = element.numbers("scale", 3, (1.0, 1.0, 1.0))
        return Shape("mesh", file=find_mesh(element.text("filename"), package_dirs, folders), scale=(x, y, z))
    return None
