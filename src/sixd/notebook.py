"""Notebooks: whether the program runs in one, and small HTML tables.

Tables set no colours, so that they are readable in light and dark notebooks; texts are escaped, and long tables are
truncated. Knows nothing of their contents.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

MOST_ROWS = 60  # lines of a table that are shown
MOST_COLUMNS = 16  # rows and columns of a matrix that are shown
_LONGEST = 80  # characters of a text that are shown
_CELL = "text-align: left; padding: 1px 12px 1px 0"


def ipython() -> Any:
    """Return IPython's shell, or None; IPython is not imported for this."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None


def kernel() -> Any:
    """Return the notebook's shell if this process is a notebook's kernel, else None."""
    shell = ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def number(x: Any, digits: int = 4) -> str:
    """Return a number as text with so many significant digits; anything else by ``str``."""
    try:
        text = f"{float(x):.{digits}g}"
    except (TypeError, ValueError):
        return str(x)
    return text.replace("-", "\u2212") if text != "-0" else "0"


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], *, note: str = "") -> str:
    """Return an HTML table below a title, which is bold up to its colon, and above a note.

    ``head`` may be empty. Numbers have four digits. Of more than 60 rows the rest is only counted.
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


def matrix_rows(A: np.ndarray) -> list[list[str]]:
    """Return the rows of a matrix (n, m) as texts, at most 16 rows and columns."""
    n, m = A.shape
    rows = [[number(x) for x in row[:MOST_COLUMNS]] + ["…"] * (m > MOST_COLUMNS) for row in A[:MOST_COLUMNS].tolist()]
    return rows + [["⋮"]] * (n > MOST_COLUMNS)


def listed(names: Iterable[str], most: int = 12) -> str:
    """Return the first ``most`` names separated by commas, and how many more there are."""
    names = list(names)
    return ", ".join(names[:most]) + (f", … and {len(names) - most} more" if len(names) > most else "")


def _row(cells: Sequence[Any]) -> str:
    return "<tr>" + "".join(f'<td style="{_CELL}">{_text(_cell(x))}</td>' for x in cells) + "</tr>"


def _cell(x: object) -> str:
    return x if isinstance(x, str) else str(x) if isinstance(x, int) else number(x)


def _text(text: str, longest: int = _LONGEST) -> str:
    return html.escape(text if len(text) <= longest else text[: longest - 1] + "…")
