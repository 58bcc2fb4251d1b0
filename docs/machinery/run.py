"""Runs the cells of a page one after another in one namespace, and keeps their outputs.

As in a notebook the value of a cell's last expression is shown, by ``_repr_html_``, ``_repr_svg_``,
``_repr_markdown_``, ``_repr_latex_`` or ``repr``; a `;` at the end hides it. Viewers and figures are drawn only when
``shows`` says so: the tests run the code alone. Needs no notebook software; errors name the page and the line.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machinery.page import Cell, Page

_MIMES = {
    "_repr_html_": "text/html",
    "_repr_svg_": "image/svg+xml",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
}
_GREEK = ("alpha", "beta", "gamma", "theta", "phi", "psi", "omega")
_RATE = re.compile(rf"([a-zA-Z]|{'|'.join(_GREEK)})(d|dd)_?(\d*)")


class PageError(Exception):
    """A page that does not run, whose answer is wrong, or whose outputs differ from the stored ones."""


@dataclass(frozen=True)
class Output:
    """What a cell printed or showed: texts by kind ("stdout", "text/plain", "text/html", …)."""

    data: dict[str, str]


@dataclass
class Run:
    """A page after it ran: its names, and the outputs of each of its cells."""

    page: Page
    names: dict[str, Any]
    outputs: list[list[Output]]


def run(page: Page, shows: Path | None = None) -> Run:
    """Run the cells of a page.

    Parameters
    ----------
    page : the page.
    shows : folder for the pages of viewers; None does not draw anything.

    Raises PageError, from the error of a cell.
    """
    module = type(sys)("__main__")
    names = module.__dict__
    result = Run(page, names, [])
    with _surroundings():
        for number, cell in enumerate(page.cells, 1):
            outputs: list[Output] = []
            screen = _Screen(page, number, outputs, shows)
            names["display"] = screen.show
            try:
                with contextlib.redirect_stdout(screen):
                    _execute(page, cell, names, screen)
            except Exception as error:
                line = _line(error, page) or cell.line
                source = linecache.getline(str(page.path), line).strip()
                kind = f"{type(error).__name__}: {error}".rstrip(": ")
                raise PageError(f"{page.path}:{line}: cell {number} of {page.name}: {kind}\n    {source}") from error
            screen.finish()
            result.outputs.append(outputs)
    return result


def _execute(page: Page, cell: Cell, names: dict[str, Any], screen: _Screen) -> None:
    tree = ast.parse(cell.source, filename=str(page.path))
    ast.increment_lineno(tree, cell.line - 1)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not cell.source.rstrip().endswith(";"):
        tree.body.pop()
        exec(compile(tree, str(page.path), "exec"), names)
        screen.show(eval(compile(ast.Expression(last.value), str(page.path), "eval"), names))
    else:
        exec(compile(tree, str(page.path), "exec"), names)


class _Screen(io.TextIOBase):
    """Collects the outputs of one cell."""

    def __init__(self, page: Page, number: int, outputs: list[Output], shows: Path | None) -> None:
        self.page, self.number, self.outputs, self.shows = page, number, outputs, shows
        self.printed = ""

    def write(self, text: str) -> int:
        self.printed += text
        return len(text)

    def show(self, *values: Any) -> None:
        """Show values as a notebook does (`display`)."""
        for value in values:
            if value is not None:
                self._flush()
                self.outputs.append(Output(self._bundle(value)))

    def finish(self) -> None:
        """After the cell: the remaining printed text, and open figures."""
        self._flush()
        if "matplotlib.pyplot" in sys.modules:
            pyplot = sys.modules["matplotlib.pyplot"]
            for number in pyplot.get_fignums():
                if self.shows is not None:
                    self.outputs.append(Output(_figure(pyplot.figure(number))))
            pyplot.close("all")

    def _flush(self) -> None:
        if self.printed:
            self.outputs.append(Output({"stdout": self.printed}))
            self.printed = ""

    def _bundle(self, value: Any) -> dict[str, str]:
        if hasattr(value, "save_html") and hasattr(value, "scene"):
            return self._frame(value)
        if "matplotlib" in sys.modules and isinstance(value, _plot_types()):
            return {"text/plain": ""}  # drawn by `finish`
        if "sympy" in sys.modules and _is_symbolic(value):
            return {"text/latex": f"$\\displaystyle {_formula(value)}$"}
        data = {}
        for method, mime in _MIMES.items():
            text = getattr(value, method)() if not isinstance(value, type) and hasattr(value, method) else None
            if text is not None:
                data[mime] = text
        return data or {"text/plain": repr(value)}

    def _frame(self, viewer: Any) -> dict[str, str]:
        """A viewer's page, saved next to the site and shown in a frame that loads when the reader scrolls to it."""
        viewer.close()
        if self.shows is None:
            return {"viewer": ""}
        name = f"{self.page.name}-{self.number}-{len(self.outputs)}.html"
        target = self.shows / name
        target.parent.mkdir(parents=True, exist_ok=True)
        viewer.save_html(target)
        address = "../" * self.page.name.count("/") + "live/" + name
        frame = (
            f'<iframe class="live" src="{address}" loading="lazy" sandbox="allow-scripts allow-downloads" '
            f'title="A page that moves"></iframe><p class="live"><a href="{address}">alone on a page</a></p>'
        )
        return {"viewer": frame}


def _is_symbolic(value: Any) -> bool:
    """Whether a value is shown as a formula: SymPy's objects, and tuples and lists with nothing else in them."""
    import sympy

    if isinstance(value, (tuple, list)):
        return bool(value) and all(_is_symbolic(x) for x in value)
    return isinstance(value, (sympy.Basic, sympy.MatrixBase, sympy.NDimArray))


def _formula(value: Any) -> str:
    """A formula with dots for rates: thetad1 is \\dot{\\theta}_1, where a notebook would show thetad_1."""
    from sixd.symbolic import latex

    if isinstance(value, (tuple, list)):
        return r",\qquad ".join(map(_formula, value))
    rates = {s: match for s in value.free_symbols if (match := _RATE.fullmatch(s.name)) is not None}
    dots = {"d": "dot", "dd": "ddot"}
    greek = {name: "\\" + name for name in _GREEK}
    return latex(
        value,
        {
            symbol: f"\\{dots[m[2]]}{{{greek.get(m[1], m[1])}}}" + (f"_{{{m[3]}}}" if m[3] else "")
            for symbol, m in rates.items()
        },
        short=False,
        digits=None,
    )


def _plot_types() -> tuple[type, ...]:
    module = sys.modules.get("matplotlib.artist")
    return (module.Artist,) if module else ()


def _figure(figure: Any) -> dict[str, str]:
    """A figure as SVG; no time is written into it."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    return {"image/svg+xml": buffer.getvalue()}


def _line(error: BaseException, page: Page) -> int | None:
    """The last line of the page that the error passed, or the line of a syntax error."""
    if isinstance(error, SyntaxError) and error.filename == str(page.path) and error.lineno:
        return None
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(page.path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


@contextlib.contextmanager
def _surroundings() -> Iterator[None]:
    """The same for every page: no browser, arrays printed as by default, and undone afterwards."""
    import numpy as np

    set_here = {"SIXD_VIEW": "off", "MPLBACKEND": "svg", "MATPLOTLIBRC": str(Path(__file__).with_name("matplotlibrc"))}
    before = {name: os.environ.get(name) for name in set_here}
    os.environ.update(set_here)
    path = list(sys.path)
    try:
        with np.printoptions():
            yield
    finally:
        sys.path[:] = path
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
