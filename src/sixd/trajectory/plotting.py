"""A trajectory as a matplotlib figure: coordinates, velocities, forces, energies, errors of the constraints over time.

matplotlib is imported when a figure is made. Without ``show`` its object interface is used, which needs no display.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import MissingPackageError, ScalarTypeError, require_known
from sixd.notebook import kernel
from sixd.trajectory.labels import QUATERNION, Column
from sixd.trajectory.panels import WHAT, Panel, panels
from sixd.trajectory.paths import checked_path, open_whole
from sixd.trajectory.printing import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sixd.trajectory.trajectory import Trajectory

MOST_ROLLOUTS = 200  # of a batch that are drawn; more cannot be distinguished
MOST_RECORDS = 4000  # records that are drawn of each line: some ten a pixel
MOST_NAMES = 12  # names in a legend
_LARGEST = 1e300  # largest value that is drawn: matplotlib's own sums overflow beyond it
_WIDTH, _HEIGHT = 10.0, 2.3  # [inches] of the figure, and of a band of panels


def plot(
    traj: Trajectory, what: Sequence[str] | None = None, joints: Sequence[str] | None = None, show: bool | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:  # fmt: skip
    """Draw the motion and return the matplotlib figure.

    Parameters
    ----------
    what : some of "q", "qd", "tau", "friction", "energy" (with its change from the start next to it; the change alone
        if all rollouts keep the same energy) and "constraint_error" (on a logarithmic axis; it is added to the energy
        if there are constraints). If omitted: "q", "qd", "tau" if the motion is controlled, and "energy".
    joints : names of the joints to draw; all if omitted.
    show : True opens a window. In a notebook the figure is shown unless this is False.
    path : file to save the figure to; the suffix gives the format: .png, .svg, .pdf.

    Of a batch at most 200 evenly chosen rollouts are drawn, in thin lines; of long motions about 4000 records. Long
    names are shortened in the middle, and coordinates that are zero throughout are drawn as one line.
    """
    if not math.prod(traj.q.shape[:-1]):
        raise ScalarTypeError(f"plot: there is nothing to draw in {traj!r}, expected at least one record.")
    shell = None if show is False else kernel()
    figure_of = figure_maker(bool(show) and shell is None)
    chosen = _chosen(traj, what)
    part, note = _thinned(traj)
    with np.errstate(all="ignore"):  # the finite part of rollouts that blew up is drawn
        bands = [band for name in chosen for band in panels(part, name, _wanted(traj, joints)) if band]
    if not bands:
        raise ScalarTypeError(f"plot: there is nothing to draw of {chosen} in {traj!r}. Choose from {WHAT}.")

    figure = figure_of(figsize=(_WIDTH, _HEIGHT * len(bands) + 0.6), layout="constrained")
    _draw_bands(figure, part, bands)
    name = "trajectory" if traj.system is None else traj.system.name
    figure.suptitle(f"{name}{note}", fontsize=11)
    if path is not None:
        save_figure(figure, path)
    if shell is not None:
        figure._ipython_display_ = InNotebook(figure)
        figure._ipython_display_()
    elif show:
        import matplotlib.pyplot as plt

        plt.show()
    return figure


def _chosen(traj: Trajectory, what: Sequence[str] | None) -> list[str]:
    """The names of what is drawn; those that are usual if ``what`` is None."""
    if what is None:
        what = ("q", "qd", "energy") if traj.tau is None or not traj.tau.any() else ("q", "qd", "tau", "energy")
    chosen = [what] if isinstance(what, str) else list(what)
    for name in chosen:
        require_known("plot: what", "choice", name, WHAT)
    return chosen


def _draw_bands(figure: Figure, traj: Trajectory, bands: Sequence[Sequence[Panel]]) -> None:
    """Draw the bands of panels below each other, on one grid for all, so that their edges align."""
    width = math.lcm(*map(len, bands))
    grid = figure.add_gridspec(len(bands), width)
    first: Any = None
    for k, band in enumerate(bands):
        step = width // len(band)
        lowest = all(len(below) != len(band) for below in bands[k + 1 :])
        for j, panel in enumerate(band):
            axes = figure.add_subplot(grid[k, j * step : (j + 1) * step], sharex=first)
            first = first or axes
            _draw(axes, traj, panel)
            if lowest:
                axes.set_xlabel("t [s]", fontsize=9)


class InNotebook:
    """Displays a figure in a notebook once per cell: not again at the end of the cell, unless it has changed."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        self.cell: int | None = None

    def __call__(self) -> None:
        from IPython.display import Image, display

        cell = getattr(kernel(), "execution_count", None)
        if self.cell is not None and cell == self.cell and not self.figure.stale:
            return
        file = io.BytesIO()
        self.figure.savefig(file, format="png", dpi=144)
        self.cell, self.figure.stale = cell, False  # savefig marks the figure as changed
        display(Image(data=file.getvalue(), width=int(72 * self.figure.get_size_inches()[0])))


