"""Tangents: a recipe that carries, with its arrays, their derivatives along many directions.

Each call of a program becomes a call of its linearised program, which also returns the coefficients of its linear part,
and a table of calls of that linear part: one for each direction. Directions are rows of arrays, and a loop in the code:
the code does not grow with their number. They come in blocks, such as those of q, of qd and of tau, and arrays have
rows only for the blocks along which they change (``flow.py``). A loop that converges is differentiated at its solution,
by its smooth function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sixd.spatial.scalar import where
from sixd.trace.recipe import ProgramCall, Repeated, Shape, TableCall, Work
from sixd.trace.tangents.arrays import TangentArrays
from sixd.trace.tangents.flow import Block, Flow, LoopPlan, sets_of
from sixd.trace.tangents.linear import Linearised, LinearPart, Set, covering

# times the operations of linear parts along all directions: a Jacobian and products with it must take less. For the end
# of a step of an anymal they take 200,000 fused operations instead of 570,000
_LESS = 0.7
_MOST = 100  # iterations of the tangents of a fixed point; each reduces their error as one of the loop does

Tangents = dict[str, dict[Block, str]]  # of arrays, by block: names of arrays (directions, …)


class _LinearCall(NamedTuple):
    """A linearised call: its coefficients (rows, …), and the rows and parts of its table."""

    work: ProgramCall | TableCall
    linearised: Linearised
    coefficients: str
    rows: int
    parts: tuple[Any, ...]
    added: tuple[bool, ...]


class TangentRecipe:
    """The works of a recipe with their tangents.

    ``seeds``: for each block its number of directions, and the tangents (directions, …) of inputs that change along
    it, as arrays of the memory. After :meth:`follow`, ``tangents`` has those of all arrays.
    """

    def __init__(self, memory: Mapping[str, Shape], dtype: str) -> None:
        self.arrays = TangentArrays(memory, dtype)
        self.works: list[Work] = []
        self.tangents: Tangents = {}
        self._is_smooth = False  # within a smooth function

    def follow(self, works: Sequence[Work], seeds: Mapping[Block, tuple[int, Mapping[str, str]]]) -> None:
        """Append the works with their tangents."""
        sizes = {block: n for block, (n, _) in seeds.items()}
        for block, (_, own) in seeds.items():
            for name, tangent in own.items():
                self.tangents.setdefault(name, {})[block] = tangent
        self.flow = Flow(self.arrays.memory, sizes, self.arrays.dtype)
        self.flow.analyse(works, {name: frozenset(own) for name, own in self.tangents.items()})
        self.arrays.memory |= self.flow.shapes
        self.chosen = {key: covering(sets, self.flow.linearised[key]) for key, sets in self.flow.sets.items()}
        self._follow(works)

    def _follow(self, works: Sequence[Work]) -> None:
        for work in works:
            if isinstance(work, ProgramCall):
                self._call(work)
            elif isinstance(work, TableCall):
                self._table(work)
            else:
                assert isinstance(work, Repeated)
                self._loop(work)

    def _loop(self, work: Repeated) -> None:
        if work.smooth is not None:
            self._smooth(work)
        elif self.flow.plans[id(work)].own:
            self._chained_loop(work, self.flow.plans[id(work)])
        else:
            self._carrying_loop(work, self.flow.plans[id(work)])

    # calls -------------------------------------------------------------------------------------------

    def _call(self, work: ProgramCall) -> None:
        self._linearised_call(work, 1, (None,) * (len(work.inputs) + len(work.outputs)), ())

    def _table(self, work: TableCall) -> None:
        self._linearised_call(work, work.rows, work.parts, work.added)

    def _linearised_call(
        self, work: ProgramCall | TableCall, rows: int, parts: tuple[Any, ...], added: tuple[bool, ...]
    ) -> None:
        """Append a call, or a table of calls, and tables of its linear part: for each block a row for each direction
        and row of the call."""
        linearised = self.flow.linearised.get(id(work.program))
        has = [list(self.tangents.get(name, {})) if self.arrays.size(name) else [] for name in work.inputs]
        sets = {} if linearised is None else sets_of(linearised, has)
        for name in work.outputs:
            self.tangents.pop(name, None)
        if linearised is None or not sets:
            self.works.append(work)
            return
        coefficients = self.arrays.new((rows, len(linearised.coefficients)))
        outputs = *work.outputs, coefficients
        if isinstance(work, TableCall):
            more = (*parts, tuple(range(rows))), (*added, False)
            self.works.append(TableCall(linearised.primal, work.inputs, outputs, *more, rows, work.when))
        else:
            self.works.append(ProgramCall(linearised.primal, work.inputs, outputs))
        call = _LinearCall(work, linearised, coefficients, rows, parts, added)
        units = {block: self._unit_input(call, block, own) for block, own in sets.items()}
        rest = {block: own for block, own in sets.items() if units[block] is None}
        for block, k in units.items():
            if k is not None:
                self._along_units(call, k, self._targets(call, block, frozenset([k])))
        if rest and self._is_worth_a_jacobian(call, rest):
            self._by_jacobian(call, rest)
            return
        chosen = self.chosen[id(work.program)]
        for block, own in rest.items():
            self._directions(call, block, own, linearised.part(chosen[own]))

    def _unit_input(self, call: _LinearCall, block: Block, own: Set) -> int | None:
        """The number of the only input that changes along a block, if it does along unit directions."""
        if len(own) != 1 or isinstance(call.work, TableCall):
            return None
        (k,) = own
        name = call.work.inputs[k]
        return k if self.arrays.is_unit(self.tangents[name][block], self.arrays.size(name)) else None

    def _targets(self, call: _LinearCall, block: Block, own: Set) -> dict[int, str]:
        """New arrays for the tangents of the outputs that change along a block."""
        n, targets = self.flow.sizes[block], {}
        for k, name in enumerate(call.work.outputs):
            if call.linearised.depends(k, own):
                targets[k] = self.tangents.setdefault(name, {})[block] = self.arrays.new((n, *self.arrays.memory[name]))
        return targets

    def _along_units(self, call: _LinearCall, k: int, targets: Mapping[int, str]) -> None:
        """Append the linear part along the unit directions of an input: a table for each group of its entries."""
        for group in call.linearised.groups[k]:
            part = call.linearised.unit_part(k, group)
            each = tuple(range(len(group)))
            inputs, outputs = (call.coefficients, self.arrays.unit(len(group))), tuple(targets[o] for o in part.makes)
            parts = (None, each, *(group for _ in part.makes))
            self.works.append(TableCall(part.program, inputs, outputs, parts, (False,) * len(outputs), len(group)))

    def _is_worth_a_jacobian(self, call: _LinearCall, sets: Mapping[Block, Set]) -> bool:
        """Whether the Jacobian of a call, and products with it, take fewer operations than its linear part.

        Not in smooth functions: they solve stiff systems, of which an inverse loses 8 digits (anymal in an impact).
        """
        linearised = call.linearised
        if isinstance(call.work, TableCall) or self._is_smooth:
            return False
        counts = {block: self.flow.sizes[block] for block in sets}
        alone = sum(linearised.operations(linearised.mask(own)) * counts[block] for block, own in sets.items())
        every = frozenset().union(*sets.values())
        together = sum(linearised.unit_operations(k) for k in every)
        return together + 2 * linearised.nonzeros * sum(counts.values()) < _LESS * alone

    def _by_jacobian(self, call: _LinearCall, sets: Mapping[Block, Set]) -> None:
        """Append the Jacobian of a call, and its products with the changes of the inputs along blocks."""
        work, linearised, every = call.work, call.linearised, frozenset[int]().union(*sets.values())
        rows: dict[tuple[int, int], str] = {}
        for k in sorted(every):
            mine = {
                o: self.arrays.new((self.arrays.size(work.inputs[k]), *self.arrays.memory[name]))
                for o, name in enumerate(work.outputs) if linearised.depends(o, {k})
            }  # fmt: skip
            self._along_units(call, k, mine)
            rows |= {(k, o): name for o, name in mine.items()}
        program, pairs = linearised.product(every)
        for block, own in sets.items():
            targets, each = self._targets(call, block, own), tuple(range(self.flow.sizes[block]))
            makes = [o for o in range(len(work.outputs)) if linearised.depends(o, every)]
            outputs = [
                targets[o] if o in targets else self.arrays.new((len(each), *self.arrays.memory[work.outputs[o]]))
                for o in makes
            ]
            read = [(k, work.inputs[k]) for k in sorted(every)]
            changes = [
                self.tangents[name][block] if k in own else self.arrays.zeros(self.arrays.size(name))
                for k, name in read
            ]
            parts = *(None for _ in pairs), *(each if k in own else None for k in sorted(every)), *(each for _ in makes)
            inputs = *(rows[pair] for pair in pairs), *changes
            self.works.append(TableCall(program, inputs, tuple(outputs), parts, (False,) * len(makes), len(each)))

    def _directions(self, call: _LinearCall, block: Block, own: Set, part: LinearPart) -> None:
        """Append the table of a linear part along the directions of a block."""
        work, n, inputs = call.work, self.flow.sizes[block], len(call.work.inputs)
        both = [(d, row) for row in range(call.rows) for d in range(n)]
        names: list[str] = [call.coefficients]
        places: list[tuple[int, ...] | None] = [tuple(row for _, row in both)]

        def place(k: int, name: str, slot: int) -> tuple[int, ...]:
            count = self.arrays.size(name) // slot if slot else 0
            if call.parts[k] is None:
                return tuple(d for d, _ in both)
            return tuple(d * count + call.parts[k][row] for d, row in both)

        for k in part.reads:
            name, slot = work.inputs[k], len(work.program.inputs[k].entries)
            names.append(self.tangents[name][block] if k in own else self.arrays.zeros(slot))
            places.append(place(k, name, slot) if k in own else None)
        targets, outputs = self._targets(call, block, own), []
        for k in part.makes:
            name, slot = work.outputs[k], len(work.program.outputs[k].entries)
            outputs.append(targets[k] if k in targets else self.arrays.new((n, *self.arrays.memory[name])))
            places.append(place(inputs + k, name, slot))
        is_added = tuple(bool(call.added) and call.added[k] for k in part.makes)
        when = self._repeated(work.when, n, call.rows) if isinstance(work, TableCall) and work.when else ""
        table = tuple(names), tuple(outputs), tuple(places), is_added
        self.works.append(TableCall(part.program, *table, len(both), when))

    def _repeated(self, when: str, n: int, rows: int) -> str:
        """The condition of each row of a table, for n directions of each."""
        copy = self.arrays.program("copy", lambda x: x, {"x": ()})
        name, parts = self.arrays.new((rows * n,)), (tuple(k // n for k in range(rows * n)), tuple(range(rows * n)))
        self.works.append(TableCall(copy, (when,), (name,), parts, (False,), rows * n))
        return name

    # loops -------------------------------------------------------------------------------------------

    def _inside(self, works: Sequence[Work], tangents: Tangents) -> list[Work]:
        """The works of an iteration with their tangents, from those of the loop's state."""
        outer, self.works = self.works, []
        self.tangents |= tangents
        self._follow(works)
        inside, self.works = self.works, outer
        return inside

    def _carrying_loop(self, work: Repeated, plan: LoopPlan) -> None:
        """Append a loop whose state has tangents, which it carries along."""
        state = [
            (name, block, self.arrays.new((self.flow.sizes[block], *self.arrays.memory[name])))
            for name, own in plan.blocks.items()
            for block in sorted(own)
        ]
        starts = dict(zip(work.outputs, work.inputs, strict=True))
        ends = dict(zip(work.outputs, work.results, strict=True))
        begin = tuple(self._tangent(starts[name], block, name) for name, block, _ in state)
        own: Tangents = {name: {} for name in work.outputs}
        for name, block, tangent in state:
            own[name][block] = tangent
        inside = self._inside(work.works, {name: dict(tangents) for name, tangents in own.items()})
        after = tuple(self._tangent(ends[name], block, name) for name, block, _ in state)
        self._append_loop(work, inside, begin, tuple(tangent for *_, tangent in state), after)
        self.tangents |= own

    def _append_loop(
        self, work: Repeated, inside: Sequence[Work], inputs: tuple[str, ...], outputs: tuple[str, ...],
        results: tuple[str, ...],
    ) -> None:  # fmt: skip
        loop = (*inputs, *work.inputs), (*outputs, *work.outputs), (*results, *work.results)
        self.works.append(Repeated(tuple(inside), *loop, work.most, work.when))

    def _tangent(self, name: str, block: Block, like: str) -> str:
        """The tangents of an array along a block; zeros if it does not change."""
        found = self.tangents.get(name, {}).get(block)
        return self.arrays.zeros(self.flow.sizes[block] * self.arrays.size(like)) if found is None else found

    def _chained_loop(self, work: Repeated, plan: LoopPlan) -> None:
        """Append a loop whose iterations are differentiated with respect to their own state, along unit directions: the
        first of them needs no products with the zeros of the tangents before it."""
        starts = dict(zip(work.outputs, work.inputs, strict=True))
        ends = dict(zip(work.outputs, work.results, strict=True))
        before: Tangents = {name: {} for name in work.outputs}
        for name, blocks in plan.blocks.items():
            before[name] = {
                block: self.arrays.new((self.flow.sizes[block], *self.arrays.memory[name])) for block in sorted(blocks)
            }
        begun = {name: dict(self.tangents.get(starts[name], {})) for name in work.outputs}
        local: Tangents = {
            name: {plan.own[name]: self.arrays.unit(self.arrays.size(name))} if name in plan.own else {}
            for name in work.outputs
        }
        inside = self._inside(work.works, local)

        after: Tangents = {name: {block: self.arrays.new(self.arrays.memory[t]) for block, t in own.items()}
                           for name, own in before.items()}  # fmt: skip
        first, is_later = self.arrays.new(()), self.arrays.new(())
        negated = self.arrays.program("later", lambda x: 1 - x, {"first": ()})
        inside.append(ProgramCall(negated, (first,), (is_later,)))
        for when, known in ((first, begun), (is_later, before)):
            products = [
                product
                for name in work.outputs
                for block, target in after[name].items()
                for product in self._chain(ends[name], name, block, target, plan, known)
            ]
            inside.append(Repeated(tuple(products), (), (), (), 1, when))
        state = [(name, block) for name, own in before.items() for block in own]
        inputs = (self.arrays.number(1.0), *(self._tangent(starts[name], block, name) for name, block in state))
        outputs = (first, *(before[name][block] for name, block in state))
        results = (self.arrays.number(0.0), *(after[name][block] for name, block in state))
        self._append_loop(work, inside, inputs, outputs, results)
        self.tangents |= before

    def _chain(
        self, result: str, name: str, block: Block, target: str, plan: LoopPlan, known: Tangents
    ) -> list[TableCall]:
        """The products of the tangents of an iteration's result along its own state with those of that state."""
        own, n, size = self.tangents.get(result, {}), self.flow.sizes[block], self.arrays.size(name)
        each = tuple(range(n))
        works: list[TableCall] = []
        terms = [own[block]] if block in own else []
        for x, local in plan.own.items():
            if local not in own or block not in known[x]:
                continue
            if self.arrays.is_unit(known[x][block], n):
                terms.append(own[local])  # a product with the unit matrix
                continue
            count = self.arrays.size(x)
            program = self.arrays.program(("scaled", size), lambda row, x: row * x, {"row": (size,), "x": ()})
            parts = [(k, d * count + k, d) for d in range(n) for k in range(count)]
            columns = tuple(tuple(column) for column in zip(*parts, strict=True))
            terms.append(self.arrays.new((n, *self.arrays.memory[name])))
            pair = own[local], known[x][block]
            works.append(TableCall(program, pair, (terms[-1],), columns, (True,), len(parts)))
        total = self.arrays.program(
            ("sum", size, len(terms)), partial(_sum, size), {f"x{k}": (size,) for k in range(len(terms))}
        )
        works.append(TableCall(total, tuple(terms), (target,), (each,) * (len(terms) + 1), (False,), n))
        return works

    def _smooth(self, work: Repeated) -> None:
        """Append a loop that is differentiated at its solution."""
        recipe, plan = self.flow.smooth_recipe(work), self.flow.plans[id(work)]
        self.works.append(work)
        for name in work.outputs:
            self.tangents[name] = {}
        if not any(plan.blocks.values()):
            return
        local = {name: {block: self.arrays.unit(self.arrays.size(name))} for name, block in plan.own.items()}
        self.tangents |= local
        outer, self._is_smooth = self._is_smooth, True
        self._follow(recipe.works)
        self._is_smooth = outer
        ends = dict(zip(work.outputs, recipe.results, strict=True))
        if plan.own:
            self._fixed_point(plan, ends)
            return
        for name, result in ends.items():
            self.tangents[name] = dict(self.tangents.get(result, {}))

    def _fixed_point(self, plan: LoopPlan, ends: Mapping[str, str]) -> None:
        """Append the tangents dy = S' dy + g of a fixed point, where g are those at fixed y: iterations like those of
        the loop itself, until the change of dy no longer shrinks."""
        state = [(name, block) for name in plan.own for block in sorted(plan.blocks[name])]
        now: Tangents = {name: {} for name in plan.own}
        inputs: list[str] = []
        results: list[str] = []
        works: list[Work] = []
        sizes: list[str] = []
        for name, block in state:
            inputs.append(self._tangent(ends[name], block, name))
            now[name][block] = self.arrays.new((self.flow.sizes[block], *self.arrays.memory[name]))
        for name, block in state:
            results.append(self.arrays.new((self.flow.sizes[block], *self.arrays.memory[name])))
            works += self._chain(ends[name], name, block, results[-1], plan, now)
            sizes.append(self.arrays.new((1,)))
            shape, each = self.arrays.memory[name], tuple(range(self.flow.sizes[block]))
            program = self.arrays.program(("distance", shape), _distance, {"new": shape, "old": shape})
            pair, parts = (results[-1], now[name][block]), (each, each, tuple(0 for _ in each))
            works.append(TableCall(program, pair, (sizes[-1],), parts, (True,), len(each)))
        left, done, left_after, done_after = (self.arrays.new(()) for _ in range(4))
        shapes: dict[str, Shape] = {"left": (), **{f"size{k}": (1,) for k in range(len(sizes))}}
        program = self.arrays.program(("shrinks", len(sizes)), _shrinks, shapes)
        works.append(ProgramCall(program, (left, *sizes), (left_after, done_after)))
        self.works.append(
            Repeated(
                tuple(works), (*inputs, self.arrays.number(np.inf), self.arrays.number(0.0)),
                (*(now[name][block] for name, block in state), left, done), (*results, left_after, done_after), _MOST,
            )
        )  # fmt: skip
        self.tangents |= now


def _sum(size: int, *terms: Any) -> Any:
    return sum(terms, np.zeros(size, dtype=int))


def _distance(new: Any, old: Any) -> Any:
    """The square of the distance of two arrays (1,)."""
    change = np.ravel(new - old)
    return np.array([change @ change])


def _shrinks(left: Any, *sizes: Any) -> tuple[Any, Any]:
    """The size of a change, and 1 unless it is smaller than that before."""
    total = sum(size[0] for size in sizes)
    return total, where((total < left) & (total > 0), 0, 1)
