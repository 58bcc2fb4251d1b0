"""Adjoints: the step that carries gradients back through one step of a recipe.

A step is a sequence of calls x -> y. Its adjoint repeats the short calls from the recorded state and the recorded
results of the long ones, and then visits all calls in reverse order: weights w of y become weights (∂y/∂x)ᵀ w of x, by
a program for each call. A repeated call is differentiated at its final outputs, by the implicit function theorem: with
y = S(y, x), λ = w + (∂S/∂y)ᵀ λ and the weights of x are (∂S/∂x)ᵀ λ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sixd.errors import TraceError
from sixd.spatial.scalar import Array, where
from sixd.trace.program import Program, Slot, trace
from sixd.trace.pullback import MOST, Pullback, Pullbacks, as_tuple, iteration
from sixd.trace.recipe import (
    ProgramCall,
    Recipe,
    Repeated,
    Shape,
    TableCall,
    Work,
    reads_of,
    require_known_derivatives,
    written_by,
)
from sixd.trace.replay import shaped
from sixd.trace.stages import Into, Rows, Stages, Tape, trace_stages

# operations per entry of a result above which the forward pass records it, rather than the adjoint repeating them
_WORTH = 12
_MANY = 8  # records of results of calls that are arrays of their own
_RECORDS = "records"


def forward_backward(
    recipe: Recipe, weighed: Sequence[str], by: Sequence[str], dtype: str, along: Sequence[str] = ()
) -> tuple[Recipe, Recipe]:
    """The recipe with the records that its adjoint needs, and the adjoint, the step back.

    The adjoint's state are the gradients with respect to the ``weighed`` arrays of the state, then to the constants and
    series in ``by``, all with the names "by …". Gradients of constants are summed over the steps. Those of series are
    of the step alone and are recorded. Its series are the recipe's state at the beginning of each step, the results of
    long calls, and the recipe's own series.

    ``along`` are weighed arrays whose records are results with weights of their own. With them only the states are
    recorded and long calls are repeated; the adjoint has series "weight of …", the weights of these arrays after each
    step.
    """
    require_known_derivatives(recipe.works)
    long = [name for work in recipe.works if _is_long(work, recipe) for name in work.outputs]
    before, inside = _shapes(recipe, recipe.state), _shapes(recipe, () if along else long)
    state = _shapes(recipe, (*weighed, *by), "by {}")
    constants, weights = _shapes(recipe, recipe.constants), _shapes(recipe, along, "weight of {}")
    series = before | inside | weights | _shapes(recipe, recipe.series)
    step = partial(_step_back, recipe, tuple(weighed), tuple(by), tuple(along), tuple(long), (*constants, *series))
    back = pruned(trace_stages(step, state, constants, dtype, series))
    read = {*recipe.series, *(name for work in back.works for name in reads_of(work))}
    recorded = tuple(f"by {name}" for name in by if name in recipe.series)
    back = replace(back, series=tuple(name for name in series if name in read), recorded=recorded, backwards=True)
    there = replace(recipe, recorded=tuple(name for name in (*before, *inside) if name in read or name in along))
    packed = tuple(name for name in inside if name in read)
    return _together(there, back, packed, dtype) if len(packed) > _MANY else (there, back)


def _shapes(recipe: Recipe, names: Iterable[str], label: str = "{}") -> dict[str, Shape]:
    """The shapes of arrays of a recipe by their names, in a label."""
    return {label.format(name): recipe.memory[name] for name in names}


def _step_back(
    recipe: Recipe,
    weighed: tuple[str, ...],
    by: tuple[str, ...],
    along: tuple[str, ...],
    long: tuple[str, ...],
    names: tuple[str, ...],
    stages: Stages,
    *arrays: Array,
) -> tuple[Any, ...]:
    """The gradients before a step, from those after it and the arrays called ``names``."""
    gradients, sums = arrays[: len(weighed)], dict(zip(by, arrays[len(weighed) :], strict=False))
    known = dict(zip(names, arrays[len(weighed) + len(by) :], strict=True))
    back = _Back(stages, known, recipe.memory)
    back.follow(recipe.works, {*weighed, *by})
    back.recorded.update(long)
    after = dict(zip(recipe.state, recipe.results, strict=True))
    for name, gradient in zip(weighed, gradients, strict=True):
        back.add(after[name], gradient + known[f"weight of {name}"] if name in along else gradient)
    for work in reversed(recipe.works):
        back.through(work)
    own = [back.weight(name) for name in weighed]
    return *own, *(back.weight(n) + (sums[n] * 0 if n in recipe.series else sums[n]) for n in by)


def _together(there: Recipe, back: Recipe, names: tuple[str, ...], dtype: str) -> tuple[Recipe, Recipe]:
    """The recipes with these records as one long array: the number of a function's arrays is limited."""
    shapes = {name: there.memory[name] for name in names}
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
    long = {_RECORDS: (int(ends[-1]),)}

    def unpack(array: Array) -> tuple[Any, ...]:
        return tuple(shaped(list(x), s) for x, s in zip(np.split(array, ends[:-1]), shapes.values(), strict=True))

    pack = trace(lambda *arrays: np.concatenate([np.ravel(x) for x in arrays]), shapes, dtype)
    last, first = ProgramCall(pack, names, (_RECORDS,)), ProgramCall(trace(unpack, long, dtype), (_RECORDS,), names)
    assert there.recorded is not None
    recorded = *(name for name in there.recorded if name not in shapes), _RECORDS
    series = _RECORDS, *(name for name in back.series if name not in shapes)
    return (
        replace(there, memory={**there.memory, **long}, works=(*there.works, last), recorded=recorded),
        replace(back, memory={**back.memory, **long}, works=(first, *back.works), series=series),
    )


