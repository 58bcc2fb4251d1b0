"""Adjoints: the step that carries gradients back through one step of a recipe.

A step is a sequence of calls x -> y. Its adjoint repeats the short calls from the recorded state and the recorded
results of the long ones, and then visits all calls in reverse order: weights w of y become weights (∂y/∂x)ᵀ w of x, by
a program for each call. A repeated call is differentiated at its final outputs, by the implicit function theorem: with
y = S(y, x), λ = w + (∂S/∂y)ᵀ λ and the weights of x are (∂S/∂x)ᵀ λ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sixd.errors import TraceError
from sixd.spatial.scalar import Array, object_array, where
from sixd.trace import derivative
from sixd.trace.derivative import is_zero
from sixd.trace.expr import Expr, Graph
from sixd.trace.ops import Op
from sixd.trace.program import Program, trace
from sixd.trace.recipe import Loop, ProgramCall, Recipe, Shape, TableCall, Work, reads_of, written_by
from sixd.trace.replay import replay
from sixd.trace.stages import Into, Rows, Stages, Tape, trace_stages

MOST = 100  # iterations of λ; each reduces its error as one of the repeated call does
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
        return tuple(_shaped(list(x), s) for x, s in zip(np.split(array, ends[:-1]), shapes.values(), strict=True))

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
    return isinstance(work, Loop) and work.most > 1 and work.smooth is None


class _Back:
    """The reverse pass through the calls of a step: the arrays of its memory, and the weights of some of them."""

    def __init__(self, stages: Stages, known: dict[str, Any], shapes: Mapping[str, Shape]) -> None:
        self.stages, self.dtype, self.known, self.shapes = stages, stages.graph.dtype, known, shapes
        self.recorded = set(known)
        self.weights: dict[str, Any] = {}
        self.depends: set[str] = set()
        self.smooth: dict[
            Callable[[], Program | Recipe], Program | Recipe
        ] = {}  # keeps them alive: pullbacks are looked up by id
        self.pullbacks: dict[Any, Pullback] = {}
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
            return _tuple(self.stages(work.program, *self._inputs(work.inputs)))
        when = self.known[work.when] if work.when else None
        if isinstance(work, TableCall):
            arguments = [self._rows(name, parts) for name, parts in zip(work.inputs, work.parts, strict=False)]
            places = zip(work.outputs, work.parts[len(work.inputs) :], work.added, strict=True)
            into = [self._into(name, parts, is_added) for name, parts, is_added in places]
            return _tuple(self.stages.each(work.program, *arguments, into=into, when=when))
        call = work.works[0]
        if len(work.works) > 1 or not isinstance(call, ProgramCall):
            return self._iterations(work, when)
        program = call.program
        inputs = self._inputs((*work.inputs, *call.inputs[len(work.inputs) :]))
        return _tuple(self.stages(program, *inputs, most=work.most, when=when))

    def _iterations(self, work: Loop, when: Any) -> tuple[Any, ...]:
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

    def _into(self, name: str, parts: Sequence[int], is_added: bool) -> Into:
        return Into(self.shapes[name][0], parts, is_added)

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
        names = _arguments(work)
        have = tuple(k for k, name in enumerate(work.outputs) if name in self.weights)
        want = tuple(k for k, name in enumerate(names) if name in self.depends)
        if not have or not want:
            return
        if isinstance(work, TableCall):
            self._through_table(work, have, want)
            return
        if isinstance(work, Loop) and _only_call(work) is None and work.smooth is None:
            self._through_works(work) if work.most == 1 else self._through_iterations(work)
            return
        inputs, weights = self._inputs(names), [self.weights[work.outputs[k]] for k in have]
        call = _only_call(work)
        if call is not None:
            is_known = isinstance(work, ProgramCall) and self.recorded.issuperset(work.outputs)
            inputs += [self.known[name] for name in work.outputs if is_known]
            pull = self._pullback(call.program, want, have, is_known)
        elif not isinstance(work, Loop) or work.smooth is None:
            raise TraceError("a repeated call without a smooth program cannot be differentiated.")
        else:
            smooth, count = self._smooth(work.smooth), len(work.outputs)
            if isinstance(smooth, Recipe):
                self._through_recipe(work, smooth)
                return
            inputs[:count] = [self.known[name] for name in work.outputs]
            own = self._pullback(smooth, tuple(range(count)), have)
            if not set(own.wanted).issubset(have):
                raise TraceError("the smooth program of a repeated call depends on an output that has no weight.")
            if own.wanted:  # a fixed point
                program = iteration(own, have, self.dtype)
                weights = list(self.stages(program, *weights, np.inf, 0.0, *weights, *own.used(inputs), most=MOST)[:-2])
            pull = self._pullback(smooth, tuple(k for k in want if k >= count), have)
        for k, weight in pull(self.stages, inputs, weights).items():
            self.add(names[k], weight)

    def _inside(self, work: Loop, state: Mapping[str, Any], weights: Mapping[str, Any], depends: set[str]) -> _Back:
        """The reverse pass through the works of one iteration, which are repeated from the arrays in ``state``."""
        back = _Back(self.stages, {**self.known, **state}, self.shapes)
        back.recorded, back.smooth, back.pullbacks = set(), self.smooth, self.pullbacks
        back.follow(work.works, depends)
        for name, result in zip(work.outputs, work.results, strict=True):
            if name in weights:
                back.add(result, weights[name])
        for part in reversed(work.works):
            back.through(part)
        return back

    def _through_works(self, work: Loop) -> None:
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

    def _through_iterations(self, work: Loop) -> None:
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

    def _through_recipe(self, work: Loop, recipe: Recipe) -> None:
        """Pull weights back through the smooth recipe of a loop, from its last state: to what the loop reads."""
        names = dict(zip(recipe.inputs, (*work.outputs, *work.reads), strict=True))
        back = _Back(self.stages, {own: self.known[name] for own, name in names.items()}, recipe.memory)
        back.smooth, back.pullbacks = self.smooth, self.pullbacks
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
        pull, count = self._pullback(work.program, want, have), len(work.inputs)
        weights = [Rows(self.weight(work.outputs[k]), work.parts[count + k] or ()) for k in have]
        arguments = [self._rows(work.inputs[k], work.parts[k]) for k in pull.needed]
        whole = (0,) * work.rows
        into = [
            Into(1, whole, True) if parts is None else self._into(work.inputs[k], parts, True)
            for k in pull.wanted
            for parts in (work.parts[k],)
        ]
        if not into:
            return
        results = _tuple(self.stages.each(pull.program, *weights, *arguments, into=into))
        for k, weight in zip(pull.wanted, results, strict=True):
            self.add(work.inputs[k], np.reshape(weight, self.shapes[work.inputs[k]]))

    def _smooth(self, make: Callable[[], Program | Recipe]) -> Program | Recipe:
        """The smooth program or recipe of a loop, made once for all loops that have it."""
        if make not in self.smooth:
            self.smooth[make] = make()
        return self.smooth[make]

    def _pullback(
        self, program: Program, want: tuple[int, ...], have: tuple[int, ...], is_known: bool = False
    ) -> Pullback:
        """The transposed Jacobian of a program, made once for all calls of it; see :func:`make_pullback`."""
        key = id(program), want, have, is_known
        if key not in self.pullbacks:
            self.pullbacks[key] = make_pullback(program, want, have, self.dtype, is_known)
        return self.pullbacks[key]


def _only_call(work: Work) -> ProgramCall | None:
    """The call that a work consists of, if it is one, or made if a condition holds."""
    if isinstance(work, Loop) and work.most == 1 and len(work.works) == 1:
        work = work.works[0]
    return work if isinstance(work, ProgramCall) else None


def _arguments(work: Work) -> tuple[str, ...]:
    """The arrays that derivatives of a work are with respect to."""
    if not isinstance(work, Loop):
        return work.inputs
    call = _only_call(work)
    if call is not None:
        return *work.inputs, *call.inputs[len(work.inputs) :]
    return reads_of(work) if work.smooth is None else (*work.inputs, *work.reads)


class Pullback(NamedTuple):
    """The program (weights of outputs…, inputs…) -> weights of the inputs whose numbers are ``wanted``.

    ``needed`` are the numbers of the inputs that it reads. Outputs, if known, are inputs after the others.
    """

    program: Program
    wanted: tuple[int, ...]
    needed: tuple[int, ...]

    def used(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs that it reads."""
        return [inputs[k] for k in self.needed]

    def __call__(self, stages: Stages, inputs: Sequence[Any], weights: Sequence[Any]) -> dict[int, Any]:
        """The weights of inputs by their numbers."""
        if not self.wanted:
            return {}
        results = stages(self.program, *weights, *self.used(inputs))
        return dict(zip(self.wanted, _tuple(results), strict=True))


