"""Objects that are part of compiled code, and whether they are what they were when the code was made.

A plain function is taken to stay as it is, and so are the library's controllers and force elements, which cannot be
changed. Of other objects (a user's controller with gains, the object of a bound method) the state is compared: the
attributes of the object and of its classes, and what these hold. Nothing here keeps an object alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property, partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from sixd.model.system import System

Check = Callable[[Any], bool]  # whether a value is what another was: the same object, or one with the same bits
Path = tuple[int, ...]  # addresses of the objects that a value is a part of

_PLAIN = {type(None), bool, int, str, bytes}
_MOST_DEEP, _MOST_LONG = 12, 10_000  # containers and objects in each other; entries of one
_MOST_BYTES = 1 << 24  # of an array: comparing more takes as long as a trace
_HEAP_TYPE = 1 << 9  # flag of classes that are not built in
# entries of a class that its methods do not read
_SKIPPED = {
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__annotate_func__",
    "__annotations_cache__", "__static_attributes__", "__firstlineno__", "__match_args__", "__parameters__",
    "__orig_bases__", "__dataclass_fields__", "__dataclass_params__", "__abstractmethods__", "_abc_impl",
    "__slotnames__",
}  # fmt: skip
_UNSEEN = {"__getattr__", "__getattribute__", "__slots__"}  # attributes that come from elsewhere


class Unwatchable(Exception):
    """An object whose state cannot be seen, or not compared."""


class Watched:
    """An object that code was made for; ``on_death`` is called when it is no longer used by others."""

    __slots__ = ("_check", "_reference")

    def __init__(self, value: Any, on_death: Callable[[Any], None]) -> None:
        self._reference = _reference(value, on_death)
        self._check = _state(value)

    @property
    def is_fixed(self) -> bool:
        """Whether it cannot change, so that comparing its address is enough."""
        return self._check is None

    def is_unchanged(self) -> bool:
        """Whether it still exists, in the state in which it was."""
        value = self._reference()
        try:
            return value is not None and (self._check is None or self._check(value))
        except Exception:  # another thread changes it, or it is of a strange kind
            return False


def parts(value: Any) -> tuple[Any, ...]:
    """The objects that make up a callable: of a bound method its object and its function, which outlive it."""
    return (value.__self__, value.__func__) if type(value) is MethodType else (value,)


def _reference(value: Any, on_death: Callable[[Any], None] | None = None) -> weakref.ref[Any]:
    try:
        return weakref.ref(value, on_death)
    except TypeError:
        raise Unwatchable from None


def _state(value: Any) -> Check | None:
    """The check of an object that code is made for; None for those that stay as they are."""
    if type(value) is FunctionType:
        return None
    if not _is_ours(type(value)):
        return _check(value, ())
    # its numbers cannot be changed, but a target, say, may be an object of the user's
    given = {name: x for name, x in vars(value).items() if callable(x) and type(x) is not FunctionType}
    checks = {name: _check(x, ()) for name, x in given.items()}
    return (lambda y: all(check(vars(y)[name]) for name, check in checks.items())) if checks else None


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("sixd.") and hasattr(kind, "__dataclass_params__")


# values -----------------------------------------------------------------------------------------


def _check(x: Any, path: Path) -> Check:
    """The check of a value. Checks are closures that are made once: a new snapshot at each call would take 8 us."""
    kind = type(x)
    if kind is float:
        return lambda y: y is x or (type(y) is float and y.hex() == x.hex())  # 0.0 and -0.0 are different gains
    if kind in _PLAIN:
        return lambda y: y is x or (type(y) is kind and y == x)
    if isinstance(x, (np.ndarray, np.generic)):
        return _check_array(x)
    if id(x) in path or len(path) > _MOST_DEEP or isinstance(x, type):
        raise Unwatchable
    path = (*path, id(x))
    if kind is tuple or kind is list:
        return _check_list(x, path)
    if kind is dict:
        return _check_dict(x, path)
    if kind is MethodType:
        return _check_together(kind, lambda y: (y.__self__, y.__func__), x, path)
    if kind is partial:
        return _check_together(kind, lambda y: (y.func, y.args, y.keywords), x, path)
    if kind is FunctionType or isinstance(x, System) or (_is_ours(kind) and _state(x) is None):
        return _check_identity(x)
    return _check_object(x, path)


def _check_identity(x: Any) -> Check:
    reference = _reference(x)
    return lambda y: y is not None and reference() is y


def _check_array(x: Any) -> Check:
    kind, dtype, shape = type(x), x.dtype, x.shape
    if dtype.hasobject or x.nbytes > _MOST_BYTES or not (kind is np.ndarray or isinstance(x, np.generic)):
        raise Unwatchable
    data = x.tobytes()
    return lambda y: type(y) is kind and y.dtype == dtype and y.shape == shape and y.tobytes() == data


def _check_list(x: Any, path: Path) -> Check:
    kind, length = type(x), len(x)
    if length > _MOST_LONG:
        raise Unwatchable
    checks = [_check(entry, path) for entry in x]
    return lambda y: type(y) is kind and len(y) == length and all(check(e) for check, e in zip(checks, y, strict=True))


def _check_together(kind: type, take: Callable[[Any], tuple[Any, ...]], x: Any, path: Path) -> Check:
    """The check of the parts of an object that is not kept itself, as a bound method."""
    check = _check(take(x), path)
    return lambda y: type(y) is kind and check(take(y))


def _check_dict(x: Any, path: Path) -> Check:
    """The check of a dictionary of names, or of the attributes of an object; their order matters, too."""
    length = len(x)
    if length > _MOST_LONG or not all(type(name) is str for name in x):
        raise Unwatchable
    names, checks = list(x), [_check(value, path) for value in x.values()]

    def check(y: Any) -> bool:
        if type(y) is not dict or len(y) != length or list(y) != names:
            return False
        for one, value in zip(checks, y.values(), strict=True):  # noqa: SIM110  (a generator takes 0.2 us more)
            if not one(value):
                return False
        return True

    return check


# objects ----------------------------------------------------------------------------------------


class _Empty:
    """A class without anything."""


def _check_object(x: Any, path: Path) -> Check:
    """The check of the same object: its attributes, and those of its classes."""
    kind = type(x)
    # state in slots, or in C
    if not kind.__flags__ & _HEAP_TYPE or kind.__basicsize__ != _Empty.__basicsize__ or not kind.__dictoffset__:
        raise Unwatchable
    reference, kind_reference = _reference(x), _reference(kind)
    modules = {c: c.__module__ for c in kind.__mro__[:-1]}
    of_user = [c for c, name in modules.items() if name not in ("abc", "typing") and not name.startswith("sixd.")]
    classes = [(_reference(c), _check_class(c, path)) for c in of_user]
    attributes = _check_dict(vars(x), path)

    def check(y: Any) -> bool:
        if y is None or reference() is not y or type(y) is not kind_reference():
            return False
        for class_reference, one in classes:
            if not one(class_reference()):
                return False
        return attributes(y.__dict__)

    return check


def _check_class(c: type, path: Path) -> Check:
    """The check of what the methods of a class may read from it: its functions and other attributes."""
    entries = vars(c)
    if not _UNSEEN.isdisjoint(entries):
        raise Unwatchable
    length, count = len(entries), len(entries.keys() - _SKIPPED)
    functions = [(name, _reference(x)) for name, x in entries.items() if type(x) is FunctionType]
    rest = [name for name, x in entries.items() if type(x) is not FunctionType and name not in _SKIPPED]
    others = [(name, _check_entry(entries[name], path)) for name in rest]

    def check(y: Any) -> bool:
        now = y.__dict__
        # Python adds some that are skipped when they are first needed, as the first copy of an object does
        if len(now) != length and len(now.keys() - _SKIPPED) != count:
            return False
        for name, reference in functions:
            if now.get(name, check) is not reference():
                return False
        for name, one in others:  # noqa: SIM110
            if not one(now[name]):
                return False
        return True

    return check


def _check_entry(x: Any, path: Path) -> Check:
    """The check of an attribute of a class; of a property and the like the function."""
    kind = type(x)
    name = {property: "fget", staticmethod: "__func__", classmethod: "__func__", cached_property: "func"}.get(kind)
    if name is None:
        return _check(x, path)
    function = _check_identity(getattr(x, name))
    return lambda y: type(y) is kind and function(getattr(y, name))
