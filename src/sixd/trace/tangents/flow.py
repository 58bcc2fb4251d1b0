"""Which arrays of a recipe change along which directions.

Directions come in blocks, such as those of the configuration, or those of the joint forces. Before a tangent of a
recipe is made, this finds for each array the blocks along which it changes, and for each program the sets of inputs
that change together. A loop whose state does not come to change along more blocks than at its start carries its
tangents along. Of any other loop (the parts of a step with contact) each iteration is differentiated with respect to
its own state, along unit directions, and the chain rule leads on from the iterations before.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sixd.trace.program import Program
from sixd.trace.recipe import (
    EachRow,
    ProgramCall,
    Recipe,
    Repeated,
    Shape,
    TableCall,
    Work,
    reads_of,
    renamed,
    require_known_derivatives,
)
from sixd.trace.tangents.linear import Linearised, Set

Block = str
Blocks = frozenset[Block]
_NONE: Blocks = frozenset()


@dataclass
class LoopPlan:
    """What a loop's tangents are: the ``blocks`` of its state, and of the state that is a block of its own in each
    iteration, the block's name."""

    blocks: dict[str, Blocks]
    own: dict[str, Block] = field(default_factory=dict)


class Flow:
    """The blocks of arrays, along the works of a recipe; ``sizes`` has the number of directions of each block."""

    def __init__(self, shapes: Mapping[str, Shape], sizes: Mapping[Block, int], dtype: str) -> None:
        self.shapes, self.sizes, self.dtype = dict(shapes), dict(sizes), dtype
        self.programs: dict[int, Program] = {}
        self.wanted: dict[int, set[int]] = defaultdict(set)
        self.linearised: dict[int, Linearised] = {}
        self.sets: dict[int, dict[Set, int]] = defaultdict(lambda: defaultdict(int))
        self.plans: dict[int, LoopPlan] = {}
        self.smooth: dict[int, Recipe] = {}  # of loops, by id, with names of arrays of their own
        self._made: dict[Any, Program | Recipe] = {}

    def analyse(self, works: Sequence[Work], blocks: Mapping[str, Blocks]) -> None:
        """Find what the attributes hold, from the blocks of the inputs."""
        self._is_exact = False
        self._follow(works, {name: frozenset("x") for name, own in blocks.items() if own}, True)
        self.linearised = {
            key: Linearised(self.programs[key], wanted, self.dtype) for key, wanted in self.wanted.items()
        }
        self._is_exact = True
        self._follow(works, dict(blocks), True)

    def _follow(self, works: Sequence[Work], blocks: dict[str, Blocks], is_final: bool) -> None:
        """Add the blocks of what the works compute; ``is_final``: keep what programs and loops need."""
        for work in works:
            if isinstance(work, Repeated):
                self._loop(work, blocks, is_final)
                continue
            require_known_derivatives([work])
            assert not isinstance(work, EachRow)
            count = work.rows if isinstance(work, TableCall) else 1
            blocks.update(self._call(work.program, work.inputs, work.outputs, blocks, is_final * count))

    def _call(
        self, program: Program, inputs: Sequence[str], outputs: Sequence[str], blocks: Mapping[str, Blocks], count: int
    ) -> dict[str, Blocks]:
        """The blocks of the outputs of a program; ``count``: of how many calls to keep the sets, none if 0."""
        has = [blocks.get(name, _NONE) if math.prod(self.shapes[name]) else _NONE for name in inputs]
        if not any(has):
            return dict.fromkeys(outputs, _NONE)
        if not self._is_exact:
            self.programs[id(program)] = program
            self.wanted[id(program)].update(k for k, own in enumerate(has) if own)
            return dict.fromkeys(outputs, frozenset("x"))
        linearised = self.linearised[id(program)]
        if count:
            for block, own in sets_of(linearised, has).items():
                self.sets[id(program)][own] += count * self.sizes[block]
        every = {block for own in has for block in own}
        return {
            name: frozenset(b for b in every if linearised.depends(k, [j for j, own in enumerate(has) if b in own]))
            for k, name in enumerate(outputs)
        }

    # loops -------------------------------------------------------------------------------------------

    def _loop(self, work: Repeated, blocks: dict[str, Blocks], is_final: bool) -> None:
        if work.smooth is not None:
            self._smooth(work, blocks, is_final)
            return
        plan = self._fixed_point(work, blocks)
        start = {o: blocks.get(i, _NONE) for i, o in zip(work.inputs, work.outputs, strict=True)}
        read = {name for part in work.works for name in reads_of(part)}
        loses = any(start[name] and start[name] != own for name, own in plan.blocks.items() if name in read)
        if work.most > 1 and loses and self._is_exact:
            plan.own = {name: f"{name} of the loop" for name, own in plan.blocks.items() if own}
            self.sizes |= {plan.own[name]: math.prod(self.shapes[name]) for name in plan.own}
        if is_final:
            self.plans[id(work)] = plan
            inside = dict(blocks)
            inside |= {o: frozenset([plan.own[o]]) if o in plan.own else own for o, own in plan.blocks.items()}
            self._follow(work.works, inside, True)
        blocks |= plan.blocks

    def _fixed_point(self, work: Repeated, blocks: Mapping[str, Blocks]) -> LoopPlan:
        """The blocks of a loop's state, which an iteration does not change."""
        now = {o: blocks.get(i, _NONE) for i, o in zip(work.inputs, work.outputs, strict=True)}
        while True:
            inside = {**blocks, **now}
            self._follow(work.works, inside, False)
            after = {o: now[o] | inside.get(r, _NONE) for o, r in zip(work.outputs, work.results, strict=True)}
            if after == now or work.most == 1:
                return LoopPlan(after)
            now = after

    def _smooth(self, work: Repeated, blocks: dict[str, Blocks], is_final: bool) -> None:
        """A loop that is differentiated at its solution: by a smooth function of what it reads."""
        recipe = self.smooth_recipe(work)
        reads = {name: blocks.get(name, _NONE) for name in work.reads}
        begin = {**dict.fromkeys(work.outputs, _NONE), **reads}
        plan = LoopPlan(self._results(work, recipe, begin, False))
        changing = [name for name, own in plan.blocks.items() if own]
        # whether what changes depends on itself: then it is a fixed point. Recipes hold the loop's outputs
        is_program = isinstance(self._made[work.smooth], Program)
        unit = {**dict.fromkeys(begin, _NONE), **{name: frozenset(["own"]) for name in changing}}
        loops = (
            {name for own in self._results(work, recipe, unit, False).values() for name in own} if is_program else ()
        )
        if loops:
            every = frozenset(block for own in plan.blocks.values() for block in own)
            plan.blocks = {name: every if own else own for name, own in plan.blocks.items()}
            if self._is_exact:
                plan.own = {name: f"{name} of the loop" for name in changing}
                self.sizes |= {plan.own[name]: math.prod(self.shapes[name]) for name in changing}
                begin |= {name: frozenset([block]) for name, block in plan.own.items()}
            else:
                begin |= dict.fromkeys(changing, frozenset("x"))
        if is_final:
            self.plans[id(work)] = plan
            self._results(work, recipe, begin, True)
        blocks |= plan.blocks

    def _results(
        self, work: Repeated, recipe: Recipe, begin: Mapping[str, Blocks], is_final: bool
    ) -> dict[str, Blocks]:
        """The blocks of the outputs of a loop's smooth function."""
        inside = dict(begin)
        self._follow(recipe.works, inside, is_final)
        return {o: inside.get(r, _NONE) for o, r in zip(work.outputs, recipe.results, strict=True)}

    def smooth_recipe(self, work: Repeated) -> Recipe:
        """The smooth function of a loop as works on arrays with names of their own; its inputs are the loop's outputs
        and what it reads."""
        if id(work) in self.smooth:
            return self.smooth[id(work)]
        assert work.smooth is not None
        if work.smooth not in self._made:
            self._made[work.smooth] = work.smooth()
        made, outside = self._made[work.smooth], (*work.outputs, *work.reads)
        if isinstance(made, Program):
            names = tuple(f"{work.outputs[0]} smooth {k}" for k in range(len(made.outputs)))
            memory = dict(zip(names, (slot.shape for slot in made.outputs), strict=True))
            call = ProgramCall(made, self._inputs_of(work, made), names)
            recipe = Recipe(memory, (), (), (call,), names)
        else:
            to = dict(zip(made.inputs, outside, strict=True))
            to |= {name: f"{work.outputs[0]} smooth {name}" for name in made.memory if name not in to}
            memory = {to[name]: shape for name, shape in made.memory.items() if name not in made.inputs}
            works = tuple(renamed(part, to) for part in made.works)
            recipe = Recipe(memory, (), (), works, tuple(to[name] for name in made.results))
        self.shapes |= recipe.memory
        self.smooth[id(work)] = recipe
        return recipe

    @staticmethod
    def _inputs_of(work: Repeated, program: Program) -> tuple[str, ...]:
        """The arrays of a smooth program: the loop's outputs, and what its only call reads besides."""
        names = (*work.outputs, *work.reads)
        assert len(names) == len(program.inputs)
        return names


def sets_of(linearised: Linearised, has: Sequence[Iterable[Block]]) -> dict[Block, Set]:
    """The inputs that change along each block, if some output depends on them; ``has``: the blocks of each input."""
    sets: dict[Block, set[int]] = defaultdict(set)
    for k in sorted(linearised.reading):
        for block in has[k]:
            sets[block].add(k)
    return {block: frozenset(own) for block, own in sets.items()}
