"""A trajectory as text: one line, and a table for notebooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import SixdError
from sixd.notebook import MOST_ROWS, table
from sixd.spatial.scalar import Array
from sixd.trajectory.arrays import available, finite_rollouts
from sixd.trajectory.derived import energy_of_state

if TYPE_CHECKING:
    from sixd.trajectory.trajectory import Trajectory

_MOST_SCANNED = 10_000_000  # entries of q whose minimum and maximum are computed for the table: 20 ms


def counted(n: int, word: str) -> str:
    """Return "1 rollout", "2 rollouts", …."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def describe(traj: Trajectory) -> str:
    """Return system, shapes, time span and, where it is cheap to compute, the change of energy, in one line."""
    name = "" if traj.system is None else f" of {traj.system.name!r}"
    plural = "" if math.prod(traj.batch) == 1 else "s"
    batch = f"{' × '.join(map(str, traj.batch))} rollout{plural} × " if traj.batch else ""
    span = f", {traj.t[0]:.6g} … {traj.t[-1]:.6g} s" if len(traj) else ""
    size = f"nq = {traj.q.shape[-1]}, nv = {traj.qd.shape[-1]}"
    text = f"<Trajectory{name}: {batch}{counted(len(traj), 'record')}{span}, {size}{_energy_text(traj)}"
    if traj.failed:
        text += f", {counted(traj.failed, 'rollout')} failed" if traj.batch else ", failed"
    return text + (", interrupted>" if traj.interrupted else ">")


def describe_html(traj: Trajectory) -> str:
    """Return the line of ``describe`` with a table of each coordinate's first, last, smallest and largest value."""
    columns = traj.labels.q
    small = 0 < traj.q.size <= _MOST_SCANNED
    lines: list[list[Any]] = []
    for k, column in enumerate(columns[: MOST_ROWS + 1] if small else ()):
        x = traj.q[..., k]
        ends = [x[0], x[-1]] if not traj.batch else []
        lines.append([column.name, column.shown_unit, *ends, x.min(), x.max()])
    if small:
        lines += [[]] * (len(columns) - len(lines))  # the table only counts them
    heads = () if traj.batch else ("start", "end")
    return table(describe(traj).strip("<>"), ("coordinate", "unit", *heads, "least", "largest") if lines else (), lines)


def _energy_text(traj: Trajectory) -> str:
    """The largest change of energy from start to end, and how many rollouts of finite states have infinite energies."""
    ends = _end_energies(traj)
    if ends is None:
        return ""
    start, end = ends
    finite = np.isfinite(start) & np.isfinite(end)
    change = end[finite] - start[finite]
    text = f", energy changes by {change[np.argmax(np.abs(change))]:.2g} J" if change.size else ""
    over = int(np.sum(~finite & finite_rollouts(traj)))
    if over:
        text += f", energy not finite in {counted(over, 'rollout')}" if traj.batch else ", energy not finite"
    return text


def _end_energies(traj: Trajectory) -> tuple[Array, Array] | None:
    """Total energy of the first and the last record, each of the batch's shape; None if that needs compiled code."""
    if len(traj) < 2:
        return None
    values = available(traj)
    with np.errstate(all="ignore"):  # a rollout that blew up shows it by its values
        if {"kinetic", "potential"} <= set(values):
            first, last = (np.asarray(values["kinetic"][..., k] + values["potential"][..., k]) for k in (0, -1))
            return first, last
        if traj.batch or traj.parameters or traj.system is None or traj.failed:
            return None
        try:
            first, last = (np.array(energy_of_state(traj.system, traj.q[k], traj.qd[k])) for k in (0, -1))
        except (SixdError, ArithmeticError, ValueError):  # a system without an energy
            return None
    return first, last
