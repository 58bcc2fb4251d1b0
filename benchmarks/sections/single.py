"""Single calls: one state without a batch dimension, where the call itself is most of the cost."""

from __future__ import annotations

from benchmarks.agreement import reference, require_agreement
from benchmarks.contenders import ours, with_pinocchio
from benchmarks.report import progress
from benchmarks.session import Session, cell

_HEAD = (
    "function", "robot", "kernel", "kernel, out=", "public function", "Pinocchio call", "kernel / Pinocchio",
    "public / Pinocchio",
)  # fmt: skip


def measure(session: Session) -> None:
    """A kernel, the public function and Pinocchio's call for every function and robot."""
    report = session.report
    report.heading("Single calls")
    report.paragraph(
        "Nanoseconds of one call from Python for one state, the result newly allocated (except `out=`). 'kernel' is "
        "what `sixd.compile` returns. The last two columns are fractions of Pinocchio's time."
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
            cells = [cell(timings.get(name)) for name in ("kernel", "kernel, out=", "public", "Pinocchio")]
            theirs = timings["Pinocchio"].median
            fractions = [f"{timings[name].median / theirs:.2f}" for name in ("kernel", "public")]
            rows.append([task.title, robot.title, *cells, *fractions])
    report.table(_HEAD, rows, left=2)
