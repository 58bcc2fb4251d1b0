"""Fixed steps: rows taken through time by a compiled rollout, in calls short enough to be watched and interrupted."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sixd.api.manifold import integrate
from sixd.engine.functions import Function
from sixd.engine.public import declaration
from sixd.runtime.rollout import Rollout
from sixd.runtime.routine import new_array
from sixd.simulation.setup import Setup
from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.recipes import MIDPOINT, rollout, state_shapes
from sixd.spatial.scalar import Array
from sixd.trajectory.batching import batched

# operations of one call: some 0.1 s of one core, which does 1.2 to 3e10 in a second
_CALL = 2e9
_SHORTEST = 8  # steps of a call: reading and writing rows costs about one
_LONGEST = 4096  # records of a call
STEP = 1e-3  # s, if none is given

_MOMENTUM = Function("momentum", midpoint.momentum, ("q", "qd"), named=False, judged=False)
_VELOCITY = Function("velocity", midpoint.velocity, ("q", "p"), {"p": ("nv",)}, named=False, judged=False)


class Records(NamedTuple):
    """States at some steps: q (rows, r, nq), qd (rows, r, nv), u (rows, r, nu), held forces tau (rows, r, nv)."""

    steps: Array
    q: Array
    qd: Array
    u: Array
    tau: Array | None

    def chosen(self, which: Array) -> Records:
        """Some of them, by numbers or by a mask."""
        tau = None if self.tau is None else self.tau[:, which]
        return Records(self.steps[which], self.q[:, which], self.qd[:, which], self.u[:, which], tau)


class Sheets:
    """Arrays (rows, records, …) for all records of q, qd and u, filled from the first on."""

    def __init__(self, setup: Setup, records: int) -> None:
        system, dtype = setup.problem.system, np.dtype(setup.dtype)
        widths = {"q": system.nq, "qd": system.nv, "u": setup.problem.nu}
        self.arrays = {name: new_array((setup.rows, records, width), dtype) for name, width in widths.items()}
        self.records, self.used = records, 0

    def place(self, name: str, count: int) -> Array | None:
        """Where the next records go; one beyond those that are kept lies where the next will be."""
        if name not in self.arrays:
            return None
        assert self.used + count <= self.records
        return self.arrays[name][:, self.used : self.used + count]


class Runner:
    """The rows of a setup under way, with a step of length h [s]."""

    def __init__(self, setup: Setup, method: str, h: float, start: float = 0.0) -> None:
        self.method, self.h = method, h
        self.rollout: Rollout = rollout(setup.problem, method, setup.dtype)
        self._begin(setup, h, start)

    def elsewhere(self, setup: Setup, h: Array, start: float) -> Runner:
        """The same code on other rows of the problem at the time ``start``, each with a step (rows,) of its own."""
        other = copy.copy(self)
        other._begin(setup, h, start)
        return other

    def _begin(self, setup: Setup, h: Any, start: float) -> None:
        self.setup, self.start = setup, start
        self._steps = h  # one for all rows, or one for each
        problem, method = setup.problem, self.method
        # the group's exponential of nothing: quaternions of unit length
        q = setup.q if problem.system.nq == problem.system.nv else self._unit()
        self.state: dict[str, Array] = {
            "steps": np.zeros(setup.rows, setup.dtype),
            "q": q,
            "qd": setup.qd,
            "u": setup.u,
        }
        self.constants = {name: x.copy() for name, x in setup.constants.items()}
        self._now = 0  # steps done
        self._velocity: Callable[..., Array] | None = None
        if method == MIDPOINT:
            self._velocity = self._on_rows(_VELOCITY, problem.parameters)
            self.state["p"] = self._on_rows(_MOMENTUM, problem.parameters)(q, setup.qd, *self._parameters())
            self.state["v"] = setup.qd

    def _on_rows(self, function: Function, parameters: tuple[str, ...]) -> Callable[..., Array]:
        problem = self.setup.problem
        return batched(problem.where, function, problem.system, parameters, self.setup.dtype)

    def _unit(self) -> Array:
        # without symbols no parameter has a part in it
        names = self.setup.problem.parameters if self.setup.problem.system.symbols else ()
        move = self._on_rows(declaration(integrate), names)
        return move(self.setup.q, np.zeros_like(self.setup.qd), *(self.setup.constants[name] for name in names))

    def _parameters(self) -> list[Array]:
        return [self.constants[name] for name in self.setup.problem.parameters]

    @property
    def velocity(self) -> Array:
        """qd (rows, nv) now."""
        if self._velocity is None:
            return self.state["qd"]
        return self._velocity(self.state["q"], self.state["p"], *self._parameters())

    def advance(self, marks: list[int], kept: int, sheets: Sheets | None) -> Records:
        """Go on to the steps ``marks``, one after the other; the records of the first ``kept`` of them."""
        problem, dtype = self.setup.problem, self.setup.dtype
        names = tuple(state_shapes(problem, self.method))
        counts = np.diff([self._now, *marks])
        numbers = [np.array(x, dtype, ndmin=1) for x in (self._steps, self.start)]
        constants = [*numbers, *(self.constants[name] for name in problem.constants)]
        out = [None if sheets is None else sheets.place(name, len(marks)) for name in names]
        found = dict(zip(names, self.rollout(counts, [self.state[n] for n in names], constants, out), strict=True))
        self.state |= {name: x[:, -1].copy() for name, x in found.items()}
        self._now = marks[-1]
        q = found["q"][:, :kept]
        if self._velocity is not None:
            qd = self._velocity(q, found["p"][:, :kept], *(x[:, None] for x in self._parameters()))
            if sheets is not None:
                sheets.arrays["qd"][:, sheets.used : sheets.used + kept] = qd
        else:
            qd = found["qd"][:, :kept]
        u = found["u"][:, :kept] if problem.nu else np.zeros((*qd.shape[:2], 0), dtype)
        if sheets is not None:
            sheets.used += kept
        return Records(np.array(marks[:kept], dtype=int), q, qd, u, None)

    def run(
        self, marks: Array, told: Callable[[int], Any], sheets: Sheets | None = None, rest: float = 0.0
    ) -> Iterator[Records]:
        """Records at the steps ``marks``, in pieces; ``told`` hears how many steps are done. With sheets, records are
        written there, and pieces are views of them. ``rest``: the length of the last step, if it is a shorter one."""
        sampled = self.setup.sampled
        last = int(marks[-1])
        if sampled is None:
            yield from self._stretch(marks, last, told, sheets)
            return
        every = 1 if sampled.interval is None else max(1, round(sampled.interval / self.h))
        # from sample to sample, and a shorter step by itself
        first, ends = 0, [*range(every, last, every), *([last - 1] if rest and (last - 1) % every else []), last]
        for end in ends:
            if self._now % every == 0:
                t = self.start + self._now * self.h
                tau = sampled(t, self.state["q"], self.velocity).astype(self.setup.dtype)
                self.constants["tau"] = tau
            if rest and end == last:  # the number of steps times the step stays the time
                self.start, self._steps = self.start + self._now * (self.h - rest), rest
            # a record at a sample has the force that begins there
            stop = len(marks) if end == last else int(np.searchsorted(marks, end))
            for part in self._stretch(marks[first:stop], end, told, sheets):
                yield part._replace(tau=np.repeat(tau[:, None], len(part.steps), axis=1))
            first = stop

    def _stretch(self, marks: Array, end: int, told: Callable[[int], Any], sheets: Sheets | None) -> Iterator[Records]:
        """Records at the marks, then on to the step ``end``, in calls of a bounded number of operations."""
        limit = max(_SHORTEST, int(_CALL / max(self.rollout.operations * self.setup.rows, 1)))
        at, count = 0, len(marks)
        while at < count or self._now < end:
            furthest = self._now + limit
            stop = min(int(np.searchsorted(marks, furthest, side="right")), at + _LONGEST)
            call = marks[at:stop].tolist()
            kept, goal = len(call), min(end, furthest)
            # a stop on the way, or at a sample, that is not kept
            if (not call or call[-1] < goal) and (stop == count or marks[stop] > goal):
                call.append(goal)
            found = self.advance(call, kept, sheets)
            at = stop
            if kept:
                yield found
            told(self._now)  # last: who is told may interrupt, and what was found is kept
