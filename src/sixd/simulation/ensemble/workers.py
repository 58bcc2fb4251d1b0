"""Worker processes of an ensemble on this machine; a lost worker is replaced, and its chunks are repeated.

:func:`in_processes` starts the workers and distributes the chunks.
"""

from __future__ import annotations

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
from sixd.simulation.ensemble.job import ChunkResult, Job, Span, packed, run_packed
from sixd.spatial.scalar import Array

# errors after which another attempt may succeed
_TEMPORARY = (BrokenProcessPool, OSError, EOFError, MemoryError)


class Attempts:
    """Counts the failed attempts of each chunk."""

    def __init__(self, retries: int) -> None:
        self.retries, self.failed = retries, Counter[Span]()

    def failure(self, span: Span, error: BaseException, hint: str = "") -> None:
        """Count a failure of a chunk; raise if it was the last attempt, or if another cannot succeed."""
        if isinstance(error, SixdError) or not isinstance(error, _TEMPORARY):
            raise error
        self.failed[span] += 1
        if self.failed[span] > self.retries:
            raise WorkerError(
                f"{WHERE}: rows {span[0]} … {span[1] - 1} failed in each of {self.failed[span]} attempts, the last "
                f"time by {type(error).__name__}: {str(error).rstrip('.')}.{hint} For more attempts: retries."
            ) from error


def in_processes(
    job: Job, spans: list[Span], cut: Callable[[int, int], dict[str, Array]], processes: int, retries: int
) -> Iterator[tuple[Span, ChunkResult]]:
    """Start worker processes and yield the results of the chunks, in any order."""
    payload = packed(job)
    needs_main = b"__main__" in payload and _has_source(sys.modules["__main__"])
    hint = " Call sixd.ensemble under 'if __name__ == \"__main__\":' in a script." if needs_main else ""
    pending, attempts = deque(spans), Attempts(retries)
    submitted: dict[Future[ChunkResult], tuple[Span, _Pool]] = {}
    pool: _Pool | None = None
    try:
        while pending or submitted:
            # two for each worker: one running, one waiting
            while pending and len(submitted) < 2 * processes:
                pool = pool or _Pool(min(processes, len(spans)), needs_main)
                try:
                    future = pool.executor.submit(run_packed, payload, pending[0][0], cut(*pending[0]))
                except BrokenProcessPool:
                    pool.stop()
                    pool = None
                    continue
                submitted[future] = pending.popleft(), pool
            done, _ = wait(submitted, return_when=FIRST_COMPLETED)
            for future in done:
                span, its_pool = submitted.pop(future)
                error = future.exception()
                if error is None:
                    yield span, future.result()
                    continue
                attempts.failure(span, error, hint)
                pending.appendleft(span)
                if isinstance(error, BrokenProcessPool) and its_pool is pool:
                    its_pool.stop()
                    pool = None
    finally:
        if pool is not None:
            pool.stop()


class _Pool:
    """A pool of worker processes. Without ``needs_main`` they do not import the main program, so that a script does not
    need ``if __name__ == "__main__":``."""

    def __init__(self, size: int, needs_main: bool) -> None:
        self.context = _Context(needs_main)
        self.executor = ProcessPoolExecutor(size, self.context, initializer=_initialize_worker)

    def stop(self) -> None:
        """Stop the workers at once."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in self.context.started:
            process.terminate()


class _Context(SpawnContext):
    """Starts new interpreters, and keeps a list of them."""

    def __init__(self, needs_main: bool) -> None:
        super().__init__()
        self.needs_main = needs_main
        self.started: list[SpawnProcess] = []

    def Process(self, *args: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]
        """Return a process that is not yet started."""
        process = SpawnProcess(*args, **options) if self.needs_main else _LeanProcess(*args, **options)
        self.started.append(process)
        return process


class _LeanProcess(SpawnProcess):
    """A process that does not import the main program."""

    def start(self) -> None:
        """Start it with an empty main module, from which multiprocessing derives the imports of the child."""
        with _START:
            main = sys.modules["__main__"]
            sys.modules["__main__"] = types.ModuleType("__main__")
            try:
                super().start()
            finally:
                sys.modules["__main__"] = main


def _has_source(main: types.ModuleType) -> bool:
    """Return whether a worker can import the main program: not if it was typed at a prompt."""
    return main.__spec__ is not None or os.path.exists(getattr(main, "__file__", None) or "")


_START = threading.Lock()


def _initialize_worker() -> None:
    """Ignore Ctrl-C, which the parent handles, and exit when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
