"""The library's own source lines next to equations, for the pages of theory.

A page names a function and, for some of its lines, a piece of the line and the equation that belongs to it. What is
shown is the source as it is installed; a piece that is not in it any more is an error.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from machinery.page import DOCS, Page
from machinery.run import PageError

_DIRECTIVE = re.compile(r"^```\{source\} (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """Lines of source, and the equation next to them as Markdown; "" if none."""

    code: str
    equation: str


def rows(name: str, notes: str) -> list[Row]:
    """The source of ``module:function`` in pieces, each with its equation.

    ``notes`` has lines ``piece => equation``: a piece starts at the next line of source that contains it.
    """
    lines = source(name).splitlines()
    marks: list[tuple[int, str]] = [(0, "")]
    for note in notes.strip().splitlines():
        piece, arrow, equation = (part.strip() for part in note.partition("=>"))
        if not arrow:
            raise PageError(f"{name}: {note!r} has no '=>': expected a piece of a line, =>, and an equation.")
        start = marks[-1][0] + (len(marks) > 1)
        at = next((k for k in range(start, len(lines)) if piece in lines[k]), None)
        if at is None:
            raise PageError(f"{name}: no line of the source from line {start + 1} on contains {piece!r}.")
        marks.append((at, equation))
    marks = marks[1:] if len(marks) > 1 and marks[1][0] == 0 else marks
    ends = [at for at, _ in marks[1:]] + [len(lines)]
    found = [Row("\n".join(lines[a:b]), text) for (a, text), b in zip(marks, ends, strict=True)]
    return [row for row in found if row.code.strip()]


def source(name: str) -> str:
    """The source of ``module:function``, or of ``module:Class.method``, without its docstring."""
    module, _, function = name.partition(":")
    owner = reduce(getattr, function.split("."), importlib.import_module(module))
    text = textwrap.dedent(inspect.getsource(owner))
    body = ast.parse(text).body[0]
    assert isinstance(body, (ast.FunctionDef, ast.ClassDef))
    first = body.body[0]
    lines = text.splitlines()
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and first.end_lineno is not None:
        del lines[first.lineno - 1 : first.end_lineno]
    return "\n".join(lines)


def file_of(name: str) -> Path:
    """The file of ``module:function``, as a path below the repository."""
    module = importlib.import_module(name.partition(":")[0])
    return Path("src") / Path(*module.__name__.split(".")).with_suffix(".py")


def used(page: Page) -> Iterator[tuple[str, str]]:
    """The names and notes of a page's directives ``source``."""
    yield from _DIRECTIVE.findall(page.text)


THEORY = DOCS / "theory"
