"""Threads: a large batch on one thread and on two."""

from __future__ import annotations

import dataclasses
from functools import partial

import sixd
from benchmarks import robots
from benchmarks.agreement import reference, require_agreement
from benchmarks.contenders import ours
from benchmarks.session import Session, cell, ratio
from benchmarks.tasks import RNEA, Array
from sixd.cli.timing import Contender

LARGE = 100_000


def measure(session: Session) -> None:
    """RNEA of the panda, 100,000 states, alternating."""
    report = session.report
    rows = LARGE if session.rows == 4096 else session.rows
    report.heading("Threads")
    robot = robots.load("panda")
    states = session.states(robot)
    contenders = [_with_threads(n, ours.public(str(n), RNEA, robot, states, rows)) for n in (1, 2)]
    try:
        require_agreement(contenders, reference(RNEA, robot, states), "RNEA of the panda on threads")
        timings = session.time(("threads",), contenders, 2 * session.rounds)
    finally:
        sixd.set_num_threads(1)
    speedup = ratio(timings["1"].median, timings["2"].median)
    cells = [f"RNEA of the panda, {rows:,} states", cell(timings["1"]), cell(timings["2"]), speedup]
    report.table(["", "1 thread, ns a state", "2 threads, ns a state", "speed-up"], [cells])


def _with_threads(n: int, contender: Contender) -> Contender:
    """The contender on n threads, both when it is compared and when it is timed."""

    def result() -> Array:
        sixd.set_num_threads(n)
        assert contender.result is not None
        return contender.result()

    return dataclasses.replace(contender, result=result, before=partial(sixd.set_num_threads, n))
