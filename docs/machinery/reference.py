"""The reference: every public name of sixd with its signature and docstring, as Markdown for sphinx.

Names are grouped by the folder of the library that defines them: a new name has its page without a list to keep.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sixd

# page, its title, and the modules whose names it lists; a name is on the first page that fits
PAGES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "models",
        "Models and files",
        (
            "sixd.model.model",
            "sixd.model.builder",
            "sixd.model.parts",
            "sixd.io",
            "sixd.inspection.check_model",
            "sixd.inspection.compare_models",
            "sixd.inspection.comparison",
            "sixd.collision",
        ),
    ),
    (
        "bodies",
        "Joints, inertias, poses",
        ("sixd.model.joints", "sixd.spatial.inertia", "sixd.spatial.shapes", "sixd.spatial.transform"),
    ),
    (
        "dynamics",
        "Dynamics, energy, momentum",
        ("sixd.api.dynamics", "sixd.symbolic.newton", "sixd.algorithms.body_dynamics"),
    ),
    (
        "derivatives",
        "Derivatives",
        (
            "sixd.api.derivatives",
            "sixd.engine.differentiation",
            "sixd.engine.patterns",
            "sixd.algorithms.derivatives",
            "sixd.simulation.gradients",
        ),
    ),
    ("frames", "Frames, inverse kinematics, paths", ("sixd.api.frames", "sixd.ik", "sixd.planning")),
    ("constraints", "Constraints", ("sixd.constraints", "sixd.model.constraint", "sixd.api", "sixd.algorithms")),
    ("equations", "Equations", ("sixd.symbolic",)),
    (
        "simulation",
        "Simulation, forces, actuation",
        ("sixd.simulation", "sixd.trajectory", "sixd.forces", "sixd.actuation", "sixd.controllers"),
    ),
    ("pictures", "Viewer, videos and drawings", ("sixd.viewer", "sixd.drawing")),
    ("compiled", "Compiled code, errors and warnings", ("sixd.engine", "sixd.runtime", "sixd.errors", "sixd.cuda")),
    ("spatial", "Spatial algebra: sixd.spatial", ("sixd.spatial",)),
    (
        "ready",
        "Ready models, other programs' states, identification",
        ("sixd.zoo", "sixd.interop", "sixd.identification"),
    ),
    ("spatial_v2", "spatial_v2's names: sixd.spatial_v2", ("sixd.spatial_v2",)),
)
MODULES = {
    "spatial": ("spatial",),
    "ready": ("zoo", "interop", "identification"),
    "spatial_v2": ("spatial_v2",),
    "simulation": ("controllers",),
    "compiled": ("cuda",),
}
_ITEM = re.compile(r"^([\w*.]+(?:, [\w*.]+)*(?: \(…?[^)]*\))?) : (.*)$")
_HEADINGS = {"Parameters", "Returns", "Notes", "Raises", "Examples", "Attributes", "References", "Yields", "Fields"}


@dataclass(frozen=True)
class Entry:
    """A public name: ``sixd.jacobian``, and the object."""

    name: str
    thing: Any


def page_of(name: str) -> str:
    """The page of the reference that has a name of ``sixd.__all__``."""
    for page, modules in MODULES.items():
        if name in modules:
            return page
    module = getattr(getattr(sixd, name), "__module__", None) or ""
    for page, _, prefixes in PAGES:
        if any(module == p or module.startswith(p + ".") for p in prefixes):
            return page
    raise LookupError(
        f"sixd.{name} of {module!r} is on no page of the reference: add its module to PAGES in {__file__}."
    )


def entries(page: str) -> list[Entry]:
    """Everything that a page lists, in alphabetical order: functions, then classes, then modules' contents."""
    names = [name for name in sixd.__all__ if not inspect.ismodule(getattr(sixd, name)) and name != "__version__"]
    listed = [Entry(f"sixd.{name}", getattr(sixd, name)) for name in sorted(names) if page_of(name) == page]
    listed.sort(key=lambda entry: inspect.isclass(entry.thing))
    for module in MODULES.get(page, ()):
        listed += _contents(f"sixd.{module}", getattr(sixd, module))
    return listed


def _contents(prefix: str, module: Any) -> list[Entry]:
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    things = [(name, getattr(module, name)) for name in sorted(names)]
    return [
        Entry(f"{prefix}.{name}", thing)
        for name, thing in things
        if callable(thing) and inspect.getdoc(thing) and not hasattr(sixd, name)
    ]


