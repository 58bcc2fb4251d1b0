"""Recipes: one step as a sequence of calls of programs, some called several times, on named arrays in memory.

A Runge-Kutta step evaluates one long function four times. Traced as a whole it would hold four copies; here the
function is a program of its own, calls of it are part of the step's trace, and the operations between two calls form a
short program. Independent of robots and targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.body_marks import listening
from sixd.errors import TraceError
from sixd.gc_pause import PAUSED
from sixd.spatial.scalar import Array
from sixd.trace.expr import Graph
from sixd.trace.program import Program, Slot, make_program

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ProgramCall:
    """One call of a program: the names of the arrays in memory that it reads and writes, in the program's order.

    With ``most`` above 1 the call is repeated: the outputs replace as many of the first inputs, until the last output,
    a scalar, is 1 in every state, but at most ``most`` times. ``when``, if any, names a scalar: where it is 0 in every
    state, the call is left out, and the outputs are the first inputs. The program must therefore return its first
    inputs unchanged in a state where the scalar is 0.

    ``smooth()``, for derivatives of a repeated call, makes a program with the same inputs and as many outputs. With the
    final outputs in place of the first inputs, it computes them once more as a smooth function: of the other inputs
    alone, or as the fixed point of the iterations.
    """

    program: Program
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    most: int = 1
    when: str = ""
    smooth: Callable[[], Program] | None = None


@dataclass(frozen=True, eq=False)
class Recipe:
    """The calls of one step in order. ``memory`` has the name and shape of every array. ``state``, ``constants`` and
    ``series`` are its inputs; ``results`` are the arrays of the next state, in the order of ``state``.

    A series has one entry for each record, read before the steps that lead to the record. ``recorded`` are the arrays
    that records hold: the whole state unless others are named. Of other parts of the state the last value is kept.
    ``backwards``: records are made from the last to the first.

    ``guard``, if any, names a scalar that one of the first calls computes: unless it is 1, code for a single state
    leaves the step to its caller.
    """

    memory: Mapping[str, Shape]
    state: tuple[str, ...]
    constants: tuple[str, ...]
    works: tuple[ProgramCall, ...]
    results: tuple[str, ...]
    guard: str = ""
    series: tuple[str, ...] = ()
    recorded: tuple[str, ...] | None = None
    backwards: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return (*self.state, *self.constants, *self.series)

    @property
    def outputs(self) -> dict[str, bool]:
        """The arrays that a rollout returns, the state first, and whether each has an entry for every record."""
        recorded = self.state if self.recorded is None else self.recorded
        return {name: name in recorded for name in (*self.state, *recorded)}

    @property
    def operations(self) -> int:
        """Number of operations of one step; a repeated call counts once."""
        return sum(work.program.operations for work in self.works)

    def evaluate(self, *arrays: Any) -> tuple[Array, ...]:
        """The next state for NumPy arrays with leading batch dimensions: the reference for every target."""
        memory = dict(zip(self.inputs, (np.asarray(a, dtype=float) for a in arrays), strict=True))
        for work in self.works:
            inputs = [memory[name] for name in work.inputs]
            for _ in range(work.most):
                outputs = work.program.evaluate(*inputs)
                inputs[: len(outputs)] = outputs
                if work.most > 1 and (outputs[-1] == 1).all():
                    break
            memory |= dict(zip(work.outputs, outputs, strict=True))
        return tuple(memory[name] for name in self.results)


class Stages:
    """Collects calls while a step is traced: ``stages(program, *arrays)`` returns the program's results, an array or a
    tuple of arrays, as new inputs of the trace."""

    def __init__(self, dtype: str = "float64") -> None:
        self.graph = Graph(dtype)
        self.works: list[ProgramCall] = []
        self.memory: dict[str, Shape] = {}
        self.slots: dict[str, Slot] = {}  # arrays that programs between calls can read: inputs, or results of calls
        self.counts: list[Any] = []  # scalars that count what failed in the step, for the step to sum up
        self.known: dict[Any, str] = {}  # the name of an array in memory, by its shape and the indices of its nodes

    def __call__(
        self,
        program: Program,
        *arrays: Any,
        most: int = 1,
        when: Any = None,
        smooth: Callable[[], Program] | None = None,
    ) -> Any:
        """The results of a call; see :class:`ProgramCall` for ``most``, ``smooth`` and ``when``, a scalar here."""
        if len(arrays) != len(program.inputs):
            raise TraceError(f"stages: got {len(arrays)} arrays, expected {len(program.inputs)}.")
        own = dict(zip((s.name for s in program.inputs), arrays, strict=True))
        stored = self.store(own if when is None else {**own, "when": when})
        inputs = stored[: len(own)]
        names = [self._new(slot.shape) for slot in program.outputs]
        self.works.append(ProgramCall(program, inputs, tuple(names), most, "".join(stored[len(own) :]), smooth))
        results = [self.input(name, slot.shape) for name, slot in zip(names, program.outputs, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def kept(self, *arrays: Any) -> tuple[Any, ...]:
        """The arrays as new inputs of the trace: they are computed now and read from memory later.

        Without this, operations between two calls that are needed again after the second are computed again.
        """
        names = self.store({f"kept {k}": array for k, array in enumerate(arrays)})
        return tuple(self.input(name, np.shape(array)) for name, array in zip(names, arrays, strict=True))

    def store(self, arrays: Mapping[str, Any]) -> tuple[str, ...]:
        """The names of these arrays in memory; those not there yet are computed by a new program."""
        stored: dict[str, str] = {}
        missing: list[Slot] = []
        for label, array in arrays.items():
            entries = self.graph.entries(array)
            key = np.shape(array), tuple(e.index for e in entries)
            if entries and key in self.known:
                stored[label] = self.known[key]
            else:
                missing.append(Slot(label, np.shape(array), entries))
        if missing:
            whole = make_program(list(self.slots.values()), missing)
            needed = {n.index for n in whole.nodes}
            used = tuple(slot for slot in self.slots.values() if any(e.index in needed for e in slot.entries))
            for slot in missing:
                stored[slot.name] = name = self._new(slot.shape)
                self.known[slot.shape, tuple(e.index for e in slot.entries)] = name
            program = Program(used, whole.outputs, whole.nodes, marks=whole.marks)
            self.works.append(ProgramCall(program, tuple(s.name for s in used), tuple(stored[s.name] for s in missing)))
        return tuple(stored[label] for label in arrays)

    def input(self, name: str, shape: Shape) -> Any:
        """An array of the memory, as an array of inputs of the trace."""
        array = self.graph.input(name, shape)
        slot = Slot(name, shape, self.graph.entries(array))
        self.memory[name], self.slots[name] = shape, slot
        self.known[shape, tuple(e.index for e in slot.entries)] = name
        return array

    def _new(self, shape: Shape) -> str:
        number = len(self.memory)
        while f"array{number}" in self.memory:  # an input of that name
            number += 1
        name = f"array{number}"
        self.memory[name] = shape
        return name


@PAUSED
def trace_stages(
    function: Callable[..., tuple[Any, ...]],
    state: Mapping[str, Shape],
    constants: Mapping[str, Shape],
    dtype: str = "float64",
    series: Mapping[str, Shape] | None = None,
    *,
    smooth: bool = False,
) -> Recipe:
    """The recipe of ``function(stages, *state, *constants, *series)``, which returns the next state; see ``trace`` for
    dtype.

    Only with ``smooth``, for derivatives, calls keep their smooth programs and programs their sources, which keep the
    functions of users alive.
    """
    stages, series = Stages(dtype), series or {}
    arrays = [stages.input(name, shape) for name, shape in (*state.items(), *constants.items(), *series.items())]
    with listening(stages.graph):
        after = function(stages, *arrays)
    results = stages.store(dict(zip((f"next {name}" for name in state), after, strict=True)))
    works = stages.works if smooth else _without_functions(stages.works)
    return Recipe(stages.memory, tuple(state), tuple(constants), tuple(works), results, series=tuple(series))


def _without_functions(works: Sequence[ProgramCall]) -> list[ProgramCall]:
    """The calls without smooth programs, of programs without sources; a program that is called twice stays one."""
    traced = {id(work.program): work.program for work in works if work.program.source is not None}
    plain = {key: replace(program, source=None) for key, program in traced.items()}
    return [replace(work, program=plain.get(id(work.program), work.program), smooth=None) for work in works]
