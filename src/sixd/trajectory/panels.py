"""What a picture of a trajectory shows: rows of panels, each with lines under names, in one unit. Draws nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from sixd.errors import SixdError
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import Column
from sixd.trajectory.trajectory import Trajectory

WHAT = ("q", "qd", "tau", "energy", "constraint_error")
MOST_BESIDE = 2  # panels in a row, so that their legends leave room for the curves
LONGEST_NAME = 18  # letters in a legend: with the line beside it about an eighth of the figure's width
_WORDS = {"q": "coordinates", "qd": "velocities", "tau": "forces"}
_STEADY = 1e-3  # energies that lie closer together, beside their size, are drawn as changes: an axis would be level


class Line(NamedTuple):
    """Values (…, r) under a name."""

    name: str
    values: Array


class Panel(NamedTuple):
    """Lines in one pair of axes; ``named``: whether a line alone has its name beside it too."""

    title: str
    unit: str
    lines: list[Line]
    logarithmic: bool = False
    named: bool = False


def panels(traj: Trajectory, what: str, wanted: Callable[[Column], bool]) -> list[list[Panel]]:
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
    words = {unit: "quaternions" if unit == "1" else _WORDS[what] for unit in groups}
    found = [Panel(words[u], u, _told_apart(lines), named=True) for u, lines in groups.items()]
    return [found[k : k + MOST_BESIDE] for k in range(0, len(found), MOST_BESIDE)]


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """The name, with its middle left out if it is long."""
    half = most // 2
    return name if len(name) <= most else f"{name[: most - half - 1]}…{name[-half:]}"


def short_names(names: list[str]) -> list[str]:
    """Short names that differ as the long ones do."""
    short = [shortened(name) for name in names]
    for text in {x for x in short if short.count(x) > 1}:
        same = [k for k, x in enumerate(short) if x == text]
        # what differs, by whole words, between the ends of what does not
        start, end = (_common([names[k] for k in same], way) for way in (1, -1))
        for k in same:
            core = names[k][len(start) : len(names[k]) - len(end)]
            short[k] = shortened(f"{shortened(start, 5)}{core}{shortened(end, 7)}")
    return [x if short.count(x) == 1 else f"{shortened(x, LONGEST_NAME - 4)} {k}" for k, x in enumerate(short)]


def _common(names: list[str], way: int) -> str:
    """How all names start (way 1) or end (-1), up to the edge of a word, and less than the shortest of them."""
    letters = list(zip(*(name[::way] for name in names), strict=False))[:-1]
    start = "".join(x[0] for x in takewhile(lambda x: len(set(x)) == 1, letters))
    return re.sub(r"[^\W_]+$", "", start)[::way]


def _told_apart(lines: list[Line]) -> list[Line]:
    """With short names. Lines that are zero throughout would hide each other: they become one."""
    names = short_names([line.name for line in lines])
    still = [k for k, line in enumerate(lines) if not line.values.any()]
    if len(still) < 2:
        still = []
    found = [Line(names[k], line.values) for k, line in enumerate(lines) if k not in still]
    return [*found, Line(f"{len(still)} at zero", lines[still[0]].values)] if still else found


def _energy_panels(traj: Trajectory) -> list[list[Panel]]:
    try:
        total = traj.energy
    except SixdError:  # a system that cannot tell, or none
        return []
    start = total[..., :1]
    lines = [Line("total", total)]
    if not traj.batch:
        lines += [Line("kinetic", traj.kinetic), Line("potential", traj.potential)]
    whose = "total energy of each row" if traj.batch else "energy"
    title = "change of total energy" + (" of each row" if traj.batch else "")
    change = _in_joules(title, [Line("total", total - start)])
    if traj.batch and _range(lines) < _STEADY * _size(lines) and np.isfinite(start).any():
        # all curves are one level line, of which no axis shows more
        rows = [[change._replace(title=f"{change.title} from the start, {_si(start)}")]]
    else:
        rows = [[_in_joules(whose, lines), change]]
    bound = bool(traj.system.constraints) if traj.system is not None else "constraint_error" in traj.known
    return [*rows, [_constraint_panel(traj)]] if bound and traj.constraint_error.any() else rows


def _size(lines: list[Line]) -> float:
    """The largest |value| of finite ones."""
    return max((float(np.max(np.abs(x), initial=0, where=np.isfinite(x))) for _, x in lines), default=0.0)


def _range(lines: list[Line]) -> float:
    """How far the finite values lie apart."""
    finite = np.concatenate([x[np.isfinite(x)] for _, x in lines])
    return float(np.ptp(finite)) if finite.size else 0.0


def _prefix(size: float) -> tuple[int, str]:
    """(power of 1000, prefix of the unit) for numbers up to this size that can be read."""
    power = min(max(math.floor(math.log10(size) / 3), -5), 4) if size else 0
    return power, ("f", "p", "n", "µ", "m", "", "k", "M", "G", "T")[power + 5]


def _si(value: Array) -> str:
    """Energies that are about the same, as one number with its unit."""
    mean = float(np.mean(value, where=np.isfinite(value)))
    power, prefix = _prefix(abs(mean))
    return f"{mean / 1000.0**power:.4g} {prefix}J"


def _in_joules(title: str, lines: list[Line]) -> Panel:
    """A panel of energies in J, kJ, mJ, …."""
    power, prefix = _prefix(_size(lines))
    return Panel(title, prefix + "J", [Line(name, x / 1000.0**power) for name, x in lines])


def _constraint_panel(traj: Trajectory) -> Panel:
    whose = "error of the constraints, the largest" + (" of each row" if traj.batch else "")
    return Panel(whose, "m, rad", [Line("largest", traj.constraint_error)], logarithmic=True)
