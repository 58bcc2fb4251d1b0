"""Misspelt, repeated and misplaced names in a URDF file, which would otherwise be ignored without a warning.

A name within two edits of an allowed one counts as a misspelling. Other tags, which other programs read (``<gazebo>``,
``<transmission>`` …), are skipped with all that they contain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sixd.io.xml import Element
from sixd.model.parts import Finding

# for each element: its attributes, the children it may have once, and those it may have several times
_URDF: dict[str, tuple[str, str, str]] = {
    "robot": ("name version", "", "link joint material"),
    "link": ("name type", "inertial", "visual collision"),
    "joint": ("name type", "parent child origin axis limit dynamics mimic calibration safety_controller", ""),
    "inertial": ("", "origin mass inertia", ""),
    "visual": ("name", "origin geometry", "material"),
    "collision": ("name", "origin geometry", ""),
    "geometry": ("", "", "box cylinder sphere mesh capsule"),
    "material": ("name", "color texture", ""),
}
# elements without children, with their attributes
_LEAVES = {
    "origin": "xyz rpy quat_xyzw", "mass": "value", "inertia": "ixx ixy ixz iyy iyz izz", "parent": "link",
    "child": "link", "axis": "xyz", "limit": "lower upper effort velocity acceleration deceleration jerk",
    "dynamics": "damping friction", "mimic": "joint multiplier offset",
    "calibration": "rising falling reference_position",
    "safety_controller": "soft_lower_limit soft_upper_limit k_position k_velocity", "box": "size",
    "cylinder": "radius length", "capsule": "radius length", "sphere": "radius", "mesh": "filename scale",
    "color": "rgba", "texture": "filename",
}  # fmt: skip
_URDF |= {tag: (attributes, "", "") for tag, attributes in _LEAVES.items()}
_XACRO = re.compile(r"\$[{(]")
_HINT = (
    "is not expanded: expand it first (xacro robot.urdf.xacro > robot.urdf), or, if you trust the file, load it with "
    "trust=True."
)


def find_xacro(robot: Element) -> tuple[Element, str] | None:
    """Return the first element with xacro's prefix or a xacro expression in an attribute, and that text."""
    prefixes = ["xacro:"]
    for element in _all(robot):
        prefixes += [f"{key[6:]}:" for key, uri in element.attributes.items() if _declares_xacro(key, uri)]
        if element.tag.startswith(tuple(prefixes)):
            return element, f"<{element.tag}>"
        for key, value in element.attributes.items():
            if _XACRO.search(value):
                return element, f"<{element.tag} {key}={value!r}>"
    return None


def refuse_xacro(robot: Element) -> None:
    """Raise if the file contains xacro that was not expanded: the elements that its macros create are missing."""
    xacro = find_xacro(robot)
    if xacro is not None:
        element, where = xacro
        raise element.error(f"the file is xacro, not URDF: {where} {_HINT}")


def spelling_findings(
    robot: Element, allowed: Mapping[str, tuple[str, str, str]] = _URDF, language: str = "URDF"
) -> Iterator[Finding]:
    """Yield findings about misspelt and repeated names, and about text, in the parts of the file that are read.

    ``allowed`` may list the names of another ``language``, whose elements may contain text.
    """
    stack = [(robot, robot.attributes.get("name", "").strip() or robot.tag)]
    while stack:
        element, where = stack.pop()
        attributes, once, often = (names.split() for names in allowed[element.tag])
        yield from _misspelt_attributes(element, where, attributes, language)
        yield from _wrong_children(element, where, once, often, language)
        if language == "URDF" and element.content and attributes and not once and not often:
            message = f"{element.location}: the text {element.short_content!r} in <{element.tag}> is ignored"
            yield Finding("misspelt", where, f"{message}; write it as an attribute ({', '.join(attributes)})")
        for child in reversed(element.children):
            if child.tag in allowed and (child.tag in once or child.tag in often):
                named = child.attributes.get("name", "").strip() if child.tag in ("link", "joint", "model") else ""
                stack.append((child, named or where))


def _misspelt_attributes(element: Element, where: str, allowed: list[str], language: str) -> Iterator[Finding]:
    for name in element.attributes:
        near = None if ":" in name or name == "xmlns" else nearest(name, allowed)
        if near:
            what = f"<{element.tag}> has no attribute {name!r} in {language}, it is ignored; did you mean {near!r}?"
            yield Finding("misspelt", where, f"{element.location}: {what}")


def _wrong_children(
    element: Element, where: str, once: list[str], often: list[str], language: str
) -> Iterator[Finding]:
    """Yield the findings about repeated and misspelt children, in the order of the file."""
    seen: set[str] = set()
    for child in element.children:
        if child.tag in once and child.tag in seen:
            message = f"{child.location}: a second <{child.tag}> is ignored, the first is used; delete one"
            yield Finding("repeated", where, message)
        seen.add(child.tag)
        near = None if ":" in child.tag else nearest(child.tag, [*once, *often])
        if near:
            what = f"<{element.tag}> has no <{child.tag}> in {language}, it is ignored; did you mean <{near}>?"
            yield Finding("misspelt", where, f"{child.location}: {what}")


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed name that ``name`` is a misspelling of: within two edits and fewer than half its letters.

    None if ``name`` is allowed itself, or not similar to any.
    """
    names = list(allowed)
    if name in names:
        return None
    distances = [(edits(name.lower(), other), other) for other in names if abs(len(name) - len(other)) <= 2]
    close = [(n, other) for n, other in distances if n <= 2 and 2 * n < max(len(name), len(other))]
    return min(close)[1] if close else None


def edits(a: str, b: str) -> int:
    """Return the number of letters to add, delete, replace or swap with a neighbour to make b from a."""
    table = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        line = [i]
        for j, y in enumerate(b, 1):
            best = min(table[-1][j] + 1, line[-1] + 1, table[-1][j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, table[-2][j - 2] + 1)
            line.append(best)
        table.append(line)
    return table[-1][-1]


def _declares_xacro(attribute: str, uri: str) -> bool:
    return attribute.startswith("xmlns:") and uri.strip().rstrip("/#").endswith("xacro")


def _all(robot: Element) -> Iterator[Element]:
    stack = [robot]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))
