"""Pullbacks: the transposed Jacobians of programs, as programs.

A pullback of y = f(x) takes weights w of y, and x, to the weights (∂f/∂x)ᵀ w of x. For a fixed point y = S(y, x) one
iteration, λ = w + (∂S/∂y)ᵀ λ, is made of the pullback of S with respect to y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sixd.spatial.scalar import where
from sixd.trace import derivative
from sixd.trace.derivative import is_zero
from sixd.trace.expr import Expr, Graph
from sixd.trace.ops import Op
from sixd.trace.program import Program, trace
from sixd.trace.recipe import Recipe
from sixd.trace.replay import replay, shaped
from sixd.trace.stages import Stages

MOST = 100  # iterations of λ; each reduces its error as one of the repeated call does


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
        return dict(zip(self.wanted, as_tuple(results), strict=True))


class Pullbacks:
    """The pullbacks of programs, and the smooth functions of loops, each made once for all calls of them."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self._made: dict[Any, Pullback] = {}  # by ids of programs
        self._smooth: dict[Callable[[], Program | Recipe], Program | Recipe] = {}  # kept, for their ids to stay theirs

    def of(self, program: Program, want: tuple[int, ...], have: tuple[int, ...], is_known: bool = False) -> Pullback:
        """The transposed Jacobian of a program; see :func:`make_pullback`."""
        key = id(program), want, have, is_known
        if key not in self._made:
            self._made[key] = make_pullback(program, want, have, self.dtype, is_known)
        return self._made[key]

    def smooth(self, make: Callable[[], Program | Recipe]) -> Program | Recipe:
        """The smooth program or recipe of a loop."""
        if make not in self._smooth:
            self._smooth[make] = make()
        return self._smooth[make]


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
        results = replay(program, inputs) if program.source is None else as_tuple(program.source(*inputs))
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
                gradients.append(shaped(own, program.inputs[k].shape))
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


def as_tuple(result: Any) -> tuple[Any, ...]:
    """The results of a call, one of which is not in a tuple."""
    return result if isinstance(result, tuple) else (result,)
