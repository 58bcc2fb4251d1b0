"""Chunks of an ensemble as tasks of workers, of whatever kind; the chunks of a lost worker are repeated on others.

:func:`distribute` is the loop. What the kinds of workers differ in is a :class:`Workers`: processes of this machine
(``workers.py``), a dask cluster (``cluster.py``), an executor of the user (``executors.py``).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from queue import Empty, Queue
from typing import Any, Protocol

from sixd.errors import SixdError, WorkerError
from sixd.simulation.ensemble.draws import WHERE
from sixd.simulation.ensemble.job import ChunkResult, Span

# errors after which another attempt may succeed
_TEMPORARY = (BrokenExecutor, OSError, EOFError, MemoryError)
_CHECK = 2.0  # s, after which one looks whether there are workers at all


class Workers(Protocol):
    """Workers that compute chunks.

    ``window``: tasks that they have at once: one running and one waiting for each worker, so that results do not pile
    up.
    """

    window: int

    def submit(self, span: Span) -> Any:
        """Start a task; return its future."""

    def finished(self, futures: list[Any]) -> Iterable[Any]:
        """Wait for some of the futures; return those that are done."""

    def result(self, future: Any) -> ChunkResult:
        """Return the result of a future that is done, or raise its error; ConnectionError if its worker is lost."""

    def cancel(self, futures: list[Any]) -> None:
        """Cancel tasks whose results are not needed any more; the last call."""


class Attempts:
    """Counts the failed attempts of each chunk."""

    def __init__(self, retries: int) -> None:
        self.retries, self.failed = retries, Counter[Span]()

    def failure(self, span: Span, error: BaseException) -> None:
        """Count a failure of a chunk; raise if it was the last attempt, or if another cannot succeed."""
        if isinstance(error, SixdError) or not isinstance(error, _TEMPORARY):
            raise error
        self.failed[span] += 1
        if self.failed[span] > self.retries:
            raise WorkerError(
                f"{WHERE}: rows {span[0]} … {span[1] - 1} failed in each of {self.failed[span]} attempts, the last "
                f"time by {type(error).__name__}: {str(error).rstrip('.')}. For more attempts: retries."
            ) from error


def distribute(workers: Workers, spans: list[Span], retries: int) -> Iterator[tuple[Span, ChunkResult]]:
    """Yield the results of the chunks, in any order."""
    pending, attempts = deque(spans), Attempts(retries)
    submitted: dict[int, tuple[Any, Span]] = {}  # by id: futures of others may not be hashable
    try:
        while pending or submitted:
            while pending and len(submitted) < workers.window:
                future = workers.submit(pending[0])
                submitted[id(future)] = future, pending.popleft()
            for future in workers.finished([future for future, _ in submitted.values()]):
                _, span = submitted.pop(id(future))
                try:
                    found = workers.result(future)
                except Exception as error:
                    attempts.failure(span, error)
                    pending.appendleft(span)
                    continue
                yield span, found
    finally:
        workers.cancel([future for future, _ in submitted.values()])


def next_finished(queue: Queue[Any], check: Callable[[float], None]) -> Any:
    """Return the next future that its callback puts into the queue; call ``check(seconds)`` after so many without."""
    while True:
        try:
            return queue.get(timeout=_CHECK)
        except Empty:
            check(_CHECK)
