"""Fixed steps: rows taken through time by a compiled rollout, in calls short enough to be watched and interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sixd.kernel import Kernel
from sixd.library import Function
from sixd.runtime.rollout import Rollout
from sixd.simulation import midpoint
from sixd.simulation.arguments import Setup
from sixd.simulation.kernels import MIDPOINT, rollout, state_shapes
from sixd.simulation.problem import Problem
from sixd.spatial.scalar import Array

# operations of one call: some 0.1 s of one core
_CALL = 5e8
_SHORTEST = 8  # steps of a call: reading and writing rows costs about one


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


class Runner:
    """The rows of a setup under way, with a step of length h [s]."""

    def __init__(self, setup: Setup, method: str, h: float, start: float = 0.0) -> None:
        self.setup, self.method, self.h, self.start = setup, method, h, start
        problem = setup.problem
        self.rollout: Rollout = rollout(problem, method, setup.dtype)
        # the group's exponential of nothing: quaternions of unit length
        q = setup.q if problem.system.nq == problem.system.nv else self._unit()
        self.state: dict[str, Array] = {
            "steps": np.zeros(setup.rows, setup.dtype),
            "q": q,
            "qd": setup.qd,
            "u": setup.u,
        }
        self.constants = {name: x.copy() for name, x in setup.constants.items()}
        self._velocity: Kernel | None = None
        if method == MIDPOINT:
            self._velocity = _kernel(problem, "velocity", midpoint.velocity, ("q", "p"), setup.dtype)
            momentum = _kernel(problem, "momentum", midpoint.momentum, ("q", "qd"), setup.dtype)
            self.state["p"] = momentum(q, setup.qd, *self._parameters())
            self.state["v"] = setup.qd

    def _unit(self) -> Array:
        problem, nothing = self.setup.problem, np.zeros_like(self.setup.qd)
        if not problem.system.symbols:
            return problem.system.integrate(self.setup.q, nothing)
        move = _kernel(
            problem, "move", lambda system, q, dq: system.integrate_row(q, dq), ("q", "dq"), self.setup.dtype
        )
        return move(self.setup.q, nothing, *(self.setup.constants[name] for name in problem.parameters))

    def _parameters(self) -> list[Array]:
        return [self.constants[name] for name in self.setup.problem.parameters]

    @property
    def velocity(self) -> Array:
        """qd (rows, nv) now."""
        if self._velocity is None:
            return self.state["qd"]
        return self._velocity(self.state["q"], self.state["p"], *self._parameters())

    def advance(self, marks: Array, keep: Array) -> Records:
        """Go on to the steps ``marks``, one after the other; the records of those that are to be kept."""
        problem, dtype = self.setup.problem, self.setup.dtype
        names = tuple(state_shapes(problem, self.method))
        now = round(float(self.state["steps"][0])) if self.setup.rows else 0
        counts = np.diff(marks, prepend=now)
        numbers = [np.array([x], dtype) for x in (self.h, self.start)]
        constants = [*numbers, *(self.constants[name] for name in problem.constants)]
        found = dict(zip(names, self.rollout(counts, [self.state[n] for n in names], constants), strict=True))
        self.state |= {name: np.ascontiguousarray(x[:, -1]) for name, x in found.items()}
        kept = {name: x[:, keep] for name, x in found.items()}
        if self._velocity is not None:
            qd = self._velocity(kept["q"], kept["p"], *(x[:, None] for x in self._parameters()))
        else:
            qd = kept["qd"]
        shape = qd.shape[:2]
        u = kept["u"] if problem.nu else np.zeros((*shape, 0), dtype)
        return Records(marks[keep], kept["q"], qd, u, None)

    def run(self, marks: Array, told: Callable[[int], Any]) -> Iterator[Records]:
        """Records at the steps ``marks``, in pieces; ``told`` hears how many steps are done."""
        sampled = self.setup.sampled
        if sampled is None:
            yield from self._stretch(marks, told)
            return
        every = 1 if sampled.interval is None else max(1, round(sampled.interval / self.h))
        step, last = 0, int(marks[-1])
        while step < last or step == 0:
            t = self.start + step * self.h
            tau = sampled(self.setup.problem.where, t, self.state["q"], self.velocity).astype(self.setup.dtype)
            self.constants["tau"] = np.ascontiguousarray(tau)
            end = min(step + every, last)
            # a record at a sample has the force that begins there
            inside = marks[slice(*np.searchsorted(marks, [step, end]))]
            for part in self._stretch(np.append(inside, end), told):
                forced = part._replace(tau=np.repeat(tau[:, None], len(part.steps), axis=1))
                chosen = np.isin(forced.steps, inside if end < last else np.append(inside, last))
                if chosen.any():
                    yield forced.chosen(chosen)
            step = end
            if last == 0:
                break

    def _stretch(self, marks: Array, told: Callable[[int], Any]) -> Iterator[Records]:
        """Records at the marks, in calls of a bounded number of operations."""
        limit = max(_SHORTEST, int(_CALL / max(self.rollout.operations * self.setup.rows, 1)))
        now = round(float(self.state["steps"][0])) if self.setup.rows else 0
        waiting: list[int] = []
        kept: list[bool] = []
        begin = now
        for mark in map(int, marks):  # no list: there may be many
            while mark - begin > limit:  # stops on the way, that are not kept
                begin += limit
                yield from self._flush([*waiting, begin], [*kept, False], told)
                waiting, kept = [], []
            waiting.append(mark)
            kept.append(True)
            if mark - begin >= limit or len(waiting) >= 4096:
                yield from self._flush(waiting, kept, told)
                waiting, kept, begin = [], [], mark
        yield from self._flush(waiting, kept, told)

    def _flush(self, marks: list[int], keep: list[bool], told: Callable[[int], Any]) -> Iterator[Records]:
        if marks:
            found = self.advance(np.array(marks), np.array(keep))
            if any(keep):
                yield found
            told(marks[-1])  # last: who is told may interrupt, and what was found is kept


def _kernel(problem: Problem, name: str, function: Callable[..., Any], arrays: tuple[str, str], dtype: str) -> Kernel:
    """``function(system, q, x)`` on batches, for a system with its parameters put in."""
    shapes = {n: problem.constants[n] for n in problem.parameters}

    def one(_: Any, q: Array, x: Array, *given: Array) -> Array:
        return function(problem.settled(dict(zip(shapes, given, strict=True))), q, x)

    # names with a blank, as a model's symbol may be called p
    cores = {f"the {arrays[0]}": (problem.system.nq,), f"the {arrays[1]}": (problem.system.nv,), **shapes}
    made = Function(name, one, tuple(cores), named=False, judged=False, shapes=cores)
    return Kernel(made, problem.system, (), dtype)
