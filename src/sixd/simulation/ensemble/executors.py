"""Chunks of an ensemble on an executor of the user: of ``concurrent.futures``, or one with the same few methods.

An executor has ``submit(function, *arguments)``, which returns a future; a future has ``result()``, and
``add_done_callback(function)`` or ``done()``. Examples: pools of threads and processes, ``client.get_executor()`` of
dask, ``mpi4py.futures``, submitit, wrappers of Ray. The executor stays the user's: it is not shut down.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, CancelledError
from queue import Queue
from typing import Any

from sixd.errors import ScalarTypeError, WorkerError
from sixd.simulation.ensemble.draws import WHERE
from sixd.simulation.ensemble.job import ChunkResult, Span, run_packed
from sixd.simulation.ensemble.tasks import next_finished
from sixd.spatial.scalar import Array

_SIZES = ("_max_workers", "max_workers", "num_workers")  # attributes that say how many workers there are
_UNKNOWN = 16  # workers, if none of them does
_FIRST_POLL, _LAST_POLL = 0.01, 0.5  # s, between questions whether a future without callbacks is done
# classes of errors of a lost worker in dask, submitit and Ray, which need not be installed; each by its own name, since
# submitit derives the error of a function that failed from that of a lost job
_LOST = ("KilledWorker", "UncompletedJobError", "WorkerCrashedError", "ActorDiedError", "NodeDiedError")


class Executor:
    """The workers of an executor."""

    def __init__(self, executor: Any, payload: bytes, cut: Callable[[int, int], dict[str, Array]]) -> None:
        self.executor, self.payload, self.cut = executor, payload, cut
        self.window = 2 * _size(executor)
        self.done: Queue[Any] = Queue()

    def submit(self, span: Span) -> Any:
        """Start a task; raise if the executor does not take it."""
        try:
            future = self.executor.submit(run_packed, self.payload, span[0], self.cut(*span))
        except BrokenExecutor as error:
            raise WorkerError(
                f"{WHERE}: a worker of {self.executor!r} was lost, and with it all of the pool: "
                f"{str(error).rstrip('.')}. Make a new pool, or give processes=, where lost workers are replaced."
            ) from error
        except Exception as error:
            raise WorkerError(
                f"{WHERE}: the executor {self.executor!r} does not take a task: {type(error).__name__}: {error}."
            ) from error
        if not callable(getattr(future, "result", None)):
            raise self._unfit(f"submit returned {future!r}")
        if callable(getattr(future, "add_done_callback", None)):
            future.add_done_callback(lambda _: self.done.put(future))
        elif not callable(getattr(future, "done", None)):
            raise self._unfit(f"submit returned {future!r}")
        return future

    def finished(self, futures: list[Any]) -> Iterable[Any]:
        """Wait for some of the futures."""
        if all(hasattr(future, "add_done_callback") for future in futures):
            return (next_finished(self.done, lambda seconds: None),)
        pause = _FIRST_POLL
        while not (found := [future for future in futures if future.done()]):
            time.sleep(pause)
            pause = min(2 * pause, _LAST_POLL)
        return found

    def result(self, future: Any) -> ChunkResult:
        """Return the result of a future."""
        try:
            found = future.result()
        except Exception as error:
            if isinstance(error, CancelledError) or type(error).__name__ in _LOST:
                raise ConnectionError(f"{type(error).__name__}: {error}") from error
            raise
        if not isinstance(found, ChunkResult):
            raise self._unfit(f"result() of its future returned {found!r}")
        return found

    def cancel(self, futures: list[Any]) -> None:
        """Cancel tasks, where their futures can be cancelled."""
        for future in futures:
            with contextlib.suppress(Exception):
                future.cancel()

    def _unfit(self, what: str) -> ScalarTypeError:
        return ScalarTypeError(
            f"{WHERE}: {what} with the executor {self.executor!r}, expected a future with add_done_callback(function) "
            f"or done(), and with result() that waits and returns what the function returned."
        )


def _size(executor: Any) -> int:
    """Return the number of workers of an executor, or a guess."""
    found = (getattr(executor, name, None) for name in _SIZES)
    return next((n for n in found if isinstance(n, int) and not isinstance(n, bool) and n > 0), _UNKNOWN)
