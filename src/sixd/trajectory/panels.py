"""The contents of a trajectory's figure: panels with named lines in one unit. Draws nothing.

Panels stand side by side in a band; the figure stacks the bands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sixd.errors import SixdError
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import QUATERNION, Column, by_unit

if TYPE_CHECKING:
    from sixd.trajectory.trajectory import Trajectory

WHAT = ("q", "qd", "tau", "friction", "energy", "constraint_error")
_MOST_PER_BAND = 2  # panels side by side, so that their legends leave room for the curves
LONGEST_NAME = 18  # letters in a legend: with the line next to it about an eighth of the figure's width
_TITLES = {"q": "coordinates", "qd": "velocities", "tau": "forces", "friction": "forces of dry friction"}
_STEADY = 1e-3  # relative range of energies below which only their changes are drawn: the curves would look constant


class Line(NamedTuple):
    """Values (…, r) under a name."""

    name: str
    values: Array


class Panel(NamedTuple):
    """Lines in one pair of axes; ``named``: whether a single line has a legend too."""

    title: str
    unit: str
    lines: list[Line]
    logarithmic: bool = False
    named: bool = False


def panels(traj: Trajectory, what: str, wanted: Callable[[Column], bool]) -> list[list[Panel]]:
    """Return bands of panels: one for each unit of the entries, or energy and its change, or the constraints' error."""
    if what == "constraint_error":
        return [[_constraint_panel(traj)]]
    if what == "energy":
        return _energy_panels(traj)
    x = getattr(traj, what)
    if x is None:
        return []
    made = []
    for unit, group in by_unit(getattr(traj.labels, "tau" if what == "friction" else what)).items():
        lines = [Line(column.name, x[..., k]) for k, column in group if wanted(column)]
        title = "quaternions" if unit == QUATERNION else "torques" if (what, unit) == ("tau", "N m") else _TITLES[what]
        made += [Panel(title, unit, _distinct(lines), named=True)] if lines else []
    return [made[k : k + _MOST_PER_BAND] for k in range(0, len(made), _MOST_PER_BAND)]


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """Return the name, with its middle left out if it is long."""
    half = most // 2
    return name if len(name) <= most else f"{name[: most - half - 1]}…{name[-half:]}"


def short_names(names: list[str]) -> list[str]:
    """Return short names that differ as the long ones do."""
    short = [shortened(name) for name in names]
    for text in {x for x in short if short.count(x) > 1}:
        same = [k for k, x in enumerate(short) if x == text]
        # keep the part that differs, in whole words, and shorten the common start and end
        start, end = (_common([names[k] for k in same], way) for way in (1, -1))
        for k in same:
            core = names[k][len(start) : len(names[k]) - len(end)]
            short[k] = shortened(f"{shortened(start, 5)}{core}{shortened(end, 7)}")
    return [x if short.count(x) == 1 else f"{shortened(x, LONGEST_NAME - 4)} {k}" for k, x in enumerate(short)]


def _common(names: list[str], way: int) -> str:
    """The common start (way 1) or end (-1) of all names in whole words, shorter than the shortest name."""
    letters = list(zip(*(name[::way] for name in names), strict=False))[:-1]
    start = "".join(x[0] for x in takewhile(lambda x: len(set(x)) == 1, letters))
    return re.sub(r"[^\W_]+$", "", start)[::way]


def _distinct(lines: list[Line]) -> list[Line]:
    """The lines under short names; those that are zero throughout would hide each other and become one."""
    names = short_names([line.name for line in lines])
    short = [Line(name, line.values) for name, line in zip(names, lines, strict=True)]
    still = [line for line in short if not line.values.any()]
    if len(still) < 2:
        return short
    return [*(x for x in short if x.values.any()), Line(f"{len(still)} at zero", still[0].values)]


def _energy_panels(traj: Trajectory) -> list[list[Panel]]:
    try:
        total = traj.energy
    except SixdError:  # no system, or one without an energy
        return []
    start, lines = total[..., :1], [Line("total", total)]
    if not traj.batch:
        lines += [Line("kinetic", traj.kinetic), Line("potential", traj.potential)]
    whose = "total energy of each rollout" if traj.batch else "energy"
    title = "change of total energy" + (" of each rollout" if traj.batch else "")
    change = _in_joules(title, [Line("total", total - start)])
    if traj.batch and _range(lines) < _STEADY * _size(lines) and np.isfinite(start).any():
        # all curves would lie on one level line
        bands = [[change._replace(title=f"{change.title} from the start, {_in_si(start)}")]]
    else:
        bands = [[_in_joules(whose, lines), change]]
    bound = bool(traj.system.constraints) if traj.system is not None else "constraint_error" in traj.known
    return [*bands, [_constraint_panel(traj)]] if bound and traj.constraint_error.any() else bands


def _size(lines: list[Line]) -> float:
    """The largest finite |value|."""
    return max((float(np.max(np.abs(x), initial=0, where=np.isfinite(x))) for _, x in lines), default=0.0)


def _range(lines: list[Line]) -> float:
    """The range of the finite values."""
    finite = np.concatenate([x[np.isfinite(x)] for _, x in lines])
    return float(np.ptp(finite)) if finite.size else 0.0


def _prefix(size: float) -> tuple[int, str]:
    """(power of 1000, prefix of the unit) for numbers up to this size."""
    power = min(max(math.floor(math.log10(size) / 3), -5), 4) if size else 0
    return power, ("f", "p", "n", "µ", "m", "", "k", "M", "G", "T")[power + 5]


def _in_si(value: Array) -> str:
    """The mean of energies that are about the same, with its unit."""
    mean = float(np.mean(value, where=np.isfinite(value)))
    power, prefix = _prefix(abs(mean))
    return f"{mean / 1000.0**power:.4g} {prefix}J"


def _in_joules(title: str, lines: list[Line]) -> Panel:
    """A panel of energies in J, kJ, mJ, …."""
    power, prefix = _prefix(_size(lines))
    return Panel(title, prefix + "J", [Line(name, x / 1000.0**power) for name, x in lines])


def _constraint_panel(traj: Trajectory) -> Panel:
    whose = "error of the constraints, the largest" + (" of each rollout" if traj.batch else "")
    return Panel(whose, "m, rad", [Line("largest", traj.constraint_error)], logarithmic=True)
