"""How an ensemble is cut into chunks, and what of each row is recorded. Results do not depend on it."""

from __future__ import annotations

import math
from typing import Any

from sixd.runtime.rollout import VECTOR
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.adaptive import ADAPTIVE
from sixd.simulation.stepping.fixed import STEP
from sixd.simulation.stepping.recipes import rollout

KEEP = ("all", "end")
SHORT = 3.0  # s, below which starting processes does not pay: two took 1.4 s on a busy machine with two cores

# measured on one core: operations a second, 1.2e10 for a double pendulum to 3.1e10 for a six-axis arm, batch 4096
_SPEED = 2e10
# s, for a controller that is called with numbers and the step after it: 7e-6 in a batch of 50, 2e-4 for a row alone
_CALL, _CALL_ALONE = 1e-5, 2e-4
_CHUNK = 0.5  # s, that a chunk should take: long beside the 3 ms measured for sending it, short enough to watch
_BYTES = 3e7  # of a chunk's result
_NEVER = 10**15  # steps, more than there can be: the start and the end alone are recorded


def records(method: str, duration: float, step: float | None, every: int, keep: str) -> dict[str, Any]:
    """The options dt and record_every of ``simulate``."""
    if keep == "all":
        return {"dt": step, "record_every": every}
    if method in ADAPTIVE:
        return {"dt": duration or None, "record_every": 1}
    return {"dt": step, "record_every": _NEVER}


def seconds(setup: Setup, method: str, duration: float, step: float | None, alone: bool) -> float | None:
    """Of one core, for one row, in a batch or ``alone``, roughly; None if that is not known before."""
    if method in ADAPTIVE:
        return None
    steps = duration / (step or STEP)
    cost = rollout(setup.problem, method, setup.dtype).operations * steps / _SPEED
    if setup.sampled is not None:
        interval = setup.sampled.interval
        calls = steps if interval is None else duration / interval
        cost += calls * (_CALL_ALONE if alone else _CALL)
    return cost


def chunk_size(
    setup: Setup, cost: float | None, duration: float, options: dict[str, Any], count: int, processes: int | None
) -> int:
    """Rows of a chunk: half a second of work, with some chunks for every worker."""
    fair = math.ceil(count / (4 * (processes or 8)))
    if cost is None:
        return max(1, min(fair, VECTOR))
    numbers = max(1, duration / (options["dt"] or STEP) / options["record_every"]) * setup.problem.system.nv * 3
    size = int(min(_CHUNK / cost if cost else count, fair, _BYTES / (8 * numbers)))
    # whole vectors of rows: the last of a chunk would repeat rows
    return max(VECTOR, size // VECTOR * VECTOR) if setup.sampled is None else max(1, size)
