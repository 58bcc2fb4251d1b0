"""Locks that a fork does not leave locked: a child has no thread to release what another thread of its parent held."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_ALL: WeakSet[Lock] = WeakSet()


class Lock:
    """A lock that its own thread may take again; in a forked process it is free."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _ALL.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: Any) -> None:
        self._lock.release()


def _renew() -> None:
    for lock in _ALL:
        lock._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
