"""Where the arrays of a recipe are in memory: arrays that are not needed at the same time share it.

A step of a go2 with rigid contact on 16 points has 9,000 entries, of which 2,100 are needed at once: a vector of eight
states of them fits into the cache of a core, and many more rows into that of a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from sixd.trace.recipe import EachRow, Loop, Recipe, Repeated, Shape, TableCall, Work, reads_of

Span = tuple[int, int]  # of the numbers of works, both included


class _Lifetimes:
    """The spans of works in which arrays hold values that are needed."""

    def __init__(self, memory: Mapping[str, Shape]) -> None:
        self.now, self.memory = 0, memory
        self.spans: dict[str, Span] = {}
        self.starts: list[tuple[int, Loop]] = []  # of loops

    def touch(self, names: Iterable[str]) -> None:
        """Arrays are read or written by the work ``now``."""
        for name in names:
            first, last = self.spans.get(name, (self.now, self.now))
            self.spans[name] = min(first, self.now), max(last, self.now)

    def works(self, works: Sequence[Work]) -> None:
        """Go through works in order."""
        for work in works:
            self.now += 1
            if isinstance(work, Loop):
                self._loop(work)
            else:
                when = work.when if isinstance(work, TableCall) else ""
                self.touch((*work.inputs, *work.outputs, *([when] if when else [])))

    def _loop(self, loop: Loop) -> None:
        """Arrays that a loop takes from before, or from one iteration to the next, are needed until its end."""
        kept = [*loop.outputs, *([loop.when] if loop.when else [])]
        if isinstance(loop, EachRow):
            kept += (*loop.sources, *loop.rows_in)
        else:
            kept += (*loop.tape, *(name for pair in loop.rewinds for name in pair), *([loop.made] if loop.made else []))
        self.starts.append((self.now, loop))
        self.touch((*loop.inputs, *kept))
        before = dict(self.spans)
        carried = self._needed(loop.works) - before.keys() - set(loop.outputs)
        self.touch(carried)
        self.works(loop.works)
        self.now += 1
        self.touch((*loop.results, *kept, *carried))
        self.touch(name for name, (_, last) in before.items() if self.spans[name][1] > last)

    def _needed(self, works: Sequence[Work]) -> set[str]:
        """Return the arrays of which works need what was there before."""
        needed: set[str] = set()
        written: set[str] = set()
        for work in works:
            needed |= set(reads_of(work)) - written
            whole = set(work.outputs)
            if isinstance(work, TableCall):
                whole = self._whole(work)
                needed |= set(work.outputs) - whole - written  # what it does not write stays
            elif isinstance(work, Loop):
                needed |= self._needed(work.works) - written - whole
            written |= whole
        return needed

    def _whole(self, table: TableCall) -> set[str]:
        """Return the outputs of a table that are written as a whole."""
        columns = zip(table.outputs, table.program.outputs, table.parts[len(table.inputs) :], table.added, strict=True)
        return {
            name
            for name, slot, parts, is_added in columns
            if is_added or table.when or len(set(parts or (0,))) * len(slot.entries) == math.prod(self.memory[name])
        }

    def joined(self, lasting: Iterable[str]) -> dict[str, str]:
        """The arrays with which loops begin that are needed for nothing else, with those of the loops: they can be in
        the same place, and need not be copied."""
        pairs: dict[str, str] = {}
        for begin, loop in self.starts:
            for first, name in zip(loop.inputs, loop.outputs, strict=True):
                ends = self.spans[first][1] == begin
                if ends and first not in pairs and not {first, name} & set(lasting):
                    pairs[first] = name
        return pairs


def placed(recipe: Recipe, names: Iterable[str]) -> tuple[dict[str, int], int]:
    """Return the first entries of these arrays, and the number of entries of all. The recipe's inputs and what it
    returns have entries of their own."""
    lifetimes = _Lifetimes(recipe.memory)
    lasting = (*recipe.inputs, *recipe.results, *(recipe.recorded or ()), *([recipe.guard] if recipe.guard else []))
    # the parts of a step may be those of a loop over many steps
    lasting += tuple(name for work in recipe.works if isinstance(work, Repeated) for name in work.outputs)
    lifetimes.touch(lasting)
    lifetimes.works(recipe.works)
    lifetimes.now += 1
    lifetimes.touch(lasting)
    size = {name: math.prod(recipe.memory[name]) for name in names}
    spans = {name: lifetimes.spans.get(name, (0, lifetimes.now)) for name in size}
    joined = {a: b for a, b in lifetimes.joined(lasting).items() if a in size and b in size}
    place = {}  # of an array, the last one in its place
    for array in joined:
        place[array] = joined[array]
        while place[array] in joined:
            place[array] = joined[place[array]]
        own, other = spans[array], spans[place[array]]
        spans[place[array]] = min(own[0], other[0]), max(own[1], other[1])
    starts = _starts({name: spans[name] for name in size if name not in joined}, size)
    starts |= {name: starts[last] for name, last in place.items()}
    return starts, max((starts[name] + size[name] for name in starts), default=0)


def _starts(spans: Mapping[str, Span], size: Mapping[str, int]) -> dict[str, int]:
    """Return the first entries of arrays, large ones first, each where there is room during its span."""
    starts: dict[str, int] = {}
    for name in sorted(spans, key=lambda name: -size[name]):
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
    return starts
