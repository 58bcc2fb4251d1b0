"""The memory of a recipe with tangents: its arrays, constants among them, and the programs of works on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sixd.trace.program import Program, trace
from sixd.trace.recipe import ProgramCall, Shape, TableCall, Work


class TangentArrays:
    """Arrays of a memory, by name; ``first`` are the works that make constants."""

    def __init__(self, memory: Mapping[str, Shape], dtype: str) -> None:
        self.memory, self.dtype = dict(memory), dtype
        self.first: list[Work] = []
        self._known: dict[Any, str] = {}
        self._programs: dict[Any, Program] = {}

    def new(self, shape: Shape) -> str:
        """A new array of the memory."""
        name = f"tangent {len(self.memory)}"
        self.memory[name] = shape
        return name

    def unit(self, n: int) -> str:
        """The unit matrix (n, n)."""
        return self._constant(("unit", n), (n, n), tuple(k * (n + 1) for k in range(n)), 1.0)

    def zeros(self, size: int) -> str:
        """An array of zeros."""
        return self._constant(("zeros", size), (size,), (0,), 0.0)

    def _constant(self, key: Any, shape: Shape, entries: tuple[int, ...], value: float) -> str:
        """An array with a value at some entries, else zeros: it is cleared by a loop, before they are added."""
        if key not in self._known:
            self._known[key] = name = self.new(shape)
            one = self.program(("constant", value), lambda: value, {})
            self.first.append(TableCall(one, (), (name,), (entries,), (True,), len(entries)))
        return self._known[key]

    def number(self, value: float) -> str:
        """A number."""
        if ("number", value) not in self._known:
            self._known["number", value] = name = self.new(())
            self.first.append(ProgramCall(self.program(("constant", value), lambda: value, {}), (), (name,)))
        return self._known["number", value]

    def program(self, key: Any, function: Any, shapes: Mapping[str, Shape]) -> Program:
        """A program, made once for each key."""
        if key not in self._programs:
            self._programs[key] = trace(function, shapes, self.dtype)
        return self._programs[key]

    def size(self, name: str) -> int:
        """The number of entries of an array."""
        return math.prod(self.memory[name])

    def is_unit(self, name: str, n: int) -> bool:
        """Whether an array is the unit matrix (n, n)."""
        return self._known.get(("unit", n)) == name
