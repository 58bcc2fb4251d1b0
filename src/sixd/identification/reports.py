"""``report``: identified parameters as one page of HTML with figures, or as Markdown with figures in other files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape

import numpy as np

from sixd.atomic import write_together
from sixd.errors import ScalarTypeError
from sixd.identification.figures import interval_figure, svg_text, torque_figure
from sixd.identification.fitting import Identification
from sixd.identification.payloads import Payload
from sixd.identification.structure.columns import INERTIAL, UNITS
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import labels_of
from sixd.trajectory.paths import checked_path

_SUFFIXES = (".html", ".md")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:.15em .8em;border-bottom:1px solid #ddd;text-align:right}"
    "td{white-space:nowrap}td:last-child{white-space:normal}"
    "td:first-child,th:first-child,td:last-child,th:last-child{text-align:left}"
    ".poor td{color:#b3261e}svg{max-width:100%;height:auto}"
    "code{font-size:13px}"
)

_FIGURES = {"Torques": "torques", "Base parameters": "parameters", "Parameters": "parameters"}  # below a table

Table = tuple[Sequence[str], list[list[str]]]  # names of the columns, lines
Contents = tuple[str, list[str], dict[str, Table], tuple[list[str], Array, Array, Array]]


def report(result: Identification | Payload, path: str | os.PathLike[str], *, level: float = 0.95) -> None:
    """Write identified parameters to a file: estimates with confidence intervals, torques, residuals, figures.

    Parameters
    ----------
    result : of ``fit`` or ``payload``.
    path : .html is one file that needs no network; .md has its figures in the same folder, as NAME_torques.svg and
        NAME_parameters.svg. Files are written whole or not at all.
    level : of the confidence intervals.
    """
    if not isinstance(result, (Identification, Payload)):
        raise ScalarTypeError(
            f"report: got a {type(result).__name__}, expected the result of sixd.identification.fit or payload."
        )
    target, suffix = checked_path("report", path, _SUFFIXES)
    contents = _of_fit(result, level) if isinstance(result, Identification) else _of_payload(result, level)
    title, facts, tables, shown = contents
    figures = {
        "torques": svg_text(torque_figure(result.model, result.samples.torques, result.predicted)),
        "parameters": svg_text(interval_figure(*shown)),
    }
    failure = f"report: cannot write {str(path)!r}"
    if suffix == ".html":
        write_together({target: _html(title, facts, tables, figures)}, failure)
        return
    files = {name: target.with_name(f"{target.stem}_{name}.svg") for name in figures}
    text = _markdown(title, facts, tables, {name: file.name for name, file in files.items()})
    write_together({target: text, **{files[name]: svg for name, svg in figures.items()}}, failure)


def _of_fit(result: Identification, level: float) -> Contents:
    units = [result.columns.units[j] for j in result.base.independent]
    intervals, values, deviation = result.intervals(level), result.base_values, result.base_deviation
    rows = zip(result.base.labels, values, intervals, deviation, units, result.base.formulas, strict=True)
    base = [
        [name, _number(x), _number(low), _number(high), _percent(s, x), unit, str(formula)]
        for name, x, (low, high), s, unit, formula in rows
    ]
    columns = result.columns
    standard = [[name, _number(x), _number(x0), unit] for name, x, x0, unit in
                zip(columns.names, result.parameters, columns.values, columns.units, strict=True)]  # fmt: skip
    how = {"lmi": "realisable, by a semidefinite program", "log-det": "realisable, by log-det divergence"}
    facts = [
        f"{len(result.samples.torques)} samples of {result.model.nv} torques",
        f"{len(result.base)} base parameters of {len(columns.names)} standard ones",
        f"condition number of the weighted regressor: {result.condition:.4g}",
        f"standard parameters: {how.get(str(result.consistent), 'nearest to the prior, not made realisable')}",
    ]
    tables: dict[str, Table] = {
        "Torques": _torque_table(result),
        "Base parameters": (("name", "estimate", "from", f"to ({100 * level:g} %)", "deviation", "unit", "sum"), base),
        "Standard parameters": (("name", "identified", "prior", "unit"), standard),
    }
    shown = list(result.base.labels), values, deviation, intervals
    return f"Identification of {result.model.name}", facts, tables, shown


def _of_payload(result: Payload, level: float) -> Contents:
    intervals, values, deviation = result.intervals(level), result.parameters, result.deviation
    own = result.inertia.parameters
    rows = [
        [name, _number(y), _number(x), _number(low), _number(high), _percent(s, x), unit]
        for name, y, x, (low, high), s, unit in zip(INERTIAL, own, values, intervals, deviation, UNITS, strict=True)
    ]
    com = ", ".join(f"{x:.5g} ± {2 * s:.2g}" for x, s in zip(result.com, result.com_deviation, strict=True))
    facts = [
        f"{len(result.samples.torques)} samples of {result.model.nv} torques",
        f"mass: {result.mass:.5g} ± {2 * result.mass_deviation:.2g} kg",
        f"centre of mass in {result.frame}: ({com}) m",
    ]
    header = ("name", "realisable", "estimate", "from", f"to ({100 * level:g} %)", "deviation", "unit")
    tables: dict[str, Table] = {"Torques": _torque_table(result), "Parameters": (header, rows)}
    shown = list(INERTIAL), values, deviation, intervals
    return f"Payload of {result.model.name} at {result.frame}", facts, tables, shown


def _torque_table(result: Identification | Payload) -> Table:
    noise = result.noise if result.noise.ndim == 1 else np.sqrt(np.diag(result.noise))
    tau, left = (np.sqrt((x**2).mean(axis=0)) for x in (result.samples.torques, result.residuals))
    lines = [
        [label.name, _number(a), _number(b), _percent(b, a), _number(s), label.unit]
        for label, a, b, s in zip(labels_of(result.model).tau, tau, left, noise, strict=True)
    ]
    return ("DoF", "RMS measured", "RMS residual", "part", "noise", "unit"), lines


def _number(x: float) -> str:
    return f"{x:.5g}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / abs(whole):.3g} %" if whole else "–"


def _is_poor(line: Sequence[str]) -> bool:
    """Whether a line has a deviation above 30 %."""
    return any(cell.endswith(" %") and float(cell[:-2]) > 30 for cell in line)


def _html(title: str, facts: list[str], tables: dict[str, Table], figures: dict[str, str]) -> str:
    parts = [
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f"<h1>{escape(title)}</h1><ul>",
        *(f"<li>{escape(fact)}</li>" for fact in facts),
        "</ul>",
    ]
    for name, (header, lines) in tables.items():
        parts.append(f"<h2>{escape(name)}</h2><table><tr>")
        parts += [f"<th>{escape(cell)}</th>" for cell in header]
        parts.append("</tr>")
        for line in lines:
            poor = ' class="poor"' if name != "Torques" and _is_poor(line) else ""
            parts.append(f"<tr{poor}>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>")
        parts.append("</table>")
        parts.append(figures[_FIGURES[name]] if name in _FIGURES else "")
    return "\n".join([*parts, "</html>", ""])


def _markdown(title: str, facts: list[str], tables: dict[str, Table], files: dict[str, str]) -> str:
    parts = [f"# {title}", "", *(f"- {fact}" for fact in facts), ""]
    for name, (header, lines) in tables.items():
        rows = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
        parts += [f"## {name}", "", f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
        parts += [*(f"| {row} |" for row in rows), ""]
        figure = _FIGURES.get(name)
        parts += [f"![{figure}]({files[figure]})", ""] if figure else []
    return "\n".join(parts)
