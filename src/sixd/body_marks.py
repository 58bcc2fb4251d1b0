"""Visits: which body an algorithm is working on, reported to a listener while there is one.

Algorithms loop over ``model.bodies``, and along branches by ``model.parent``. While a function is traced the trace
listens, and so learns which operations belong to which body; the algorithms themselves do nothing for it. Without a
listener ``model.bodies`` is a plain range.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Protocol

_LOOPS = count(1)
_LOCAL = threading.local()  # .listener: that of this thread


class Listener(Protocol):
    """Is informed of visits."""

    def visit(self, loop: int, body: int) -> None:
        """An iteration of a loop over bodies begins; loop 0 is a step along a branch; (0, 0): a loop has ended."""


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report the visits of this thread to ``listener`` inside the context."""
    before = getattr(_LOCAL, "listener", None)
    _LOCAL.listener = listener
    try:
        yield
    finally:
        _LOCAL.listener = before


def new_loop() -> int:
    """A number for a loop, above 0 and used for no other."""
    return next(_LOOPS)


def bodies(number: int) -> Any:
    """The range 1 … number, whose iterations are visits if there is a listener."""
    indices = range(1, number + 1)
    listener = getattr(_LOCAL, "listener", None)
    return indices if listener is None else _MarkedRange(indices, listener)


class _MarkedRange:
    """A range whose iterations are reported; in all else it behaves as a range does."""

    def __init__(self, indices: range, listener: Listener) -> None:
        self._indices, self._listener = indices, listener
        self.start, self.stop, self.step = indices.start, indices.stop, indices.step
        self.index, self.count = indices.index, indices.count

    def _visit(self, indices: Iterator[int]) -> Iterator[int]:
        loop = new_loop()
        for i in indices:
            self._listener.visit(loop, i)
            yield i
        self._listener.visit(0, 0)

    def __iter__(self) -> Iterator[int]:
        return self._visit(iter(self._indices))

    def __reversed__(self) -> Iterator[int]:
        return self._visit(reversed(self._indices))

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, k: Any) -> Any:
        return self._indices[k]

    def __contains__(self, i: object) -> bool:
        return i in self._indices

    def __eq__(self, other: object) -> bool:
        return self._indices == (other._indices if isinstance(other, _MarkedRange) else other)

    def __hash__(self) -> int:
        return hash(self._indices)

    def __repr__(self) -> str:
        return repr(self._indices)


class Parents(tuple[int, ...]):
    """The parent of each body; to ask for one is a visit to the body, if there is a listener."""

    __slots__ = ()

    def __getitem__(self, i: Any) -> Any:
        listener = getattr(_LOCAL, "listener", None)
        if listener is not None and not isinstance(i, slice):
            listener.visit(0, i)
        return super().__getitem__(i)

    def __reduce__(self) -> Any:
        return tuple, (tuple(self),)
