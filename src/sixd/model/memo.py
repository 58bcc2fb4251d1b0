"""Memo of values that are computed once per system, kept as long as the system lives.

It holds compiled code, ranks and counts of constraint equations, each under its own key, and is the only cache of such
values. The entries of a system are dropped when it is garbage-collected; :func:`clear` drops all.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

from sixd.locks import Lock

T = TypeVar("T")

LOCK = Lock()  # of all indexes, too
# by id of the system, then by key; read directly where a function call would be too slow
KNOWN: dict[int, dict[Hashable, Any]] = {}
_ALIVE: dict[int, weakref.ref[Any]] = {}
_INDEXES: list[dict[int, Any]] = []
atexit.register(_ALIVE.clear)  # systems that live until the end are not forgotten while modules are torn down


def remember(system: object, key: Hashable, make: Callable[[], T]) -> T:
    """Return the value of a system under ``key``; ``make()`` computes it at the first call."""
    known = KNOWN.get(id(system))
    if known is None:
        known = _begin(system)
    if key not in known:
        known.setdefault(key, make())  # no lock, since make() may need it: of two threads the first wins
    return known[key]


def known_of(system: object) -> dict[Hashable, Any]:
    """Return the dictionary of a system's values by key, to read from and to add to."""
    known = KNOWN.get(id(system))
    return known if known is not None else _begin(system)


def _begin(system: object) -> dict[Hashable, Any]:
    with LOCK:
        if id(system) not in _ALIVE:
            KNOWN[id(system)] = {}  # first: a child forked between the two lines finds it
            _ALIVE[id(system)] = weakref.ref(system, partial(_forget, id(system)))
        return KNOWN[id(system)]


def add_index(index: dict[int, Any]) -> None:
    """Have the entries of a dictionary by ``id(system)`` live as long as the system.

    It is a part of the memo that is read without a function call. Add to it only after ``known_of(system)``.
    """
    _INDEXES.append(index)


def _forget(key: int, _: object) -> None:
    with LOCK:
        _ALIVE.pop(key, None)
        KNOWN.pop(key, None)
        for index in _INDEXES:
            index.pop(key, None)


def clear() -> None:
    """Drop the values of all systems; they are computed again when needed."""
    with LOCK:
        _ALIVE.clear()
        for index in (KNOWN, *_INDEXES):
            index.clear()
