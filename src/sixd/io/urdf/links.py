"""What the elements of a URDF file say, one function for each: origins, joints, inertias, limits, shapes, colours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sixd.errors import unknown_name
from sixd.io.dh import tidy_rotation
from sixd.io.urdf.meshes import find_mesh
from sixd.io.xml import Element
from sixd.model import Fixed, Free, Joint, Planar, Prismatic, Revolute, Shape, Spherical
from sixd.model.parts import Finding
from sixd.spatial.euler import rotation_from_rpy
from sixd.spatial.inertia import Inertia
from sixd.spatial.rotation import quaternion_to_rotation
from sixd.spatial.scalar import Array
from sixd.spatial.transform import placement

_JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")


def read_origin(element: Element) -> Array:
    """The pose (4, 4) of an element's ``<origin>``."""
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


def read_joint(joint: Element, kind: str) -> Joint:
    """The joint of a ``<joint>`` of that type, with its axis."""
    if kind not in _JOINT_TYPES:
        raise joint.error(str(unknown_name(f"joint {joint.text('name')!r}", "joint type", kind, _JOINT_TYPES)))
    if kind == "fixed":
        return Fixed()
    if kind == "floating":
        return Free()
    if kind == "spherical":
        return Spherical()
    axis = joint.find("axis")
    direction = (1.0, 0.0, 0.0) if axis is None else tuple(axis.numbers("xyz", 3, (1.0, 0.0, 0.0)))
    if axis is not None and np.linalg.norm(direction) < 1e-12:
        raise axis.error(
            f'joint {joint.text("name")!r} has axis {direction}, expected a direction. Write xyz="0 0 1", say.'
        )
    if kind == "prismatic":
        return Prismatic(direction)
    if kind == "planar":
        return Planar(direction)
    return Revolute(direction, continuous=kind == "continuous")


def read_inertia(link: Element) -> Inertia | None:
    """The inertia of a ``<link>`` in its own frame, or None without ``<inertial>``; what is missing in it is zero."""
    inertial = link.find("inertial")
    if inertial is None:
        return None
    mass, matrix = inertial.find("mass"), inertial.find("inertia")
    m = 0.0 if mass is None else mass.number("value")
    I = np.zeros((3, 3))
    if matrix is not None:
        xx, xy, xz, yy, yz, zz = (matrix.number(k, 0.0) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = Inertia(m, about_com=I)
    return inertia if inertial.find("origin") is None else inertia.moved(read_origin(inertial))


def incomplete_inertial(link: Element, name: str) -> Finding | None:
    """The finding about an ``<inertial>`` that lacks its mass, its matrix or a part of that."""
    inertial = link.find("inertial")
    mass, matrix = (None, None) if inertial is None else (inertial.find("mass"), inertial.find("inertia"))
    missing = [] if mass is not None else ["<mass>"]
    if matrix is None:
        missing.append("<inertia>")
    else:
        missing += [key for key in ("ixx", "iyy", "izz") if not matrix.attributes.get(key, "").strip()]
    if not missing:
        return None
    return Finding("missing-inertia", name, f"its <inertial> has no {', '.join(missing)}, zero is taken; write it")


def read_limit(limit: Element, key: str, default: float) -> float:
    """A limit; numbers at the end of float's range, which writers put where none is meant, are infinite."""
    value = limit.number(key, default, infinite=True)
    return value if abs(value) < 1e300 else np.inf * np.sign(value)


def read_materials(robot: Element) -> dict[str, Any]:
    """The ``<color>`` of each named material of the file."""
    found: dict[str, Any] = {}
    visuals = [v for link in robot.find_all("link") for v in link.find_all("visual")]
    for material in [*robot.find_all("material"), *(m for v in visuals for m in v.find_all("material"))]:
        color = material.find("color")
        if color is not None and len(color.attributes.get("rgba", "").split()) == 4:
            found.setdefault(material.attributes.get("name", ""), color)
    return found


def read_color(material: Element | None, known: dict[str, Any]) -> Any:
    """The rgba of a ``<material>``, its own or that of its name."""
    if material is None:
        return None
    color = material.find("color")
    if color is None:
        color = known.get(material.attributes.get("name", ""))
    return None if color is None else tuple(color.numbers("rgba", 4))


def read_shape(visual: Element, package_dirs: list[str | os.PathLike[str]], folders: Sequence[Path]) -> Shape | None:
    """The shape of a ``<visual>``, or None for a kind that is not known: it has no part in the dynamics."""
    geometry = visual.find("geometry")
    if geometry is None or not geometry.children:
        return None
    element = geometry.children[0]
    if element.tag == "box":
        return Shape("box", tuple(element.numbers("size", 3)))
    if element.tag in ("cylinder", "capsule"):
        return Shape(element.tag, (element.number("radius"), element.number("length")))
    if element.tag == "sphere":
        return Shape("sphere", (element.number("radius"),))
    if element.tag == "mesh":
        x, y, z = element.numbers("scale", 3, (1.0, 1.0, 1.0))
        return Shape("mesh", file=find_mesh(element.text("filename"), package_dirs, folders), scale=(x, y, z))
    return None
