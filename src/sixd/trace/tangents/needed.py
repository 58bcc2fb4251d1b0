"""The works of a recipe that some of its arrays need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sixd.trace.recipe import Repeated, Work, reads_of, written_by


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
