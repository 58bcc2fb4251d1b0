"""The work of an ensemble: what all simulations share, and the computation of a chunk of them, in any process.

The result of a simulation does not depend on its chunk: a controller that is called with numbers may keep a memory, so
each simulation gets a copy of its own, and its own random numbers.
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
from sixd.simulation.ensemble.draws import WHERE, Entropy, scenario_of
from sixd.simulation.simulate import simulate_run
from sixd.simulation.user_warnings import quietly
from sixd.spatial.scalar import Array, ArrayLike
from sixd.trajectory.trajectory import Trajectory
from sixd.version import __version__

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

Span = tuple[int, int]  # simulations first … stop − 1
_INTERPRETER = os.urandom(16)
PER_SIMULATION = ("steps", "events", "unsolved")  # facts that are lists with an entry for each simulation


def this_process() -> bytes:
    """Return what distinguishes this process from all others, on any machine; a forked one has the same memory."""
    return _INTERPRETER + os.getpid().to_bytes(8)


@dataclass(frozen=True, eq=False)
class Job:
    """The data that all chunks share.

    ``scenario`` and ``qd``: the arguments common to all; ``sampled``: the controller is called with numbers; ``alone``:
    and each simulation is computed alone; ``forced``: results include forces tau; ``device``: "cpu" or "cuda";
    ``home``: the process that made the job.
    """

    scenario: Scenario
    qd: ArrayLike | None
    duration: float
    record_every: int
    events: tuple[Callable[..., Any], ...]
    entropy: Entropy
    sampled: bool
    alone: bool
    forced: bool
    version: str
    device: str = "cpu"
    home: bytes = field(default_factory=this_process)


class ChunkResult(NamedTuple):
    """The result of some simulations: times (r,), arrays (simulations, r, n), facts, and the kind of CPU."""

    t: Array
    arrays: dict[str, Array]
    facts: dict[str, Any]
    cpu: str


def run_chunk(job: Job, first: int, own: dict[str, Array]) -> ChunkResult:
    """Return the result of the simulations first, first + 1, … that have these arrays."""
    size = len(own["q"])
    if job.alone:
        parts = [
            _simulated(job, {name: x[i : i + 1] for name, x in own.items()}, row_seed(job.entropy, first + i))
            for i in range(size)
        ]
    else:
        parts = [_simulated(job, own, None)]
    facts = dict(parts[0].facts)
    for name in PER_SIMULATION:
        if name in facts:
            facts[name] = [x for part in parts for x in part.facts[name]]
    names = ["q", "qd", *["tau"] * job.forced]
    names += [name for name in ("internal", "friction") if getattr(parts[0], name) is not None]
    arrays = {name: _joined([getattr(part, name) for part in parts]) for name in names}
    machine = cpu.machine_key()
    return ChunkResult(parts[0].t, arrays, facts, machine if job.device == "cpu" else f"{job.device} {machine}")


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)  # records may be gigabytes: not copied for nothing


def _simulated(job: Job, own: dict[str, Array], seed: np.random.SeedSequence | None) -> Trajectory:
    scenario = scenario_of(job.scenario, own)
    if job.sampled:
        scenario = replace(scenario, controller=independent_copy(scenario.controller))
    with quietly():  # the ensemble warns once for all
        result: Trajectory = simulate_run(
            scenario, own["q"], own.get("qd", job.qd), job.duration, job.record_every, job.events, seed, False,
            hosted=job.device != "cpu",
        )  # fmt: skip
    if result.interrupted:
        raise KeyboardInterrupt
    return result


# in other processes -----------------------------------------------------------------------------


def packed(job: Job, dumps: Callable[[Job], bytes] = pickle.dumps) -> bytes:
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
            f"{WHERE}: a worker cannot import what the work needs: {error}. Define functions in a module that it can "
            f"import, not at a prompt, or use processes=1."
        ) from error
    if job.version != __version__:
        raise WorkerError(
            f"{WHERE}: a worker has sixd {__version__}, expected {job.version}. Install the same everywhere."
        )
    return job
