"""Recipes: one step as a sequence of works on named arrays in memory.

A work is a call of a program, a call for each row of a table, or a loop over other works: iterations, or the rows of a
table. Tables and loops are loops in the generated code as well, which does not grow with the number of rows or
iterations. Independent of robots and
targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.errors import TraceError
from sixd.spatial.scalar import Array
from sixd.trace.program import Program

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ProgramCall:
    """One call of a program: the names of the arrays that it reads and writes, in the program's order."""

    program: Program
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TableCall:
    """A call of a program for each row of a table, one after the other.

    ``parts``: for each input, then for each output, the number of the part of its array that a row's call uses, by row;
    None if every call uses the whole array. Parts have the size of the program's array. The results of outputs that are
    ``added`` are summed up in their parts, from 0; parts of the others do not overlap, and
    parts that no row writes keep what another table wrote. ``when``, if any, is an array
    with an entry for each row: where that is 0 in every state the call is left out. The program must therefore return
    zeros for a state where it is 0.
    """

    program: Program
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parts: tuple[tuple[int, ...] | None, ...]
    added: tuple[bool, ...]
    rows: int
    when: str = ""

    @property
    def starts(self) -> tuple[tuple[int, ...] | None, ...]:
        """The first entries of the parts."""
        slots = (*self.program.inputs, *self.program.outputs)
        return tuple(
            None if parts is None else tuple(part * len(slot.entries) for part in parts)
            for parts, slot in zip(self.parts, slots, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Repeated:
    """Works that are repeated, at most ``most`` times: ``results`` replace the arrays ``outputs``, which begin as
    ``inputs``, until the last of them, a scalar, is 1 in every state. A state in which it is 1 no longer changes.

    ``when``, if any, names a scalar: a state in which it is 0 keeps its inputs.

    ``smooth()``, for derivatives, makes a program, or a recipe, of the arrays ``outputs``, then ``reads`` -> outputs.
    With the final outputs as inputs it computes them once more as a smooth function: of the other inputs alone, or as
    the fixed point of the iterations. Loops without it are differentiated iteration by iteration.

    ``tape``, if any, are arrays (most, …) in which the outputs are kept before each iteration, and ``made`` is the
    number of iterations. A loop with ``rewinds`` (tape, array) goes through the tape of another one, from its last
    iteration to its first: ``made`` is that loop's, and the arrays are what was kept.
    """

    works: tuple[Work, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    results: tuple[str, ...]
    most: int
    when: str = ""
    smooth: Callable[[], Program | Recipe] | None = None
    reads: tuple[str, ...] = ()
    tape: tuple[str, ...] = ()
    made: str = ""
    rewinds: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class EachRow:
    """Works that are done for each row of a table, one row after the other.

    For row k the parts ``source_parts[.][k]`` of ``sources`` are copied to the arrays ``rows_in``; after the works the
    arrays ``results`` are copied to the parts ``output_parts[.][k]`` of ``outputs``, which begin as ``inputs``.
    ``when``, if any, is an array with an entry for each row: states in which that is 0 keep what is there, and where it
    is 0 in every state the row is left out.
    """

    works: tuple[Work, ...]
    sources: tuple[str, ...]
    source_parts: tuple[tuple[int, ...], ...]
    rows_in: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    output_parts: tuple[tuple[int, ...], ...]
    results: tuple[str, ...]
    rows: int
    when: str = ""


Work = ProgramCall | TableCall | Repeated | EachRow
Loop = Repeated | EachRow


def require_known_derivatives(works: Sequence[Work]) -> None:
    """Raise if works have loops over rows, whose derivatives are not those of their operations."""
    if any(isinstance(work, EachRow) for work in all_works(works)):
        raise TraceError("derivatives: loops over the rows of a table are not differentiated.")


def written_by(work: Work) -> set[str]:
    """The arrays that a work writes, those in its loops included."""
    if isinstance(work, EachRow):
        own = {*work.outputs, *work.rows_in}
    elif isinstance(work, Repeated):
        own = {*work.outputs, *work.tape, work.made, *(array for _, array in work.rewinds)}
    else:
        return {*work.outputs}
    return own.union(*(written_by(part) for part in work.works))


def all_works(works: Sequence[Work]) -> Iterator[Work]:
    """The works, and those in loops."""
    for work in works:
        yield work
        if isinstance(work, Loop):
            yield from all_works(work.works)


def calls_in(works: Sequence[Work]) -> Iterator[ProgramCall | TableCall]:
    """The calls of works, those in loops included."""
    return (work for work in all_works(works) if not isinstance(work, Loop))


def reads_of(work: Work) -> tuple[str, ...]:
    """The names of the arrays that a work needs from before."""
    when = () if isinstance(work, ProgramCall) or not work.when else (work.when,)
    if isinstance(work, EachRow):
        own, inside = {*work.rows_in}, list[str]()
        for part in work.works:
            inside += (name for name in reads_of(part) if name not in own)
            own.update(part.outputs)
        return *work.inputs, *work.sources, *when, *inside, *(name for name in work.results if name not in own)
    if not isinstance(work, Repeated):
        return *work.inputs, *when
    own = {*work.outputs, *(array for _, array in work.rewinds)}
    inside = [*(tape for tape, _ in work.rewinds), *([work.made] if work.rewinds else [])]
    for part in work.works:
        inside += (name for name in reads_of(part) if name not in own)
        own.update(part.outputs)
    return *work.inputs, *when, *inside, *(name for name in work.results if name not in own)


def renamed(work: Work, to: Mapping[str, str]) -> Work:
    """A work on arrays with other names."""

    def names(old: Iterable[str]) -> tuple[str, ...]:
        return tuple(to[name] for name in old)

    if isinstance(work, Repeated):
        return replace(
            work, works=tuple(renamed(part, to) for part in work.works), inputs=names(work.inputs),
            outputs=names(work.outputs), results=names(work.results), when=to[work.when] if work.when else "",
            reads=names(work.reads), tape=names(work.tape), made=to[work.made] if work.made else "",
            rewinds=tuple((to[a], to[b]) for a, b in work.rewinds),
        )  # fmt: skip
    if isinstance(work, ProgramCall):
        return replace(work, inputs=names(work.inputs), outputs=names(work.outputs))
    if isinstance(work, EachRow):
        return replace(
            work, works=tuple(renamed(part, to) for part in work.works), sources=names(work.sources),
            rows_in=names(work.rows_in), inputs=names(work.inputs), outputs=names(work.outputs),
            results=names(work.results), when=to[work.when] if work.when else "",
        )  # fmt: skip
    when = to[work.when] if work.when else ""
    return replace(work, inputs=names(work.inputs), outputs=names(work.outputs), when=when)


@dataclass(frozen=True, eq=False)
class Recipe:
    """The works of one step in order. ``memory`` has the name and shape of every array. ``state``, ``constants`` and
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
    works: tuple[Work, ...]
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
    def programs(self) -> list[Program]:
        """Its programs, each once."""
        return list({id(call.program): call.program for call in calls_in(self.works)}.values())

    @property
    def operations(self) -> int:
        """Number of operations of one step; what is repeated counts once."""
        return sum(call.program.operations for call in calls_in(self.works))

    def evaluate(self, *arrays: Any) -> tuple[Array, ...]:
        """The next state for NumPy arrays with leading batch dimensions: the reference for every target."""
        values = dict(zip(self.inputs, (np.asarray(a, dtype=float) for a in arrays), strict=True))
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(self.memory[name])] for name, x in values.items()))
        memory = {name: np.broadcast_to(x, batch + self.memory[name]).reshape(*batch, -1) for name, x in values.items()}
        self.run(self.works, memory, batch)
        return tuple(memory[name].reshape(batch + self.memory[name]) for name in self.results)

    def run(self, works: Sequence[Work], memory: dict[str, Array], batch: Shape = ()) -> None:
        """Evaluate works on flat arrays (batch…, entries)."""
        for work in works:
            if isinstance(work, ProgramCall):
                results = _evaluate(work.program, [memory[name] for name in work.inputs], batch)
                memory.update(zip(work.outputs, results, strict=True))
            elif isinstance(work, TableCall):
                self._run_table(work, memory, batch)
            elif isinstance(work, EachRow):
                self._run_rows(work, memory, batch)
            else:
                self._run_loop(work, memory, batch)

    def _run_table(self, work: TableCall, memory: dict[str, Array], batch: Shape) -> None:
        inputs = [memory[name] for name in work.inputs]
        outputs = []
        for name, is_added in zip(work.outputs, work.added, strict=True):
            before, size = memory.get(name), math.prod(self.memory[name])
            keeps = before is not None and before.shape[-1] == size and not (is_added or work.when)
            outputs.append(np.array(before) if keeps else np.zeros((*batch, size)))
        first, last = work.starts[: len(inputs)], work.starts[len(inputs) :]
        for row in range(work.rows):
            own = [
                x[..., : len(slot.entries)] if starts is None else x[..., starts[row] :][..., : len(slot.entries)]
                for x, starts, slot in zip(inputs, first, work.program.inputs, strict=True)
            ]
            results = _evaluate(work.program, own, batch)
            for x, y, starts, is_added in zip(outputs, results, last, work.added, strict=True):
                part = np.s_[...] if starts is None else np.s_[..., starts[row] : starts[row] + y.shape[-1]]
                x[part] = x[part] + y if is_added else y
        memory.update(zip(work.outputs, outputs, strict=True))

    def _run_rows(self, work: EachRow, memory: dict[str, Array], batch: Shape) -> None:
        size = {name: math.prod(self.memory[name]) for name in (*work.rows_in, *work.results)}
        memory.update({name: np.array(memory[start]) for name, start in zip(work.outputs, work.inputs, strict=True)})
        for row in range(work.rows):
            needed = memory[work.when][..., row : row + 1] != 0 if work.when else np.ones((1,), dtype=bool)
            if not needed.any():
                continue
            for source, name, parts in zip(work.sources, work.rows_in, work.source_parts, strict=True):
                memory[name] = memory[source][..., parts[row] * size[name] :][..., : size[name]]
            self.run(work.works, memory, batch)
            for result, name, parts in zip(work.results, work.outputs, work.output_parts, strict=True):
                part = memory[name][..., parts[row] * size[result] :][..., : size[result]]
                part[...] = np.where(needed, memory[result], part)

    def _run_loop(self, work: Repeated, memory: dict[str, Array], batch: Shape) -> None:
        memory.update({name: memory[start] for name, start in zip(work.outputs, work.inputs, strict=True)})
        fixed = memory[work.when] == 0 if work.when else np.zeros((1,), dtype=bool)
        most = int(memory[work.made].max(initial=0)) if work.rewinds else work.most
        made = 0
        for name in work.tape:
            memory[name] = np.zeros((*batch, math.prod(self.memory[name])))
        for k in range(most):
            if fixed.all():
                break
            for tape, name in zip(work.tape, work.outputs, strict=False):
                memory[tape][..., k * memory[name].shape[-1] :][..., : memory[name].shape[-1]] = memory[name]
            for tape, name in work.rewinds:
                size = math.prod(self.memory[name])
                memory[name] = memory[tape][..., (most - 1 - k) * size :][..., :size]
            self.run(work.works, memory, batch)
            new = {
                name: np.where(fixed, memory[name], memory[result])
                for name, result in zip(work.outputs, work.results, strict=True)
            }
            memory.update(new)
            made = k + 1
            if work.most > 1:
                fixed = fixed | (memory[work.outputs[-1]] == 1)
        if work.tape:
            memory[work.made] = np.full((*batch, 1), float(made))


def _evaluate(program: Program, inputs: Sequence[Array], batch: Shape) -> list[Array]:
    """The flat results of a program for flat inputs."""
    arrays = [x.reshape(batch + slot.shape) for x, slot in zip(inputs, program.inputs, strict=True)]
    results = program.evaluate(*arrays)
    return [
        np.broadcast_to(y, batch + slot.shape).reshape(*batch, -1)
        for y, slot in zip(results, program.outputs, strict=True)
    ]