def make_pullback(
    program: Program, want: tuple[int, ...], have: tuple[int, ...], dtype: str, is_known: bool = False
) -> Pullback:
    """The transposed Jacobian of some of a program's outputs (``have``) with respect to some of its inputs (``want``).

    ``is_known``: the outputs are inputs too, and are not computed again.
    """
    slots = {f"in{k}": slot.shape for k, slot in enumerate(program.inputs)}
    slots |= {f"out{k}": slot.shape for k, slot in enumerate(program.outputs) if is_known}
    shapes = {f"weight{k}": program.outputs[k].shape for k in have}
    wanted: list[int] = []  # without those of which no weight depends

    def pulled(*arrays: Any) -> tuple[Any, ...]:
        weights, rest = arrays[: len(have)], arrays[len(have) :]
        inputs, known = rest[: len(program.inputs)], rest[len(program.inputs) :]
        graph = next(e.graph for array in arrays for e in np.ravel(np.asarray(array, dtype=object)))
        graph.implicit = program.source is not None
        results = replay(program, inputs) if program.source is None else _tuple(program.source(*inputs))
        graph.implicit = False
        outputs = [e for k in have for e in graph.entries(results[k])]
        variables = [e for k in want for e in graph.entries(inputs[k])]
        cotangents = [e for w in weights for e in graph.entries(w)]
        pairs = ((e, x) for r, g in zip(results, known, strict=False) for e, x in _entry_pairs(graph, r, g))
        entries = iter(derivative.resolved(derivative.vjp(outputs, variables, cotangents, bounded=True), dict(pairs)))
        gradients: list[Any] = []
        for k in want:
            own = [next(entries) for _ in program.inputs[k].entries]
            if not all(map(is_zero, own)):
                wanted.append(k)
                gradients.append(_shaped(own, program.inputs[k].shape))
        return tuple(gradients)

    whole = trace(pulled, {**shapes, **slots}, dtype)
    live = {node.index for node in whole.nodes}
    count = len(have)
    used = [k for k, s in enumerate(whole.inputs[count:]) if any(e.index in live for e in s.entries)]
    kept = (*whole.inputs[:count], *(whole.inputs[count + k] for k in used))
    return Pullback(replace(whole, inputs=kept), tuple(wanted), tuple(used))


