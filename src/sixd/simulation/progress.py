"""Long-running work: its progress bar, shown on a terminal, and Ctrl-C when it is nearly done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_PATIENCE = 1.0  # s, before a bar appears unasked


class Progress:
    """Shows the progress of work. ``show``: True, False, None (on a terminal, if the work is long), or a function
    that is called with the fraction done. Use it in a ``with`` statement."""

    def __init__(self, title: str, total: float, show: bool | Callable[[float], Any] | None) -> None:
        self.title, self.total, self.show = title, max(total, 1e-300), show
        self._start, self._bar, self._task = time.monotonic(), None, None  # type: Any, Any, Any

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float) -> None:
        """Show that ``done`` of the total is done."""
        if callable(self.show):
            self.show(min(done / self.total, 1.0))
            return
        if self._bar is None and self._wanted(done):
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.total)
        if self._bar is not None:
            self._bar.update(self._task, completed=done)

    def _wanted(self, done: float) -> bool:
        if self.show is not None:
            return bool(self.show)
        return done < self.total and time.monotonic() - self._start > _PATIENCE and sys.stderr.isatty()


def finish(work: Callable[[], T], interrupted: bool) -> tuple[T, bool]:
    """Return the result of short work that ends a longer one, and whether Ctrl-C was pressed by then.

    ``interrupted``: it was pressed before. If it is pressed for the first time, the work begins anew, and its result
    is kept; a second time ends it.
    """
    try:
        return work(), interrupted
    except KeyboardInterrupt:
        if interrupted:
            raise
        return work(), True
