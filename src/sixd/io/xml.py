"""XML with line numbers, safe for untrusted files.

Elements keep the line on which they begin, for error messages. Any DTD is refused, so that no entity is expanded or
fetched. Text before the document and null bytes after it, which occur in real files, are skipped.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from xml.parsers import expat

from sixd.errors import LoadError

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECLARED = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*['"]([\w.:-]+)['"]""")
_DECLARATION = re.compile(rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?xml\s", re.DOTALL)
_TAG = re.compile(rb"<!--.*?(?:-->|\Z)|<", re.DOTALL)
_WIDE = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
LONGEST_CONTENT = 4096  # characters of an element's text that are kept: paths and numbers, in SDF
_LONGEST_TEXT = 60  # characters of a text that a message shows
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


@dataclass(eq=False)
class Element:
    """A tag with its attributes, its children and its line in the file."""

    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    children: list[Element] = field(default_factory=list)
    content: str = ""  # the text directly inside it

    def find(self, tag: str) -> Element | None:
        """Return the first child with that tag, or None."""
        return next((c for c in self.children if c.tag == tag), None)

    def find_all(self, tag: str) -> list[Element]:
        """Return all children with that tag, in file order."""
        return [c for c in self.children if c.tag == tag]

    @property
    def location(self) -> str:
        """File and line, for messages."""
        return f"{self.source}, line {self.line}"

    def error(self, message: str) -> LoadError:
        """Return an error that begins with the file and line of this element."""
        return LoadError(f"{self.location}: {message}")

    def text(self, attribute: str) -> str:
        """Return an attribute; raises if it is missing or empty."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            raise self.error(f'<{self.tag}> has no attribute {attribute!r}, expected one. Add {attribute}="…".')
        return value

    def numbers(
        self, attribute: str, count: int, default: tuple[float, ...] | None = None, *, infinite: bool = False
    ) -> list[float]:
        """Return an attribute as ``count`` numbers, written with white space between them."""
        raw = self.attributes.get(attribute)
        if raw is None or not raw.strip():
            if default is None:
                amount = "a number" if count == 1 else f"{count} numbers"
                raise self.error(f"<{self.tag}> has no attribute {attribute!r}, expected {amount}.")
            return list(default)
        return self._values(f"<{self.tag} {attribute}={_short(raw)}>", raw, count, infinite)

    def number(self, attribute: str, default: float | None = None, *, infinite: bool = False) -> float:
        """Return an attribute as one number."""
        return self.numbers(attribute, 1, None if default is None else (default,), infinite=infinite)[0]

    def content_numbers(self, count: int, *, infinite: bool = False) -> list[float]:
        """Return the text inside the element as ``count`` numbers."""
        return self._values(f"<{self.tag}>{self.short_content}</{self.tag}>", self.content, count, infinite)

    @property
    def short_content(self) -> str:
        """The text inside the element, shortened for messages."""
        return self.content if len(self.content) <= _LONGEST_TEXT else self.content[:_LONGEST_TEXT] + "…"

    def _values(self, where: str, raw: str, count: int, infinite: bool) -> list[float]:
        values = [self._number(where, word, infinite) for word in raw.split()]
        if len(values) != count:
            plural = "" if len(values) == 1 else "s"
            raise self.error(f"{where} has {len(values)} number{plural}, expected {count}.")
        return values

    def _number(self, where: str, word: str, infinite: bool) -> float:
        if _NUMBER.fullmatch(word):
            value = float(word)
            if abs(value) != float("inf"):
                return value
        elif infinite and _INFINITE.fullmatch(word):
            return float(word)
        bare = word.rstrip(",;")
        hint = "Write a decimal number such as 0.07."
        if bare != word and len(bare) < _LONGEST_TEXT and _NUMBER.fullmatch(bare):
            hint = f"Write {bare}."
        if word.lower().strip("+-") == "nan":
            hint = "NaN is not a quantity; write the true value."
        elif any(c.isdecimal() and not c.isascii() for c in word):
            hint = "Write it in the digits 0 to 9."
        raise self.error(f"{where}: {_short(word)} is not a finite number. {hint}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 2 * _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…")


def parse(data: bytes, source: str, *, encoding: str | None = None) -> Element:
    """Return the root element of an XML document."""
    data = (data if encoding is not None else _to_utf8(data)).rstrip(b"\0\x1a \t\r\n")
    start = _beginning(data)
    skipped = data[:start].count(b"\n")
    parser = expat.ParserCreate("utf-8")
    stack: list[Element] = []
    roots: list[Element] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber + skipped, source)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(tag: str) -> None:
        element = stack.pop()
        element.content = element.content.rstrip()

    def text(piece: str) -> None:
        element = stack[-1]
        room = LONGEST_CONTENT - len(element.content)
        element.content += piece[:room] if element.content else piece.lstrip()[:room]

    def doctype(*_: object) -> None:
        line = parser.CurrentLineNumber + skipped
        raise LoadError(
            f"{source}, line {line}: the file has a DTD (<!DOCTYPE …>), which is refused because its entities can load "
            f"other files or exhaust memory. Delete it."
        )

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, doctype
    parser.buffer_text = True
    try:
        parser.Parse(data[start:], True)
    except expat.ExpatError as error:
        line = error.lineno + skipped
        reason = expat.ErrorString(error.code)
        raise LoadError(f"{source}, line {line}: the XML is broken: {reason}. Fix the file there.") from None
    return roots[0]


def _to_utf8(data: bytes) -> bytes:
    """Return the document in UTF-8, decoded by its byte-order mark, declared encoding, UTF-8 or Latin-1."""
    declared = _DECLARED.match(data, _beginning(data))
    name = declared.group(1).decode("ascii", "replace") if declared else "utf-8"
    for mark, encoding in _WIDE.items():
        if data.startswith(mark):
            name, data = encoding, data[: len(data) & ~1]  # whole characters
    for attempt in (name, "utf-8"):
        with suppress(UnicodeError, LookupError):
            return data.decode(attempt).encode()
    return data.decode("latin-1").encode()


def _beginning(data: bytes) -> int:
    """Return the index of the document's declaration or, without one, of its first tag; comments are skipped."""
    declaration = next((m.start() for m in _DECLARATION.finditer(data) if m.group().startswith(b"<?xml")), None)
    if declaration is not None:
        return declaration
    return next((m.start() for m in _TAG.finditer(data) if m.group() == b"<"), 0)
