"""Warnings of simulations: they name the user's line, and are silent where a caller warns once for many simulations."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sixd.errors import SimulationWarning, user_level

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


def warn(where: str, text: str | None) -> None:
    """Issue a warning, if there is a text, for the line outside of sixd that led here."""
    if text is None or is_quiet():
        return
    warnings.warn(f"{where}: {text}", SimulationWarning, stacklevel=user_level())


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress warnings of simulations in this thread; filters of ``warnings`` would be those of all threads."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


def is_quiet() -> bool:
    """Return whether this is called in a block of :func:`quietly`."""
    return _QUIET.get()
