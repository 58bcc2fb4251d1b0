"""The errors and warnings of sixd.

Every message has the form ``<function>: <thing> is <got>, expected <want>. <how to fix it>``.
Each class is also a subclass of the built-in exception for the same kind of mistake.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

_T = TypeVar("_T")


class SixdError(Exception):
    """Base of all errors that sixd raises deliberately."""


class ShapeError(SixdError, ValueError):
    """An array has the wrong shape."""


class ScalarTypeError(SixdError, TypeError):
    """An array holds the wrong kind of number, or an argument has the wrong type."""


class ModelError(SixdError, ValueError):
    """A mechanism cannot be built from its description."""


class UnknownNameError(ModelError, KeyError):
    """There is no body, joint, frame or option of that name."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0]) if self.args else ""


class OutOfRangeError(SixdError, IndexError, ValueError):
    """A trajectory does not have the record, the state or the time that was requested."""


class LoadError(ModelError):
    """A robot file is broken, unsafe or contradictory."""


class FileError(SixdError, OSError):
    """A file cannot be written."""


class SingularError(SixdError, ArithmeticError):
    """The mass matrix, or another matrix of a linear system, is singular."""


class AssemblyError(SixdError, ArithmeticError):
    """No configuration or velocity that satisfies the constraints was found."""


class TraceError(SixdError, TypeError):
    """A traced value was used where only a number is possible, or a trace is malformed."""


class MissingPackageError(SixdError, ImportError):
    """An optional package is needed and not installed."""


class WorkerError(SixdError, RuntimeError):
    """Worker processes were lost repeatedly, cannot be reached, or are not compatible."""


class DeviceError(SixdError, RuntimeError):
    """There is no GPU or no driver of one, arrays are not where they are needed, or a call of the driver failed."""


class ModelWarning(UserWarning):
    """A model may contain a mistake, but can be used; ``sixd.check`` lists it too."""


class CompileWarning(UserWarning):
    """Generating a long program or closed form is slow, or compiled code is called in a slower way."""


class CacheWarning(UserWarning):
    """Machine code cannot be stored on disk, so every process compiles its kernels again."""


class SimulationWarning(UserWarning):
    """A simulation or assembly did not run as requested: states not finite, interrupted, controller not compiled."""


_MOST_NEAR = 3  # names that are suggested


def unknown_name(where: str, kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Return the error for a failed lookup: it suggests similar names, else lists the names that exist."""
    if isinstance(name, (tuple, list)) and not all(isinstance(x, str) for x in name):
        return UnknownNameError(
            f"{where}: the {kind} is {name!r:.60}, expected a name. Is the order of arguments right?"
        )
    names = sorted(known, key=lambda n: n.startswith("joint:"))  # bodies and named frames before frames of joints
    hint = suggestion(str(name), names)
    if not hint and names:
        shown = ", ".join(repr(n) for n in names[:12]) + (", …" if len(names) > 12 else "")
        hint = f"There are: {shown}."
    return UnknownNameError(f"{where}: no {kind} named {name!r}. {hint or 'There are none.'}")


def look_up(where: str, kind: str, name: Any, known: Mapping[str, _T]) -> _T:
    """Return ``known[name]``; raises the error of :func:`unknown_name` if there is none."""
    try:
        return known[name]
    except (KeyError, TypeError):
        raise unknown_name(where, kind, name, known) from None


def suggestion(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """Return the question "Did you mean …?" with similar names; empty if no name is similar."""
    near = [repr(n) for n in _near_names(name, known, cutoff)[:_MOST_NEAR]]
    first = ", ".join(near[:-1])
    return f"Did you mean {first} or {near[-1]}?" if first else f"Did you mean {near[-1]}?" if near else ""


def _near_names(name: str, known: Iterable[str], cutoff: float) -> list[str]:
    """Return similar names by the first rule that finds any: equal except for case; beginning with the name;
    containing it; most similar by difflib's ratio, at least ``cutoff``. So 'panda' suggests 'panda_arm', not 'planar'.
    """
    plain = {n: _without_case(n) for n in known}
    word = _without_case(name)
    alike = difflib.get_close_matches(word, plain.values(), n=1, cutoff=cutoff)
    rules = (
        [n for n, p in plain.items() if p == word],
        sorted((n for n, p in plain.items() if len(word) > 1 and p.startswith(word)), key=len),
        sorted((n for n, p in plain.items() if len(word) > 2 and word in p), key=len),
        [n for n, p in plain.items() if p in alike],
    )
    return next((names for names in rules if names), [])


def _without_case(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")


def require_known(where: str, kind: str, name: object, known: Collection[str]) -> None:
    """Raise the error of :func:`unknown_name` unless ``name`` is one of the known names."""
    if name not in known:
        raise unknown_name(where, kind, name, known)


def user_level() -> int:
    """Return the ``stacklevel`` with which a warning of the caller names the line outside of sixd that led there."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("sixd."):
        frame, level = frame.f_back, level + 1
    return level
