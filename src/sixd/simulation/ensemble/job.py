"""The work of an ensemble: what every row shares, and how a chunk of rows is simulated, here or in another process.

A row comes out the same whatever chunk it is in: a controller that is called with numbers may keep a memory, so each
row gets a copy of its own, and its own random numbers.
"""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sixd.engine.targets import cpu
from sixd.errors import ScalarTypeError, SimulationWarning, WorkerError
from sixd.model.system import System
from sixd.runtime.threads import set_num_threads
from sixd.simulation.controller_memory import fresh, row_seed
from sixd.simulation.ensemble.draws import WHERE, assembled
from sixd.simulation.simulate import simulate
from sixd.spatial.scalar import Array
from sixd.trajectory.trajectory import Trajectory
from sixd.version import __version__

_HERE = os.urandom(16)  # a name of this process
PER_ROW = ("steps", "events")  # facts that are lists with an entry for each row


@dataclass(frozen=True, eq=False)
class Job:
    """What all chunks share.

    ``sampled``: the controller is called with numbers; ``alone``: and each row by itself; ``forced``: there are forces
    tau to be sent back.
    """

    system: System
    duration: float
    options: dict[str, Any]
    common: dict[str, Any]
    parameters: tuple[str, ...]
    entropy: Any
    sampled: bool
    alone: bool
    forced: bool
    version: str
    home: bytes = _HERE


class Result(NamedTuple):
    """Rows done: arrays (rows, r, n), the times (r,), what ``simulate`` told, and the kind of processor."""

    t: Array
    arrays: dict[str, Array]
    facts: dict[str, Any]
    processor: str


def run(job: Job, first: int, own: dict[str, Array]) -> Result:
    """Simulate rows first, first + 1, … that have these arrays."""
    size = len(own["q"])
    cuts = [slice(i, i + 1) for i in range(size)] if job.alone else [slice(0, size)]
    parts = []
    for cut in cuts:
        seed = row_seed(job.entropy, first + cut.start) if job.alone else None
        given = assembled(job.common, {name: x[cut] for name, x in own.items()}, job.parameters)
        parts.append(_simulated(job, given, seed))
    facts = dict(parts[0].facts)
    for name in PER_ROW:
        if name in facts:
            facts[name] = [x for part in parts for x in part.facts[name]]
    names = ["q", "qd"] + ["tau"] * job.forced + ["internal"] * (parts[0].internal is not None)
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Result(parts[0].t, arrays, facts, cpu.machine_key())


def _simulated(job: Job, given: dict[str, Any], seed: Any) -> Trajectory:
    if job.sampled:
        given["controller"] = fresh(given["controller"])
    with warnings.catch_warnings():
        # told of once, for all rows
        warnings.simplefilter("ignore", SimulationWarning)
        found = simulate(job.system, duration=job.duration, seed=seed, progress=False, **job.options, **given)
    if found.interrupted:
        raise KeyboardInterrupt
    return found


# to other processes -----------------------------------------------------------------------------


def packed(job: Job, dumps: Callable[[Any], bytes] = pickle.dumps) -> bytes:
    """The job as bytes."""
    try:
        return dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ScalarTypeError(
            f"{WHERE}: the work cannot be sent to other processes: {error}. Define functions at the top level of a "
            f"module (no lambda, none inside another function), or use processes=1."
        ) from error


def run_packed(payload: bytes, first: int, own: dict[str, Array]) -> Result:
    """:func:`run` in a process that got the job as bytes."""
    job = _unpacked(payload)
    if job.home != _HERE:
        set_num_threads(1)
    try:
        return run(job, first, own)
    except Exception as error:
        other = _portable(error)
        if other is error:
            raise
        raise other from None


@lru_cache(maxsize=4)
def _unpacked(payload: bytes) -> Job:
    """The job of these bytes; kept, since compiled code belongs to the very system in it."""
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


def _portable(error: Exception) -> Exception:
    """The error, if another process can read it, else one with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return WorkerError(f"{WHERE}: {type(error).__name__}: {error}")
    return error
