"""The work of an ensemble: what all rows share, and the simulation of a chunk of rows, in this or another process.

The result of a row does not depend on its chunk: a controller that is called with numbers may keep a memory, so each
row gets a copy of its own, and its own random numbers.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.engine.targets import cpu
from sixd.errors import ScalarTypeError, WorkerError
from sixd.runtime.threads import set_num_threads
from sixd.simulation.controller import independent_copy, row_seed
from sixd.simulation.ensemble.draws import WHERE, scenario_of
from sixd.simulation.simulate import simulate_run
from sixd.simulation.user_warnings import quietly
from sixd.spatial.scalar import Array
from sixd.trajectory.trajectory import Trajectory
from sixd.version import __version__

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

Span = tuple[int, int]  # rows first … stop − 1
_INTERPRETER = os.urandom(16)
PER_ROW = ("steps", "events", "unsolved")  # facts that are lists with an entry for each row


def this_process() -> bytes:
    """Return what distinguishes this process from all others, on any machine; a forked one has the same memory."""
    return _INTERPRETER + os.getpid().to_bytes(8)


@dataclass(frozen=True, eq=False)
class Job:
    """The data that all chunks share.

    ``sampled``: the controller is called with numbers; ``alone``: and each row is simulated alone; ``forced``: results
    include forces tau; ``device``: "cpu" or "cuda"; ``home``: the process that made the job.
    """

    scenario: Scenario
    duration: float
    record_every: int
    events: tuple[Any, ...]
    common: dict[str, Any]
    parameters: tuple[str, ...]
    entropy: Any
    sampled: bool
    alone: bool
    forced: bool
    version: str
    device: str = "cpu"
    home: bytes = field(default_factory=this_process)


class ChunkResult(NamedTuple):
    """The result of some rows: times (r,), arrays (rows, r, n), facts of ``simulate``, and the kind of processor."""

    t: Array
    arrays: dict[str, Array]
    facts: dict[str, Any]
    processor: str


def run_chunk(job: Job, first: int, own: dict[str, Array]) -> ChunkResult:
    """Return the result of rows first, first + 1, … that have these arrays."""
    size = len(own["q"])
    cuts = [slice(i, i + 1) for i in range(size)] if job.alone else [slice(0, size)]
    parts = []
    for cut in cuts:
        seed = row_seed(job.entropy, first + cut.start) if job.alone else None
        chosen = scenario_of(job.scenario, job.common, {name: x[cut] for name, x in own.items()}, job.parameters)
        parts.append(_simulated(job, *chosen, seed))
    facts = dict(parts[0].facts)
    for name in PER_ROW:
        if name in facts:
            facts[name] = [x for part in parts for x in part.facts[name]]
    names = ["q", "qd", *["tau"] * job.forced]
    names += [name for name in ("internal", "friction") if getattr(parts[0], name) is not None]
    arrays = {name: _joined([getattr(part, name) for part in parts]) for name in names}
    processor = cpu.machine_key()
    return ChunkResult(parts[0].t, arrays, facts, processor if job.device == "cpu" else f"{job.device} {processor}")


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)  # records may be gigabytes: not copied for nothing


def _simulated(job: Job, scenario: Scenario, q: Any, qd: Any, seed: Any) -> Trajectory:
    if job.sampled:
        scenario = replace(scenario, controller=independent_copy(scenario.controller))
    with quietly():  # the ensemble warns once for all rows
        result: Trajectory = simulate_run(
            "simulate", scenario, q, qd, job.duration, job.record_every, job.events, seed, progress=False,
            hosted=job.device != "cpu",
        )  # fmt: skip
    if result.interrupted:
        raise KeyboardInterrupt
    return result


# in other processes -----------------------------------------------------------------------------


def packed(job: Job, dumps: Callable[[Any], bytes] = pickle.dumps) -> bytes:
    """Return the job as bytes."""
    try:
        return dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ScalarTypeError(
            f"{WHERE}: the work cannot be sent to other processes: {error}. Define functions at the top level of a "
            f"module (no lambda, none inside another function), or use processes=1."
        ) from None


def run_packed(payload: bytes, first: int, own: dict[str, Array]) -> ChunkResult:
    """:func:`run_chunk` in a process that got the job as bytes."""
    job = _unpacked(payload)
    if job.home != this_process():
        set_num_threads(1)  # a worker process has one core
    try:
        return run_chunk(job, first, own)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # another process cannot unpickle it: send its text
            raise WorkerError(f"{WHERE}: {type(error).__name__}: {error}") from None
        raise


@lru_cache(maxsize=4)
def _unpacked(payload: bytes) -> Job:
    """Return the job of these bytes; cached, since compiled code is kept with the system object in it."""
    try:
        job: Job = pickle.loads(payload)
    except (AttributeError, ImportError) as error:
        raise WorkerError(
            f"{WHERE}: a worker does not find what the work needs: {error}. Define functions in a module that it can "
            f"import, not at a prompt, or use processes=1."
        ) from error
    if job.version != __version__:
        raise WorkerError(
            f"{WHERE}: a worker has sixd {__version__}, expected {job.version}. Install the same everywhere."
        )
    return job
