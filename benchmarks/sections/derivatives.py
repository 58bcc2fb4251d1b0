"""Derivatives of inverse and forward dynamics: operations, and batches beside Pinocchio's single calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

import sixd
from benchmarks.contenders.with_pinocchio import model_of
from benchmarks.report import progress
from benchmarks.robots import Robot
from benchmarks.session import Session, cell, ratio
from benchmarks.tasks import Array, States
from sixd.cli.output import digits
from sixd.cli.timing import Contender
from sixd.trace import trace

_CLOSE = 1e-9  # of the norm, as for the other functions


class Derivative(NamedTuple):
    """A public function of sixd, its last array, and Pinocchio's function."""

    title: str
    function: Callable[..., Any]
    last: str
    theirs: Callable[..., Any]


ALL = {
    "drnea": Derivative(
        "∂RNEA", sixd.inverse_dynamics_derivatives, "qdd", lambda *row: pin.computeRNEADerivatives(*row)
    ),
    "daba": Derivative("∂ABA", sixd.forward_dynamics_derivatives, "tau", lambda *row: pin.computeABADerivatives(*row)),
}


def measure(session: Session) -> None:
    """One table a function, one row a robot."""
    report = session.report
    report.heading(f"Derivatives, batches of {session.rows} rows, one thread")
    report.paragraph(
        "All three matrices (nv, nv), by q in the tangent space, by qd, and by qdd or tau. Nanoseconds per row with "
        "`out=` given; 'call' is one state through Pinocchio's Python binding, 'net' less the same call on a model "
        "without joints."
    )
    for word, task in ALL.items():
        rows = []
        for robot in session.robots():
            progress(f"{task.title}, {robot.title}")
            states = session.states(robot)
            deviation = _deviation(task, robot, states)
            if not deviation < _CLOSE:
                raise AssertionError(f"{task.title} of {robot.title} differs from Pinocchio's by {deviation:.1e}.")
            operations = _operations(task, robot)
            timings = session.time((word, robot.title), [_ours(task, robot, states), *_pinocchio(task, robot, states)])
            session.measured[(word, robot.title, "operations")] = operations
            cells = [f"{operations:,}", cell(timings["sixd"]), cell(timings["Pinocchio"])]
            net = timings["Pinocchio"].median - timings["Pinocchio empty"].median
            if net > 0:
                session.measured[(word, robot.title, "Pinocchio net")] = net
                cells += [digits(net), ratio(net, timings["sixd"].median)]
            else:
                session.note("A call of Pinocchio took less than its empty call: the machine was too noisy.")
                cells += ["–", "–"]
            rows.append([robot.title, str(robot.model.nv), *cells, f"{deviation:.0e}"])
        report.heading(task.title, 3)
        report.table(["robot", "nv", "operations", "sixd", "Pinocchio call", "net", "ratio", "deviation"], rows)


def _operations(task: Derivative, robot: Robot) -> int:
    model = robot.model
    shapes = {"q": (model.nq,), "qd": (model.nv,), task.last: (model.nv,)}
    return trace(lambda *row: tuple(task.function(model, *row)), shapes).operations


def _ours(task: Derivative, robot: Robot, states: States) -> Contender:
    names = {"f": task.function, "model": robot.model, "x": (states["q"], states["qd"], states[task.last])}
    names["out"] = tuple(task.function(robot.model, *names["x"]))
    return Contender("sixd", "f(model, *x, out=out)", names, len(states["q"]))


def _pinocchio(task: Derivative, robot: Robot, states: States) -> list[Contender]:
    model, row = model_of(robot), _row(task, robot, states)
    nothing, zero = pin.Model(), np.zeros(0)
    return [
        Contender("Pinocchio", "f(*row)", {"f": task.theirs, "row": (model, model.createData(), *row)}),
        Contender(
            "Pinocchio empty", "f(*row)", {"f": task.theirs, "row": (nothing, nothing.createData(), zero, zero, zero)}
        ),
    ]


def _row(task: Derivative, robot: Robot, states: States) -> tuple[Array, ...]:
    """The first state in Pinocchio's coordinates."""
    one = {"q": states["q"][0], "qd": states["qd"][0], task.last: states[task.last][0]}
    return sixd.interop.to_pinocchio(robot.model, **one, pinocchio_model=model_of(robot))


def _deviation(task: Derivative, robot: Robot, states: States) -> float:
    """The largest difference from Pinocchio's results for the first state, norm-wise; columns in sixd's order."""
    theirs, model = model_of(robot), robot.model
    numbers = np.arange(model.nv, dtype=float)
    order = sixd.interop.from_pinocchio(model, pin.neutral(theirs), numbers, pinocchio_model=theirs)[1].astype(int)
    data = theirs.createData()  # holds the results
    found = [np.array(x) for x in task.theirs(theirs, data, *_row(task, robot, states))]
    last = np.triu(found[2]) + np.triu(found[2], 1).T
    own = task.function(model, states["q"][0], states["qd"][0], states[task.last][0])
    pairs = zip(own, (found[0], found[1], last), strict=True)
    return max(float(np.linalg.norm(a - b[np.ix_(order, order)]) / np.linalg.norm(a)) for a, b in pairs)
