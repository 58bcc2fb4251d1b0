"""Growth with the number of bodies: chains of 1 to 200 links with skewed axes."""

from __future__ import annotations

import time

from benchmarks.agreement import reference, require_agreement
from benchmarks.contenders import ours, with_pinocchio
from benchmarks.report import progress
from benchmarks.robots import Robot, chain
from benchmarks.sections.operations import program_of
from benchmarks.session import Session, cell, ratio
from benchmarks.tasks import ABA, RNEA, Task, random_states

_HEAD = (
    "function", "bodies", "operations", "per body", "tracing, s", "first call, s", "sixd", "per body",
    "Pinocchio batch", "ratio",
)  # fmt: skip
ROWS = 1024


def measure(session: Session) -> None:
    """Operations, compile time and time per row of RNEA and ABA."""
    rows_each = min(ROWS, session.rows)
    session.report.heading("Growth with the number of bodies")
    session.report.paragraph(
        "Chains of equal links on revolute joints whose axes are skewed by 0.3 rad, so that little folds away. "
        f"Nanoseconds per row for {rows_each} rows, float64, one thread. 'first call' traces and compiles, "
        "nothing being cached."
    )
    tasks = [task for task in (RNEA, ABA) if task in session.tasks]
    rows = [_row(session, task, chain(n), n, rows_each) for task in tasks for n in session.chains]
    session.report.table(_HEAD, rows)


def _row(session: Session, task: Task, robot: Robot, n: int, rows: int) -> list[str]:
    progress(f"growth: {task.title}, {robot.title}")
    start = time.perf_counter()
    operations = program_of(task, robot).operations
    traced = time.perf_counter()
    states = random_states(robot.model, rows)
    started = time.perf_counter()
    expected = reference(task, robot, states)
    first = time.perf_counter() - started
    contenders = [ours.public("sixd", task, robot, states)]
    contenders += with_pinocchio.batch("Pinocchio batch", task, robot, states)
    require_agreement(contenders, expected, f"{task.title} of a {robot.title}")
    timings = session.time(("growth", task.word, str(n)), contenders, max(3, session.rounds // 2))
    own, theirs = timings["sixd"], timings["Pinocchio batch"]
    counts = [f"{operations:,}", f"{operations / n:.0f}", f"{traced - start:.3f}", f"{first:.3f}"]
    speeds = [cell(own), f"{own.median / n:.1f}", cell(theirs), ratio(theirs.median, own.median)]
    return [task.title, str(n), *counts, *speeds]
