"""A fresh process: load a robot, call a function for the first time; prints what each took, as JSON.

``python -m benchmarks.sections.child rnea ur5 256`` or ``python -m benchmarks.sections.child aba 200 256`` for a chain of 200 bodies.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise


def main(word: str, name: str, rows: int) -> None:
    """Seconds of each step, to stdout."""
    from benchmarks import robots, tasks

    task = next(t for t in tasks.ALL if t.word == word)
    start = time.perf_counter()
    robot = robots.chain(int(name)) if name.isdigit() else robots.load(name)
    load = time.perf_counter() - start
    states = tasks.random_states(robot.model, rows)
    batch, one = ([states[key][index] for key in task.inputs] for index in (slice(None), 0))
    times = [time.perf_counter()]
    for arrays in (batch, one):
        task.function(robot.model, *arrays, **task.static(robot))
        times.append(time.perf_counter())
    first, single = (later - earlier for earlier, later in pairwise(times))
    print(json.dumps({"load": load, "first": first, "single": single}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
