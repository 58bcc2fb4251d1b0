"""``sixd.ensemble``: many simulations, of random draws or of a sweep, on processes or on a cluster, with one result.

Arguments are drawn in this process (``draws.py``) and cut into chunks. Each chunk is one call of ``simulate``
(``job.py``) in this process or on an executor (``executors.py``): worker processes (``workers.py``), or a cluster
(``cluster.py``). ``results.py`` joins the results, which do not depend on the chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import DeviceError, ScalarTypeError, SixdError, require_known
from sixd.runtime.cuda.driver import driver
from sixd.runtime.routine import VECTOR
from sixd.runtime.threads import available, get_num_threads
from sixd.simulation.arguments import nonnegative, whole
from sixd.simulation.controller import may_remember
from sixd.simulation.diagnostics import start_warnings, step_warning
from sixd.simulation.ensemble.draws import WHERE, Draws, Entropy, make_draws, scenario_of
from sixd.simulation.ensemble.job import ChunkResult, Job, Span, run_chunk
from sixd.simulation.ensemble.results import Results
from sixd.simulation.progress import Progress
from sixd.simulation.setup import Setup, make_setup
from sixd.simulation.stepping.adaptive import ADAPTIVE
from sixd.simulation.stepping.compiled_steps import FIXED_STEP, rollout
from sixd.simulation.stepping.fixed import STEP, Runner
from sixd.simulation.user_warnings import warn
from sixd.trajectory.trajectory import Trajectory
from sixd.version import __version__

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

_KEEP = ("all", "end")
_DEVICES = ("cpu", "cuda")
_SHORT = 3.0  # s, below which starting processes does not pay: two took 1.4 s on a busy machine with two cores

# measured on one core: operations a second, 1.2e10 for a double pendulum to 3.1e10 for a six-axis arm, batch 4096
_SPEED = 2e10
# s, for a controller that is called with numbers and the step after it: 7e-6 in a batch of 50, 2e-4 for one state alone
_CALL, _CALL_ALONE = 1e-5, 2e-4
_CHUNK = 0.5  # s, for a chunk: long compared with the 3 ms measured for sending it, short enough to show progress
_BYTES = 3e7  # of a chunk's result
# compiled steps in this process: a controller is traced again for each chunk, 0.13 s for a seven-axis arm
_CHUNK_HERE, _BYTES_HERE = 2.0, 3e8
# on a GPU: an H200 made 1.2e10 steps of a six-axis arm, of about 1,000 operations, in a second
_SPEED_OF_GPU, _BYTES_OF_GPU = 1e13, 1e9
_NEVER = 10**15  # steps, more than there can be: only the start and the end are recorded


def simulate_ensemble(
    run: Scenario, q: Any, qd: Any, duration: float, *, count: int | None = None, seed: Any = 0,
    processes: int | None = None, cluster: Any = None, device: str = "cpu", chunk: int | None = None, retries: int = 2,
    keep: str = "all", record_every: int = 1, events: Sequence[Callable[..., Any]] = (),
    progress: bool | Callable[[float], Any] | None = None,
) -> Trajectory:  # fmt: skip
    """Return the trajectory of many simulations of a scenario; the arguments are those of ``sixd.ensemble``."""
    for name, choice, known in (("keep", keep, _KEEP), ("device", device, _DEVICES)):
        require_known(f"{WHERE}: {name}", "choice", choice, known)
    _require_workers(processes, cluster, chunk, retries)
    whole(WHERE, "record_every", record_every)
    duration = nonnegative(WHERE, "duration", duration, "s")
    entropy = _entropy(seed)
    if device != "cpu":
        _require_gpu(run.method, events, cluster)

    # draw, and check all simulations at once
    draws = make_draws(run, q, qd, count, entropy)
    own = draws.own
    setup = make_setup(WHERE, scenario_of(draws.run, own), own["q"], own.get("qd", draws.qd), seed=0)
    if device != "cpu" and setup.sampled is not None:
        raise ScalarTypeError(
            f"{WHERE}: the controller is called with numbers, on the CPU, expected constant forces or a function that "
            f"can be compiled, without sample_time, for device={device!r}. Use device='cpu'."
        )

    job = _job(setup, draws, duration, keep, record_every, tuple(events), entropy)
    results = Results(setup, draws.count)
    with results.until_interrupted(), Progress(f"{WHERE} {run.model.name}", draws.count, progress) as bar:
        _rehearse(setup, job, draws)
        job = replace(job, device=device)
        cost = _seconds_each(setup, job)
        if cluster is None and processes is None:
            processes = _default_processes(job, cost, draws.count)
        size = chunk or _chunk_size(setup, job, cost, draws.count, processes)
        spans = [(first, min(first + size, draws.count)) for first in range(0, draws.count, size)]
        results.collect(_results(job, spans, draws, processes, cluster, retries), bar.update)
    return results.trajectory({"method": run.method, "seed": entropy, "keep": keep, "record_every": record_every})


def _require_workers(processes: int | None, cluster: object, chunk: int | None, retries: int) -> None:
    """Raise if the arguments about workers are invalid."""
    if processes is not None and cluster is not None:
        raise ScalarTypeError(f"{WHERE}: processes and cluster are both set, expected one of them. Leave one out.")
    if cluster is not None:
        from sixd.simulation.ensemble.cluster import is_of_dask  # imports queue and concurrent.futures

        is_of_dask(cluster)  # raises unless it is a cluster or an executor
    for name, value in (("processes", processes), ("chunk", chunk)):
        if value is not None:
            whole(WHERE, name, value)
    whole(WHERE, "retries", retries, 0)


def _require_gpu(method: str, events: Sequence[object], cluster: object) -> None:
    """Raise if GPUs do not support the method, or, unless a cluster computes, if there is no GPU."""
    if method in ADAPTIVE or events:
        raise ScalarTypeError(
            f"{WHERE}: method is {method!r}{' with events' * bool(events)}, expected fixed steps without events for "
            f"device='cuda': {', '.join(map(repr, FIXED_STEP))}. Use one of these, or device='cpu'."
        )
    if cluster is None:
        try:
            driver(WHERE)
        except DeviceError as error:
            raise DeviceError(f"{error} For an ensemble: device='cpu'.") from None


def _entropy(seed: Any) -> Entropy:
    """Return the seed as whole numbers, from which all generators are made."""
    try:
        return np.random.SeedSequence(seed).entropy  # type: ignore[return-value]
    except (TypeError, ValueError):
        raise ScalarTypeError(
            f"{WHERE}: seed is {seed!r}, expected a whole number of at least 0, a list of such, or None."
        ) from None


def _job(
    setup: Setup, draws: Draws, duration: float, keep: str, record_every: int, events: tuple[Callable[..., Any], ...],
    entropy: Entropy,
) -> Job:  # fmt: skip
    """Return the job that all chunks share."""
    run, sampled = draws.run, setup.sampled
    if keep == "end" and run.method in ADAPTIVE:
        run, record_every = replace(run, dt=duration or None), 1
    elif keep == "end":
        record_every = _NEVER
    batched = hasattr(run.controller, "sample")  # called for all simulations at once
    return Job(
        run, draws.qd, duration, record_every, events, entropy, sampled=sampled is not None,
        alone=sampled is not None and not batched and (sampled.takes_rng or may_remember(run.controller)),
        forced=sampled is not None or setup.problem.law is not None, version=__version__,
    )  # fmt: skip


def _rehearse(setup: Setup, job: Job, draws: Draws) -> None:
    """Compute the first steps of the first simulation on the CPU, and warn. Errors are raised here, and workers find
    compiled code on disk."""
    method, dt = draws.run.method, draws.run.dt or STEP
    moment = job.duration / 1000 if method in ADAPTIVE else dt
    run_chunk(replace(job, duration=min(job.duration, moment)), 0, draws.cut(0, 1))
    for text in start_warnings(setup):
        warn(WHERE, text)
    if method not in ADAPTIVE:
        warn(WHERE, step_warning(Runner(setup, method, dt)))


# chunks -----------------------------------------------------------------------------------------


def _default_processes(job: Job, cost: float | None, count: int) -> int:
    """Return the number of processes if the user gives none; compiled steps use all threads of this one."""
    is_compiled = job.scenario.method not in ADAPTIVE and not job.sampled
    if is_compiled or job.device != "cpu" or (cost is not None and cost * count < _SHORT):
        return 1
    from sixd.simulation.ensemble.workers import payload_of  # imports multiprocessing

    try:
        payload_of(job)
    except SixdError:
        if job.sampled:
            raise
        return 1  # adaptive steps with a traced controller, which workers cannot import
    return available()


def _seconds_each(setup: Setup, job: Job) -> float | None:
    """Return the approximate time [s] of one core for one simulation; None if it is unknown."""
    method, duration, sampled = job.scenario.method, job.duration, setup.sampled
    if method in ADAPTIVE:
        return None
    steps = duration / (job.scenario.dt or STEP)
    cost = rollout(setup.problem, method, setup.dtype).operations * steps / _SPEED
    if sampled is not None:
        calls = steps if sampled.interval is None else duration / sampled.interval
        cost += calls * (_CALL_ALONE if job.alone else _CALL)
    return cost


def _chunk_size(setup: Setup, job: Job, cost: float | None, count: int, processes: int | None) -> int:
    """Return the number of simulations of a chunk: half a second of work, with some chunks for every worker."""
    if cost is None:
        return max(1, min(math.ceil(count / (4 * (processes or 8))), VECTOR))
    on_gpu = job.device != "cpu"
    if on_gpu:  # one chunk fills the GPU, if there are enough simulations
        seconds, most, fair = cost * _SPEED / _SPEED_OF_GPU, _BYTES_OF_GPU, math.ceil(count / (processes or 8))
    elif processes == 1 and setup.sampled is None:  # one chunk fills all threads
        seconds, most, fair = cost * _CHUNK / (_CHUNK_HERE * get_num_threads()), _BYTES_HERE, count
    else:
        seconds, most, fair = cost, _BYTES, math.ceil(count / (4 * (processes or 8)))
    numbers = max(1, job.duration / (job.scenario.dt or STEP) / job.record_every) * setup.problem.system.nv * 3
    size = int(min(_CHUNK / seconds if seconds else count, fair, most / (8 * numbers)))
    # whole vectors of states: an incomplete vector at the end of a chunk computes some twice
    return max(1, size) if setup.sampled is not None or on_gpu else max(VECTOR, size // VECTOR * VECTOR)


def _results(
    job: Job, spans: list[Span], draws: Draws, processes: int | None, cluster: object, retries: int
) -> Iterator[tuple[Span, ChunkResult]]:
    """Return an iterator over the chunks and their results, in any order."""
    if cluster is not None:
        from sixd.simulation.ensemble.cluster import on_cluster

        return on_cluster(job, spans, draws, cluster, retries)
    if processes == 1:
        return ((span, run_chunk(job, span[0], draws.cut(*span))) for span in spans)
    from sixd.simulation.ensemble.workers import in_processes  # imports multiprocessing

    return in_processes(job, spans, draws, processes or available(), retries)
