"""``python -m benchmarks``: run the sections, print the report, and write it."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.session import Session

RESULTS = Path(__file__).parent / "RESULTS.md"
PICTURES = Path(__file__).parents[1] / "docs"
SECTIONS = (
    "batch", "sizes", "single", "steps", "constrained", "rollouts", "nonsmooth", "threads", "start", "operations",
    "growth", "equations", "derivatives", "gradients", "kinematics", "distances",
)  # fmt: skip
FUNCTIONS = ("rnea", "aba", "crba", "jacobian")
SIZES = (1, 16, 256, 4096, 100_000)
CHAINS = (1, 2, 5, 10, 20, 50, 100, 200, 400, 1000)

METHOD = """\
- One process, one thread, except where threads are compared. The programs alternate: each of {rounds} rounds runs every
  program once, repeating it for about {turn:.0f} ms, so that noise affects all alike. Medians are compared.
  Arrays that fit stay in the cache between repetitions; those of 100,000 states are 10 MB and more.
- sixd and the batch calls work on row-major (states, n) arrays of {rows} distinct random states, with preallocated
  results. Pinocchio's batch call uses the same memory as its own column-major (n, states), without copies. Single calls
  repeat one state; Pinocchio's ABA among them runs in its faster convention, WORLD.
- Before the timing, each program's results for the same states are compared with sixd's. A difference above 1e-9 of the
  norm (float32: 1e-3) ends the run.
- The robots are those of example-robot-data, without friction, the panda with both fingers locked.
- MuJoCo runs without contacts and constraints: `mj_inverse` for RNEA, `mj_forward` for ABA, kinematics with `mj_makeM`
  and `mj_fullM` for CRBA, kinematics with `mj_jacBody` for the Jacobian, `mujoco.rollout` for rollouts.
- 'Generated C' is CasADi's C code, compiled with the flags below and looped over the states in C. Its expressions come
  from sixd's plain algorithms run on CasADi's SX scalars, as Pinocchio's wheel is built without CasADi."""


def main() -> int:
    """0; 1 if a full run missed, or did not measure, a target; 2 if contenders disagreed and nothing was written."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SIXD_CACHE_DIR"] = str(Path(folder) / "cache")  # before sixd is imported: compile anew, in private
        from benchmarks.agreement import Disagreement

        try:
            return _run(options, Path(folder))
        except Disagreement as error:
            print(f"benchmarks: {error}", file=sys.stderr)
            return 2


def _run(options: argparse.Namespace, folder: Path) -> int:
    import sixd
    from benchmarks import targets
    from benchmarks.sections import (
        batches,
        closed_form,
        constrained,
        derivatives,
        distances,
        gradients,
        growth,
        inverse_kinematics,
        nonsmooth,
        operations,
        rollouts,
        single,
        startup,
        steps,
        threads,
    )

    functions, sections = _chosen(options.only)
    session = _session(options, functions, folder)
    sixd.set_num_threads(1)
    _begin(session)
    measures: dict[str, Callable[[Session], None]] = {
        "batch": batches.measure, "sizes": batches.measure_sizes, "single": single.measure,
        "steps": steps.measure, "constrained": constrained.measure, "rollouts": rollouts.measure,
        "nonsmooth": nonsmooth.measure,
        "threads": threads.measure,
        "operations": operations.measure, "growth": growth.measure,
        "start": startup.measure, "equations": closed_form.measure,
        "derivatives": derivatives.measure, "gradients": gradients.measure,
        "kinematics": inverse_kinematics.measure,
        "distances": distances.measure,
    }  # fmt: skip
    for name, measure in measures.items():
        if name in sections:
            measure(session)
    reached = targets.show(session)
    for note in session.notes:
        session.report.paragraph(f"Note: {note}")
    full = not (session.quick or options.quick or options.only or options.robots or options.rows != 4096)
    path = options.output or (RESULTS if full else None)
    if path is not None:
        session.report.write(path, PICTURES if path == RESULTS else path.parent)
    return 0 if reached or not full else 1


def _session(options: argparse.Namespace, functions: Collection[str], folder: Path) -> Session:
    """The session that the options describe."""
    from benchmarks.session import Session
    from benchmarks.tasks import ALL

    return Session(
        tasks=tuple(task for task in ALL if task.word in functions),
        robot_names=_robots(options),
        rows=options.rows,
        sizes=_sizes(options),
        chains=tuple(n for n in CHAINS if n <= (10 if options.quick else 1000)),
        rounds=options.rounds or (3 if options.quick else 15),
        turn=0.002 if options.quick else 0.008,
        folder=folder,
    )  # fmt: skip


def _begin(session: Session) -> None:
    """Write what the report says before its sections."""
    from benchmarks import machine

    report = session.report
    report.heading("Benchmarks", 1)
    today = datetime.datetime.now(datetime.UTC).date()
    report.paragraph(
        f"Measured on {today} by `python -m benchmarks`{_arguments()}. The run writes this file; do not edit it."
    )
    report.paragraph(METHOD.format(rounds=session.rounds, turn=1e3 * session.turn, rows=session.rows))
    report.table(["machine and versions", ""], machine.describe().items(), left=2)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="sixd compared with its peers")
    parser.add_argument("--quick", action="store_true", help="few rounds, the ur5 alone, short chains: a trial")
    parser.add_argument("--only", nargs="+", default=[], choices=FUNCTIONS + SECTIONS, metavar="NAME",
                        help=f"functions ({', '.join(FUNCTIONS)}) or sections ({', '.join(SECTIONS)})")  # fmt: skip
    parser.add_argument("--robots", nargs="+", metavar="NAME", choices=("ur5", "panda", "anymal", "talos"),
                        help="of ur5, panda, anymal, talos")  # fmt: skip
    parser.add_argument("--rows", type=int, default=4096, help="rows of a batch (4096)")
    parser.add_argument("--rounds", type=int, help="rounds of each comparison (15; quick: 3)")
    parser.add_argument("--output", type=Path, help="the report, with its pictures next to it; a full run writes "
                        "benchmarks/RESULTS.md and pictures in docs")  # fmt: skip
    return parser.parse_args()


def _chosen(only: list[str]) -> tuple[list[str], list[str]]:
    """Functions and sections; naming none of a kind means all of it."""
    return [f for f in FUNCTIONS if f in only] or list(FUNCTIONS), [s for s in SECTIONS if s in only] or list(SECTIONS)


def _robots(options: argparse.Namespace) -> tuple[tuple[str, bool], ...]:
    from benchmarks.robots import ALL

    wanted = options.robots or (["ur5"] if options.quick else None)
    return tuple(robot for robot in ALL if wanted is None or robot[0] in wanted)


def _sizes(options: argparse.Namespace) -> tuple[int, ...]:
    """Batches larger than the one asked for belong to a full run."""
    largest = options.rows if options.quick or options.rows < 4096 else max(SIZES)
    return tuple(n for n in SIZES if n <= largest)


def _arguments() -> str:
    words = [word for word in sys.argv[1:] if "/" not in word and word != "--output"]
    return f" with `{' '.join(words)}`" if words else ""


if __name__ == "__main__":
    sys.exit(main())
