"""Notices of slow work: the commands report it to the user; without a listener the library is silent.

Compiling is the work that a user does not expect to be slow. It runs under :func:`watched`, which calls the listener,
if there is one, when the work is not finished after ``PATIENCE``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds

_listener: Callable[[str], None] | None = None


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Call ``listener``, from another thread, with the description of each piece of slow work in the process, once."""
    global _listener
    reported: set[str] = set()

    def report(what: str) -> None:
        if what not in reported:  # a function is compiled for one row and for batches
            reported.add(what)
            listener(what)

    before, _listener = _listener, report
    try:
        yield
    finally:
        _listener = before


@contextmanager
def watched(what: str) -> Iterator[None]:
    """Run the block; if it is slow, report ``what`` to the listener, such as "compiling … for …"."""
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
