"""Large batches on several threads: NumPy releases the GIL inside a ufunc, so Python threads suffice."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING

from sixd.errors import ScalarTypeError
from sixd.locks import FORKS_WAIT, Lock

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_LOCK = Lock()
_pool: ThreadPoolExecutor | None = None
_threads: int | None = None


def available() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """Number of threads that a large batch is spread over."""
    return _threads or available()


def set_num_threads(n: int | None) -> None:
    """Spread large batches over ``n`` threads; 1 for none, None for all cores (the default).

    Small batches always run in the calling thread, since starting others would take longer.
    """
    global _threads, _pool
    if n is not None and (isinstance(n, bool) or not isinstance(n, Integral) or n < 1):
        raise ScalarTypeError(f"set_num_threads: n is {n!r}, expected a whole number of at least 1, or None.")
    with _LOCK:
        # no shutdown: others may be submitting tasks to it; its threads end when it is no longer referenced
        _threads, _pool = None if n is None else int(n), None


def spread(tasks: Sequence[Callable[[], object]]) -> None:
    """Run all the tasks, in this thread and in others; each runs the next task when it is free.

    The first error is raised when all have ended.
    """
    left = deque(tasks)

    def work() -> None:
        while True:
            try:
                task = left.popleft()
            except IndexError:
                return
            task()

    pool = _get_pool()
    futures = [pool.submit(work) for _ in range(min(get_num_threads(), len(tasks)) - 1)]
    try:
        work()
    finally:
        left.clear()
        errors = [f.exception() for f in futures]
    for error in errors:
        if error is not None:
            raise error


def _get_pool() -> ThreadPoolExecutor:
    global _pool
    with FORKS_WAIT:
        from concurrent.futures import ThreadPoolExecutor  # imports logging, 10 ms

    with _LOCK:
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=max(get_num_threads() - 1, 1), thread_name_prefix="sixd")
        return _pool


def _forget_pool() -> None:
    """In a forked child: the pool's threads exist only in the parent."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