def _is_long(work: Work, recipe: Recipe) -> bool:
    """Whether a work's results are worth recording."""
    if not isinstance(work, ProgramCall):
        return not _is_made_again(work)
    size = sum(math.prod(recipe.memory[name]) for name in work.outputs)
    return work.program.operations > _WORTH * size


def pruned(recipe: Recipe) -> Recipe:
    """The recipe without calls that no result needs, and without their arrays."""
    needed = set(recipe.results)
    works: list[Work] = []
    for work in reversed(recipe.works):
        if needed.intersection(written_by(work)):
            works.append(work)
            needed.update(reads_of(work))
    needed.update(recipe.inputs, *(written_by(work) for work in works))
    memory = {name: shape for name, shape in recipe.memory.items() if name in needed}
    return replace(recipe, memory=memory, works=tuple(works[::-1]))


def _is_made_again(work: Work) -> bool:
    """Whether the adjoint repeats a work to know what it did: a loop over several works, iteration by iteration."""
    return isinstance(work, Repeated) and work.most > 1 and work.smooth is None


class _Back:
    """The reverse pass through the calls of a step: the arrays of its memory, and the weights of some of them."""

    def __init__(self, stages: Stages, known: dict[str, Any], shapes: Mapping[str, Shape]) -> None:
        self.stages, self.known, self.shapes = stages, known, shapes
        self.recorded = set(known)
        self.weights: dict[str, Any] = {}
        self.depends: set[str] = set()
        self.pullbacks = Pullbacks(stages.graph.dtype)
        self.tapes: dict[int, Tape] = {}  # of loops, by id

    def follow(self, works: Sequence[Work], roots: set[str]) -> None:
        """Repeat the works whose results are not known, and note which arrays depend on the roots."""
        self.depends |= roots
        for work in works:
            if _is_made_again(work) or not all(name in self.known for name in work.outputs):
                self.known |= zip(work.outputs, self._again(work), strict=True)
            if self.depends.intersection(reads_of(work)):
                self.depends.update(work.outputs)

    def _again(self, work: Work) -> tuple[Any, ...]:
        """The results of a work."""
        if isinstance(work, ProgramCall):
            return as_tuple(self.stages(work.program, *self._inputs(work.inputs)))
        when = self.known[work.when] if work.when else None
        if isinstance(work, TableCall):
            arguments = [self._rows(name, parts) for name, parts in zip(work.inputs, work.parts, strict=False)]
            slots = work.program.outputs
            places = zip(work.outputs, slots, work.parts[len(work.inputs) :], work.added, strict=True)
            into = [self._into(name, slot, parts or (), is_added) for name, slot, parts, is_added in places]
            return as_tuple(self.stages.each(work.program, *arguments, into=into, when=when))
        assert isinstance(work, Repeated)
        call = work.works[0]
        if len(work.works) > 1 or not isinstance(call, ProgramCall):
            return self._iterations(work, when)
        program = call.program
        inputs = self._inputs((*work.inputs, *call.inputs[len(work.inputs) :]))
        return as_tuple(self.stages(program, *inputs, most=work.most, when=when))

    def _iterations(self, work: Repeated, when: Any) -> tuple[Any, ...]:
        """The results of a loop over several works."""

        def once(*state: Any) -> list[Any]:
            known = {**self.known, **dict(zip(work.outputs, state, strict=True))}
            inside = _Back(self.stages, known, self.shapes)
            inside.follow(work.works, set())
            return [inside.known[name] for name in work.results]

        keeps = _is_made_again(work)
        results = self.stages.repeat(once, *self._inputs(work.inputs), most=work.most, when=when, keeps=keeps)
        if keeps:
            *results, self.tapes[id(work)] = results  # type: ignore[assignment]
        return tuple(results)

    def _rows(self, name: str, parts: Sequence[int] | None) -> Any:
        """An argument of a table: an array by the parts of its rows."""
        return self.known[name] if parts is None else Rows(self.known[name], parts)

    def _into(self, name: str, slot: Slot, parts: Sequence[int], is_added: bool) -> Into:
        """A result of a table: an array by the parts of its rows, which are like ``slot``."""
        n = math.prod(self.shapes[name]) // max(len(slot.entries), 1)
        return Into(n, parts, is_added, self.shapes[name] != (n, *slot.shape))

    def _inputs(self, names: Sequence[str]) -> list[Any]:
        return [self.known[name] for name in names]

    def add(self, name: str, weight: Any) -> None:
        """Add to the weight of an array."""
        self.weights[name] = self.weights[name] + weight if name in self.weights else weight

    def weight(self, name: str) -> Any:
        """The weight of an array."""
        return self.weights[name] if name in self.weights else self.known[name] * 0

    def through(self, work: Work) -> None:
        """Pull the weights of a work's outputs back to its inputs."""
        have = tuple(k for k, name in enumerate(work.outputs) if name in self.weights)
        want = tuple(k for k, name in enumerate(_arguments(work)) if name in self.depends)
        if not have or not want:
            return
        call = _only_call(work)
        if call is not None:
            self._through_call(work, call, have, want)
        elif isinstance(work, TableCall):
            self._through_table(work, have, want)
        elif isinstance(work, Repeated):
            self._through_repeated(work, have, want)

    def _through_call(self, work: Work, call: ProgramCall, have: tuple[int, ...], want: tuple[int, ...]) -> None:
        """Pull weights back through the one call of a work, from its recorded results if there are any."""
        is_known = isinstance(work, ProgramCall) and self.recorded.issuperset(work.outputs)
        inputs = self._inputs((*_arguments(work), *(work.outputs if is_known else ())))
        pull = self.pullbacks.of(call.program, want, have, is_known)
        self._pull(pull, work, inputs, [self.weights[work.outputs[k]] for k in have])

    def _pull(self, pull: Pullback, work: Work, inputs: Sequence[Any], weights: Sequence[Any]) -> None:
        """Add to the weights of a work's arguments what a pullback makes of those of its outputs."""
        names = _arguments(work)
        for k, weight in pull(self.stages, inputs, weights).items():
            self.add(names[k], weight)

    def _through_repeated(self, work: Repeated, have: tuple[int, ...], want: tuple[int, ...]) -> None:
        """Pull weights back through a loop: by its smooth function, if it has one, or else by its works."""
        if work.smooth is None:
            self._through_works(work) if work.most == 1 else self._through_iterations(work)
            return
        smooth = self.pullbacks.smooth(work.smooth)
        if isinstance(smooth, Recipe):
            self._through_recipe(work, smooth)
        else:
            self._through_smooth(work, smooth, have, want)

    def _through_smooth(self, work: Repeated, smooth: Program, have: tuple[int, ...], want: tuple[int, ...]) -> None:
        """Pull weights back through the smooth program of a loop, at its final outputs, by the implicit function
        theorem."""
        inputs, weights = self._inputs((*work.outputs, *work.reads)), [self.weights[work.outputs[k]] for k in have]
        count = len(work.outputs)
        own = self.pullbacks.of(smooth, tuple(range(count)), have)
        if not set(own.wanted).issubset(have):
            raise TraceError("the smooth program of a repeated call depends on an output that has no weight.")
        if own.wanted:  # a fixed point
            program = iteration(own, have, self.stages.graph.dtype)
            weights = list(self.stages(program, *weights, np.inf, 0.0, *weights, *own.used(inputs), most=MOST)[:-2])
        pull = self.pullbacks.of(smooth, tuple(k for k in want if k >= count), have)
        self._pull(pull, work, inputs, weights)

    def _inside(self, work: Repeated, state: Mapping[str, Any], weights: Mapping[str, Any], depends: set[str]) -> _Back:
        """The reverse pass through the works of one iteration, which are repeated from the arrays in ``state``."""
        back = _Back(self.stages, {**self.known, **state}, self.shapes)
        back.recorded, back.pullbacks = set(), self.pullbacks
        back.follow(work.works, depends)
        for name, result in zip(work.outputs, work.results, strict=True):
            if name in weights:
                back.add(result, weights[name])
        for part in reversed(work.works):
            back.through(part)
        return back

    def _through_works(self, work: Repeated) -> None:
        """Pull weights back through several works that are made once, where ``when`` is not 0."""
        weights = {name: self.weight(name) for name in work.outputs if name in self.weights}
        starts = dict(zip(work.outputs, work.inputs, strict=True))
        wanted = [name for name in dict.fromkeys(starts.get(n, n) for n in reads_of(work)) if name in self.depends]

        def inside(*_: Any) -> list[Any]:
            begin = {name: self.known[start] for name, start in starts.items()}
            depends = self.depends | {name for name, start in starts.items() if start in self.depends}
            found = self._inside(work, begin, weights, depends).weights
            sums = {name: found.get(name) for name in wanted}
            for name, start in starts.items():
                if name in found and start in sums:
                    sums[start] = found[name] if sums[start] is None else sums[start] + found[name]
            return [x if x is not None else self.known[name] * 0 for name, x in sums.items()]

        zeros = [np.zeros(self.shapes[name]) for name in wanted]
        when = self.known[work.when] if work.when else None
        for name, weight in zip(wanted, self.stages.repeat(inside, *zeros, most=1, when=when), strict=True):
            self.add(name, weight)
        if work.when:
            skipped = where(self.known[work.when] > 0, 0, 1)
            for name, start in starts.items():
                if name in weights and start in self.depends:
                    self.add(start, weights[name] * skipped)

    def _through_iterations(self, work: Repeated) -> None:
        """Pull weights back through the iterations of a loop over several works, from the last to the first."""
        outside = [name for name in dict.fromkeys(reads_of(work)) if name in self.depends and name not in work.inputs]
        count, when = len(work.outputs), self.known[work.when] if work.when else 1.0
        weights = [self.weight(name) if name in self.weights else np.zeros(self.shapes[name]) for name in work.outputs]

        def back(kept: Sequence[Any], *state: Any) -> list[Any]:
            now, sums = dict(zip(work.outputs, state, strict=False)), state[count:]
            begin = dict(zip(work.outputs, kept, strict=True))
            found = self._inside(work, begin, now, self.depends | {*work.outputs}).weights
            made = where(kept[-1] == 1, 0, when) > 0
            before = [found.get(name, begin[name] * 0) for name in work.outputs]
            more = [x + found[name] if name in found else x for name, x in zip(outside, sums, strict=True)]
            return [where(made, new, old) for new, old in zip([*before, *more], state, strict=True)]

        zeros = [np.zeros(self.shapes[name]) for name in outside]
        results = self.stages.rewind(back, *weights, *zeros, tape=self.tapes[id(work)])
        for name, weight in zip((*work.inputs, *outside), results, strict=True):
            if name in self.depends:
                self.add(name, weight)

    def _through_recipe(self, work: Repeated, recipe: Recipe) -> None:
        """Pull weights back through the smooth recipe of a loop, from its last state: to what the loop reads."""
        names = dict(zip(recipe.inputs, (*work.outputs, *work.reads), strict=True))
        back = _Back(self.stages, {own: self.known[name] for own, name in names.items()}, recipe.memory)
        back.pullbacks = self.pullbacks
        back.follow(recipe.works, {own for own in recipe.constants if names[own] in self.depends})
        for name, result in zip(work.outputs, recipe.results, strict=True):
            if name in self.weights:
                back.add(result, self.weights[name])
        for part in reversed(recipe.works):
            back.through(part)
        for own in recipe.constants:
            if own in back.weights:
                self.add(names[own], back.weights[own])

    def _through_table(self, work: TableCall, have: tuple[int, ...], want: tuple[int, ...]) -> None:
        """Pull weights back through a table: each row adds to the weights of its parts."""
        pull, count = self.pullbacks.of(work.program, want, have), len(work.inputs)
        weights = [Rows(self.weight(work.outputs[k]), work.parts[count + k] or ()) for k in have]
        arguments = [self._rows(work.inputs[k], work.parts[k]) for k in pull.needed]
        whole = (0,) * work.rows
        into = [
            Into(1, whole, True) if parts is None else self._into(work.inputs[k], work.program.inputs[k], parts, True)
            for k in pull.wanted
            for parts in (work.parts[k],)
        ]
        if not into:
            return
        results = as_tuple(self.stages.each(pull.program, *weights, *arguments, into=into))
        for k, weight in zip(pull.wanted, results, strict=True):
            self.add(work.inputs[k], np.reshape(weight, self.shapes[work.inputs[k]]))


def _only_call(work: Work) -> ProgramCall | None:
    """The call that a work consists of, if it is one, or made if a condition holds."""
    if isinstance(work, Repeated) and work.most == 1 and len(work.works) == 1:
        work = work.works[0]
    return work if isinstance(work, ProgramCall) else None


def _arguments(work: Work) -> tuple[str, ...]:
    """The arrays that derivatives of a work are with respect to."""
    if not isinstance(work, Repeated):
        return work.inputs
    call = _only_call(work)
    if call is not None:
        return *work.inputs, *call.inputs[len(work.inputs) :]
    return reads_of(work) if work.smooth is None else (*work.inputs, *work.reads)
