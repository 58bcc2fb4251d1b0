"""Printing: text through rich for people, or one JSON document on standard output for programs."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

import click
import numpy as np

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

UNLIMITED = 100_000  # width for a pipe or a file: no line is broken, no column is left out
PAGE = 100  # columns of a page of text


def console(*, stderr: bool = False) -> Console:
    """Return a rich console, coloured only in a terminal without ``NO_COLOR``.

    It is as wide as the terminal or as ``COLUMNS``; in a pipe or a file lines are not broken, so that programs can
    search them.
    """
    from rich.console import Console

    stream: Any = sys.stderr if stderr else sys.stdout
    width = None if os.environ.get("COLUMNS", "").isdigit() or stream.isatty() else UNLIMITED
    file: Any = stream if stream.isatty() else _Trimmed(stream)
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


class Wrapped:
    """A stream with some methods replaced; the others are those of ``stream``."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Trimmed(Wrapped):
    """A stream that removes the trailing spaces of rich."""

    def write(self, text: str) -> int:
        return int(self.stream.write(re.sub(" +$", "", text, flags=re.MULTILINE)))


def printable(text: object) -> str:
    """Return the text with ``?`` for control characters, which could control a terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


def dump(facts: object) -> str:
    """Return the facts as JSON text: arrays as lists, numbers that are not finite as null."""
    text = json.dumps(facts, default=_plain)
    finite = json.loads(text, parse_constant=lambda constant: None)
    return json.dumps(finite, indent=2, ensure_ascii=False)


def print_json(facts: object) -> None:
    """Print the facts as JSON on standard output."""
    click.echo(dump(facts))


def _plain(x: object) -> object:
    """Return a value in a type of JSON."""
    return x.tolist() if isinstance(x, (np.ndarray, np.generic)) else str(x)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error; hints at an argument of ``sixd.load`` name the option instead."""
    for note in notes:
        note = note.replace("Give sixd.load their folder by package_dirs", "Give their folder by --package-dir")
        click.echo(f"note: {printable(note)}", err=True)


def heading(text: str) -> Text:
    """Return the heading of a part of the output."""
    from rich.text import Text

    return Text(text, style="bold cyan")


def fact_table(facts: Mapping[str, str]) -> Table:
    """Return a table of two columns, names and values."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, Text(value))
    return table


def digits(x: float) -> str:
    """Return a number with three significant digits and thousands separators; with an exponent only if necessary."""
    if not math.isfinite(x):
        return "–"
    size = abs(x)
    if size == 0 or 1e-3 <= size < 1e7:
        decimals = 0 if size >= 100 else 2 if size == 0 else max(2 - math.floor(math.log10(size)), 0)
        return f"{x:,.{decimals}f}"
    return f"{x:.2e}"


def duration(seconds: float) -> str:
    """Return a time as text, in a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{digits(seconds / size)} {unit}"
    return f"{digits(seconds * 1e9)} ns"


def count(n: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: 1 body, 2 bodies."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