def iteration(pull: Pullback, have: tuple[int, ...], dtype: str) -> Program:
    """The program (λ…, left, done, w…, inputs…) -> (λ…, left, done): λ = w + (∂S/∂y)ᵀ λ, until its change no longer
    shrinks."""
    n = len(have)
    inputs = {slot.name: slot.shape for slot in pull.program.inputs}
    shapes = {**{f"λ of {name}": inputs[name] for name in list(inputs)[:n]}, "left": (), "done": (), **inputs}

    def once(*arrays: Any) -> tuple[Any, ...]:
        now, (left, done), w, inputs = arrays[:n], arrays[n : n + 2], arrays[n + 2 : 2 * n + 2], arrays[2 * n + 2 :]
        change = dict(zip(pull.wanted, replay(pull.program, (*now, *inputs)), strict=True))
        new = [x + change[k] if k in change else x for k, x in zip(have, w, strict=True)]
        pairs = list(zip(new, now, strict=True))
        size = sum(e * e for x, y in pairs for e in np.ravel(np.asarray(x - y, dtype=object)))
        before, shrinks = done > 0, (size < left) & (size > 0)
        kept = [where(before, y, x) for x, y in pairs]
        return *kept, where(before, left, size), where(shrinks, done, 1)

    return trace(once, shapes, dtype)


def _entry_pairs(graph: Graph, results: Any, known: Any) -> Iterator[tuple[int, Expr]]:
    """The indices of results that are computed, each with its known value."""
    for e, x in zip(graph.entries(results), graph.entries(known), strict=True):
        value = e.args[0] if e.op is Op.HELD else e
        if value.op not in (Op.CONST, Op.INPUT):
            yield value.index, x


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _shaped(entries: list[Any], shape: Shape) -> Array | Any:
    return object_array(entries, shape) if shape else entries[0]
