"""Compiling an MJCF file with MuJoCo's compiler, and the names of the compiled model's parts.

``mujoco`` is imported when a file is compiled. A compiled model may also be another object with the same arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from sixd.errors import LoadError, MissingPackageError
from sixd.io.files import UTF16, Source, claimed_name, read_source
from sixd.io.xml import Element, parse

if TYPE_CHECKING:
    from mujoco import MjModel

FREE, BALL, SLIDE, HINGE = range(4)  # MuJoCo's mjtJoint

_LINE = re.compile(r"line ([0-9]+)$")
_TAG = re.compile(r"Element '([^']*)', line")
_NAME = re.compile(r"Element name '([^']*)', id")
_KIND = re.compile(r"\b(?:in|of) (body|joint|geom|site|camera|light|mesh|texture|material|equality|tendon|actuator)\b")
_MOST_FILES = 50  # included files that are searched for the cause of an error


def import_mujoco() -> ModuleType:
    """Return the package ``mujoco``; raises with the command that installs it."""
    try:
        import mujoco
    except ImportError:
        raise MissingPackageError(
            "load: MJCF is read by MuJoCo's compiler, and the package mujoco is not installed. "
            "Run: pip install mujoco-core"
        ) from None
    return mujoco


def compile_mjcf(mujoco: ModuleType, source: Source, root: Element) -> tuple[MjModel, list[str]]:
    """Return the compiled model and MuJoCo's warnings, which would otherwise go to a log file in the working folder."""
    remarks: list[str] = []
    path = None if source.folder is None else source.folder / source.name
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(remarks.append)
    try:
        if path is not None and path.is_file() and not source.data.startswith(UTF16):
            compiled = _compile_file(mujoco, path)
        else:
            compiled = mujoco.MjModel.from_xml_string(source.data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise LoadError(f"{source.name}: the text is not UTF-8, expected an MJCF file in UTF-8. Convert it.") from None
    except (ValueError, mujoco.FatalError) as error:
        message = _one_line(str(error))
        hint = " A text has no folder: pass the path instead." if path is None and "opening file" in message else ""
        where = _location(message, root, source.folder)
        raise LoadError(f"{where}: MuJoCo cannot compile the file: {message}.{hint}") from None
    finally:
        mujoco.set_mju_user_warning(previous)
    return compiled, [_one_line(text) for text in remarks]


def _compile_file(mujoco: ModuleType, path: Path) -> MjModel:
    """Compile a file; if it is a link, included files may be in the link's folder or in that of the file itself."""
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        real = path.resolve()
        if real == path or "opening file" not in str(error):
            raise
        return mujoco.MjModel.from_xml_path(str(real))


def _one_line(text: str) -> str:
    """Return a message of MuJoCo's on one line, without the last full stop."""
    return "; ".join(part.strip() for part in text.splitlines() if part.strip()).rstrip(".")


# the location of an error -------------------------------------------------------------------------


def _location(message: str, root: Element, folder: Path | None) -> str:
    """Return the file that a message of the compiler is about and, if they are certain, the line and the body."""
    line = _LINE.search(message)
    if line is None:
        return root.source
    number = int(line[1])  # 0 for an element of an included file
    roots = [root, *_included(root, folder)] if number else _included(root, folder)
    fitting = [(e, body) for e, body in _elements(roots) if number in (0, e.line) and _fits(e, message)]
    if len({(e.source, body) for e, body in fitting}) != 1:
        return root.source
    (element, body), *others = fitting
    exact = f", line {element.line}" if number or not others else ""
    return f"{element.source}{exact}" + (f", body {body!r}" if body else "")


def _fits(element: Element, message: str) -> bool:
    """Whether the message may be about this element: it contains the tag, or the name and often the kind."""
    tag, name, kind = _TAG.search(message), _NAME.search(message), _KIND.search(message)
    if tag is not None:
        return element.tag == tag[1]
    if name is not None and name[1]:
        return element.attributes.get("name") == name[1]
    return kind is None or element.tag == kind[1] or element.tag == "freejoint"


def _elements(roots: list[Element]) -> Iterator[tuple[Element, str]]:
    """Yield every element with the name of the innermost named body around it, itself included."""
    stack = [(root, "") for root in roots]
    while stack:
        element, body = stack.pop()
        if element.tag == "body":
            body = element.attributes.get("name", "") or body
        yield element, body
        stack.extend((child, body) for child in element.children)


def _included(root: Element, folder: Path | None) -> list[Element]:
    """Return the roots of the files that it includes, directly or not; files that cannot be read are skipped."""
    roots: list[Element] = []
    waiting, seen = [root], {root.source}
    while waiting and folder is not None and len(seen) < _MOST_FILES:
        for element, _ in _elements([waiting.pop()]):
            file = element.attributes.get("file", "") if element.tag == "include" else ""
            if not file or file in seen:
                continue
            seen.add(file)
            try:
                roots.append(parse(read_source(folder / file).data, file))
            except LoadError:
                continue
            waiting.append(roots[-1])
    return roots


# names --------------------------------------------------------------------------------------------


def given_names(compiled: MjModel, kind: str) -> list[str]:
    """Return the names of a compiled model's parts of a ``kind`` ("body", "jnt", "site"); "" for an unnamed one."""
    buffer = bytes(compiled.names)
    starts = [int(k) for k in getattr(compiled, f"name_{kind}adr")]
    return [buffer[k : buffer.index(b"\0", k)].decode(errors="replace") for k in starts]


def complete_names(compiled: MjModel, kind: str, stem: str) -> list[str]:
    """Return the same names, an unnamed part's being ``stem`` and its number."""
    names = given_names(compiled, kind)
    used = set(names)
    for k, name in enumerate(names):
        if not name:
            names[k] = claimed_name(f"{stem}{k}", used)
    return names
