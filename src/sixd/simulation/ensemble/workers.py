"""Worker processes of an ensemble on this machine; a lost worker is replaced, and its chunks are repeated.

:func:`in_processes` starts the workers and distributes the chunks.
"""

from __future__ import annotations

import ast
import inspect
import linecache
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

from sixd.errors import WorkerError
from sixd.runtime.cuda.ranks import set_local_rank
from sixd.simulation.ensemble.draws import WHERE
from sixd.simulation.ensemble.job import ChunkResult, Job, Span, packed, run_packed
from sixd.simulation.ensemble.tasks import distribute
from sixd.spatial.scalar import Array


def in_processes(
    job: Job, spans: list[Span], cut: Callable[[int, int], dict[str, Array]], processes: int, retries: int
) -> Iterator[tuple[Span, ChunkResult]]:
    """Start worker processes and yield the results of the chunks, in any order."""
    current = multiprocessing.current_process()
    if current.name.startswith(_NAME) and getattr(current, "_inheriting", False):
        os._exit(_UNGUARDED)  # a worker came here while it imported the main program
    size = min(processes, len(spans))
    return distribute(_Processes(payload_of(job), cut, size, has_gpus=job.device != "cpu"), spans, retries)


# the main program -------------------------------------------------------------------------------

_NAME = "ensemble "  # what names of workers begin with
_UNGUARDED = 83  # exit status of a worker that would start workers itself


def payload_of(job: Job) -> bytes:
    """Return the job as bytes; raise if it needs functions of the main program that workers cannot import."""
    payload, main = packed(job), sys.modules["__main__"]
    if b"__main__" not in payload:
        return payload
    if main.__spec__ is None and not os.path.exists(getattr(main, "__file__", None) or ""):
        raise WorkerError(
            f"{WHERE}: the work needs functions or classes that were typed at a prompt or into a notebook, which "
            f"worker processes cannot import. Define them in a module, or give processes=1."
        )
    if _is_unguarded(main):
        raise _unguarded()
    return payload


def _unguarded() -> WorkerError:
    return WorkerError(
        f"{WHERE}: the call is at the top level of the script, which worker processes import for the functions in it, "
        f"and would make again, expected it under a guard. Write 'if __name__ == \"__main__\":' above the call and "
        f"indent it, or give processes=1. A controller of functions of sixd.spatial is compiled, and needs none."
    )


def _is_unguarded(main: types.ModuleType) -> bool:
    """Return whether the main program comes here by a line outside of any condition, as a worker would that imports it.

    Conditions are not examined: a worker that comes here by one ends with ``_UNGUARDED``.
    """
    frame = inspect.currentframe()
    while frame is not None and not (frame.f_code.co_name == "<module>" and frame.f_globals is main.__dict__):
        frame = frame.f_back
    if frame is None:  # called in another thread
        return False
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename, main.__dict__)))
    except SyntaxError:  # of a notebook
        return False
    nodes = [x for x in ast.walk(tree) if isinstance(x, (ast.stmt, ast.expr))]
    at = [x for x in nodes if x.lineno <= frame.f_lineno <= (x.end_lineno or 0)]
    return bool(at) and not any(isinstance(x, (ast.If, ast.Match, ast.IfExp, ast.BoolOp)) for x in at)


# processes --------------------------------------------------------------------------------------


class _Processes:
    """Processes of this machine, each with a GPU if ``has_gpus``; a pool that has lost one is replaced."""

    def __init__(self, payload: bytes, cut: Callable[[int, int], dict[str, Array]], size: int, has_gpus: bool) -> None:
        self.payload, self.cut, self.size, self.has_gpus = payload, cut, size, has_gpus
        self.window = 2 * size
        self.needs_main = b"__main__" in payload
        self.pool: _WorkerPool | None = None
        self.pools: dict[Future[ChunkResult], _WorkerPool] = {}

    def submit(self, span: Span) -> Future[ChunkResult]:
        """Start a task, in a new pool if there is none that works."""
        while True:
            pool = self.pool = self.pool or _WorkerPool(self.size, self.needs_main, self.has_gpus)
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
            if self.needs_main and pool.is_unguarded():
                raise _unguarded() from None
            raise

    def cancel(self, futures: list[Future[ChunkResult]]) -> None:
        """Stop the processes at once."""
        self._stop()

    def _stop(self) -> None:
        if self.pool is not None:
            self.pool.stop()
            self.pool = None


class _WorkerPool:
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
            if process.pid is not None:  # Ctrl-C may come before it is started
                process.terminate()

    def is_unguarded(self) -> bool:
        """Return whether a worker of a pool that is broken came to start workers itself."""
        self.executor.shutdown(wait=True)
        return any(process.exitcode == _UNGUARDED for process in self.context.started)


class _Context(SpawnContext):
    """Starts new interpreters, and keeps a list of them."""

    def __init__(self, needs_main: bool) -> None:
        super().__init__()
        self.needs_main = needs_main
        self.started: list[_WorkerProcess] = []

    def Process(self, *args: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]
        """Return a process that is not yet started."""
        process = _WorkerProcess(*args, **options)
        process.name, process.needs_main = _NAME + process.name, self.needs_main
        self.started.append(process)
        return process


class _WorkerProcess(SpawnProcess):
    """A process that imports the main program only if it ``needs_main``."""

    needs_main = True

    def start(self) -> None:
        """Start it with SIGINT blocked until :func:`_initialize_worker`, so that Ctrl-C meanwhile does not end it.

        Without ``needs_main`` the main module is empty meanwhile: multiprocessing derives the child's imports from it.
        """
        with _START:
            main = sys.modules["__main__"]
            if not self.needs_main:
                sys.modules["__main__"] = types.ModuleType("__main__")
            can_block = hasattr(signal, "pthread_sigmask")
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_block else None
            try:
                super().start()
            finally:
                sys.modules["__main__"] = main
                if before is not None:
                    signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
