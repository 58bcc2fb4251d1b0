"""Derivatives of inverse and forward dynamics, all three matrices and Pinocchio's single calls, and gradients."""

from __future__ import annotations

import time
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
from sixd.engine.targets import cpu
from sixd.trace import trace
from sixd.trace.program import Program

_CLOSE = 1e-9  # of the norm, as for the other functions
_LARGE_SQUARES = 1e300  # above which results are suspect
_DT = 1e-3  # of a step [s]


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
    """The tables of matrices, and that of gradients."""
    session.report.heading(f"Derivatives, batches of {session.rows} states, one thread")
    _measure_matrices(session)
    _measure_gradients(session)


def _measure_matrices(session: Session) -> None:
    """One table a function, one row a robot."""
    report = session.report
    report.paragraph(
        "All three matrices (nv, nv), with respect to q in the tangent space, qd, and qdd or tau. Nanoseconds a state "
        "with `out=`, for whole matrices and for the entries that are not structural zeros (`packed=True`). 'call': "
        "one state through Pinocchio's Python binding. 'net': this call minus the same call on a model without "
        "joints. Ratios are relative to sixd's time for a state. 'code': seconds to write and compile the code of "
        "batches, after the trace."
    )
    for word, task in ALL.items():
        rows = []
        for robot in session.robots():
            progress(f"{task.title}, {robot.title}")
            states = session.states(robot)
            deviation = _deviation(task, robot, states)
            if not deviation < _CLOSE:
                raise AssertionError(f"{task.title} of {robot.title} differs from Pinocchio's by {deviation:.1e}.")
            program = _program(task, robot)
            ours = [_ours(task, robot, states, packed) for packed in (False, True)]
            timings = session.time((word, robot.title), [*ours, *_pinocchio(task, robot, states)])
            session.measured[(word, robot.title, "operations")] = program.operations
            session.measured[(word, robot.title, "code")] = seconds = _code_time(program)
            whole, packed, call = (timings[name] for name in ("sixd", "packed", "Pinocchio"))
            cells = [f"{program.operations:,}", f"{seconds:.2f}", cell(whole), cell(packed), cell(call)]
            net = call.median - timings["Pinocchio empty"].median
            if net > 0:
                session.measured[(word, robot.title, "Pinocchio net")] = net
                cells += [digits(net), ratio(net, whole.median), ratio(net, packed.median)]
            else:
                session.note("A call of Pinocchio took less than its empty call: the machine was too noisy.")
                cells += ["–"] * 3
            rows.append([robot.title, str(robot.model.nv), *cells, f"{deviation:.0e}"])
        report.heading(task.title, 3)
        heads = ("operations", "code", "sixd", "packed", "Pinocchio call", "net", "ratio", "packed", "deviation")
        report.table(["robot", "nv", *heads], rows)


def _program(task: Derivative, robot: Robot) -> Program:
    model = robot.model
    shapes = {"q": (model.nq,), "qd": (model.nv,), task.last: (model.nv,)}
    return trace(lambda *row: tuple(task.function(model, *row)), shapes)


def _code_time(program: Program) -> float:
    """Seconds to make the code of batches: the least of two."""

    def once() -> float:
        start = time.perf_counter()
        cpu.emit(program, "loop", "float64", _LARGE_SQUARES)
        return time.perf_counter() - start

    return min(once(), once())


def _ours(task: Derivative, robot: Robot, states: States, packed: bool) -> Contender:
    names = {"f": task.function, "model": robot.model, "x": (states["q"], states["qd"], states[task.last])}
    names["out"] = tuple(task.function(robot.model, *names["x"], packed=packed))
    statement = f"f(model, *x, packed={packed}, out=out)" if packed else "f(model, *x, out=out)"
    return Contender("packed" if packed else "sixd", statement, names, len(states["q"]))


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
    matrices = [np.array(x) for x in task.theirs(theirs, data, *_row(task, robot, states))]
    last = np.triu(matrices[2]) + np.triu(matrices[2], 1).T
    own = task.function(model, states["q"][0], states["qd"][0], states[task.last][0])
    pairs = zip(own, (matrices[0], matrices[1], last), strict=True)
    return max(float(np.linalg.norm(a - b[np.ix_(order, order)]) / np.linalg.norm(a)) for a, b in pairs)


# gradients -----------------------------------------------------------------------------------------


def _euler(q: Array, qd: Array, tau: Array, model: sixd.Model) -> tuple[Array, Array]:
    """One step of the semi-implicit Euler method."""
    qd = qd + _DT * sixd.forward_dynamics(model, q, qd, tau)
    return model.integrate(q, _DT * qd), qd


GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "RNEA": (sixd.inverse_dynamics, ("q", "qd", "qdd")),
    "ABA": (sixd.forward_dynamics, ("q", "qd", "tau")),
    "Euler step": (_euler, ("q", "qd", "tau")),
}


def _measure_gradients(session: Session) -> None:
    """One row a function and robot."""
    report, rows = session.report, []
    for title, (function, arrays) in GRADIENTS.items():
        for robot in session.robots():
            progress(f"vjp of {title}, {robot.title}")
            states = session.states(robot)
            own, gradient = sixd.compile(function, robot.model), sixd.vjp(function, robot.model)
            x = tuple(states[name] for name in arrays)
            weights = tuple(np.ones((len(x[0]), *slot.shape)) for slot in own.program.outputs)
            calls = (("function", own, x), ("vjp", gradient, (*x, *weights)))
            timings = session.time(("vjp", title, robot.title), [_kernel(*call) for call in calls])
            counts = [kernel.program.operations for _, kernel, _ in calls]
            session.measured[("vjp", title, robot.title, "operations")] = counts[1] / counts[0]
            times = [timings[name] for name, _, _ in calls]
            quotient = [f"{counts[1] / counts[0]:.2f}", f"{times[1].median / times[0].median:.2f}"]
            rows.append([title, robot.title, *(f"{n:,}" for n in counts), *map(cell, times), *quotient])
    report.heading("Gradients", 3)
    report.paragraph(
        "`sixd.vjp` maps weights of the results to gradients with respect to all arguments. It is compared with the "
        "function itself; the step is one of the semi-implicit Euler method. Operations, nanoseconds a state, and "
        "their quotients."
    )
    heads = ("operations", "vjp", "ns", "vjp", "operations, quotient", "time, quotient")
    report.table(["function", "robot", *heads], rows, left=2)


def _kernel(name: str, kernel: sixd.Kernel, x: tuple[Array, ...]) -> Contender:
    result = kernel(*x)
    names = {"f": kernel, "x": x, "out": result if isinstance(result, tuple) else (result,)}
    statement = "f(*x, out=out)" if isinstance(result, tuple) else "f(*x, out=out[0])"
    return Contender(name, statement, names, len(x[0]))
