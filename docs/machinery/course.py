"""The course as data: its chapters, the page of each exercise (docs/course/rows.toml), and the contents of a page."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

from machinery.page import DOCS, Page, read

COURSE = DOCS / "course"


@dataclass(frozen=True)
class Row:
    """One exercise: its name in a page's metadata, the page, and where the source has it."""

    row: str
    page: str
    where: str


@dataclass(frozen=True)
class Chapter:
    """A folder of pages, in the order of the course."""

    folder: str
    title: str
    source: str
    rows: tuple[Row, ...]

    @property
    def pages(self) -> list[Path]:
        """The files of the chapter in order, each once, whether they exist or not."""
        return list(dict.fromkeys(COURSE / self.folder / f"{row.page}.md" for row in self.rows))


def chapters() -> list[Chapter]:
    """Return the chapters in order."""
    data = tomllib.loads((COURSE / "rows.toml").read_text(encoding="utf-8"))
    return [
        Chapter(c["folder"], c["title"], c["source"], tuple(Row(**row) for row in c["rows"])) for c in data["chapter"]
    ]


def title(page: Page) -> str:
    """The first heading of a page."""
    return next((line[2:].strip() for line in page.text.splitlines() if line.startswith("# ")), page.path.stem)


def checks(page: Page) -> tuple[int, int]:
    """How many assertions and exercises a page has: running it runs them all."""
    trees = [ast.parse(cell.source) for cell in page.cells]
    return sum(isinstance(node, ast.Assert) for tree in trees for node in ast.walk(tree)), len(page.exercises)


def shortcomings(page: Page) -> list[str]:
    """The required parts that a page of the course lacks."""
    asserts, exercises = checks(page)
    source = "\n".join(cell.source for cell in page.cells)
    missing = {
        "a drawing (sixd.draw)": "sixd.draw(" not in source,
        "an assert in a cell": not asserts,
        "an exercise": not exercises,
        "a motion (sixd.view)": "sixd.view(" not in source,
        "the rows it works (cases: […] in its metadata)": not page.listed("cases"),
    }
    return [what for what, is_missing in missing.items() if is_missing]


def table() -> str:
    """The table row → page → checks as Markdown, with links relative to docs/course."""
    lines = ["| exercise | page | checks |", "|---|---|---|"]
    for chapter in chapters():
        lines.append(f"| **{chapter.title}** | | |")
        for row in chapter.rows:
            path = COURSE / chapter.folder / f"{row.page}.md"
            name = row.where if row.row in row.where else f"{row.row} ({row.where})"
            if path.exists():
                page = read(path)
                asserts, exercises = checks(page)
                link = f"[{title(page)}]({chapter.folder}/{row.page}.md)"
                lines.append(
                    f"| {name} | {link} | {asserts} assertions, {exercises} exercise{'s' * (exercises != 1)} |"
                )
            else:
                lines.append(f"| {name} | not yet written | |")
    return "\n".join(lines)
