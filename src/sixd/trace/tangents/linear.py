"""Linear parts of programs: how small changes of a program's inputs change its outputs.

The derivatives of y = f(x) along dx are linear in dx: dy = L(c) dx, where the coefficients c depend on x alone. A
linearised program computes y and c once; its linear part, another program, is then called for each direction. Its
variants are for directions that change some of the inputs alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from sixd.body_marks import listening
from sixd.spatial.scalar import where
from sixd.trace import derivative
from sixd.trace.expr import Expr, Graph
from sixd.trace.program import Program, Slot, live_nodes, make_program, trace
from sixd.trace.replay import apply, replay, shaped

# operations of a step that a linear part for fewer inputs must save for each operation of its code: with 30 the first
# call of an anymal on the ground takes 8 s, and LLVM 40 µs an operation of code
_WORTH = 30
# what the code of a linear part along unit directions counts, in directions, and a call, in operations. With groups the
# start of a step of an anymal takes 85,000 instead of 195,000 operations along q
_CODE, _CALL = 5, 50
_SMALL = 1500  # operations: shorter linear parts are for all entries of an input, since their calls would cost more

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
        self._parts: dict[Any, LinearPart] = {}
        self._products: dict[Set, tuple[Program, list[tuple[int, int]]]] = {}

    def _separate(self) -> None:
        """Find the nodes that depend on changes, and on those of which entries; all other operands are coefficients.
        Entries are bits of a mask, in the order of the inputs that may change."""
        entries = [e for own in self.changes.values() for e in own]
        masks = {e.index: 1 << k for k, e in enumerate(entries)}
        ends = dict(zip(self.changes, np.cumsum([0, *map(len, self.changes.values())]).tolist(), strict=False))
        self.bits = {k: tuple(1 << (ends[k] + j) for j in range(len(own))) for k, own in self.changes.items()}
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
        self.counts = Counter(masks[node.index] for node in self.linear)
        rates = iter(self.rates)
        self.masks = [[masks.get(next(rates).index, 0) for _ in slot.entries] for slot in self.program.outputs]
        self.whole = [reduce(or_, own, 0) for own in self.masks]
        self.inputs_mask = {k: sum(own) for k, own in self.bits.items()}

    def mask(self, inputs: Collection[int]) -> int:
        """The bits of inputs."""
        return sum(self.inputs_mask[k] for k in inputs)

    def depends(self, output: int, inputs: Collection[int]) -> bool:
        """Whether an output changes if one of these inputs does."""
        return bool(self.whole[output] & self.mask([k for k in inputs if k in self.bits]))

    def operations(self, mask: int) -> int:
        """The number of operations along changes of these entries."""
        return sum(count for own, count in self.counts.items() if own & mask)

    @cached_property
    def reading(self) -> Set:
        """The inputs on whose changes some output depends."""
        every = reduce(or_, self.whole, 0)
        return frozenset(k for k in self.wanted if every & self.inputs_mask[k])

    @cached_property
    def nonzeros(self) -> int:
        """The number of entries of its Jacobian that are not zero."""
        return sum(mask.bit_count() for own in self.masks for mask in own)

    @cached_property
    def groups(self) -> dict[int, list[tuple[int, ...]]]:
        """The entries of each input, in groups that are to have a linear part of their own along unit directions."""
        return {k: self._grouped(k) for k in self.wanted}

    def _grouped(self, k: int) -> list[tuple[int, ...]]:
        bits = self.bits[k]
        if self.operations(self.inputs_mask[k]) < _SMALL:
            return [tuple(range(len(bits)))]
        groups: list[tuple[int, ...]] = [(j,) for j in range(len(bits))]

        def cost(group: tuple[int, ...]) -> int:
            return (self.operations(sum(bits[j] for j in group)) + _CALL) * (len(group) + _CODE)

        costs = {group: cost(group) for group in groups}
        while len(groups) > 1:
            pairs = [(a, b) for i, a in enumerate(groups) for b in groups[i + 1 :]]
            for a, b in pairs:
                if a + b not in costs:
                    costs[a + b] = cost(a + b)
            a, b = min(pairs, key=lambda pair: costs[pair[0] + pair[1]] - costs[pair[0]] - costs[pair[1]])
            if costs[a + b] >= costs[a] + costs[b]:
                break
            groups = [group for group in groups if group not in (a, b)] + [a + b]
        return [tuple(sorted(group)) for group in groups]

    def unit_operations(self, k: int) -> int:
        """The number of operations along all unit directions of an input."""
        bits = self.bits[k]
        return sum(self.operations(sum(bits[j] for j in group)) * len(group) for group in self.groups[k])

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
            reads = tuple(sorted(own))
            entries = {k: tuple(range(len(self.changes[k]))) for k in reads}
            shapes = {k: self.program.inputs[k].shape for k in reads}
            self._parts[own] = self._make_part(reads, entries, shapes)
        return self._parts[own]

    def unit_part(self, k: int, group: tuple[int, ...]) -> LinearPart:
        """The linear part for changes of some entries of an input, which alone are its argument."""
        if (k, group) not in self._parts:
            self._parts[k, group] = self._make_part((k,), {k: group}, {k: (len(group),)})
        return self._parts[k, group]

    def _make_part(
        self, reads: tuple[int, ...], entries: Mapping[int, tuple[int, ...]], shapes: Mapping[int, Any]
    ) -> LinearPart:
        makes = tuple(k for k in range(len(self.whole)) if self.depends(k, reads))

        def changed(coefficients: Any, *changes: Any) -> tuple[Any, ...]:
            known: dict[int, Any] = {}
            for node, x in zip(self.coefficients, coefficients, strict=True):
                known[node.index] = x > 0.5 if node.op.boolean else x
            known |= {e.index: 0 for own in self.changes.values() for e in own}
            for k, x in zip(reads, changes, strict=True):
                values = np.ravel(np.asarray(x, dtype=object))
                known |= {self.changes[k][j].index: value for j, value in zip(entries[k], values, strict=True)}
            for node in self.linear:
                known[node.index] = apply(node.op, *(_value(known, a) for a in node.args))
            rates = iter(self.rates)
            results = []
            for k, slot in enumerate(self.program.outputs):
                own = [next(rates) for _ in slot.entries]
                if k in makes:
                    results.append(shaped([_value(known, e) for e in own], slot.shape))
            return tuple(results)

        named: dict[str, Any] = {"coefficients": (len(self.coefficients),)}
        named |= {f"change{k}": shapes[k] for k in reads}
        return LinearPart(trace(changed, named, self.dtype), reads, makes)

    def product(self, own: Set) -> tuple[Program, list[tuple[int, int]]]:
        """The program (rows of the Jacobian…, changes…) -> changes of the outputs, and the pairs of an input and an
        output whose rows (entries of the input, entries of the output) it reads."""
        if own not in self._products:
            self._products[own] = self._make_product(own)
        return self._products[own]

    def _make_product(self, own: Set) -> tuple[Program, list[tuple[int, int]]]:
        reads = tuple(sorted(own))
        makes = [o for o in range(len(self.whole)) if self.depends(o, own)]
        sizes = [len(slot.entries) for slot in self.program.outputs]
        pairs = [(k, o) for k in reads for o in makes if self.depends(o, {k})]

        def changed(*arrays: Any) -> tuple[Any, ...]:
            J = dict(zip(pairs, arrays, strict=False))
            changes = dict(zip(reads, arrays[len(pairs) :], strict=True))
            results = []
            for o in makes:
                entries: list[Any] = [0] * sizes[o]
                for k in reads:
                    x = np.ravel(np.asarray(changes[k], dtype=object))
                    for i, mask in enumerate(self.masks[o]):
                        for j, bit in enumerate(self.bits[k]):
                            if mask & bit:
                                entries[i] = entries[i] + J[k, o][j, i] * x[j]
                results.append(shaped(entries, self.program.outputs[o].shape))
            return tuple(results)

        shapes: dict[str, Any] = {f"J{k} {o}": (len(self.bits[k]), sizes[o]) for k, o in pairs}
        shapes |= {f"change{k}": self.program.inputs[k].shape for k in reads}
        return trace(changed, shapes, self.dtype), pairs


def _value(known: Mapping[int, Any], node: Expr) -> Any:
    return node.value if node.is_const else known[node.index]


def covering(parts: Mapping[Set, int], linearised: Linearised) -> dict[Set, Set]:
    """For sets of changing inputs, with the number of calls for each, the larger set whose linear part serves them.

    A set has a part of its own if that saves more operations of a step than its code is worth.
    """
    kept: list[Set] = []
    chosen: dict[Set, Set] = {}
    every = frozenset[int]().union(*parts)
    if sum(linearised.operations(linearised.mask(own)) for own in parts) > linearised.operations(
        linearised.mask(every)
    ):
        kept.append(every)
    for own in sorted(parts, key=lambda own: (-len(own), sorted(own))):
        candidates = [other for other in kept if own <= other]
        if candidates:
            best = min(candidates, key=lambda s: linearised.operations(linearised.mask(s)))
            size, alone = (linearised.operations(linearised.mask(s)) for s in (best, own))
            if (size - alone) * parts[own] <= _WORTH * alone:
                chosen[own] = best
                continue
        kept.append(own)
        chosen[own] = own
    return chosen
