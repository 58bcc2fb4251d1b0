"""Simulations that do not warn, since their caller warns once for many of them, in this thread or others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings of simulations, in this thread; filters of ``warnings`` would be those of all threads."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


def is_quiet() -> bool:
    """Return whether this is called in a block of :func:`quietly`."""
    return _QUIET.get()
