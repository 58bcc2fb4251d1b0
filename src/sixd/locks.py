"""Locks and forks: a child has no thread to release, or to finish, what another thread of its parent held.

A :class:`Lock` is free in a child. What must not be cut in two by a fork, because it cannot be begun anew (LLVM at
work, a module half imported), is done under ``FORKS_WAIT``: a fork waits until no other thread is there.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from weakref import WeakSet

_ALL: WeakSet[Lock] = WeakSet()


class Lock:
    """A lock that its own thread may take again; in a forked process it is free, unless the forking thread holds it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _ALL.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: Any) -> None:
        self._lock.release()


class ForksWait:
    """Many threads may be within at once, and within again; a fork waits for those of other threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._depths: dict[int, int] = {}  # by thread: how often it is within
        self._forking: int | None = None  # the thread that forks, or waits to

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            # who is within already must get on, else the fork would wait for ever
            self._changed.wait_for(lambda: self._forking in (None, me) or me in self._depths)
            self._depths[me] = self._depths.get(me, 0) + 1

    def __exit__(self, *_: Any) -> None:
        me = threading.get_ident()
        with self._changed:
            self._depths[me] -= 1
            if not self._depths[me]:
                del self._depths[me]
            self._changed.notify_all()

    def before(self) -> None:
        """Wait until this thread may fork, and keep others out."""
        me = threading.get_ident()
        self._changed.acquire()
        try:
            self._changed.wait_for(lambda: self._forking is None)
        except BaseException:
            self._changed.release()
            raise
        self._forking = me
        self._changed.wait_for(lambda: not self._depths.keys() - {me})

    def after(self) -> None:
        """Let others in, after a fork or in its child."""
        if self._forking != threading.get_ident():
            return  # the keyboard interrupted the wait: Python reports that, and forks
        self._forking = None
        self._changed.notify_all()
        self._changed.release()

    def after_in_child(self) -> None:
        """Let the threads to come in; those of the parent are gone."""
        me = threading.get_ident()
        self._depths = {me: self._depths[me]} if me in self._depths else {}
        self.after()


FORKS_WAIT = ForksWait()


def _renew() -> None:
    for lock in _ALL:
        if not lock._lock._is_owned():  # type: ignore[attr-defined]
            lock._lock = threading.RLock()
    if sys.version_info < (3, 12):  # until then functools locks what it keeps: a model's nq and the like
        for kept in _cached_properties():
            if not kept.lock._is_owned():
                kept.lock = threading.RLock()


def _cached_properties() -> Iterator[Any]:
    """Those of all classes of sixd that are loaded (3 ms)."""
    for name, module in list(sys.modules.items()):
        if name.startswith("sixd."):
            classes = [x for x in list(vars(module).values()) if isinstance(x, type)]
            yield from (x for c in classes for x in list(vars(c).values()) if isinstance(x, cached_property))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=FORKS_WAIT.before, after_in_parent=FORKS_WAIT.after)
    os.register_at_fork(after_in_child=FORKS_WAIT.after_in_child)
    os.register_at_fork(after_in_child=_renew)
