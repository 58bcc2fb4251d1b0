"""Linear parts of programs: how small changes of a program's inputs change its outputs.

The derivatives of y = f(x) along dx are linear in dx: dy = L(c) dx, where the coefficients c depend on x alone. A
linearised program computes y and c once; its linear part, another program, is then called for each direction. Its
variants are for directions that change some of the inputs alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sixd.body_marks import listening
from sixd.spatial.scalar import where
from sixd.trace import derivative
from sixd.trace.expr import Expr, Graph
from sixd.trace.program import Program, Slot, live_nodes, make_program, trace
from sixd.trace.replay import apply, replay, shaped

Set = frozenset[int]  # of numbers of inputs


class LinearPart(NamedTuple):
    """The program (coefficients, changes of the inputs ``reads``…) -> changes of the outputs ``makes``."""

    program: Program
    reads: tuple[int, ...]
    makes: tuple[int, ...]


class Linearised:
    """A program with the coefficients of its linear part; ``wanted`` are the numbers of inputs that may change."""

    def __init__(self, program: Program, wanted: Iterable[int], dtype: str) -> None:
        self.program, self.dtype, graph = program, dtype, Graph(dtype)
        self.wanted = tuple(sorted(wanted))
        arrays = [graph.input(f"in{k}", slot.shape) for k, slot in enumerate(program.inputs)]
        self.changes = {k: graph.entries(graph.input(f"change{k}", program.inputs[k].shape)) for k in self.wanted}
        graph.implicit = "forward" if program.source is not None else False
        with listening(graph), np.errstate(all="ignore"):
            results = replay(program, arrays) if program.source is None else program.source(*arrays)
        graph.implicit = False
        results = results if isinstance(results, tuple) else (results,)
        values = [e for result in results for e in graph.entries(result)]
        entries = [e for k in self.wanted for e in graph.entries(arrays[k])]
        along = [e for k in self.wanted for e in self.changes[k]]
        rates = derivative.jvp(values, entries, along, bounded=True)
        resolved = derivative.resolved([*values, *rates])
        self.values, self.rates = resolved[: len(values)], [graph.lift(x) for x in resolved[len(values) :]]
        self.inputs = [Slot(f"in{k}", np.shape(x), graph.entries(x)) for k, x in enumerate(arrays)]
        self.graph = graph
        self._separate()
        self._parts: dict[Set, LinearPart] = {}

    def _separate(self) -> None:
        """Find the nodes that depend on changes, and on those of which inputs; all other operands are coefficients."""
        masks = {e.index: 1 << k for k, own in self.changes.items() for e in own}
        self.linear: list[Expr] = []
        known: dict[int, Expr] = {}
        for node in live_nodes(self.rates):
            mask = masks.get(node.index, 0)
            for a in node.args:
                mask |= masks.get(a.index, 0)
            if not mask or not node.args:
                continue
            masks[node.index] = mask
            self.linear.append(node)
            known |= {a.index: a for a in node.args if a.index not in masks and not a.is_const}
        self.coefficients = list(known.values())
        sizes, first, own = [len(slot.entries) for slot in self.program.outputs], 0, []
        for size in sizes:
            mask = 0
            for e in self.rates[first : first + size]:
                mask |= masks.get(e.index, 0)
            own.append(mask)
            first += size
        self.masks = own

    def depends(self, output: int, inputs: Collection[int]) -> bool:
        """Whether an output changes if one of these inputs does."""
        return any(self.masks[output] >> k & 1 for k in inputs)

    @cached_property
    def reading(self) -> Set:
        """The inputs on whose changes some output depends."""
        return frozenset(k for k in self.wanted if any(mask >> k & 1 for mask in self.masks))

    @cached_property
    def primal(self) -> Program:
        """The program inputs… -> outputs…, coefficients."""
        outputs, first = [], 0
        for k, slot in enumerate(self.program.outputs):
            entries = tuple(self.graph.lift(x) for x in self.values[first : first + len(slot.entries)])
            outputs.append(Slot(f"out{k}", slot.shape, entries))
            first += len(slot.entries)
        numbers = tuple(where(x, 1, 0) if x.op.boolean else x for x in self.coefficients)
        outputs.append(Slot("coefficients", (len(numbers),), numbers))
        return make_program(self.inputs, outputs)

    def part(self, own: Set) -> LinearPart:
        """The linear part for changes of these inputs alone."""
        if own not in self._parts:
            self._parts[own] = self._make_part(own)
        return self._parts[own]

    def _make_part(self, own: Set) -> LinearPart:
        reads = tuple(sorted(own))
        makes = tuple(k for k in range(len(self.masks)) if self.depends(k, own))
        shapes: dict[str, tuple[int, ...]] = {"coefficients": (len(self.coefficients),)}
        shapes |= {f"change{k}": self.program.inputs[k].shape for k in reads}

        def changed(coefficients: Any, *changes: Any) -> tuple[Any, ...]:
            known: dict[int, Any] = {}
            for node, x in zip(self.coefficients, coefficients, strict=True):
                known[node.index] = x > 0.5 if node.op.boolean else x
            known |= {e.index: 0 for k, entries in self.changes.items() if k not in own for e in entries}
            for k, x in zip(reads, changes, strict=True):
                known |= zip((e.index for e in self.changes[k]), np.ravel(np.asarray(x, dtype=object)), strict=True)
            self._replay(known)
            results, first = [], 0
            for k, slot in enumerate(self.program.outputs):
                if k in makes:
                    entries = self.rates[first : first + len(slot.entries)]
                    results.append(shaped([_value(known, e) for e in entries], slot.shape))
                first += len(slot.entries)
            return tuple(results)

        return LinearPart(trace(changed, shapes, self.dtype), reads, makes)

    def _replay(self, known: dict[int, Any]) -> None:
        for node in self.linear:
            known[node.index] = apply(node.op, *(_value(known, a) for a in node.args))


def _value(known: Mapping[int, Any], node: Expr) -> Any:
    return node.value if node.is_const else known[node.index]


def covering(parts: Mapping[Set, int], linearised: Linearised, worth: int) -> dict[Set, Set]:
    """For sets of changing inputs, with the number of calls for each, the larger set whose linear part serves them.

    A set has a part of its own if that saves ``worth`` operations of a step for each operation of its code.
    """
    order = sorted(parts, key=lambda own: (-len(own), sorted(own)))
    kept: list[Set] = []
    chosen: dict[Set, Set] = {}
    for own in order:
        candidates = [other for other in kept if own <= other]
        if candidates:
            best = min(candidates, key=lambda s: linearised.part(s).program.operations)
            size, alone = (linearised.part(s).program.operations for s in (best, own))
            if (size - alone) * parts[own] <= worth * alone:
                chosen[own] = best
                continue
        kept.append(own)
        chosen[own] = own
    return chosen
