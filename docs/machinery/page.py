"""A page: Markdown with a few lines of metadata, cells of Python and exercises (MyST notebooks).

Reads what the runner and the tests need, line by line; all else is left to sphinx. Knows nothing of running.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
_FENCE = re.compile(r"^(`{3,}|:{3,})\{(code-cell|exercise)\}[ ]*(.*)$")
_OPTION = re.compile(r"^:([a-z_]+):[ ]*(.*)$")


@dataclass(frozen=True)
class Cell:
    """Python of a page; ``line`` is the line of the file, counted from 1, on which ``source`` begins."""

    source: str
    line: int
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exercise:
    """A question that checks its answer: its title, its options by name, and its text."""

    title: str
    line: int
    options: dict[str, str]
    text: str


@dataclass(frozen=True)
class Page:
    """One file of the site. ``parts`` are its texts, cells and exercises in order; exercises are part of texts too."""

    path: Path
    metadata: dict[str, str | tuple[str, ...]]
    parts: tuple[tuple[int, str | Cell], ...]
    exercises: tuple[Exercise, ...] = field(default=())

    @property
    def name(self) -> str:
        """The path below docs/, without the suffix: ``course/lagrange/10_1_2_rp_arm``."""
        return self.path.resolve().relative_to(DOCS).with_suffix("").as_posix()

    @property
    def runs(self) -> bool:
        """Whether the page is a notebook: the others are plain text."""
        return self.metadata.get("file_format") == "mystnb"

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The page's Python, in order."""
        return tuple(part for _, part in self.parts if isinstance(part, Cell))

    @property
    def text(self) -> str:
        """The page's text without its cells."""
        return "\n".join(part for _, part in self.parts if isinstance(part, str))

    def listed(self, key: str) -> tuple[str, ...]:
        """An entry of the metadata as a tuple; empty if the page does not have it."""
        value = self.metadata.get(key, ())
        return (value,) if isinstance(value, str) else value


def all_pages(folder: Path = DOCS) -> list[Page]:
    """Return every page below a folder that is a notebook, in the order of their paths."""
    return [page for path in sorted(folder.rglob("*.md")) if (page := read(path)).runs]


def read(path: Path) -> Page:
    """Read a page from its file."""
    return parse(path.read_text(encoding="utf-8"), path)


def parse(text: str, path: Path) -> Page:
    """Read a page from its text."""
    lines = text.splitlines()
    metadata, at = _metadata(lines, path)
    parts: list[tuple[int, str | Cell]] = []
    exercises: list[Exercise] = []
    start = at  # of the text that is being collected
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        plain = re.match(r"^(`{3,}|~{3,})", lines[at]) if not opened else None
        if not opened:
            at = _end(lines, at, plain[1], path) + 1 if plain else at + 1
            continue
        end = _end(lines, at, opened[1], path)
        options, body = _options(lines, at + 1, end)
        inside = "\n".join(lines[body:end])
        if opened[2] == "exercise":
            exercises.append(Exercise(opened[3].strip(), at + 1, options, inside))
        else:
            parts.append((start + 1, "\n".join(lines[start:at])))
            tags = tuple(x.strip() for x in options.get("tags", "").strip("[]").split(",") if x.strip())
            parts.append((body + 1, Cell(inside, body + 1, tags)))
            start = end + 1
        at = end + 1
    parts.append((start + 1, "\n".join(lines[start:])))
    return Page(path, metadata, tuple(parts), tuple(exercises))


def _metadata(lines: list[str], path: Path) -> tuple[dict[str, str | tuple[str, ...]], int]:
    """The entries `key: text` and `key: [a, b]` between two lines `---` at the top, and the line after them."""
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    try:
        end = next(k for k, line in enumerate(lines[1:], 1) if line.rstrip() == "---")
    except StopIteration:
        raise SyntaxError(f"{path}: the metadata of line 1 does not end: expected a line '---' after it.") from None
    entries: dict[str, str | tuple[str, ...]] = {}
    for line in lines[1:end]:
        if (entry := re.match(r"^(\w+):[ ]*(.+)$", line)) is not None:
            value = entry[2].strip()
            listed = value.startswith("[") and value.endswith("]")
            items = tuple(x.strip().strip("'\"") for x in value[1:-1].split(",") if x.strip())
            entries[entry[1]] = items if listed else value.strip("'\"")
    return entries, end + 1


def _end(lines: list[str], start: int, fence: str, path: Path) -> int:
    """The line that closes a fence: at least as many of its characters, and nothing else."""
    for k in range(start + 1, len(lines)):
        line = lines[k].rstrip()
        if line.startswith(fence) and set(line) == {fence[0]}:
            return k
    raise SyntaxError(f"{path}:{start + 1}: {lines[start]!r} is not closed: expected a line {fence!r} after it.")


def _options(lines: list[str], start: int, end: int) -> tuple[dict[str, str], int]:
    """The options `:name: value` at the top of a directive, and the line of its text."""
    options: dict[str, str] = {}
    while start < end and (option := _OPTION.match(lines[start])) is not None:
        options[option[1]] = option[2].strip()
        start += 1
    while start < end and not lines[start].strip():
        start += 1
    return options, start
