"""The rows of an ensemble as they come in: written where they belong, and made a Trajectory."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from sixd.errors import SimulationWarning
from sixd.simulation.collect import make_trajectory
from sixd.simulation.diagnostics import first_gone
from sixd.simulation.ensemble.job import PER_ROW, Result
from sixd.simulation.setup import Setup
from sixd.spatial.scalar import Array
from sixd.trajectory.trajectory import Trajectory


class Sheet:
    """Room for the results of ``count`` rows; made when the first come in, since they tell the records."""

    def __init__(self, setup: Setup, count: int) -> None:
        self.setup, self.count = setup, count
        self.done = np.zeros(count, dtype=bool)
        self.interrupted = False
        self.t = np.zeros(0)
        self.arrays: dict[str, Array] = {}
        self.facts: dict[str, Any] = {}
        self.processors: set[str] = set()

    def fill(self, results: Iterator[tuple[tuple[int, int], Result]], told: Callable[[float], Any]) -> None:
        """Write down all results; ``told`` hears how many rows are there. Ctrl-C ends it, if something is there."""
        with contextlib.closing(results):  # type: ignore[type-var]
            try:
                for (first, stop), result in results:
                    self._write(first, stop, result)
                    told(int(self.done.sum()))
                assert self.done.all()
            except KeyboardInterrupt:
                if not self.done.any():
                    raise
                self.interrupted = True

    def _write(self, first: int, stop: int, result: Result) -> None:
        if not self.arrays:
            self.t = result.t
            self.arrays = {name: np.empty((self.count, *x.shape[1:]), x.dtype) for name, x in result.arrays.items()}
            self.facts = {**result.facts, **{name: [None] * self.count for name in PER_ROW if name in result.facts}}
        for name, x in result.arrays.items():
            self.arrays[name][first:stop] = x
        for name in PER_ROW:
            if name in self.facts:
                self.facts[name][first:stop] = result.facts[name]
        self.processors.add(result.processor)
        self.done[first:stop] = True

    def trajectory(self, facts: Mapping[str, Any]) -> Trajectory:
        """All rows, in order; those that are missing are NaN."""
        for x in self.arrays.values():
            x[~self.done] = np.nan
        q, qd = self.arrays["q"], self.arrays["qd"]
        internal, tau = (self.arrays.get(name) for name in ("internal", "tau"))
        every = {**self.facts, **facts}
        found = make_trajectory(self.setup, self.t, q, qd, internal, tau, self.interrupted, every)
        for text in self._doubts(found):
            warnings.warn(f"{self.setup.problem.where}: {text}", SimulationWarning, stacklevel=3)
        return found

    def _doubts(self, found: Trajectory) -> Iterator[str]:
        missing = int(np.sum(~self.done))
        if self.interrupted:
            yield f"interrupted when {self.count - missing} of {self.count} rows were complete; the others are NaN."
        failed = found.failed - missing
        if failed:
            gone = first_gone(found.row(self.done))
            first = "" if gone is None or not gone.joint else f", from t = {gone.t:g} s on{gone.joint}"
            yield (
                f"{failed} of {self.count} rows are not finite at the end{first}: a step that is too long, a singular "
                f"state, an event that ended them, or constraints in a dead centre. trajectory.failed counts them."
            )
        if len(self.processors) > 1:
            yield (
                f"processors of {len(self.processors)} kinds took part, so that last digits may differ from those of "
                f"another run."
            )