def figure_maker(with_window: bool = False) -> Callable[..., Any]:
    """The function that makes a figure: matplotlib's object interface, or pyplot for a figure with a window."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError(
            "plot: the package matplotlib is not installed, expected it for figures. Run: pip install matplotlib"
        ) from None
    if with_window:
        import matplotlib.pyplot as plt

        return plt.figure
    return lambda **options: FigureCanvasAgg(Figure(**options)).figure


def _thinned(traj: Trajectory) -> tuple[Trajectory, str]:
    """The rollouts and records that are drawn, and a note on how many rollouts they are."""
    note = ""
    count = int(np.prod(traj.batch))
    if traj.batch:
        kept = np.linspace(0, count - 1, min(count, MOST_ROLLOUTS)).round().astype(int)
        note = f": {len(kept)} of {count} rollouts" if len(kept) < count else f": {counted(count, 'rollout')}"
        traj = traj.row(np.unravel_index(kept, traj.batch))
    step = -(-len(traj) // MOST_RECORDS)
    return (traj[::step] if step > 1 else traj), note


def _wanted(traj: Trajectory, joints: Sequence[str] | None) -> Callable[[Column], bool]:
    if joints is None:
        return lambda column: True
    names = [joints] if isinstance(joints, str) else list(joints)
    known = list(dict.fromkeys(column.joint for column in traj.labels.q))
    for name in names:
        require_known("plot: joints", "joint", name, known)
    return lambda column: column.joint in names


def _draw(axes: Axes, traj: Trajectory, panel: Panel) -> None:
    rollouts = math.prod(traj.batch)
    style: dict[str, Any] = {"linewidth": 1.3}
    if rollouts > 1:
        style = {"linewidth": 0.6, "alpha": max(0.25, min(1.0, 8 / rollouts))}
    if len(traj) == 1:
        style |= {"marker": "."}
    shown = panel.lines if len(panel.lines) <= MOST_NAMES else panel.lines[: MOST_NAMES - 1]
    least = 0.0 if panel.logarithmic else -_LARGEST
    dashes = _dashes(panel) if rollouts == 1 else [k // 10 for k in range(len(panel.lines))]
    seen = False
    for k, line in enumerate(panel.lines):
        drawn = (line.values > least) & (line.values < _LARGEST)
        values = np.where(drawn, line.values, np.nan).reshape(-1, len(traj))
        seen |= bool(drawn.any())
        dash = ("-", "--", ":", "-.")[dashes[k] % 4]
        axes.plot(traj.t, values.T, color=f"C{k % 10}", linestyle=dash, **style)
        if k < len(shown):
            axes.plot([], [], color=f"C{k % 10}", linestyle=dash, label=line.name)
    if len(shown) < len(panel.lines):
        axes.plot([], [], " ", label=f"… {len(panel.lines) - len(shown)} more")
    if not seen:
        is_zero = all((line.values == 0).all() for line in panel.lines)
        text = "zero" if is_zero else "not finite, or too large to draw"
        axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=9, color="0.4")
    elif panel.logarithmic:
        axes.set_yscale("log")
    unit = "" if panel.unit in ("", QUATERNION) else f" [{panel.unit}]"
    axes.set_title(panel.title + unit, fontsize=9, loc="left")
    format_axes(axes, legend=panel.named or len(panel.lines) > 1)


def _dashes(panel: Panel) -> list[int]:
    """Dash pattern of each line: ten colours solid, then dashed, …; lines that coincide have different patterns."""
    lines = [np.nan_to_num(line.values) for line in panel.lines[:MOST_NAMES]]
    near = 3e-3 * float(np.ptp(lines))  # of the axis: about a line's thickness
    covered = [sum(bool((np.abs(x - y) <= near).all()) for y in lines[:k]) for k, x in enumerate(lines)]
    return [k // 10 + (covered[k] if k < len(covered) else 0) for k in range(len(panel.lines))]


def format_axes(axes: Axes, legend: bool) -> None:
    """Small ticks, a faint grid, and the legend to the right of the axes."""
    axes.tick_params(labelsize=8, which="both")
    # a common factor or offset of the ticks is written at the right, away from the title
    axes.yaxis.set_offset_position("right")
    axes.yaxis.get_offset_text().set_fontsize(7)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.margins(x=0.01)
    if legend:
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handlelength=1.5)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, whole or not at all; the suffix gives the format."""
    target, suffix = checked_path("plot", path, [f".{x}" for x in sorted(figure.canvas.get_supported_filetypes())])
    with open_whole("plot", path, target) as file:
        figure.savefig(file, format=suffix[1:], dpi=150)
