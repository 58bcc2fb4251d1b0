"""Where the arrays of a recipe are in memory: arrays that are not needed at the same time share it.

A step of a go2 with rigid contact on 16 points has 9,000 entries, of which 2,300 are needed at once: a vector of eight
states of them fits into the cache of a core, and many more rows into that of a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sixd.trace.recipe import Recipe, Repeated, TableCall, Work

Span = tuple[int, int]  # of the numbers of works, both included


class _Lifetimes:
    """The spans of works in which arrays hold values that are needed."""

    def __init__(self) -> None:
        self.now = 0
        self.spans: dict[str, Span] = {}

    def touch(self, names: Iterable[str]) -> None:
        """Arrays are read or written by the work ``now``."""
        for name in names:
            first, last = self.spans.get(name, (self.now, self.now))
            self.spans[name] = min(first, self.now), max(last, self.now)

    def works(self, works: Sequence[Work]) -> None:
        """Go through works in order."""
        for work in works:
            self.now += 1
            if isinstance(work, Repeated):
                self._loop(work)
            else:
                when = work.when if isinstance(work, TableCall) else ""
                self.touch((*work.inputs, *work.outputs, *([when] if when else [])))

    def _loop(self, loop: Repeated) -> None:
        """Arrays that a loop takes from before, or from one iteration to the next, are needed until its end."""
        kept = [*loop.outputs, *loop.tape, *(name for pair in loop.rewinds for name in pair)]
        kept += [name for name in (loop.when, loop.made) if name]
        self.touch((*loop.inputs, *kept))
        before = dict(self.spans)
        self.works(loop.works)
        self.now += 1
        self.touch((*loop.results, *kept))
        self.touch(name for name, (_, last) in before.items() if self.spans[name][1] > last)


def placed(recipe: Recipe, names: Iterable[str]) -> tuple[dict[str, int], int]:
    """Return the first entries of these arrays, and the number of entries of all. The recipe's inputs and what it
    returns have entries of their own."""
    lifetimes = _Lifetimes()
    lasting = (*recipe.inputs, *recipe.results, *(recipe.recorded or ()), *([recipe.guard] if recipe.guard else []))
    # the parts of a step may be those of a loop over many steps
    lasting += tuple(name for work in recipe.works if isinstance(work, Repeated) for name in work.outputs)
    lifetimes.touch(lasting)
    lifetimes.works(recipe.works)
    lifetimes.now += 1
    lifetimes.touch(lasting)
    size = {name: math.prod(recipe.memory[name]) for name in names}
    spans = {name: lifetimes.spans.get(name, (0, lifetimes.now)) for name in size}
    starts: dict[str, int] = {}
    for name in sorted(size, key=lambda name: -size[name]):
        (first, last), at = spans[name], 0
        neighbours = sorted(
            (starts[other], starts[other] + size[other])
            for other in starts
            if spans[other][0] <= last and first <= spans[other][1]
        )
        for begin, end in neighbours:
            if begin >= at + size[name]:
                break
            at = max(at, end)
        starts[name] = at
    return starts, max((starts[name] + size[name] for name in starts), default=0)
