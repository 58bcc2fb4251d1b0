"""Chunks of an ensemble on an executor: processes of this machine, those of a dask cluster, or an executor of the user.

An executor has ``submit(function, *arguments)``, which returns a future; a future has ``result()``, and
``add_done_callback(function)`` or ``done()``. Examples: pools of threads and processes, ``client.get_executor()`` of
dask, ``mpi4py.futures``, submitit, wrappers of Ray. Executors are not shut down here.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from queue import Empty, SimpleQueue
from typing import Any

from sixd.errors import ScalarTypeError, SixdError, WorkerError
from sixd.simulation.ensemble.draws import WHERE, Draws
from sixd.simulation.ensemble.job import ChunkResult, Span, run_packed

_SIZES = ("_max_workers", "max_workers", "num_workers")  # attributes that hold the number of workers
_UNKNOWN = 16  # workers, if an executor has none of these attributes
_CHECK = 2.0  # s without a result, after which the executor is checked
_FIRST_POLL, _LAST_POLL = 0.01, 0.5  # s, between calls of done() of futures without callbacks
# errors after which another attempt may succeed; those of a lost worker in dask, submitit and Ray, which need not be
# installed, by their names: submitit derives the error of a function that failed from that of a lost job
_TEMPORARY = (BrokenExecutor, CancelledError, OSError, EOFError, MemoryError)
_LOST = ("KilledWorker", "UncompletedJobError", "WorkerCrashedError", "ActorDiedError", "NodeDiedError")


def distribute(
    executor: Any, payload: bytes, spans: list[Span], draws: Draws, retries: int,
    check: Callable[[float], None] = lambda seconds: None,
) -> Iterator[tuple[Span, ChunkResult]]:  # fmt: skip
    """Yield the results of the chunks, in any order; a chunk whose worker is lost is submitted again. ``payload`` is
    the job as bytes; ``check(seconds)`` is called after each such time without a result."""
    # one task runs and one waits for each worker, so that results do not pile up
    window = 2 * _number_of_workers(executor)
    pending, failures = deque(spans), Counter[Span]()
    running: dict[int, tuple[Any, Span]] = {}  # by id: futures of others may not be hashable
    done: SimpleQueue[int] = SimpleQueue()
    try:
        while pending or running:
            while pending and len(running) < window:
                span = pending.popleft()
                future = _submitted(executor, payload, span[0], draws.cut(*span))
                key = id(future)
                running[key] = future, span
                if hasattr(future, "add_done_callback"):
                    future.add_done_callback(lambda _, key=key: done.put(key))
            future, span = running.pop(_next_done(done, running, check))
            try:
                result = future.result()
            except Exception as error:
                failures[span] += 1
                _require_temporary(error, span, failures[span], retries)
                pending.appendleft(span)
                continue
            if not isinstance(result, ChunkResult):
                raise _unfit(executor, f"result() of its future returned {result!r}")
            del future  # a cluster keeps the result as long as its future
            yield span, result
    finally:
        for future, _ in running.values():
            with contextlib.suppress(Exception):
                future.cancel()


def _number_of_workers(executor: Any) -> int:
    values = (getattr(executor, name, None) for name in _SIZES)
    return next((n for n in values if isinstance(n, int) and not isinstance(n, bool) and n > 0), _UNKNOWN)


def _submitted(executor: Any, *arguments: Any) -> Any:
    """Return the future of a chunk; raise if the executor does not accept the task."""
    try:
        future = executor.submit(run_packed, *arguments)
    except SixdError:
        raise
    except BrokenExecutor as error:
        raise WorkerError(
            f"{WHERE}: a worker of {executor!r} was lost, and with it all of the pool: {str(error).rstrip('.')}. Make "
            f"a new pool, or give processes=, where lost workers are replaced."
        ) from error
    except Exception as error:
        raise WorkerError(
            f"{WHERE}: the executor {executor!r} does not take a task: {type(error).__name__}: {error}."
        ) from error
    reports = any(callable(getattr(future, name, None)) for name in ("add_done_callback", "done"))
    if not reports or not callable(getattr(future, "result", None)):
        raise _unfit(executor, f"submit returned {future!r}")
    return future


def _next_done(done: SimpleQueue[int], running: dict[int, tuple[Any, Span]], check: Callable[[float], None]) -> int:
    """Wait for a future, and return its key; futures without callbacks are polled."""
    polled = {key: future for key, (future, _) in running.items() if not hasattr(future, "add_done_callback")}
    pause, longest = (_FIRST_POLL, _LAST_POLL) if polled else (_CHECK, _CHECK)
    while True:
        for key, future in polled.items():
            if future.done():
                return key
        try:
            return done.get(timeout=pause)
        except Empty:
            check(pause)
            pause = min(2 * pause, longest)


def _require_temporary(error: Exception, span: Span, attempts: int, retries: int) -> None:
    """Raise if another attempt cannot succeed, or if this was the last."""
    is_temporary = isinstance(error, _TEMPORARY) or type(error).__name__ in _LOST
    if isinstance(error, SixdError) or not is_temporary:
        raise error
    if attempts > retries:
        raise WorkerError(
            f"{WHERE}: simulations {span[0]} … {span[1] - 1} failed in each of {attempts} attempts, the last time by "
            f"{type(error).__name__}: {str(error).rstrip('.')}. For more attempts: retries."
        ) from error


def _unfit(executor: Any, what: str) -> ScalarTypeError:
    return ScalarTypeError(
        f"{WHERE}: {what} with the executor {executor!r}, expected a future with add_done_callback(function) or "
        f"done(), and with result() that waits and returns what the function returned."
    )
