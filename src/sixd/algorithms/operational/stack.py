"""Stacks of frames: the rows of several Jacobians, one below the other.

A function of a frame accepts several: names, or a mapping of names to the part of each frame's motion that
counts. As a key a stack is a tuple of (name, rows), with rows among 0 … 5 of ``jacobian``: angular first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, unknown_name
from sixd.model.system import System
from sixd.spatial.scalar import Array

Stack = tuple[tuple[str, tuple[int, ...]], ...]
PARTS: dict[str, tuple[int, ...]] = {"pose": tuple(range(6)), "orientation": (0, 1, 2), "position": (3, 4, 5)}
FrameChoice = str | Iterable[Any] | Mapping[str, Any]  # a name, names, or the rows of each name


def stacked(algorithm: Callable[..., Array], frame: Stack, *arguments: Any, **options: Any) -> Array:
    """The rows of a stack, by an algorithm that gives those of one frame."""
    return np.concatenate([algorithm(*arguments, name, **options)[list(rows)] for name, rows in frame])


def as_key(choice: FrameChoice) -> Any:
    """A choice, such as a mapping of frames to parts, in a form that can be a key: mappings and lists as tuples."""
    if isinstance(choice, Mapping):
        return tuple((name, as_key(part)) for name, part in choice.items())
    if isinstance(choice, Set):  # refused later: a set has no order
        return frozenset(choice)
    if isinstance(choice, Iterable) and not isinstance(choice, str):
        return tuple(map(as_key, choice))
    return choice


def read_stack(where: str, system: System, frame: FrameChoice) -> str | Stack:
    """A name as it is, or a stack as a key; raise if a frame is unknown or a part is not allowed."""
    if isinstance(frame, str):
        system.frame(frame, where)
        return str(frame)
    if not isinstance(frame, Iterable) or isinstance(frame, Set):
        raise ScalarTypeError(
            f"{where}: frame is {frame!r}, expected a name, several names, or a mapping such as {{'tool': 'position'}}."
        )
    entries = list(frame.items()) if isinstance(frame, Mapping) else list(frame)
    pairs = [(x, "pose") if isinstance(x, str) else x for x in entries]
    stack: list[tuple[str, tuple[int, ...]]] = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ScalarTypeError(
                f"{where}: frame holds {pair!r}, expected names, or pairs of a name and a part: ('tool', 'position'). "
                f"Is the order of arguments right?"
            )
        system.frame(pair[0], where)
        stack.append((str(pair[0]), read_part(where, *pair)))
    names = [name for name, _ in stack]
    if not names or len(set(names)) < len(names):
        raise ModelError(f"{where}: frame names {names}, expected at least one frame, and each once.")
    return tuple(stack)


def read_part(where: str, name: str, part: Any) -> tuple[int, ...]:
    """The rows of a part of a frame's motion: "pose", "position", "orientation", or numbers of rows."""
    if isinstance(part, str):
        if part not in PARTS:
            raise unknown_name(f"{where}: frame {name!r}", "part", part, PARTS)
        return PARTS[part]
    rows = list(part) if isinstance(part, Iterable) else [part]
    whole = all(isinstance(r, (int, np.integer)) and not isinstance(r, bool) for r in rows)
    if not rows or not whole or not all(0 <= r < 6 for r in rows) or len(set(rows)) < len(rows):
        raise ModelError(
            f"{where}: the part of frame {name!r} is {part!r}, expected one of {', '.join(map(repr, PARTS))}, or rows "
            f"of the Jacobian, each once: 0, 1, 2 are angular, 3, 4, 5 linear, as in {{{name!r}: (3, 4)}}."
        )
    return tuple(int(r) for r in rows)


def parts_of(frame: str | Stack) -> Stack:
    """A frame, or several, as a stack."""
    return ((frame, PARTS["pose"]),) if isinstance(frame, str) else frame


def row_count(frame: str | Stack) -> int:
    """The number of rows m."""
    return sum(len(rows) for _, rows in parts_of(frame))
