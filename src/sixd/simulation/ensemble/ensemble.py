"""``sixd.ensemble``: many simulations, of random draws or of a sweep, on processes or on a cluster, with one result.

Rows are drawn here, cut into chunks, and each chunk is one call of ``simulate`` somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError, unknown_name
from sixd.model.system import System, require_system
from sixd.runtime.threads import available
from sixd.simulation.checks import positive, whole
from sixd.simulation.controller_memory import remembers
from sixd.simulation.diagnostics import friction_doubt, step_doubt, tell
from sixd.simulation.ensemble.chunks import KEEP, SHORT, chunk_size, records, seconds
from sixd.simulation.ensemble.draws import WHERE, Rows, assembled, make_rows
from sixd.simulation.ensemble.job import Job, Result, packed, run
from sixd.simulation.ensemble.results import Sheet
from sixd.simulation.problem import PROJECTED
from sixd.simulation.progress import Progress
from sixd.simulation.setup import Setup, make_setup
from sixd.simulation.simulate import METHODS
from sixd.simulation.starts import require_start
from sixd.simulation.stepping.adaptive import ADAPTIVE
from sixd.simulation.stepping.fixed import STEP, Runner
from sixd.trajectory.trajectory import Trajectory
from sixd.version import __version__


def ensemble(
    system: System,
    q: Any,
    qd: Any,
    duration: float,
    *,
    count: int | None = None,
    seed: Any = 0,
    parameters: Mapping[str, Any] | None = None,
    processes: int | None = None,
    cluster: Any = None,
    chunk: int | None = None,
    retries: int = 2,
    keep: str = "all",
    dt: float | None = None,
    method: str = "rk4",
    controller: Any = None,
    sample_time: float | None = None,
    f_ext: Any = None,
    forces: Any = (),
    constraints: str = PROJECTED,
    stabilisation: float = 20.0,
    record_every: int = 1,
    events: Sequence[Callable[..., Any]] = (),
    rtol: float = 1e-9,
    atol: float = 1e-12,
    progress: bool | Callable[[float], Any] | None = None,
) -> Trajectory:
    """Many motions of a system: random draws, sweeps of parameters, or both; one row each, in order.

    Parameters
    ----------
    q, qd, parameters, controller, f_ext : each q, qd, entry of parameters, constant force and constant f_ext is one row
        for all; an array with ``count`` rows; or a function of a ``numpy.random.Generator`` that draws one row.
        q="random" draws configurations. A control law, a function (t, q, qd), is the same for all rows.
    count : how many rows; it need not be given if an array tells.
    seed : row i's generator is made of (seed, i) alone; it draws q, qd, the parameters in their order, the controller's
        force, f_ext. None: another seed each time, in ``facts["seed"]``.
    processes : worker processes on this machine; by default one for each core, or this process alone if the work is
        short. 1: in this process, on its threads.
    cluster : the address of a dask scheduler ("tcp://…"), or a ``distributed.Client``, in the place of processes.
    chunk : rows of a task; by default as many as take half a second.
    retries : how often the rows of a worker that was lost are tried again. Errors in the simulation itself are raised
        at once.
    keep : "all" records, or the start and the "end" alone.
    dt … progress : as for ``sixd.simulate``.

    Returns
    -------
    ``Trajectory`` with the batch (count,). The same bits as ``sixd.simulate`` gives for all rows at once, whatever the
    chunks, processes and machines, if these have one kind of processor. Interrupted by the keyboard it returns what is
    complete, the other rows NaN, with a warning, and ``interrupted`` is True.

    Notes
    -----
    Workers get arrays and pickled objects: draws may be any function, while control laws must be functions of a module,
    or objects such as those of ``sixd.controllers``; a cluster takes lambdas too. A controller with ``sample_time`` may
    keep a memory: each row has a copy of its own, and an argument ``rng`` gets the row's own generator.

    >>> import sixd
    >>> top = sixd.zoo.spinning_top()
    >>> spins = sixd.ensemble(top, [0, 0.5, 0], lambda rng: [0, 0, rng.uniform(500, 1000)], 0.01, count=100, dt=1e-4)
    >>> spins.q.shape
    (100, 101, 3)
    """
    for name, choice, known in (("method", method, METHODS), ("keep", keep, KEEP)):
        if choice not in known:
            raise unknown_name(f"{WHERE}: {name}", "choice", choice, known)
    if processes is not None and cluster is not None:
        raise ScalarTypeError(f"{WHERE}: processes and cluster are both given, expected one of them. Leave one out.")
    for name, value, least in (
        ("processes", processes, 1), ("chunk", chunk, 1), ("retries", retries, 0), ("record_every", record_every, 1),
    ):  # fmt: skip
        if value is not None or name in ("retries", "record_every"):
            whole(WHERE, name, value, least)
    duration = positive(WHERE, "duration", duration, "s")
    step = None if dt is None else positive(WHERE, "dt", dt, "s", zero=False)
    require_system(WHERE, system)
    entropy = _entropy(seed)

    # draw, and check all rows at once
    names = tuple(parameters or ())
    rows = make_rows(system, q, qd, controller, f_ext, parameters or {}, count, entropy)
    shared: dict[str, Any] = {
        "sample_time": sample_time, "forces": forces, "constraints": constraints, "stabilisation": stabilisation,
    }  # fmt: skip
    setup = make_setup(WHERE, system, **assembled(rows.common, rows.own, names), **shared, seed=0)
    require_start(setup)

    options = {**shared, "method": method, "events": tuple(events), "rtol": rtol, "atol": atol}
    options |= records(method, duration, step, record_every, keep)
    job = _job(setup, duration, options, rows, names, entropy)
    _rehearse(job, rows, step)
    _tell_doubts(setup, method, step or STEP)
    cost = seconds(setup, method, duration, step, job.alone)
    if cluster is None and processes is None:
        packed(job)  # whether it can be sent must not depend on how long it takes
        processes = 1 if cost is not None and cost * rows.count < SHORT else available()
    size = chunk or chunk_size(setup, cost, duration, options, rows.count, processes)
    spans = [(first, min(first + size, rows.count)) for first in range(0, rows.count, size)]

    sheet = Sheet(setup, rows.count)
    with Progress(f"{WHERE} {system.name}", rows.count, progress) as bar:
        sheet.fill(_results(job, spans, rows, processes, cluster, retries), bar.update)
    return sheet.trajectory({"seed": entropy, "keep": keep, "record_every": record_every})


def _tell_doubts(setup: Setup, method: str, step: float) -> None:
    """Of the method and its step, once for all rows."""
    found = [friction_doubt(setup, method), None if method in ADAPTIVE else step_doubt(Runner(setup, method, step))]
    for doubt in found:
        if doubt is not None:
            tell(WHERE, doubt, 3)


def _entropy(seed: Any) -> Any:
    """The seed as numbers: whole ones, from which all generators are made."""
    try:
        return np.random.SeedSequence(seed).entropy
    except (TypeError, ValueError):
        raise ScalarTypeError(
            f"{WHERE}: seed is {seed!r}, expected a whole number of at least 0, a list of such, or None."
        ) from None


def _job(
    setup: Setup, duration: float, options: dict[str, Any], rows: Rows, names: tuple[str, ...], entropy: Any
) -> Job:
    control, sampled = rows.common.get("controller"), setup.sampled
    batched = hasattr(control, "sample")  # asked for all rows at once
    return Job(
        setup.problem.system,
        duration,
        options,
        rows.common,
        names,
        entropy,
        sampled=sampled is not None,
        alone=sampled is not None and not batched and (sampled.takes_rng or remembers(control)),
        forced=sampled is not None or setup.problem.law is not None,
        version=__version__,
    )


def _rehearse(job: Job, rows: Rows, step: float | None) -> None:
    """A moment of the first row: errors come up here, and code is compiled that workers then find on the disk."""
    moment = job.duration / 1000 if job.options["method"] in ADAPTIVE else step or STEP
    run(replace(job, duration=min(job.duration, moment)), 0, rows.cut(0, 1))


def _results(
    job: Job, spans: list[tuple[int, int]], rows: Rows, processes: int | None, cluster: Any, retries: int
) -> Iterator[tuple[tuple[int, int], Result]]:
    """(rows first and last + 1, their result), in any order."""
    if cluster is not None:
        from sixd.simulation.ensemble.cluster import on_cluster

        return on_cluster(job, spans, rows.cut, cluster, retries)
    if processes == 1:
        return ((span, run(job, span[0], rows.cut(*span))) for span in spans)
    from sixd.simulation.ensemble.workers import in_processes  # brings in multiprocessing

    return in_processes(job, spans, rows.cut, processes or available(), retries)
