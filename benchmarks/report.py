"""The report: Markdown that is printed as it comes and written to a file, whole or not at all, at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from sixd.atomic import write_together


class Report:
    """Headings, paragraphs and tables in the order in which they were made."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def heading(self, text: str, level: int = 2) -> None:
        """A section's title."""
        self._add(f"{'#' * level} {text}")

    def paragraph(self, text: str) -> None:
        """Text."""
        self._add(text)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
        """A table that can be read as it is: the first ``left`` columns are words, the others numbers."""
        lines = [list(head), *(list(row) for row in rows)]
        if len(lines) == 1:
            return
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        rule = ["-" * w if k < left else "-" * (w - 1) + ":" for k, w in enumerate(widths)]
        body = [_aligned(line, widths, left) for line in (lines[0], rule, *lines[1:])]
        self._add("\n".join(body))

    def write(self, path: Path) -> None:
        """Replace the file at once: a reader sees the old report or the new one."""
        write_together({path: "\n\n".join(self._parts) + "\n"})

    def _add(self, text: str) -> None:
        self._parts.append(text)
        print(text, end="\n\n", flush=True)


def progress(text: str) -> None:
    """A line for who waits, beside the report."""
    print(f"… {text}", file=sys.stderr, flush=True)


def _aligned(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = [x.ljust(w) if k < left else x.rjust(w) for k, (x, w) in enumerate(zip(cells, widths, strict=True))]
    return "| " + " | ".join(padded) + " |"
