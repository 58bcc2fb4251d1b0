"""How commands print: for people through rich, for programs as one JSON document alone on standard output."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
import numpy as np

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

EVERYTHING = 100_000  # columns where nothing limits the width, a pipe or a file: no line is broken, no column left out
PAGE = 100  # columns of a page of text


def console(*, stderr: bool = False) -> Console:
    """Where to print: coloured in a terminal only (and not if ``NO_COLOR`` is set); as wide as the terminal, or as
    ``COLUMNS`` says, and as wide as need be in a pipe or a file, where programs search it.
    """
    from rich.console import Console

    stream: Any = sys.stderr if stderr else sys.stdout
    told = os.environ.get("COLUMNS", "").isdigit()
    width = None if told or stream.isatty() else EVERYTHING
    file: Any = stream if stream.isatty() else _Trimmed(stream)
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


class _Trimmed:
    """A stream whose lines end where their last letter is; rich fills them with spaces."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return int(self._stream.write(re.sub(" +$", "", text, flags=re.MULTILINE)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def printable(text: object) -> str:
    """A text from a file without letters that command a terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


def dump(facts: Any) -> str:
    """The facts as JSON: arrays as lists, what is not finite as null."""
    return json.dumps(plain(facts), indent=2, ensure_ascii=False, allow_nan=False)


def print_json(facts: Any) -> None:
    """The facts as JSON on standard output."""
    click.echo(dump(facts))


def plain(x: Any) -> Any:
    """Made of what JSON knows."""
    if isinstance(x, np.ndarray):
        return plain(x.tolist())
    if isinstance(x, np.generic):
        return plain(x.item())
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    if x is None or isinstance(x, (bool, int, str)):
        return x
    if isinstance(x, Mapping):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(value) for value in x]
    return str(x)


def heading(text: str) -> Text:
    """A line above a part of the output."""
    from rich.text import Text

    return Text(text, style="bold cyan")


def fact_table(rows: Mapping[str, str]) -> Table:
    """Two columns: what, and its value."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(value))
    return table


def digits(x: float) -> str:
    """Three significant digits, thousands set apart, without an exponent where it can be read."""
    if not math.isfinite(x):
        return "–"
    size = abs(x)
    if size == 0 or 1e-3 <= size < 1e7:
        places = 0 if size >= 100 else 2 if size == 0 else max(2 - math.floor(math.log10(size)), 0)
        return f"{x:,.{places}f}"
    return f"{x:.2e}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{digits(seconds / size)} {unit}"
    return f"{digits(seconds * 1e9)} ns"


def count(n: int, one: str, many: str | None = None) -> str:
    """1 body, 2 bodies."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
