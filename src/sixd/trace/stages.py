"""Tracing a step as a recipe: a sequence of calls of programs, tables and loops on named arrays in memory.

A Runge-Kutta step evaluates one long function four times. Traced as a whole it would hold four copies; here the
function is a program of its own, calls of it are part of the step's trace, and the operations between two calls form a
short program. Independent of robots and targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sixd.body_marks import listening
from sixd.errors import TraceError
from sixd.gc_pause import PAUSED
from sixd.trace.expr import Graph
from sixd.trace.program import Program, Slot, make_program, trace
from sixd.trace.recipe import EachRow, Loop, ProgramCall, Recipe, Repeated, Shape, TableCall, Work


class Rows(NamedTuple):
    """An argument of ``Stages.each``: row ``parts[i]`` of an array (n, …) is that of call i."""

    array: Any
    parts: Sequence[int]


class Into(NamedTuple):
    """A result of ``Stages.each``: an array of n rows, of which row ``parts[i]`` is the result of call i, or to which
    that is added. ``is_flat``: the array has one dimension."""

    n: int
    parts: Sequence[int]
    is_added: bool = False
    is_flat: bool = False


class Tape(NamedTuple):
    """What a loop kept before each iteration: names of arrays in memory, their shapes, and the number of iterations."""

    names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    made: str


class Stages:
    """Collects calls while a step is traced: ``stages(program, *arrays)`` returns the program's results, an array or a
    tuple of arrays, as new inputs of the trace."""

    def __init__(self, dtype: str = "float64") -> None:
        self.graph = Graph(dtype)
        self.works: list[Work] = []
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
        smooth: Callable[[], Program | Recipe] | None = None,
    ) -> Any:
        """The results of a call.

        With ``most`` above 1 the call is repeated: the results replace as many of the first arrays, until the last
        result, a scalar, is 1, but at most ``most`` times. Where the scalar ``when`` is 0, the results are the first
        arrays. See :class:`Repeated`, also for ``smooth``.
        """
        if len(arrays) != len(program.inputs):
            raise TraceError(f"stages: got {len(arrays)} arrays, expected {len(program.inputs)}.")
        if most == 1 and when is None:
            own = dict(zip((s.name for s in program.inputs), arrays, strict=True))
            return self._call(program, self.store(own))
        count = len(program.outputs)
        self.store({f"argument {k}": x for k, x in enumerate(arrays)})  # by one program
        known = self.kept(*arrays[count:])

        def once(*state: Any) -> Sequence[Any]:
            after = self(program, *state, *known)
            return [after] if count == 1 else after

        results = self.repeat(once, *arrays[:count], most=most, when=when, smooth=smooth, reads=known)
        return results[0] if count == 1 else results

    def _call(self, program: Program, inputs: Sequence[str]) -> Any:
        names = [self._new(slot.shape) for slot in program.outputs]
        self.works.append(ProgramCall(program, tuple(inputs), tuple(names)))
        return self._results(names)

    def _results(self, names: Sequence[str]) -> Any:
        """Arrays of the memory, or the only one, as inputs of the trace."""
        results = [self.input(name, self.memory[name]) for name in names]
        return results[0] if len(results) == 1 else tuple(results)

    def each(self, program: Program, *arguments: Any, into: Sequence[Into], when: Any = None) -> Any:
        """The results of a call for each row of a table; arguments are :class:`Rows`, or arrays for every call.

        ``when``, if any, is an array with an entry for each row; see :class:`TableCall`.
        """
        arrays = {f"{k}": x.array if isinstance(x, Rows) else x for k, x in enumerate(arguments)}
        stored = self.store(arrays if when is None else {**arrays, "when": when})
        parts = tuple(tuple(map(int, x.parts)) if isinstance(x, (Rows, Into)) else None for x in (*arguments, *into))
        pairs = list(zip(into, program.outputs, strict=True))
        names = [self._new((x.n * len(y.entries),) if x.is_flat else (x.n, *y.shape)) for x, y in pairs]
        added = tuple(x.is_added for x in into)
        inputs, last = stored[: len(arrays)], "".join(stored[len(arrays) :])
        self.works.append(TableCall(program, inputs, tuple(names), parts, added, len(into[0].parts), last))
        return self._results(names)

    def each_of(self, n: int, function: Callable[..., Any], *arguments: Any, into: Sequence[Into]) -> Any:
        """The results of a function for each of n rows; an argument in a list, ``[x]``, has a row for each: an entry of
        the first dimension, or as large a part of an array of one dimension. Others are as those of ``each``."""
        shapes: dict[str, Shape] = {}
        for k, x in enumerate(arguments):
            shape = np.shape(x[0] if isinstance(x, (list, Rows)) else x)
            if isinstance(x, Rows):
                shape = shape[1:]
            elif isinstance(x, list):
                shape = shape[1:] if len(shape) > 1 or shape[0] == n else (shape[0] // n,)
            shapes[f"{k}"] = shape
        rows = [Rows(x[0], range(n)) if isinstance(x, list) else x for x in arguments]
        return self.each(trace(function, shapes, self.graph.dtype), *rows, into=into)

    def each_row(
        self,
        function: Callable[..., Sequence[Any]],
        *arguments: Rows,
        into: Sequence[tuple[Any, Sequence[int]]],
        when: Any = None,
    ) -> tuple[Any, ...]:
        """The arrays of ``into`` after ``function(*rows)``, which may call this object, was done for each row of a
        table: its results replace the rows of these arrays that the numbers next to them name. ``when``, if any, is an
        array with an entry for each row; see :class:`EachRow`."""
        sources = self.store({f"source {k}": x.array for k, x in enumerate(arguments)})
        starts = {f"start {k}": x for k, (x, _) in enumerate(into)}
        stored = self.store(starts if when is None else {**starts, "when": when})
        outer = self.works, dict(self.known), dict(self.slots)
        rows_in = tuple(self._new(np.shape(x.array)[1:]) for x in arguments)
        names = tuple(self._new(np.shape(x)) for x, _ in into)
        self.works = []
        after = function(*(self.input(name, self.memory[name]) for name in rows_in))
        results = self.store({f"row {k}": x for k, x in enumerate(after)})
        inside = tuple(self.works)
        self.works, self.known, self.slots = outer
        parts = tuple(tuple(map(int, x.parts)) for x in arguments), tuple(tuple(map(int, p)) for _, p in into)
        last = "".join(stored[len(into) :])
        self.works.append(
            EachRow(
                inside,
                sources,
                parts[0],
                rows_in,
                stored[: len(into)],
                names,
                parts[1],
                results,
                len(parts[1][0]),
                last,
            )
        )
        return tuple(self.input(name, self.memory[name]) for name in names)

    def repeat(
        self,
        function: Callable[..., Sequence[Any]],
        *state: Any,
        most: int,
        when: Any = None,
        smooth: Callable[[], Program | Recipe] | None = None,
        reads: Sequence[Any] = (),
        keeps: bool = False,
    ) -> tuple[Any, ...]:
        """The last state of a loop: ``function(*state)`` returns the next one, whose last part, a scalar, is 1 where
        the loop has ended. It may call this object. See :class:`Repeated`. ``keeps``: return a :class:`Tape` as well,
        at the end."""
        # failures within the loop are counted by a part of the state of its own
        state = 0.0, *state
        starts = {f"start {k}": x for k, x in enumerate(state)}
        stored = self.store(starts if when is None else {**starts, "when": when})
        read = self.store({f"read {k}": x for k, x in enumerate(reads)})
        outer = self.works, self.counts, dict(self.known), dict(self.slots)
        names = [self._new(np.shape(x)) for x in state]
        self.works, self.counts = [], []
        count, *now = [self.input(name, np.shape(x)) for name, x in zip(names, state, strict=True)]
        after = function(*now)
        after = sum(self.counts, count), *after
        results = self.store({f"next {k}": x for k, x in enumerate(after)})
        inside, has_counts = tuple(self.works), bool(self.counts)
        # what was computed in the loop may not have been computed at all
        self.works, self.counts, self.known, self.slots = outer
        starts_of, parts = stored[: len(state)], slice(0 if has_counts else 1, None)
        last = "".join(stored[len(state) :])
        arrays = starts_of[parts], tuple(names[parts]), results[parts]
        tape = Tape((), (), "")
        if keeps:
            shapes = tuple(self.memory[name] for name in arrays[1])
            tape = Tape(tuple(self._new((most, *shape)) for shape in shapes), shapes, self._new(()))
        self.works.append(Repeated(inside, *arrays, most, last, smooth, read, tape.names, tape.made))
        count, *final = [self.input(name, np.shape(x)) for name, x in zip(names, state, strict=True)]
        if has_counts:
            self.counts.append(count)
        if keeps:
            first = int(has_counts)
            final.append(Tape(tape.names[first:], tape.shapes[first:], tape.made))
        return tuple(final)

    def rewind(self, function: Callable[..., Sequence[Any]], *state: Any, tape: Tape) -> tuple[Any, ...]:
        """The last state of a loop back through a tape: ``function(kept, *state)`` returns the next one, where ``kept``
        are the arrays before an iteration of the other loop, from its last to its first."""
        starts = self.store({f"start {k}": x for k, x in enumerate(state)})
        outer = self.works, dict(self.known), dict(self.slots)
        kept, names = ([self._new(shape) for shape in shapes] for shapes in (tape.shapes, map(np.shape, state)))
        self.works = []
        before = [self.input(name, shape) for name, shape in zip(kept, tape.shapes, strict=True)]
        now = [self.input(name, np.shape(x)) for name, x in zip(names, state, strict=True)]
        results = self.store({f"next {k}": x for k, x in enumerate(function(before, *now))})
        inside = tuple(self.works)
        self.works, self.known, self.slots = outer
        rewinds = tuple(zip(tape.names, kept, strict=True))
        self.works.append(Repeated(inside, starts, tuple(names), results, 1, made=tape.made, rewinds=rewinds))
        return tuple(self.input(name, np.shape(x)) for name, x in zip(names, state, strict=True))

    def part(self, function: Callable[..., Any], *arrays: Any) -> Any:
        """The results of a function of arrays as a call of its own: each is computed once."""
        shapes = {f"array {k}": np.shape(x) for k, x in enumerate(arrays)}
        return self(trace(function, shapes, self.graph.dtype), *arrays)

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
            if key in self.known:
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


def _without_functions(works: Sequence[Work], plain: dict[int, Program] | None = None) -> list[Work]:
    """The works without smooth programs, of programs without sources; a program that is called twice stays one."""
    plain = {} if plain is None else plain

    def stripped(work: Work) -> Work:
        if isinstance(work, Loop):
            inside = tuple(_without_functions(work.works, plain))
            return (
                replace(work, works=inside, smooth=None) if isinstance(work, Repeated) else replace(work, works=inside)
            )
        if work.program.source is None:
            return work
        if id(work.program) not in plain:
            plain[id(work.program)] = replace(work.program, source=None)
        return replace(work, program=plain[id(work.program)])

    return [stripped(work) for work in works]
