"""Ctrl-C when the work is done, or was interrupted already: what is left takes a moment, and is finished first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def finished(work: Callable[[], T], interrupted: bool) -> tuple[T, bool]:
    """The result of short work, begun anew if Ctrl-C comes meanwhile, and whether it has come by now; a second Ctrl-C
    is obeyed."""
    try:
        return work(), interrupted
    except KeyboardInterrupt:
        if interrupted:
            raise
        return work(), True
