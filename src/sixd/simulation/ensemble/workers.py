"""Worker processes of an ensemble on this machine: an executor that replaces lost processes."""

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
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from sixd.errors import WorkerError
from sixd.runtime.cuda.ranks import set_local_rank
from sixd.simulation.ensemble.draws import WHERE, Draws
from sixd.simulation.ensemble.executors import distribute
from sixd.simulation.ensemble.job import ChunkResult, Job, Span, packed


def in_processes(
    job: Job, spans: list[Span], draws: Draws, processes: int, retries: int
) -> Iterator[tuple[Span, ChunkResult]]:
    """Start worker processes and yield the results of the chunks, in any order."""
    current = multiprocessing.current_process()
    if current.name.startswith(_NAME) and getattr(current, "_inheriting", False):
        os._exit(_UNGUARDED)  # a worker came here while it imported the main program
    payload = payload_of(job)
    pool = _ProcessPool(min(processes, len(spans)), b"__main__" in payload, has_gpus=job.device != "cpu")
    try:
        yield from distribute(pool, payload, spans, draws, retries)
    except WorkerError as error:
        if isinstance(error.__cause__, BrokenProcessPool) and pool.is_unguarded():
            raise _unguarded() from None
        raise
    finally:
        pool.stop()


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
        f"{WHERE}: the call is at the top level of the script. Worker processes import the script for its functions, "
        f"and would repeat the call. Write 'if __name__ == \"__main__\":' above the call and indent it, or give "
        f"processes=1. A controller of functions of sixd.spatial is compiled, and needs no guard."
    )


def _is_unguarded(main: types.ModuleType) -> bool:
    """Return whether the main program comes here by a line outside of any condition, as a worker would that imports it.
    Conditions are not examined: a worker that comes here by one ends with ``_UNGUARDED``."""
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


class _ProcessPool:
    """An executor of processes of this machine, each with a GPU if ``has_gpus``; it is replaced when it lost a process.

    Without ``needs_main`` the processes do not import the main program, so that a script does not need
    ``if __name__ == "__main__":``.
    """

    def __init__(self, size: int, needs_main: bool, has_gpus: bool) -> None:
        self.max_workers, self.needs_main, self.has_gpus = size, needs_main, has_gpus
        self._start()

    def _start(self) -> None:
        self.context = _Context(self.needs_main)
        started = self.context.Value("i", 0) if self.has_gpus else None
        self.executor = ProcessPoolExecutor(
            self.max_workers, self.context, initializer=_initialize_worker, initargs=(started,)
        )

    def submit(self, function: Callable[..., ChunkResult], *arguments: object) -> Future[ChunkResult]:
        """Start a task, in new processes if one was lost."""
        while True:
            try:
                return self.executor.submit(function, *arguments)
            except BrokenProcessPool:
                if self.is_unguarded():
                    raise
                self.stop()
                self._start()

    def is_unguarded(self) -> bool:
        """Return whether a worker of a broken pool ended because it came to start workers itself."""
        self.executor.shutdown(wait=True)
        return any(process.exitcode == _UNGUARDED for process in self.context.started)

    def stop(self) -> None:
        """Stop the processes at once."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in self.context.started:
            if process.pid is not None:  # Ctrl-C may come before it is started
                process.terminate()


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
