"""Locks that survive forks: a forked child lacks the threads of its parent that hold a lock or are at work.

A :class:`Lock` is free in a child. Work that a fork must not interrupt, because the child could not restart it (LLVM
compiling, a module half imported), runs under ``FORKS_WAIT``: a fork waits until no other thread is inside.
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
    """A re-entrant lock; in a forked process it is free, unless the forking thread holds it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _ALL.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class ForksWait:
    """A re-entrant context that many threads may be inside at once; a fork waits for those of other threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._depths: dict[int, int] = {}  # by thread: how often it is inside
        self._forking: int | None = None  # the thread that forks, or waits to fork

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            # a thread that is already inside must continue, otherwise the fork would wait for ever
            self._changed.wait_for(lambda: self._forking in (None, me) or me in self._depths)
            self._depths[me] = self._depths.get(me, 0) + 1

    def __exit__(self, *_: object) -> None:
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
        """Let other threads in, after a fork."""
        if self._forking != threading.get_ident():
            return  # a KeyboardInterrupt ended the wait: Python reports it, and forks
        self._forking = None
        self._changed.notify_all()
        self._changed.release()

    def after_in_child(self) -> None:
        """Let threads in, in a forked child; those of the parent no longer exist."""
        me = threading.get_ident()
        self._depths = {me: self._depths[me]} if me in self._depths else {}
        self.after()


FORKS_WAIT = ForksWait()


def _renew() -> None:
    for lock in _ALL:
        if not lock._lock._is_owned():  # type: ignore[attr-defined]
            lock._lock = threading.RLock()
    if sys.version_info < (3, 12):  # until 3.12 each cached_property has a lock: a model's nq and the like
        for kept in _cached_properties():
            if not kept.lock._is_owned():
                kept.lock = threading.RLock()


def _cached_properties() -> Iterator[Any]:
    """The cached properties of all loaded classes of sixd (3 ms)."""
    for name, module in list(sys.modules.items()):
        if name.startswith("sixd."):
            classes = [x for x in list(vars(module).values()) if isinstance(x, type)]
            yield from (x for c in classes for x in list(vars(c).values()) if isinstance(x, cached_property))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=FORKS_WAIT.before, after_in_parent=FORKS_WAIT.after)
    os.register_at_fork(after_in_child=FORKS_WAIT.after_in_child)
    os.register_at_fork(after_in_child=_renew)
