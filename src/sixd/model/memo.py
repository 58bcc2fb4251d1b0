"""What is known of a system beside its own fields, kept as long as the system lives.

Compiled code, ranks, counts of constraint equations: whatever is computed once per system is remembered here, and only
here, under a key of its own. A system that is garbage-collected takes its entries with it; :func:`clear` drops all.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

from sixd.locks import Lock

T = TypeVar("T")

_LOCK = Lock()
# by id of the system, then by key; read directly where a function call would take too long
KNOWN: dict[int, dict[Hashable, Any]] = {}
_ALIVE: dict[int, weakref.ref[Any]] = {}
_INDEXES: list[dict[int, Any]] = []


def remember(system: Any, key: Hashable, make: Callable[[], T]) -> T:
    """Return what is known of a system under ``key``; ``make()`` computes it at the first call."""
    known = known_of(system)
    if key not in known:
        known.setdefault(key, make())  # without a lock, which make() might need: of two threads the first one's stays
    return known[key]


def known_of(system: Any) -> dict[Hashable, Any]:
    """Return all that is known of a system, by key; the dictionary may be added to."""
    known = KNOWN.get(id(system))
    return known if known is not None else _begin(system)


def _begin(system: Any) -> dict[Hashable, Any]:
    with _LOCK:
        if id(system) not in _ALIVE:
            KNOWN[id(system)] = {}  # first: a child forked between the two lines finds it
            _ALIVE[id(system)] = weakref.ref(system, partial(_forget, id(system)))
        return KNOWN[id(system)]


def new_index() -> dict[int, Any]:
    """Return a dictionary by ``id(system)`` whose entries live as long as the system: a part of the memo that is
    read without a function call. Add to it only after ``known_of(system)``."""
    index: dict[int, Any] = {}
    _INDEXES.append(index)
    return index


def _forget(key: int, _: object) -> None:
    with _LOCK:
        _ALIVE.pop(key, None)
        KNOWN.pop(key, None)
        for index in _INDEXES:
            index.pop(key, None)


def clear() -> None:
    """Forget everything about every system: what is needed again is computed again."""
    with _LOCK:
        _ALIVE.clear()
        for index in (KNOWN, *_INDEXES):
            index.clear()
