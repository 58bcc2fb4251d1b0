"""Pauses of Python's garbage collector, for work that makes many objects and keeps them all.

The collector is one for all threads, and starts after every few hundred new objects: a trace makes hundreds of
thousands, none of them garbage. Objects without cycles are freed as ever during a pause.
"""

from __future__ import annotations

import gc
import os
from contextlib import ContextDecorator

from sixd.locks import Lock


class Pause(ContextDecorator):
    """A context, or decorator, in which the collector does not run: re-entrant, and for any number of threads at once.

    At the end of the last pause the collector runs again, if it did before the first. A forked child, in which the
    pauses of other threads would never end, starts without any.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._resumes = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._end)

    def __enter__(self) -> None:
        with self._lock:
            if not self._depth:
                self._resumes = gc.isenabled()
                gc.disable()
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._depth <= 1:
                self._end()
            else:
                self._depth -= 1

    def _end(self) -> None:
        if self._depth and self._resumes:
            gc.enable()
        self._depth = 0


PAUSED = Pause()
