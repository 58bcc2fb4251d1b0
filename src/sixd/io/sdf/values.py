"""The values of SDF elements: text, numbers, flags and poses, which SDF writes as text inside an element."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sixd.io.xml import LONGEST_CONTENT, Element
from sixd.spatial.rotation import quaternion_to_rotation, rotation_from_rpy, tidy_rotation
from sixd.spatial.scalar import Array
from sixd.spatial.transform import placement

_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_UNLIMITED = 1e16  # from here on SDF means no limit


def text_in(element: Element, tag: str, default: str | None = None) -> str:
    """Return the text of the child with that tag; raises if it is missing or empty and there is no default."""
    child = element.find(tag)
    if child is None or not child.content:
        if default is None:
            raise element.error(f"<{element.tag}> has no <{tag}>, expected one. Add <{tag}>…</{tag}>.")
        return default
    if len(child.content) >= LONGEST_CONTENT:
        raise child.error(f"the text of <{tag}> has {LONGEST_CONTENT} characters or more, expected a short one.")
    return child.content


def numbers_in(element: Element, tag: str, count: int, default: tuple[float, ...] | None = None) -> list[float]:
    """Return the numbers of the child with that tag; raises if they are missing and there is no default."""
    text_in(element, tag, None if default is None else " ")
    child = element.find(tag)
    return list(default or ()) if child is None or not child.content else child.content_numbers(count)


def number_in(element: Element, tag: str, default: float | None = None) -> float:
    """Return the number of the child with that tag."""
    return numbers_in(element, tag, 1, None if default is None else (default,))[0]


def limit_in(element: Element, tag: str, default: float) -> float:
    """Return the limit of the child with that tag: infinite from 1e16 on."""
    child = element.find(tag)
    value = default if child is None or not child.content else child.content_numbers(1, infinite=True)[0]
    return value if abs(value) < _UNLIMITED else float(np.inf * np.sign(value))


def flag_in(element: Element, tag: str, default: bool = False) -> bool:
    """Return the child with that tag as true or false."""
    child = element.find(tag)
    return default if child is None or not child.content else _flag(child, f"<{tag}>", child.content)


def flag_attribute(element: Element, name: str) -> bool:
    """Return an attribute as true or false; false if it is missing."""
    raw = element.attributes.get(name, "").strip()
    return _flag(element, f"<{element.tag} {name}>", raw) if raw else False


def _flag(element: Element, where: str, raw: str) -> bool:
    if raw.lower() not in _FLAGS:
        raise element.error(f"{where} is {raw[:60]!r}, expected true or false.")
    return _FLAGS[raw.lower()]


@dataclass(frozen=True, eq=False)
class Pose:
    """A ``<pose>``: the matrix (4, 4), and the name of the frame it is relative to, empty for the usual one."""

    matrix: Array
    relative_to: str
    element: Element  # where it is written, for messages


def read_pose(owner: Element) -> Pose:
    """Return the ``<pose>`` of an element; the identity if it has none."""
    element = owner.find("pose")
    if element is None:
        return Pose(np.eye(4), "", owner)
    attributes = element.attributes
    frame = (attributes.get("relative_to") or attributes.get("frame") or "").strip()  # frame: before SDF 1.7
    form = attributes.get("rotation_format", "euler_rpy").strip()
    if form not in ("euler_rpy", "quat_xyzw"):
        raise element.error(f"<pose rotation_format={form!r}>: expected 'euler_rpy' or 'quat_xyzw'.")
    if not element.content:
        return Pose(np.eye(4), frame, element)
    if form == "quat_xyzw":
        values = np.array(element.content_numbers(7))
        quaternion = values[[6, 3, 4, 5]]
        largest = np.abs(quaternion).max()
        if largest == 0:
            raise element.error("<pose> has a zero quaternion, expected a rotation. Write 0 0 0 1 for none.")
        R = tidy_rotation(quaternion_to_rotation(quaternion / largest))
        return Pose(placement(values[:3], R=R), frame, element)
    values = np.array(element.content_numbers(6))
    angles = np.deg2rad(values[3:]) if flag_attribute(element, "degrees") else values[3:]
    return Pose(placement(values[:3], R=tidy_rotation(rotation_from_rpy(angles))), frame, element)
