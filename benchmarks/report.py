"""The report: Markdown that is printed part by part, and written to a file at the end, whole or not at all."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from sixd.atomic import write_together


class Report:
    """Headings, paragraphs and tables, in order."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._files: dict[str, str] = {}

    def heading(self, text: str, level: int = 2) -> None:
        """Add a heading."""
        self._add(f"{'#' * level} {text}")

    def paragraph(self, text: str) -> None:
        """Add a paragraph, wrapped if it is one line."""
        one = "\n" not in text and not text.startswith("![")
        self._add(textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) if one else text)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
        """Add a table, aligned for reading as text: the first ``left`` columns are text, the others numbers."""
        lines = [list(head), *(list(row) for row in rows)]
        if len(lines) == 1:
            return
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        rule = ["-" * w if k < left else "-" * (w - 1) + ":" for k, w in enumerate(widths)]
        body = [_aligned(line, widths, left) for line in (lines[0], rule, *lines[1:])]
        self._add("\n".join(body))

    def add_file(self, name: str, text: str) -> None:
        """Add a file that is written with the report, such as a picture in it."""
        self._files[name] = text

    def write(self, path: Path, files: Path) -> None:
        """Write the report to a file, and others to the folder ``files``, all or none."""
        write_together({path: "\n\n".join(self._parts) + "\n"} | {files / name: x for name, x in self._files.items()})

    def _add(self, text: str) -> None:
        self._parts.append(text)
        print(text, end="\n\n", flush=True)


def progress(text: str) -> None:
    """Print progress on standard error."""
    print(f"… {text}", file=sys.stderr, flush=True)


def _aligned(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = [x.ljust(w) if k < left else x.rjust(w) for k, (x, w) in enumerate(zip(cells, widths, strict=True))]
    return "| " + " | ".join(padded) + " |"
