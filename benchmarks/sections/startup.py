"""Start: importing, and the first call of a function in a fresh process, with an empty and with a filled cache.

The fresh process runs this module: ``python -m benchmarks.sections.startup rnea ur5 256``, or ``aba 200 256`` for a
chain of 200 bodies.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from benchmarks import robots
from benchmarks.report import progress
from benchmarks.session import Session
from benchmarks.tasks import ALL, random_states

ROOT = Path(__file__).parents[2]
CASES = (
    ("rnea", "ur5"), ("rnea", "panda"), ("aba", "panda"), ("rnea", "talos"), ("aba", "talos"), ("rnea", "200"),
    ("aba", "200"),
)  # fmt: skip
ROWS = 256


def measure(session: Session) -> None:
    """Import times, then cold and warm first calls."""
    report = session.report
    report.heading("Start of a fresh process")
    _child(session, "rnea", "ur5", session.folder / "thrown away")  # leaves bytecode of all that is imported
    _imports(session)
    report.paragraph(
        f"Seconds of the first call of the public function after `import sixd` and loading the robot ({ROWS} states, "
        "float64). Cold: `SIXD_CACHE_DIR` is an empty folder. Warm: another process has filled it. 'unbatched': the "
        "first call for one state, after the batch. 'load': reading the robot's file, not part of the first call."
    )
    rows = []
    for word, name in CASES:
        if not _wanted(session, word, name):
            continue
        title = f"chain of {name}" if name.isdigit() else name
        progress(f"first calls: {word}, {title}")
        repeats = 1 if name.isdigit() or session.quick else 3
        with tempfile.TemporaryDirectory() as parent:
            cold = [_child(session, word, name, Path(parent) / str(k)) for k in range(repeats)]
            warm = [_child(session, word, name, Path(parent) / "0") for _ in range(repeats)]
        cells = []
        for label, runs in (("cold", cold), ("warm", warm)):
            first, single = (statistics.median(run[key] for run in runs) for key in ("first", "single"))
            session.measured[("start", word, title, label)] = first
            cells += [f"{first:.3f}", f"{single:.3f}"]
        load = statistics.median(run["load"] for run in cold + warm)
        rows.append([word.upper(), title, *cells, f"{load:.3f}"])
    report.table(["function", "robot", "cold", "unbatched", "warm", "unbatched", "load"], rows, left=2)


def _wanted(session: Session, word: str, name: str) -> bool:
    known = word in [task.word for task in session.tasks]
    return known and (int(name) <= max(session.chains) if name.isdigit() else (name, False) in session.robot_names)


def _child(session: Session, word: str, name: str, cache: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.sections.startup", word, name, str(ROWS)]
    done = subprocess.run(command, cwd=ROOT, env=_environment(session, cache), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"startup: the process for {word} of {name} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def _environment(session: Session, cache: Path) -> dict[str, str]:
    """Bytecode is kept, as it is for an installed package, whatever the caller's environment says; here in private."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"SIXD_CACHE_DIR": str(cache), "PYTHONPYCACHEPREFIX": str(session.folder / "bytecode")}


def _imports(session: Session) -> None:
    """`import sixd` and `import numpy` in fresh processes, alternating; the first of each leaves bytecode behind."""
    times: dict[str, list[float]] = {"numpy": [], "sixd": []}
    for _ in range(3 if session.quick else 10):
        for name, mine in times.items():
            code = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
            environment = _environment(session, session.folder / "cache")
            command = [sys.executable, "-c", code]
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
            mine.append(float(done.stdout))
    medians = {name: statistics.median(mine[1:]) for name, mine in times.items()}
    session.measured.update({("start", "import", name): t for name, t in medians.items()})
    rows = [[f"`import {name}`", f"{t:.3f}"] for name, t in medians.items()]
    session.report.table(["fresh process, bytecode kept", "s"], rows)


def first_calls(word: str, name: str, rows: int) -> None:
    """Load a robot and call a function for the first time; print the seconds of each step as JSON."""
    task = next(t for t in ALL if t.word == word)
    start = time.perf_counter()
    robot = robots.chain(int(name)) if name.isdigit() else robots.load(name)
    load = time.perf_counter() - start
    states = random_states(robot.model, rows)
    batch, one = ([states[key][index] for key in task.inputs] for index in (slice(None), 0))
    times = [time.perf_counter()]
    for arrays in (batch, one):
        task.function(robot.model, *arrays, **task.static(robot))
        times.append(time.perf_counter())
    first, single = (later - earlier for earlier, later in pairwise(times))
    print(json.dumps({"load": load, "first": first, "single": single}))


if __name__ == "__main__":
    first_calls(sys.argv[1], sys.argv[2], int(sys.argv[3]))