def markdown(entry: Entry) -> str:
    """An entry as Markdown: its signature, its docstring, and the methods of a class."""
    if inspect.isclass(entry.thing):
        kind = "py:exception" if issubclass(entry.thing, BaseException) else "py:class"
        signature = "" if kind == "py:exception" else _signature(entry.thing)
        members = "\n\n".join(_member(entry.thing, *member) for member in _members(entry.thing))
        return _block(5, kind, entry.name + signature, f"{docstring(entry.thing)}\n\n{members}")
    return _block(5, "py:function", entry.name + _signature(entry.thing), docstring(entry.thing))


def docstring(thing: Any) -> str:
    """A docstring as Markdown: sections, lists of parameters, and examples as Python."""
    text = inspect.cleandoc(thing) if isinstance(thing, str) else inspect.getdoc(thing) or ""
    lines, parts, at = text.splitlines(), [], 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif line.strip() in _HEADINGS and at + 1 < len(lines) and set(lines[at + 1].strip()) == {"-"}:
            parts.append(f"**{line.strip()}**")
            at += 2
        elif line.startswith(">>>"):
            end = next((k for k in range(at, len(lines)) if not lines[k].strip()), len(lines))
            parts.append("```pycon\n" + "\n".join(lines[at:end]) + "\n```")
            at = end
        else:
            end = at + 1
            while end < len(lines) and lines[end].strip() and not lines[end].startswith(">>>"):
                end += 1
            parts += _paragraph(lines[at:end])
            at = end
    return "\n\n".join(part for part in parts if part)


def _paragraph(lines: list[str]) -> list[str]:
    """A paragraph, or a list of parameters if its first line is `name : text`."""
    if all(line.startswith("    ") for line in lines) and lines:
        return ["```text\n" + "\n".join(line[4:] for line in lines) + "\n```"]
    if not _ITEM.match(lines[0]):
        return [_escaped(" ".join(line.strip() for line in lines))]
    items: list[list[str]] = []
    for line in lines:
        item = _ITEM.match(line)
        if item is not None:
            names = ", ".join(f"`{name}`" for name in item[1].split(", "))
            items.append([f"- {names}: {_escaped(item[2])}"])
        else:
            items[-1].append("  " + _escaped(line.strip()))
    return ["\n".join(line for item in items for line in item)]


def _escaped(text: str) -> str:
    """Text with the characters that mean something in Markdown escaped, except in code."""
    parts = re.split(r"(``.*?``|`[^`]+`)", text)
    parts[::2] = [re.sub(r"([*_\[\]<>$|\\#])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _members(thing: Any) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the class or its bases in sixd define, with docstrings."""
    seen = set()
    for owner in thing.__mro__:
        if owner.__module__.startswith("sixd"):
            for name, member in vars(owner).items():
                inner = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
                is_shown = inspect.isroutine(inner) or isinstance(inner, property) or hasattr(inner, "func")
                if not name.startswith("_") and name not in seen and is_shown and inspect.getdoc(inner):
                    seen.add(name)
                    yield name, member


def _member(owner: type, name: str, member: Any) -> str:
    inner = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
    if not inspect.isroutine(inner):
        return _block(4, "py:property", name, docstring(getattr(inner, "func", inner)))
    option = {classmethod: ":classmethod:\n", staticmethod: ":staticmethod:\n"}.get(type(member), "")
    signature = _signature(inner, skip=not isinstance(member, staticmethod))
    return _block(4, "py:method", name + signature, docstring(inner), option)


def _block(fence: int, kind: str, head: str, body: str, option: str = "") -> str:
    return f"{'`' * fence}{{{kind}}} {head}\n{option}\n{body}\n{'`' * fence}"


def _signature(thing: Any, *, skip: bool = False) -> str:
    """Names and defaults of the arguments, without annotations."""
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return "()"
    plain = [
        p.replace(annotation=p.empty, default=p.default if p.default is p.empty else _Text(p.default))
        for p in parameters
    ]
    return str(inspect.Signature(plain[1:] if skip else plain))


class _Text:
    """A default value that prints as a short text."""

    def __init__(self, value: Any) -> None:
        self.text = repr(value)

    def __repr__(self) -> str:
        return self.text if len(self.text) < 40 and "<" not in self.text else "..."
