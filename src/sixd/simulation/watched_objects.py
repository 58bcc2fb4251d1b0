"""Objects that are part of compiled code, and whether they are what they were when the code was made.

A plain function is taken to stay as it is, and so are the library's controllers and force elements, which cannot be
changed. Of other objects (a user's controller with gains, the object of a bound method) a snapshot of the state is
compared. Nothing here keeps an object alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from sixd.model.system import System

_PLAIN = {type(None), bool, int, complex, str, bytes}
_MOST_DEEP, _MOST_LONG = 12, 10_000  # containers and objects in each other; entries of one
_MOST_BYTES = 1 << 24  # of an array: comparing more takes as long as a trace
_HEAP_TYPE = 1 << 9  # flag of classes that are written in Python
# entries of a class that are not read by its methods, or only by Python itself
_SKIPPED = {
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__annotate_func__",
    "__annotations_cache__", "__static_attributes__", "__firstlineno__", "__match_args__", "__parameters__",
    "__orig_bases__", "__dataclass_fields__", "__dataclass_params__", "__abstractmethods__", "_abc_impl",
}  # fmt: skip
_UNSEEN = {"__getattr__", "__getattribute__", "__slots__"}  # attributes that come from elsewhere


class Unwatchable(Exception):
    """An object whose state cannot be seen, or not compared."""


class Watched:
    """An object that code was made for; ``on_death`` is called when it is no longer used by others."""

    __slots__ = ("_reference", "_state")

    def __init__(self, value: Any, on_death: Callable[[Any], None]) -> None:
        try:
            self._reference = weakref.ref(value, on_death)
        except TypeError:
            raise Unwatchable from None
        self._state = _state(value)

    @property
    def is_fixed(self) -> bool:
        """Whether it cannot change, so that comparing its address is enough."""
        return self._state is None

    def is_unchanged(self) -> bool:
        """Whether it still exists, in the state in which it was."""
        value = self._reference()
        try:
            return value is not None and _state(value) == self._state
        except Exception:  # another thread changes it, or it is of a strange kind
            return False


def parts(value: Any) -> tuple[Any, ...]:
    """The objects that make up a callable: of a bound method its object and its function, which outlive it."""
    return (value.__self__, value.__func__) if type(value) is MethodType else (value,)


def _state(value: Any) -> Any:
    """The snapshot of an object that code is made for; None for those that stay as they are."""
    if type(value) is FunctionType:
        return None
    if _is_ours(type(value)):
        # its numbers cannot be changed, but a target, say, may be an object of the user's
        given = [x for x in vars(value).values() if callable(x) and type(x) is not FunctionType]
        return [_snapshot(x) for x in given] or None
    return _snapshot(value)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("sixd.") and getattr(kind, "__dataclass_params__", None) is not None


class _Same:
    """Equal to another of its kind if both are of the same living object."""

    __slots__ = ("reference",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        try:
            self.reference = weakref.ref(value)
        except TypeError:
            raise Unwatchable from None

    def __eq__(self, other: object) -> bool:
        value = self.reference()
        return isinstance(other, _Same) and value is not None and other.reference() is value


def _snapshot(x: Any, path: tuple[int, ...] = ()) -> Any:
    """Something that is equal to another snapshot of the same object as long as its state has the same bits.

    ``path`` has the addresses of the objects that it is a part of.
    """
    kind = type(x)
    if kind is float:
        return kind, x.hex()  # 0.0 and -0.0 are different gains
    if kind in _PLAIN:
        return kind, x
    if kind is np.ndarray and not x.dtype.hasobject and x.nbytes <= _MOST_BYTES:
        return x.dtype.str, x.shape, x.tobytes()
    if isinstance(x, np.generic) and not x.dtype.hasobject:
        return kind, x.tobytes()
    if id(x) in path or len(path) > _MOST_DEEP or (kind in (tuple, list, dict) and len(x) > _MOST_LONG):
        raise Unwatchable
    path = (*path, id(x))
    if kind in (tuple, list):
        return kind, [_snapshot(entry, path) for entry in x]
    if kind is dict:
        return kind, [(k if type(k) is str else _snapshot(k, path), _snapshot(v, path)) for k, v in x.items()]
    if kind is FunctionType or isinstance(x, System):
        return _Same(x)
    if isinstance(x, type):
        raise Unwatchable
    if kind is MethodType:
        return kind, _snapshot(x.__self__, path), _Same(x.__func__)
    if kind is partial:
        return kind, [_snapshot(part, path) for part in (x.func, x.args, x.keywords)]
    if _is_ours(kind):
        return _Same(x), _state(x)
    return _Same(x), [list(_class_state(c, path)) for c in _classes(kind)], _snapshot(vars(x), path)


class _Python:
    """A class without anything."""


def _classes(kind: type) -> list[type]:
    """The user's classes of an object; raise if one of them may hide state: in slots, in C, or behind a function."""
    if not kind.__flags__ & _HEAP_TYPE or kind.__basicsize__ != _Python.__basicsize__ or not kind.__dictoffset__:
        raise Unwatchable
    modules = {c: c.__module__ for c in kind.__mro__[:-1]}
    found = [c for c, name in modules.items() if name not in ("abc", "typing") and not name.startswith("sixd.")]
    if not all(_UNSEEN.isdisjoint(vars(c)) for c in found):
        raise Unwatchable
    return found


def _class_state(c: type, path: tuple[int, ...]) -> Iterator[Any]:
    for name, value in vars(c).items():
        if name in _SKIPPED:
            continue
        function: Any = value
        if isinstance(value, (staticmethod, classmethod)):
            function = value.__func__
        elif isinstance(value, property):
            function = value.fget
        elif isinstance(value, cached_property):
            function = value.func
        yield name, type(value), _snapshot(function, path)
