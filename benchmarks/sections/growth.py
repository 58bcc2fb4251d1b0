"""Growth with the number of bodies: chains of 1 to 1,000 links with skewed axes, as a table and as a picture."""

from __future__ import annotations

import dataclasses
import time
import warnings
from typing import Any

import sixd
from benchmarks.agreement import reference, require_agreement
from benchmarks.contenders import ours, with_pinocchio
from benchmarks.growth_picture import draw
from benchmarks.report import progress
from benchmarks.robots import Robot, chain
from benchmarks.sections.operations import program_of
from benchmarks.session import Session, cell, ratio
from benchmarks.tasks import ABA, CRBA, RNEA, Task, random_states
from sixd.cli.timing import Contender, Timing

_HEAD = (
    "function", "bodies", "operations", "per body", "tracing, s", "first call, s", "first batch, s", "sixd batch",
    "per body", "Pinocchio batch", "ratio", "sixd call", "Pinocchio call", "ratio",
)  # fmt: skip
ROWS, LARGEST_MEGABYTES = 1024, 64.0  # of a batch
LONGEST = {RNEA: 1000, ABA: 1000, CRBA: 200}  # chains; a mass matrix of n bodies has n² entries
PICTURE = "growth.svg"


def measure(session: Session) -> None:
    """Operations, times to the first results, and times of batches and single calls."""
    report = session.report
    report.heading("Growth with the number of bodies")
    report.paragraph(
        "Chains of equal links on revolute joints whose axes are skewed by 0.3 rad, so that little folds away; "
        "float64, one thread. 'first call' and 'first batch' trace and compile without a cache: the code of one "
        f"state, and that of batches. The next columns are nanoseconds a state of a batch ({min(ROWS, session.rows)} "
        f"states, fewer if the arrays would exceed {LARGEST_MEGABYTES:.0f} MB), and of a call for one state. Pinocchio "
        "has no batch call for CRBA, and its `crba` fills the upper triangle. Its data grow with the cube of the "
        "number of bodies; it is left out where they do not fit into memory. Accelerations of long chains are "
        "compared with a coarser tolerance, according to the condition of their mass matrix."
    )
    rows = []
    for task in (task for task in LONGEST if task in session.tasks):
        for n in (n for n in session.chains if n <= LONGEST[task]):
            rows.append(_row(session, task, chain(n), n))
    report.table(_HEAD, rows)
    if rows:
        report.paragraph(f"![The table as a picture](../docs/{PICTURE})")
        report.add_file(PICTURE, draw(session.measured))


def _row(session: Session, task: Task, robot: Robot, n: int) -> list[str]:
    progress(f"growth: {task.title}, {robot.title}")
    key = ("growth", task.word, str(n))
    operations, tracing = _timed(lambda: program_of(task, robot).operations)
    states = random_states(robot.model, _rows(session, task, robot))
    one = {name: x[:1] for name, x in states.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.CompileWarning)  # of how long it takes
        _, call = _timed(lambda: task.function(robot.model, *(one[name][0] for name in task.inputs)))
        expected, batch = _timed(lambda: reference(task, robot, states))
    session.measured[*key, "first call"] = call

    batches = [ours.public("sixd", task, robot, states)]
    singles = [ours.public_call("sixd call", task, robot, one)]
    if with_pinocchio.fits(robot):
        batches += with_pinocchio.batch("Pinocchio batch", task, robot, states)
        singles.append(with_pinocchio.single("Pinocchio call", task, robot, one))
    for contenders in (batches, singles):
        _compare(task, contenders, expected, n)
    timings = session.time(key, batches + singles, max(3, session.rounds // 2))
    counts = [f"{operations:,}", f"{operations / n:.0f}", *(f"{x:.3f}" for x in (tracing, call, batch))]
    return [task.title, str(n), *counts, *_speeds(timings, n)]


def _rows(session: Session, task: Task, robot: Robot) -> int:
    rows = min(ROWS, session.rows)
    while rows > 1 and task.megabytes(robot.model, rows) > LARGEST_MEGABYTES:
        rows //= 2
    return rows


def _timed(function: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def _compare(task: Task, contenders: list[Contender], expected: Any, n: int) -> None:
    """The mass matrix's condition grows as n³: 1e10 for 1,000 links."""
    if task is ABA:
        contenders = [dataclasses.replace(c, tolerance=max(c.tolerance, 1e-14 * n**3)) for c in contenders]
    require_agreement(contenders, expected, f"{task.title} of a chain of {n}")


def _speeds(timings: dict[str, Timing], n: int) -> list[str]:
    cells = []
    for ours_, theirs in (("sixd", "Pinocchio batch"), ("sixd call", "Pinocchio call")):
        own, other = timings[ours_], timings.get(theirs)
        cells += [cell(own), *([f"{own.median / n:.1f}"] if ours_ == "sixd" else []), cell(other)]
        cells.append(ratio(other.median if other else None, own.median))
    return cells
