"""Chunks of an ensemble on worker processes of this machine; a lost worker is replaced and its chunks done again."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from sixd.errors import SixdError, WorkerError
from sixd.simulation.ensemble.draws import WHERE
from sixd.simulation.ensemble.job import Job, Result, packed, run_packed
from sixd.spatial.scalar import Array

Span = tuple[int, int]  # rows first … stop − 1
# what may go well another time; SixdError never is
PASSING = (BrokenProcessPool, OSError, EOFError, MemoryError)


class Attempts:
    """Counts how often each chunk was tried."""

    def __init__(self, retries: int) -> None:
        self.retries, self.failed = retries, Counter[Span]()

    def failure(self, span: Span, error: BaseException, hint: str = "") -> None:
        """Note that a chunk failed; raise if that was its last attempt, or if another is of no use."""
        if isinstance(error, SixdError) or not isinstance(error, PASSING):
            raise error
        self.failed[span] += 1
        if self.failed[span] > self.retries:
            raise WorkerError(
                f"{WHERE}: rows {span[0]} … {span[1] - 1} failed in each of {self.failed[span]} attempts, the last "
                f"time by {type(error).__name__}: {str(error).rstrip('.')}.{hint} For more attempts: retries."
            ) from error


def in_processes(
    job: Job, spans: list[Span], cut: Callable[[int, int], dict[str, Array]], processes: int, retries: int
) -> Iterator[tuple[Span, Result]]:
    """Results as they come, in any order."""
    payload = packed(job)
    needs_main = b"__main__" in payload and _has_source(sys.modules["__main__"])
    hint = " Call sixd.ensemble under 'if __name__ == \"__main__\":' in a script." if needs_main else ""
    waiting, attempts = deque(spans), Attempts(retries)
    flying: dict[Future[Result], tuple[Span, _Crew]] = {}
    crew: _Crew | None = None
    try:
        while waiting or flying:
            # two for each worker: one under way, one at hand
            while waiting and len(flying) < 2 * processes:
                crew = crew or _Crew(min(processes, len(spans)), needs_main)
                try:
                    future = crew.executor.submit(run_packed, payload, waiting[0][0], cut(*waiting[0]))
                except BrokenProcessPool:
                    crew.end()
                    crew = None
                    continue
                flying[future] = waiting.popleft(), crew
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                span, its_crew = flying.pop(future)
                error = future.exception()
                if error is None:
                    yield span, future.result()
                    continue
                attempts.failure(span, error, hint)
                waiting.appendleft(span)
                if isinstance(error, BrokenProcessPool) and its_crew is crew:
                    its_crew.end()
                    crew = None
    finally:
        if crew is not None:
            crew.end()


class _Crew:
    """Worker processes. Without ``needs_main`` they do not import the program that runs here, so that a script needs
    no ``if __name__ == "__main__":``."""

    def __init__(self, size: int, needs_main: bool) -> None:
        self.context = _Context(needs_main)
        self.executor = ProcessPoolExecutor(size, self.context, initializer=_begin)

    def end(self) -> None:
        """Stop the workers at once."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in self.context.started:
            process.terminate()


class _Context(SpawnContext):
    """Starts fresh interpreters, and keeps a list of them."""

    def __init__(self, needs_main: bool) -> None:
        super().__init__()
        self.needs_main = needs_main
        self.started: list[SpawnProcess] = []

    def Process(self, *args: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]
        """A process yet to be started."""
        process = SpawnProcess(*args, **options) if self.needs_main else _LeanProcess(*args, **options)
        self.started.append(process)
        return process


class _LeanProcess(SpawnProcess):
    """A process that does not import the main program."""

    def start(self) -> None:
        """Start it; multiprocessing looks at the main module to tell the child what to import."""
        with _START, _other_main():
            super().start()


def _has_source(main: types.ModuleType) -> bool:
    """Whether a worker can import the main program; what is typed at a prompt it cannot."""
    return main.__spec__ is not None or os.path.exists(getattr(main, "__file__", None) or "")


_START = threading.Lock()


@contextlib.contextmanager
def _other_main() -> Iterator[None]:
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _begin() -> None:
    """A worker's first act: the keyboard interrupts the parent alone, and without a parent there is no work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
