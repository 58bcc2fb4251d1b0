"""Stored outputs of the pages: one text file a page in docs/outputs, and the comparison of a run with it.

Texts must be equal, numbers to 1e-9 (of their size, or of 1). Pictures, frames, and cells with the tag `timing` are
left out.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path

from machinery.page import DOCS, Page
from machinery.run import Output, PageError, Run

STORED = DOCS / "outputs"
TOLERANCE = 1e-9
_NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])")
_HEAD = re.compile(r"^=== cell (\d+)$", re.MULTILINE)
_KINDS = ("stdout", "text/plain", "text/latex", "text/markdown", "text/html")


def stored_file(page: Page) -> Path:
    """The file with the stored outputs of a page."""
    return STORED / f"{page.name}.txt"


def as_text(run: Run) -> str:
    """Return the outputs of a run as the text that is stored."""
    cells = []
    for number, (cell, outputs) in enumerate(zip(run.page.cells, run.outputs, strict=True), 1):
        body = "" if "timing" in cell.tags else "\n".join(text for o in outputs if (text := _text(o)))
        if body:
            cells.append(f"=== cell {number}\n{body}\n")
    return "".join(cells)


def compare(run: Run) -> None:
    """Raise PageError, with page, cell and difference, if a run differs from the stored outputs."""
    file = stored_file(run.page)
    if not file.exists():
        raise PageError(f"{run.page.name}: its outputs are not stored. `make docs UPDATE=1` stores them.")
    stored, now = _cells(file.read_text(encoding="utf-8")), _cells(as_text(run))
    for number in sorted(stored.keys() | now.keys()):
        difference = first_difference(stored.get(number, ""), now.get(number, ""))
        if difference is not None:
            line = run.page.cells[number - 1].line if number <= len(run.page.cells) else 1
            raise PageError(
                f"{run.page.path}:{line}: cell {number} of {run.page.name} shows something else than is stored.\n"
                f"    stored: {difference[0]}\n    now:    {difference[1]}\n"
                "    If the new output is right, `make docs UPDATE=1` stores it."
            )


def store(run: Run) -> bool:
    """Write the outputs of a run to its file unless they are the same; return whether it was written."""
    try:
        compare(run)
    except PageError:
        file = stored_file(run.page)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(as_text(run), encoding="utf-8")
        return True
    return False


def first_difference(stored: str, now: str) -> tuple[str, str] | None:
    """Return the first two lines that differ, or None: texts must be equal up to spaces, numbers to 1e-9."""
    for a, b in zip_longest(stored.splitlines(), now.splitlines()):
        if a is None or b is None or not _same(a, b):
            return ("(nothing)" if a is None else a), ("(nothing)" if b is None else b)
    return None


def _same(a: str, b: str) -> bool:
    words = [" ".join(_NUMBER.sub(" # ", text).split()) for text in (a, b)]
    if words[0] != words[1]:
        return False
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    return all(abs((y := _value(t)) - (x := _value(s))) <= TOLERANCE * max(1.0, abs(x), abs(y)) for s, t in pairs)


def _value(text: str) -> float:
    return float(text.replace("−", "-"))


def _text(output: Output) -> str:
    if "image/svg+xml" in output.data:
        return ""
    for kind in _KINDS:
        if kind in output.data:
            return "\n".join(line.rstrip() for line in output.data[kind].strip("\n").splitlines())
    return ""


def _cells(text: str) -> dict[int, str]:
    parts = _HEAD.split(text)
    return {int(n): body.strip("\n") for n, body in zip(parts[1::2], parts[2::2], strict=True)}
