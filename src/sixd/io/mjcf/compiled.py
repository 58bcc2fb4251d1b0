"""Where in an MJCF file an error of MuJoCo's compiler is: the file among those included, the line and the body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sixd.errors import LoadError
from sixd.io.files import read_source
from sixd.io.xml import Element, parse

_LINE = re.compile(r"line ([0-9]+)$")
_TAG = re.compile(r"Element '([^']*)', line")
_NAME = re.compile(r"Element name '([^']*)', id")
_KIND = re.compile(r"\b(?:in|of) (body|joint|geom|site|camera|light|mesh|texture|material|equality|tendon|actuator)\b")
_MOST_FILES = 50


def place_of(message: str, root: Element, folder: Path | None) -> str:
    """The file that a message is about and, where these are certain, the line and the body around it."""
    line = _LINE.search(message)
    if line is None:
        return root.source
    number = int(line[1])  # 0 for what an included file holds
    roots = [root, *_included(root, folder)] if number else _included(root, folder)
    fitting = [(e, body) for e, body in _elements(roots) if number in (0, e.line) and _fits(e, message)]
    if len({(e.source, body) for e, body in fitting}) != 1:
        return root.source
    (element, body), *others = fitting
    exact = f", line {element.line}" if number or not others else ""
    return f"{element.source}{exact}" + (f", body {body!r}" if body else "")


def _fits(element: Element, message: str) -> bool:
    """Whether MuJoCo may have meant this element: it tells the tag, or the name and often the kind."""
    tag, name, kind = _TAG.search(message), _NAME.search(message), _KIND.search(message)
    if tag is not None:
        return element.tag == tag[1]
    if name is not None and name[1]:
        return element.attributes.get("name") == name[1]
    return kind is None or element.tag == kind[1] or element.tag == "freejoint"


def _elements(roots: list[Element]) -> Iterator[tuple[Element, str]]:
    """Every element with the name of the innermost named body around it, itself included."""
    stack = [(root, "") for root in roots]
    while stack:
        element, body = stack.pop()
        if element.tag == "body":
            body = element.attributes.get("name", "") or body
        yield element, body
        stack.extend((child, body) for child in element.children)


def _included(root: Element, folder: Path | None) -> list[Element]:
    """The roots of the files that it includes, and that those include; one that cannot be read is passed over."""
    found: list[Element] = []
    waiting, seen = [root], {root.source}
    while waiting and folder is not None and len(seen) < _MOST_FILES:
        for element, _ in _elements([waiting.pop()]):
            file = element.attributes.get("file", "") if element.tag == "include" else ""
            if not file or file in seen:
                continue
            seen.add(file)
            try:
                found.append(parse(read_source(folder / file).data, file))
            except LoadError:
                continue
            waiting.append(found[-1])
    return found
