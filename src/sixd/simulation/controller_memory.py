"""Controllers that are called with numbers may keep a memory: each row has a copy, and random numbers, of its own."""

from __future__ import annotations

import copy
import types
from typing import Any

import numpy as np

_CONTROL = 0  # of a row's streams of random numbers, the controller's; what is drawn comes from the row's own


def row_seed(entropy: Any, row: int) -> np.random.SeedSequence:
    """The seed of the random numbers that a row's controller gets."""
    return np.random.SeedSequence(entropy, spawn_key=(row, _CONTROL))


def remembers(controller: Any) -> bool:
    """Whether a controller has room for a memory: all have but functions without closure and defaults."""
    if isinstance(controller, types.FunctionType):
        return bool(controller.__closure__ or controller.__defaults__ or controller.__kwdefaults__)
    return not isinstance(controller, types.BuiltinFunctionType)


def fresh(controller: Any) -> Any:
    """A copy with a memory of its own; systems, which never change, stay the same objects."""
    memo: dict[int, Any] = {}
    if not isinstance(controller, types.FunctionType) or not remembers(controller):
        return copy.deepcopy(controller, memo)
    cells = tuple(types.CellType(copy.deepcopy(c.cell_contents, memo)) for c in controller.__closure__ or ())
    defaults = copy.deepcopy(controller.__defaults__, memo)
    made = types.FunctionType(controller.__code__, controller.__globals__, controller.__name__, defaults, cells)
    made.__kwdefaults__ = copy.deepcopy(controller.__kwdefaults__, memo)
    return made
