"""A trajectory as a picture: coordinates, velocities, forces, energies and errors of the constraints over time.

matplotlib is imported when a picture is made. Without ``show`` its object interface is used, which needs no display.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sixd.atomic import whole_file
from sixd.errors import FileError, MissingPackageError, ScalarTypeError, SixdError, unknown_name
from sixd.simulation.labels import Column
from sixd.simulation.trajectory import Trajectory
from sixd.spatial.scalar import Array

WHAT = ("q", "qd", "tau", "energy", "constraint_error")
MOST_ROWS = 200  # of a batch that are drawn; more cannot be told apart
MOST_RECORDS = 4000  # drawn of each line: some ten for a pixel
MOST_NAMES = 12  # in a legend
_WORDS = {"q": "coordinates", "qd": "velocities", "tau": "forces"}
_WIDTH, _HEIGHT = 10.0, 2.3  # [inches] of the figure, and of a row of panels


class Line(NamedTuple):
    """Values (…, r) under a name."""

    name: str
    values: Array


class Panel(NamedTuple):
    """Lines in one pair of axes."""

    title: str
    unit: str
    lines: list[Line]
    logarithmic: bool = False


def plot(
    traj: Trajectory,
    what: Sequence[str] = ("q", "qd", "energy"),
    joints: Sequence[str] | None = None,
    show: bool | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """A matplotlib figure of the motion, which is returned.

    Parameters
    ----------
    what : of "q", "qd", "tau", "energy" (with its change since the start beside it) and "constraint_error" (on a
        logarithmic axis; it is added wherever energy is drawn and there are constraints).
    joints : names of the joints to draw; all if omitted.
    show : True opens a window. A figure in a notebook shows itself.
    path : where to save the picture; the suffix decides: .png, .svg, .pdf.

    Of a batch at most 200 rows are drawn, evenly chosen, in thin lines; of long motions about 4000 records.
    """
    figure_of = _matplotlib(bool(show))
    chosen = [what] if isinstance(what, str) else list(what)
    for name in chosen:
        if name not in WHAT:
            raise unknown_name("plot: what", "choice", name, WHAT)
    part, note = _thinned(traj)
    rows = [panels for name in chosen for panels in _panels(part, name, _wanted(traj, joints)) if panels]
    if not rows:
        raise ScalarTypeError(f"plot: there is nothing to draw of {chosen} in {traj!r}. Choose from {WHAT}.")

    figure = figure_of(figsize=(_WIDTH, _HEIGHT * len(rows) + 0.6), layout="constrained")
    # one grid for all rows, so that their edges are in line
    width = math.lcm(*map(len, rows))
    grid = figure.add_gridspec(len(rows), width)
    first: Any = None
    for k, panels in enumerate(rows):
        step = width // len(panels)
        for j, panel in enumerate(panels):
            axes = figure.add_subplot(grid[k, j * step : (j + 1) * step], sharex=first)
            first = first or axes
            _draw(axes, part, panel)
            if k == len(rows) - 1:
                axes.set_xlabel("t [s]", fontsize=9)
    name = "trajectory" if traj.system is None else traj.system.name
    figure.suptitle(f"{name}{note}", fontsize=11)
    if path is not None:
        _save(figure, path)
    if show:
        import matplotlib.pyplot as plt

        plt.show()
    return figure


def _matplotlib(with_window: bool) -> Callable[..., Any]:
    """What makes a figure."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError(
            "plot: the package matplotlib is not installed, expected it for pictures. Run: pip install 'sixd[plot]'"
        ) from None
    if with_window:
        import matplotlib.pyplot as plt

        return plt.figure

    def figure(**options: Any) -> Any:
        made = Figure(**options)
        FigureCanvasAgg(made)
        return made

    return figure


