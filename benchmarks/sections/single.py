"""Small calls: one state without a batch dimension, then small batches, where the call itself is most of the cost."""

from __future__ import annotations

import numpy as np

from benchmarks.agreement import reference, require_agreement
from benchmarks.contenders import ours, with_pinocchio
from benchmarks.report import progress
from benchmarks.session import Session, cell
from sixd.cli.output import digits

_OURS = (
    "kernel", "kernel, out=", "kernel, float32", "public", "public, out=", "public, float32", "public, out=, float32",
)  # fmt: skip
_FEW = (1, 8, 16, 256, 4096)
_DTYPES = {"float64": np.float64, "float32": np.float32}


def measure(session: Session) -> None:
    """Kernels, public functions and Pinocchio's call for every function and robot."""
    report = session.report
    report.heading("Single calls")
    report.paragraph(
        "One call from Python for one state, with a newly allocated result (except `out=`). 'kernel' is the result of "
        "`sixd.compile`, 'public' the function of the library. Nanoseconds of Pinocchio's call and of a kernel's; the "
        "other columns are fractions of Pinocchio's time."
    )
    rows = []
    for task in session.tasks:
        for robot in session.robots():
            progress(f"single calls: {task.title}, {robot.title}")
            states = {name: x[:1] for name, x in session.states(robot).items()}
            contenders = ours.unbatched(task, robot, states)
            contenders.append(with_pinocchio.single("Pinocchio", task, robot, states))
            what = f"single {task.title} of {robot.title}"
            require_agreement(contenders, reference(task, robot, states), what)
            timings = session.time(("single", task.word, robot.title), contenders)
            theirs = timings["Pinocchio"].median
            fractions = [f"{timings[name].median / theirs:.2f}" for name in _OURS]
            rows.append([task.title, robot.title, cell(timings["Pinocchio"]), cell(timings["kernel"]), *fractions])
    report.table(("function", "robot", "Pinocchio [ns]", "kernel [ns]", *_OURS), rows, left=2)
    _measure_few_rows(session)


def _measure_few_rows(session: Session) -> None:
    """Public functions on small batches, compared with one call of Pinocchio in the same run."""
    report = session.report
    report.heading("Small batches", 3)
    report.paragraph(
        "One call of the public function for a batch, with a newly allocated result: microseconds a call, and in "
        "brackets the multiple of Pinocchio's call for one state. The last columns are the time a state as a multiple "
        f"of that in a batch of {_FEW[-1]:,} states."
    )
    rows = []
    for task in session.tasks:
        for robot in session.robots():
            for label, dtype in _DTYPES.items():
                progress(f"small batches: {task.title}, {robot.title}, {label}")
                states = session.states(robot)
                contenders = [ours.small_batch(str(n), task, robot, states, n, dtype) for n in _FEW]
                contenders.append(with_pinocchio.single("Pinocchio", task, robot, states))
                require_agreement(
                    contenders, reference(task, robot, states), f"small batches, {task.title} of {robot.title}"
                )
                timings = session.time(("few", task.word, robot.title, label), contenders)
                theirs, large = timings["Pinocchio"].median, timings[str(_FEW[-1])].median
                calls = [n * timings[str(n)].median for n in _FEW[:3]]
                cells = [f"{digits(t / 1e3)} ({t / theirs:.2f})" for t in calls]
                cells += [f"{timings[str(n)].median / large:.2f}" for n in _FEW[2:4]]
                rows.append([task.title, robot.title, label, *cells])
    head = [f"{n} state{'s' * (n > 1)}" for n in _FEW[:3]] + [f"{n} states, a state" for n in _FEW[2:4]]
    report.table(("function", "robot", "dtype", *head), rows, left=3)
