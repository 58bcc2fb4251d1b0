"""What notebooks show: whether this is one, and small HTML tables.

Tables set no colours, so that they are read in light and dark notebooks alike; texts are escaped, and long tables are
cut. Knows nothing of what is in them.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Sequence
from typing import Any

MOST_ROWS = 60  # of a table
MOST_COLUMNS = 16  # of a matrix
_LONGEST = 80  # characters of a text
_CELL = "text-align: left; padding: 1px 12px 1px 0"


def ipython() -> Any:
    """IPython's shell, or None; it is not imported for this."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None


def kernel() -> Any:
    """The shell of the notebook whose kernel this is, or None."""
    shell = ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def number(x: Any, digits: int = 4) -> str:
    """A number with so many digits that matter; anything else as text."""
    try:
        text = f"{float(x):.{digits}g}"
    except (TypeError, ValueError):
        return str(x)
    return text.replace("-", "\u2212") if text != "-0" else "0"


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], *, note: str = "") -> str:
    """A table with a line above it, whose first word is bold, and one below; rows beyond 60 are counted alone.

    ``head`` may be empty. Numbers are written with four digits.
    """
    name, _, rest = title.partition(":")
    parts = [f"<div><b>{_text(name)}</b>{_text(':' + rest) if rest else ''}"]
    parts += ['<table style="border-collapse: collapse; margin: 2px 0">']
    if head:
        parts.append("<tr>" + "".join(f'<th style="{_CELL}; opacity: 0.65">{_text(x)}</th>' for x in head) + "</tr>")
    parts += [_row(row) for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        rest = f"… and {len(rows) - MOST_ROWS:,} more"
        parts.append(f'<tr><td style="{_CELL}; opacity: 0.65" colspan="{max(len(head), 1)}">{rest}</td></tr>')
    parts.append("</table>")
    if note:
        parts.append(f'<span style="opacity: 0.65">{_text(note, 8 * _LONGEST)}</span>')
    return "".join([*parts, "</div>"])


def matrix_rows(A: Any) -> list[list[str]]:
    """The rows of a matrix (n, m) as texts, what is beyond 16 rows or columns left out."""
    n, m = A.shape
    rows = [[number(x) for x in row[:MOST_COLUMNS]] + ["…"] * (m > MOST_COLUMNS) for row in A[:MOST_COLUMNS].tolist()]
    return rows + [["⋮"]] * (n > MOST_COLUMNS)


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names with commas between, the first of them and how many more."""
    names = list(names)
    return ", ".join(names[:most]) + (f", … and {len(names) - most} more" if len(names) > most else "")


def _row(cells: Sequence[Any]) -> str:
    return "<tr>" + "".join(f'<td style="{_CELL}">{_text(_written(x))}</td>' for x in cells) + "</tr>"


def _written(x: Any) -> str:
    return x if isinstance(x, str) else str(x) if isinstance(x, int) else number(x)


def _text(text: str, longest: int = _LONGEST) -> str:
    return html.escape(text if len(text) <= longest else text[: longest - 1] + "…")
