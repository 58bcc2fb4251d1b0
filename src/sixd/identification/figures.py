"""Figures of identification: an excitation, torques with their residuals, parameters with their intervals."""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING

import numpy as np

from sixd.spatial.scalar import Array
from sixd.trajectory.labels import labels_of
from sixd.trajectory.plotting import figure_maker, format_axes, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sixd.identification.excitations import Excitation
    from sixd.model.model import Model

_MOST_SAMPLES = 1500  # of a curve that are drawn
_WIDTH = 10.0  # inches


def motion_figure(motion: Excitation, path: str | os.PathLike[str] | None) -> Figure:
    """q, qd, qdd and tau over time, one below the other."""
    figure = figure_maker()(figsize=(_WIDTH, 9.0), layout="constrained")
    names = labels_of(motion.base.model).names("qd")
    parts = (("q", motion.q), ("qd", motion.qd), ("qdd", motion.qdd), ("tau", motion.tau))
    for k, (name, values) in enumerate(parts):
        axes = figure.add_subplot(4, 1, k + 1)
        for j, joint in enumerate(names):
            axes.plot(motion.t, values[:, j], linewidth=1.2, label=joint, color=f"C{j % 10}")
        axes.set_title(name, fontsize=9, loc="left")
        format_axes(axes, legend=k == 0)
    axes.set_xlabel("t [s]", fontsize=9)
    figure.suptitle(f"{motion.base.model.name}: excitation, condition {motion.condition:.4g}", fontsize=11)
    if path is not None:
        save_figure(figure, path)
    return figure


def torque_figure(model: Model, tau: Array, predicted: Array) -> Figure:
    """Measured and predicted torques of each degree of freedom, and the residuals, over the number of the sample."""
    labels = labels_of(model).tau
    figure = figure_maker()(figsize=(_WIDTH, 1.5 * len(labels) + 0.6), layout="constrained")
    step = -(-len(tau) // _MOST_SAMPLES)
    at = np.arange(len(tau))[::step]
    first: Axes | None = None
    for k, label in enumerate(labels):
        axes = figure.add_subplot(len(labels), 1, k + 1, sharex=first)
        first = first or axes
        axes.plot(at, tau[::step, k], color="0.6", linewidth=2.2, label="measured")
        axes.plot(at, predicted[::step, k], color="C0", linewidth=1.0, label="predicted")
        axes.plot(at, (tau - predicted)[::step, k], color="C3", linewidth=0.8, label="residual")
        axes.set_title(f"{label.name} [{label.unit}]" if label.unit else label.name, fontsize=9, loc="left")
        format_axes(axes, legend=k == 0)
    axes.set_xlabel("sample", fontsize=9)
    return figure


def interval_figure(labels: list[str], values: Array, deviation: Array, intervals: Array) -> Figure:
    """Each parameter with its interval, relative to its size; poorly known ones are red."""
    size = np.maximum(np.abs(values), deviation)
    size = np.where(size > 0, size, 1.0)
    figure = figure_maker()(figsize=(_WIDTH, 0.17 * len(labels) + 1.2), layout="constrained")
    axes = figure.add_subplot()
    at = np.arange(len(labels))[::-1]
    poor = deviation > 0.3 * np.abs(values)
    half = (intervals[:, 1] - values) / size
    for chosen, color, name in ((~poor, "C0", "known"), (poor, "C3", "deviation above 30 %")):
        if chosen.any():
            axes.errorbar(
                (values / size)[chosen], at[chosen], xerr=half[chosen], fmt="o", markersize=3, color=color, label=name
            )
    axes.set_yticks(at, labels, fontsize=7)
    axes.axvline(0, color="0.5", linewidth=0.8)
    axes.set_xlabel("estimate with its interval, in parts of its size", fontsize=9)
    axes.set_xlim(-2.5, 2.5)
    format_axes(axes, legend=True)
    axes.tick_params(axis="y", labelsize=7)
    return figure


def svg_text(figure: Figure) -> str:
    """A figure as SVG text for use in a page: without metadata and the lines before <svg>."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "sixd", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", file.getvalue(), flags=re.DOTALL)
    return text[text.index("<svg") :]
