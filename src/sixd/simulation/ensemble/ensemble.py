"""``sixd.ensemble``: many simulations, of random draws or of a sweep, on processes or on a cluster, with one result.

Rows are drawn in this process (``draws.py``) and cut into chunks. Each chunk is one call of ``simulate`` (``job.py``)
in this process, in a worker process (``workers.py``) or on a cluster (``cluster.py``); ``results.py`` joins the
results, which do not depend on the chunks.
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
from sixd.simulation.diagnostics import friction_warning, start_warnings, step_warning
from sixd.simulation.ensemble.draws import WHERE, Draws, make_rows, scenario_of
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
# s, for a controller that is called with numbers and the step after it: 7e-6 in a batch of 50, 2e-4 for a row alone
_CALL, _CALL_ALONE = 1e-5, 2e-4
_CHUNK = 0.5  # s, that a chunk should take: long beside the 3 ms measured for sending it, short enough to show progress
_BYTES = 3e7  # of a chunk's result
# compiled steps in this process: a controller is traced again for each chunk, 0.13 s for a seven-axis arm
_CHUNK_HERE, _BYTES_HERE = 2.0, 3e8
# on a GPU: an H200 made 1.2e10 steps of a six-axis arm, of about 1,000 operations, in a second
_SPEED_OF_GPU, _BYTES_OF_GPU = 1e13, 1e9
_NEVER = 10**15  # steps, more than there can be: only the start and the end are recorded


def simulate_ensemble(
    run: Scenario,
    q: Any,
    qd: Any,
    duration: float,
    *,
    count: int | None = None,
    seed: Any = 0,
    processes: int | None = None,
    cluster: Any = None,
    device: str = "cpu",
    chunk: int | None = None,
    retries: int = 2,
    keep: str = "all",
    record_every: int = 1,
    events: Sequence[Callable[..., Any]] = (),
    progress: bool | Callable[[float], Any] | None = None,
) -> Trajectory:
    """Return the trajectory of many simulations of a scenario; the arguments are those of ``sixd.ensemble``."""
    system, method = run.model, run.method
    for name, choice, known in (("keep", keep, _KEEP), ("device", device, _DEVICES)):
        require_known(f"{WHERE}: {name}", "choice", choice, known)
    if processes is not None and cluster is not None:
        raise ScalarTypeError(f"{WHERE}: processes and cluster are both given, expected one of them. Leave one out.")
    if cluster is not None:
        from sixd.simulation.ensemble.cluster import is_of_dask  # imports queue and concurrent.futures

        is_of_dask(cluster)  # raises if it is nothing that is taken
    for name, value, least in (
        ("processes", processes, 1), ("chunk", chunk, 1), ("retries", retries, 0), ("record_every", record_every, 1),
    ):  # fmt: skip
        if value is not None or name in ("retries", "record_every"):
            whole(WHERE, name, value, least)
    duration = nonnegative(WHERE, "duration", duration, "s")
    step = run.dt
    entropy = _entropy(seed)
    on_gpu = device != "cpu"
    if on_gpu:
        _require_gpu(method, events, cluster)

    # draw, and check all rows at once
    names = tuple(run.parameters)
    rows = make_rows(run, q, qd, count, entropy)
    common = replace(run, controller=None, f_ext=None, parameters={})  # draws are not sent to workers
    setup = make_setup(WHERE, *scenario_of(common, rows.common, rows.own, names), seed=0)
    if on_gpu and setup.sampled is not None:
        raise ScalarTypeError(
            f"{WHERE}: the controller is called with numbers, on the processor, expected constant forces or a function "
            f"that can be compiled, without sample_time, for device={device!r}. Use device='cpu'."
        )

    every = record_every
    if keep == "end" and method in ADAPTIVE:
        common, every = replace(common, dt=duration or None), 1
    elif keep == "end":
        every = _NEVER
    job = _job(setup, common, duration, every, tuple(events), rows, names, entropy)
    results = Results(setup, rows.count)
    with results.until_interrupted(), Progress(f"{WHERE} {system.name}", rows.count, progress) as bar:
        # the first steps of the first row, on the CPU: errors are raised here, and workers find compiled code on disk
        moment = duration / 1000 if method in ADAPTIVE else step or STEP
        run_chunk(replace(job, duration=min(duration, moment)), 0, rows.cut(0, 1))
        job = replace(job, device=device)
        warn(WHERE, friction_warning(setup))
        for text in start_warnings(setup):
            warn(WHERE, text)
        if method not in ADAPTIVE:
            warn(WHERE, step_warning(Runner(setup, method, step or STEP)))
        cost = _seconds_per_row(setup, method, duration, step, job.alone)
        if cluster is None and processes is None:
            processes = _default_processes(job, cost, rows.count)
        size = chunk or _chunk_size(setup, cost, duration, job, rows.count, processes, on_gpu)
        spans = [(first, min(first + size, rows.count)) for first in range(0, rows.count, size)]
        results.collect(_results(job, spans, rows, processes, cluster, retries), bar.update)
    return results.trajectory({"method": method, "seed": entropy, "keep": keep, "record_every": record_every})


def _require_gpu(method: str, events: Sequence[Any], cluster: Any) -> None:
    """Raise if a GPU cannot compute this method, or, unless a cluster does, if there is none."""
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


def _entropy(seed: Any) -> Any:
    """Return the seed as whole numbers, from which all generators are made."""
    try:
        return np.random.SeedSequence(seed).entropy
    except (TypeError, ValueError):
        raise ScalarTypeError(
            f"{WHERE}: seed is {seed!r}, expected a whole number of at least 0, a list of such, or None."
        ) from None


def _job(
    setup: Setup, scenario: Scenario, duration: float, record_every: int, events: tuple[Any, ...], rows: Draws,
    names: tuple[str, ...], entropy: Any,
) -> Job:  # fmt: skip
    """Return the job that all chunks share."""
    control, sampled = rows.common.get("controller"), setup.sampled
    batched = hasattr(control, "sample")  # called for all rows at once
    return Job(
        scenario,
        duration,
        record_every,
        events,
        rows.common,
        names,
        entropy,
        sampled=sampled is not None,
        alone=sampled is not None and not batched and (sampled.takes_rng or may_remember(control)),
        forced=sampled is not None or setup.problem.law is not None,
        version=__version__,
    )


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


def _seconds_per_row(setup: Setup, method: str, duration: float, step: float | None, alone: bool) -> float | None:
    """Return the approximate time [s] of one core for a row, in a batch or ``alone``; None if it is unknown."""
    if method in ADAPTIVE:
        return None
    steps = duration / (step or STEP)
    cost = rollout(setup.problem, method, setup.dtype).operations * steps / _SPEED
    if setup.sampled is not None:
        interval = setup.sampled.interval
        calls = steps if interval is None else duration / interval
        cost += calls * (_CALL_ALONE if alone else _CALL)
    return cost


def _chunk_size(
    setup: Setup, cost: float | None, duration: float, job: Job, count: int, processes: int | None, on_gpu: bool,
) -> int:  # fmt: skip
    """Return the number of rows of a chunk: half a second of work, with some chunks for every worker."""
    fair = math.ceil(count / (4 * (processes or 8)))
    most = _BYTES
    if on_gpu and cost is not None:  # one chunk fills the GPU, if there are enough rows
        cost, most, fair = cost * _SPEED / _SPEED_OF_GPU, _BYTES_OF_GPU, math.ceil(count / (processes or 8))
    if cost is None:
        return max(1, min(fair, VECTOR))
    if processes == 1 and setup.sampled is None and not on_gpu:  # one chunk fills all threads
        cost, most, fair = cost * _CHUNK / (_CHUNK_HERE * get_num_threads()), _BYTES_HERE, count
    numbers = max(1, duration / (job.scenario.dt or STEP) / job.record_every) * setup.problem.system.nv * 3
    size = int(min(_CHUNK / cost if cost else count, fair, most / (8 * numbers)))
    # whole vectors of rows: an incomplete vector at the end of a chunk computes rows twice
    return max(1, size) if setup.sampled is not None or on_gpu else max(VECTOR, size // VECTOR * VECTOR)


def _results(
    job: Job, spans: list[Span], rows: Draws, processes: int | None, cluster: Any, retries: int
) -> Iterator[tuple[Span, ChunkResult]]:
    """Return an iterator over the rows and results of the chunks, in any order."""
    if cluster is not None:
        from sixd.simulation.ensemble.cluster import on_cluster

        return on_cluster(job, spans, rows.cut, cluster, retries)
    if processes == 1:
        return ((span, run_chunk(job, span[0], rows.cut(*span))) for span in spans)
    from sixd.simulation.ensemble.workers import in_processes  # imports multiprocessing

    return in_processes(job, spans, rows.cut, processes or available(), retries)
