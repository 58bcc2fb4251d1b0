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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from sixd.runtime.cuda.ranks import set_local_rank
from sixd.simulation.ensemble.draws import WHERE
from sixd.simulation.ensemble.job import ChunkResult, Job, Span, packed, run_packed
from sixd.simulation.ensemble.tasks import distribute
from sixd.spatial.scalar import Array


def in_processes(
    job: Job, spans: list[Span], cut: Callable[[int, int], dict[str, Array]], processes: int, retries: int
) -> Iterator[tuple[Span, ChunkResult]]:
    """Start worker processes and yield the results of the chunks, in any order."""
    size = min(processes, len(spans))
    return distribute(_Processes(packed(job), cut, size, has_gpus=job.device != "cpu"), spans, retries)


class _Processes:
    """Processes of this machine, each with a GPU if ``has_gpus``; a pool that has lost one is replaced."""

    def __init__(self, payload: bytes, cut: Callable[[int, int], dict[str, Array]], size: int, has_gpus: bool) -> None:
        self.payload, self.cut, self.size, self.has_gpus = payload, cut, size, has_gpus
        self.window = 2 * size
        self.needs_main = b"__main__" in payload and _has_source(sys.modules["__main__"])
        self.hint = " Call sixd.ensemble under 'if __name__ == \"__main__\":' in a script." if self.needs_main else ""
        self.pool: _Pool | None = None
        self.pools: dict[Future[ChunkResult], _Pool] = {}

    def submit(self, span: Span) -> Future[ChunkResult]:
        """Start a task, in a new pool if there is none that works."""
        while True:
            pool = self.pool = self.pool or _Pool(self.size, self.needs_main, self.has_gpus)
            try:
                future = pool.executor.submit(run_packed, self.payload, span[0], self.cut(*span))
            except BrokenProcessPool:
                self._stop()
                continue
            self.pools[future] = pool
            return future

    def finished(self, futures: list[Future[ChunkResult]]) -> Iterable[Future[ChunkResult]]:
        """Wait for some of the futures."""
        return wait(futures, return_when=FIRST_COMPLETED).done

    def result(self, future: Future[ChunkResult]) -> ChunkResult:
        """Return the result of a future."""
        pool = self.pools.pop(future)
        try:
            return future.result()
        except BrokenProcessPool:
            if pool is self.pool:
                self._stop()
            raise

    def cancel(self, futures: list[Future[ChunkResult]]) -> None:
        """Stop the processes at once."""
        self._stop()

    def _stop(self) -> None:
        if self.pool is not None:
            self.pool.stop()
            self.pool = None


class _Pool:
    """A pool of worker processes. Without ``needs_main`` they do not import the main program, so that a script does not
    need ``if __name__ == "__main__":``."""

    def __init__(self, size: int, needs_main: bool, has_gpus: bool) -> None:
        self.context = _Context(needs_main)
        started = self.context.Value("i", 0) if has_gpus else None
        self.executor = ProcessPoolExecutor(size, self.context, initializer=_initialize_worker, initargs=(started,))

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


def _initialize_worker(started: Any) -> None:
    """Ignore Ctrl-C, which the parent handles, and exit when the parent ends; ``started`` counts workers with GPUs."""
    if started is not None:
        with started.get_lock():
            number, started.value = started.value, started.value + 1
        set_local_rank(WHERE, number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
