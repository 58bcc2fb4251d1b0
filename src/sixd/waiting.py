"""Work that takes longer than a moment: the commands tell the user; the library by itself is silent.

Compiling is the one thing that a user does not see coming. It is done under :func:`watched`, which calls the listener,
if there is one, once the work has taken ``PATIENCE`` and is still under way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds

_listener: Callable[[str], None] | None = None


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Have ``listener`` called, from another thread, with what takes long, once for each; for the whole process."""
    global _listener
    told: set[str] = set()

    def tell(what: str) -> None:
        if what not in told:  # a function is compiled for one row and for batches
            told.add(what)
            listener(what)

    before, _listener = _listener, tell
    try:
        yield
    finally:
        _listener = before


@contextmanager
def watched(what: str) -> Iterator[None]:
    """Work that the listener hears of if it takes long: ``what`` in words, as "compiling … for …"."""
    listener = _listener
    if listener is None or PATIENCE >= threading.TIMEOUT_MAX:
        yield
        return
    timer = threading.Timer(PATIENCE, listener, (what,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
