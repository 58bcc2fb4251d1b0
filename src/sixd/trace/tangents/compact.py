"""The memory of recipes: without works that nothing needs, and with arrays that share memory one after the other.

Tangents of the arrays of a step take megabytes. Most are read soon after they are computed, and never again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sixd.trace.recipe import ProgramCall, Recipe, Repeated, Work, reads_of, renamed, written_by

_LARGER = 1.3  # times an array's size: that of an unused array whose place it may take (anymal: 4.7 instead of 14 MB)


def needed_works(works: Sequence[Work], needed: set[str]) -> list[Work]:
    """The works that arrays need, without parts of the state of loops that nothing needs; adds to ``needed`` what they
    read."""
    kept: list[Work] = []
    for work in reversed(works):
        if isinstance(work, Repeated):
            changed = _needed_loop(work, needed)
            if changed is not None:
                kept.append(changed)
        elif needed.intersection(work.outputs):
            kept.append(work)
            needed.update(reads_of(work))
    return kept[::-1]


def _needed_loop(work: Repeated, needed: set[str]) -> Repeated | None:
    if not needed.intersection(written_by(work)):
        return None
    live = {name for name in work.outputs if name in needed or work.tape or work.rewinds}
    if work.most > 1:
        live.add(work.outputs[-1])
    while True:
        own = {r for o, r in zip(work.outputs, work.results, strict=True) if o in live} | needed
        inside = needed_works(work.works, own)
        more = live | own.intersection(work.outputs)
        if more == live:
            break
        live = more
    kept = [k for k, name in enumerate(work.outputs) if name in live]
    inputs, outputs, results = (tuple(column[k] for k in kept) for column in (work.inputs, work.outputs, work.results))
    loop = replace(work, works=tuple(inside), inputs=inputs, outputs=outputs, results=results, smooth=None, reads=())
    needed.update(own, reads_of(loop))
    return loop


def names_of(work: Work) -> set[str]:
    """All arrays of a work."""
    if not isinstance(work, Repeated):
        return {*reads_of(work), *work.outputs}
    own = {*reads_of(work), *written_by(work), *work.inputs, *work.results}
    return own.union(*map(names_of, work.works)) - {""}


def compact(recipe: Recipe) -> Recipe:
    """The recipe with less memory: the state of a loop is where its start was, if that is not read again, and arrays
    that are no longer needed make room for others."""
    fixed = {*recipe.inputs, *recipe.results, *(recipe.recorded or ())}
    works = _in_place(recipe.works, fixed)
    compaction = _Compaction(recipe.memory, fixed)
    compaction.find(works)
    to = compaction.place
    works = [renamed(work, to) for work in works]
    used = {*recipe.inputs, *fixed}.union(*map(names_of, works))
    memory = {name: shape for name, shape in compaction.memory.items() if name in used}
    return replace(recipe, memory=memory, works=tuple(works))


def _in_place(works: Sequence[Work], after: set[str]) -> list[Work]:
    """The works, in whose loops the state has the place of its start where possible; ``after``: what is read later."""
    works, made = list(works), set[str]()
    for i, work in enumerate(works):
        if isinstance(work, Repeated):
            inner = {*work.results, *work.outputs}
            work = replace(work, works=tuple(_in_place(work.works, inner)))
            later = after.union(*(names_of(other) for other in works[i + 1 :]))
            inside = set[str]().union(*map(names_of, work.works), work.results)
            to = {
                o: start
                for start, o in zip(work.inputs, work.outputs, strict=True)
                if start != o and start in made and start not in later and start not in inside
                and o not in after and work.inputs.count(start) == 1
            }  # fmt: skip
            if to:
                every = {name: to.get(name, name) for name in names_of(work)}
                work = renamed(work, every)
                for k in range(i + 1, len(works)):
                    works[k] = renamed(works[k], {name: to.get(name, name) for name in names_of(works[k])})
            works[i] = work
        made |= written_by(work)
    return works


class _Compaction:
    """Places for arrays: ``place`` has for each name that of the array whose memory it takes."""

    def __init__(self, memory: Mapping[str, tuple[int, ...]], fixed: Iterable[str]) -> None:
        self.memory, self.fixed = dict(memory), set(fixed)
        self.place = {name: name for name in memory}
        self.sizes = {name: math.prod(shape) for name, shape in memory.items()}
        self.exact: set[str] = set()

    def find(self, works: Sequence[Work]) -> None:
        """Find places for the arrays of works, those in loops first."""
        uses: defaultdict[str, list[int]] = defaultdict(list)
        outside = set(self.fixed)
        for i, work in enumerate(works):
            if isinstance(work, Repeated):
                before = set(self.fixed)
                own = {*work.inputs, *work.outputs, *work.results, *reads_of(work)}
                # what other works use as well is not the loop's alone
                others = set[str]().union(*(names_of(other) for k, other in enumerate(works) if k != i))
                self.fixed |= own | others | outside
                self.find(work.works)
                self.fixed = before
                self.exact.update(work.inputs, work.outputs, work.results)
            elif isinstance(work, ProgramCall):
                self.exact.update(work.inputs)
            for name in {self.place[name] for name in names_of(work)}:
                uses[name].append(i)
        order = sorted((min(at), max(at), name) for name, at in uses.items() if name not in self.fixed)
        self._assign(order)

    def _assign(self, order: Sequence[tuple[int, int, str]]) -> None:
        free: list[str] = []
        busy: list[tuple[int, str]] = []
        for first, last, name in order:
            free += [place for end, place in busy if end < first]
            busy = [(end, place) for end, place in busy if end >= first]
            size = self.sizes[name]
            fits = [
                place for place in free
                if self.sizes[place] == size
                or (size < self.sizes[place] <= size * _LARGER and not {name, place} & self.exact)
            ]  # fmt: skip
            if fits and size > 1:
                chosen = min(fits, key=lambda place: self.sizes[place])
                free.remove(chosen)
                if name in self.exact:
                    self.exact.add(chosen)
                for old, place in self.place.items():
                    if place == name:
                        self.place[old] = chosen
            else:
                chosen = name
            busy.append((last, chosen))