def _thinned(traj: Trajectory) -> tuple[Trajectory, str]:
    """What is drawn of a trajectory, and words that tell what is not."""
    note = ""
    count = int(np.prod(traj.batch))
    if traj.batch:
        kept = np.linspace(0, max(count - 1, 0), min(count, MOST_ROWS)).round().astype(int)
        note = f": {len(kept)} of {count} rows" if len(kept) < count else f": {count} rows"
        traj = traj.row(np.unravel_index(kept, traj.batch) if count else slice(0))
    step = -(-len(traj) // MOST_RECORDS)
    return (traj[::step] if step > 1 else traj), note


def _wanted(traj: Trajectory, joints: Sequence[str] | None) -> Callable[[Column], bool]:
    if joints is None:
        return lambda column: True
    names = [joints] if isinstance(joints, str) else list(joints)
    known = list(dict.fromkeys(column.joint for column in traj.labels.q))
    for name in names:
        if name not in known:
            raise unknown_name("plot: joints", "joint", name, known)
    return lambda column: column.joint in names


def _panels(traj: Trajectory, what: str, wanted: Callable[[Column], bool]) -> list[list[Panel]]:
    """Rows of panels: one for each unit of coordinates side by side, energy and its change, the constraints' error."""
    if what == "constraint_error":
        return [[_constraint_panel(traj)]]
    if what == "energy":
        return _energy_panels(traj)
    x = getattr(traj, what)
    if x is None:
        return []
    groups: dict[str, list[Line]] = {}
    for k, column in enumerate(getattr(traj.labels, what)):
        if wanted(column):
            groups.setdefault(column.unit, []).append(Line(column.name, x[..., k]))
    return [[Panel("quaternions" if u == "1" else _WORDS[what], u, lines) for u, lines in groups.items()]]


def _energy_panels(traj: Trajectory) -> list[list[Panel]]:
    try:
        total = traj.energy
    except SixdError:  # a system that cannot tell, or none
        return []
    lines = [Line("total", total)]
    if not traj.batch:
        lines += [Line("kinetic", traj.kinetic), Line("potential", traj.potential)]
    change = [Line("total - start", total - total[..., :1])]
    rows = [[_in_joules("energy", lines), _in_joules("change of energy", change)]]
    bound = bool(traj.system.constraints) if traj.system is not None else "constraint_error" in traj.known
    return [*rows, [_constraint_panel(traj)]] if bound and traj.constraint_error.any() else rows


def _in_joules(title: str, lines: list[Line]) -> Panel:
    """A panel of energies in J, kJ, mJ, …: numbers that can be read."""
    largest = max((float(np.max(np.abs(x), initial=0, where=np.isfinite(x))) for _, x in lines), default=0.0)
    power = min(max(math.floor(math.log10(largest) / 3), -5), 4) if largest else 0
    scaled = [Line(name, x / 1000.0**power) for name, x in lines]
    return Panel(title, ("f", "p", "n", "µ", "m", "", "k", "M", "G", "T")[power + 5] + "J", scaled)


def _constraint_panel(traj: Trajectory) -> Panel:
    return Panel("error of the constraints", "m, rad", [Line("largest", traj.constraint_error)], logarithmic=True)


def _draw(axes: Any, traj: Trajectory, panel: Panel) -> None:
    rows = int(np.prod(traj.batch))
    style = {"linewidth": 0.6, "alpha": max(0.15, min(1.0, 4 / rows))} if rows > 1 else {"linewidth": 1.3}
    shown = panel.lines if len(panel.lines) <= MOST_NAMES else panel.lines[: MOST_NAMES - 1]
    for k, line in enumerate(panel.lines):
        values = np.where(line.values > 0, line.values, np.nan) if panel.logarithmic else line.values
        # ten colours, solid first, then dashed, …
        dash = ("-", "--", ":", "-.")[k // 10 % 4]
        axes.plot(traj.t, values.reshape(-1, len(traj)).T, color=f"C{k % 10}", linestyle=dash, **style)
        if k < len(shown):
            axes.plot([], [], color=f"C{k % 10}", linestyle=dash, label=line.name)
    if len(shown) < len(panel.lines):
        axes.plot([], [], " ", label=f"… {len(panel.lines) - len(shown)} more")
    if panel.logarithmic and any((line.values > 0).any() for line in panel.lines):
        axes.set_yscale("log")
    axes.set_title(
        f"{panel.title} [{panel.unit}]" if panel.unit not in ("", "1") else panel.title, fontsize=9, loc="left"
    )
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.margins(x=0.01)
    if len(panel.lines) > 1:
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handlelength=1.5)


def _save(figure: Any, path: str | os.PathLike[str]) -> None:
    place = Path(path).expanduser()
    known = sorted(figure.canvas.get_supported_filetypes())
    if place.suffix[1:].lower() not in known:
        raise unknown_name(f"plot: {place.name!r}", "file format", place.suffix, [f".{x}" for x in known])
    try:
        with whole_file(place) as file:
            figure.savefig(file, format=place.suffix[1:].lower(), dpi=150)
    except OSError as error:
        raise FileError(f"plot: cannot write {str(path)!r}: {error.strerror or error}. Check the folder.") from None
