"""The errors and warnings of sixd.

Every message has one form: ``<function>: <thing> is <got>, expected <want>. <how to mend>``.
Each class is also the built-in exception that Python users would catch for the same fault.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SixdError(Exception):
    """Base of everything that sixd raises on purpose."""


class ShapeError(SixdError, ValueError):
    """An array has the wrong shape."""


class ScalarTypeError(SixdError, TypeError):
    """An array holds the wrong kind of number, or an argument has the wrong type."""


class ModelError(SixdError, ValueError):
    """A mechanism cannot be built as described."""


class UnknownNameError(ModelError, KeyError):
    """A body, joint, frame or option of that name does not exist."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0]) if self.args else ""


class OutOfRangeError(SixdError, IndexError, ValueError):
    """A record, a row or a time that a trajectory does not have."""


class LoadError(ModelError):
    """A robot file is broken, hostile or says something impossible."""


class FileError(SixdError, OSError):
    """A file cannot be written."""


class SingularError(SixdError, ArithmeticError):
    """The mass matrix, or another matrix to be solved with, is singular."""


class AssemblyError(SixdError, ArithmeticError):
    """No configuration, or no velocity, that satisfies the constraints was found."""


class TraceError(SixdError, TypeError):
    """A traced value was asked for what only numbers have, or a trace is not well formed."""


class MissingPackageError(SixdError, ImportError):
    """An optional package is needed and not installed."""


class WorkerError(SixdError, RuntimeError):
    """Processes that were to share the work were lost again and again, cannot be reached, or do not fit."""


class ModelWarning(UserWarning):
    """Something in a model is doubtful, but can be worked with; ``sixd.check`` lists it too."""


class CompileWarning(UserWarning):
    """A program, or a closed form, is so long that making it takes a while."""


class CacheWarning(UserWarning):
    """Machine code cannot be kept on disk, so every process compiles its kernels anew."""


class SimulationWarning(UserWarning):
    """A simulation, or an assembly, did not go as asked: rows not finite, interrupted, a controller not compiled."""


_MOST_NEAR = 3  # names that are suggested


def unknown_name(where: str, kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """The error for a failed look-up: it suggests near names, else lists what exists."""
    names = list(known)
    hint = suggestion(str(name), names)
    if not hint and names:
        shown = ", ".join(repr(n) for n in names[:12]) + (", …" if len(names) > 12 else "")
        hint = f"There are: {shown}."
    return UnknownNameError(f"{where}: no {kind} named {name!r}. {hint or 'There are none.'}")


def suggestion(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """The question which of the near names is meant; empty if no name is near."""
    near = [repr(n) for n in _near_names(name, known, cutoff)[:_MOST_NEAR]]
    first = ", ".join(near[:-1])
    return f"Did you mean {first} or {near[-1]}?" if first else f"Did you mean {near[-1]}?" if near else ""


def _near_names(name: str, known: Iterable[str], cutoff: float) -> list[str]:
    """Likeliest first: the same but for case; those that begin with the name; that contain it; or the one spelt most
    alike, by difflib's measure at least ``cutoff``. Spelling comes last: 'panda' is 'panda_arm' rather than 'planar'.
    """
    plain = {n: _without_case(n) for n in known}
    word = _without_case(name)
    alike = difflib.get_close_matches(word, plain.values(), n=1, cutoff=cutoff)
    ways = (
        [n for n, p in plain.items() if p == word],
        sorted((n for n, p in plain.items() if len(word) > 1 and p.startswith(word)), key=len),
        sorted((n for n, p in plain.items() if len(word) > 2 and word in p), key=len),
        [n for n, p in plain.items() if p in alike],
    )
    return next((found for found in ways if found), [])


def _without_case(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
