"""The results of an ensemble's chunks, joined into one Trajectory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from sixd.simulation.collect import make_trajectory
from sixd.simulation.diagnostics import first_divergence
from sixd.simulation.ensemble.job import PER_SIMULATION, ChunkResult, Span
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.fixed import StateRecords
from sixd.simulation.user_warnings import warn
from sixd.spatial.scalar import Array
from sixd.trajectory.trajectory import Trajectory


class Results:
    """The results of ``count`` simulations; the first chunk determines the number of records."""

    def __init__(self, setup: Setup, count: int) -> None:
        self.setup, self.count = setup, count
        self.done = np.zeros(count, dtype=bool)
        self.interrupted = False
        self.t = np.zeros(0)
        self.arrays: dict[str, Array] = {}
        self.facts: dict[str, Any] = {}
        self.cpus: set[str] = set()

    def collect(self, chunks: Iterator[tuple[Span, ChunkResult]], on_progress: Callable[[float], None]) -> None:
        """Store all chunks; call ``on_progress(simulations)`` after each."""
        with contextlib.closing(chunks):  # type: ignore[type-var]
            for (first, stop), result in chunks:
                self._store(first, stop, result)
                on_progress(int(self.done.sum()))
            assert self.done.all()

    @contextlib.contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Leave a ``with`` statement upon Ctrl-C, and keep what is complete."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True

    def _store(self, first: int, stop: int, result: ChunkResult) -> None:
        if not self.arrays:
            self.t = result.t
            is_all = stop - first == self.count  # one chunk: its arrays are used as they are
            self.arrays = {
                name: x if is_all else np.empty((self.count, *x.shape[1:]), x.dtype)
                for name, x in result.arrays.items()
            }
            lists = {name: [None] * self.count for name in PER_SIMULATION if name in result.facts}
            self.facts = {**result.facts, **lists}
        for name, x in result.arrays.items():
            if self.arrays[name] is not x:
                self.arrays[name][first:stop] = x
        for name in PER_SIMULATION:
            if name in self.facts:
                self.facts[name][first:stop] = result.facts[name]
        self.cpus.add(result.cpu)
        self.done[first:stop] = True

    def trajectory(self, facts: Mapping[str, Any]) -> Trajectory:
        """Return the trajectory of all simulations, in order; missing ones are NaN. Without any: the initial states."""
        if not self.done.any():
            state = {"q": self.setup.q, "qd": self.setup.qd, "internal": self.setup.u}
            if self.setup.problem.law is not None or self.setup.sampled is not None:
                state["tau"] = np.full_like(self.setup.qd, np.nan)  # it was not called
            self.t, self.arrays, self.facts = np.zeros(1), {name: x[:, None] for name, x in state.items()}, {}
        elif not self.done.all():
            for x in self.arrays.values():
                x[~self.done] = np.nan
        names = ("q", "qd", "internal", "tau", "friction")
        records = StateRecords(self.t, *(self.arrays.get(name) for name in names))  # type: ignore[arg-type]
        result: Trajectory = make_trajectory(self.setup, records, {**self.facts, **facts}, self.interrupted)
        for text in self._warnings(result):
            warn(self.setup.problem.where, text)
        return result

    def _warnings(self, result: Trajectory) -> Iterator[str]:
        """Yield the texts of warnings."""
        complete = int(self.done.sum())
        if self.interrupted:
            rest = "the others are NaN" if complete else "only initial states are known"
            yield f"interrupted when {complete} of {self.count} simulations were complete; {rest}."
        failed = result.failed - (self.count - complete) if complete else 0
        if failed:
            first = first_divergence(result.row(self.done))
            since = "" if first is None or not first.joint else f", from t = {first.t:g} s on{first.joint}"
            yield (
                f"{failed} of {self.count} simulations are not finite at the end{since}: a step that is too long, a "
                f"singular state, an event that ended them, or constraints in a dead centre. trajectory.failed counts "
                f"them."
            )
        if len(self.cpus) > 1:
            yield (
                f"CPUs of {len(self.cpus)} kinds were used, so that last digits may differ from those of another run."
            )
