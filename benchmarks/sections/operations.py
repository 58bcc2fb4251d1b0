"""Operations: what a kernel consists of, by kind, and how long one operation takes."""

from __future__ import annotations

import time

from benchmarks.report import progress
from benchmarks.robots import Robot
from benchmarks.session import Session
from benchmarks.tasks import Task
from sixd.cli.output import digits
from sixd.trace import Program, trace

_KINDS = ("mul", "add", "sub", "neg", "div", "sin", "cos")


def program_of(task: Task, robot: Robot) -> Program:
    """The graph of the task for one state of the robot."""
    model, static = robot.model, task.static(robot)
    shapes = {name: (model.nq if name == "q" else model.nv,) for name in task.inputs}
    return trace(lambda *arrays: task.function(model, *arrays, **static), shapes)


def measure(session: Session) -> None:
    """Counts for every function and robot; times per operation come from the batches, if those were measured."""
    session.report.heading("Operations per kernel")
    session.report.paragraph(
        "Every operation of the traced graph counts as one, including a sine. 'ns' is the time a state in the batches "
        "above, float64, one thread."
    )
    rows = []
    for task in session.tasks:
        for robot in session.robots():
            progress(f"operations: {task.title}, {robot.title}")
            start = time.perf_counter()
            program = program_of(task, robot)
            seconds = time.perf_counter() - start
            counts = program.count()
            others = program.operations - sum(counts[kind] for kind in _KINDS)
            session.measured[("operations", task.word, robot.title)] = program.operations
            cells = [
                f"{program.operations:,}",
                *(f"{counts[kind]:,}" for kind in _KINDS),
                str(others),
                f"{seconds:.3f}",
            ]
            rows.append([task.title, robot.title, *cells, *_speed(session, task, robot, program.operations)])
    head = ["function", "robot", "all", *_KINDS, "others", "tracing, s", "ns", "ns per operation"]
    session.report.table(head, rows, left=2)


def _speed(session: Session, task: Task, robot: Robot, operations: int) -> list[str]:
    ns = session.measured.get(("batch", task.word, robot.title, "sixd"))
    return ["–", "–"] if ns is None else [digits(ns), f"{ns / operations:.4f}"]
