"""A progress bar for long work: shown on a terminal when it takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

_PATIENCE = 1.0  # s, before a bar appears by itself


class Progress:
    """Tells how far work has come. ``show``: True, False, None (on a terminal, if it takes long), or a function that is
    called with the fraction done. Use it in a ``with`` statement."""

    def __init__(self, title: str, total: float, show: bool | Callable[[float], Any] | None) -> None:
        self.title, self.total, self.show = title, max(total, 1e-300), show
        self._start, self._bar, self._task = time.monotonic(), None, None  # type: Any, Any, Any

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float) -> None:
        """So much is done of the total."""
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
