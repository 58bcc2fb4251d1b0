"""Fixed steps: a runner that advances all states by the compiled code of a method, and the records that it makes.

It calls that code for short times, so that progress can be shown and Ctrl-C works.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sixd.api.manifold import integrate
from sixd.engine.public import declaration
from sixd.engine.targets import cuda
from sixd.errors import ScalarTypeError
from sixd.runtime.cuda.device import device
from sixd.runtime.cuda.hosted import HostedRollout
from sixd.runtime.cuda.ranks import local_device
from sixd.runtime.routine import new_array
from sixd.simulation.nonsmooth.impulses.joint_rows import joint_rows
from sixd.simulation.setup import Setup
from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.compiled_steps import UNSOLVED, has_momenta, rollout, state_shapes
from sixd.spatial.scalar import Array

# operations of one call: about 0.1 s of one core, which does 1.2 to 3e10 in a second
_CALL = 2e9
# the same on a GPU, for which the state is copied there and back: some 0.2 s of an H200, which made 1.2e10 steps of a
# six-axis arm, of about 1,000 operations, in a second
_CALL_ON_GPU = 2e12
_SHORTEST = 8  # steps of a call: reading and writing rows costs about one
_LONGEST = 4096  # records of a call
STEP = 1e-3  # s, the default


class StateRecords(NamedTuple):
    """States q (rows, r, nq), qd (rows, r, nv), u (rows, r, nu) at times t (r,) [s]; tau (rows, r, nv) if sampled.
    ``friction`` (rows, r, nv) has the mean forces of dry friction in the steps that end there, if there is any."""

    t: Array
    q: Array
    qd: Array
    u: Array
    tau: Array | None
    friction: Array | None = None

    @property
    def last(self) -> StateRecords:
        """A copy of the last record."""
        t, *arrays = self
        return StateRecords(t[-1:], *(None if x is None else x[:, -1:].copy() for x in arrays))  # type: ignore[arg-type]


def _physical_memory() -> float:
    """Bytes of memory of this machine; infinite where Python cannot tell."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else math.inf


class RecordBuffer:
    """Arrays (rows, records, …) for all records of q, qd and u, filled from the first on."""

    def __init__(self, setup: Setup, records: int) -> None:
        system, dtype = setup.problem.system, np.dtype(setup.dtype)
        widths = {"q": system.nq, "qd": system.nv, "u": setup.problem.nu}
        if joint_rows(setup.problem) is not None:
            widths["friction"] = system.nv
        try:
            # some systems promise any amount of memory, and end the process that uses it
            if setup.rows * records * sum(widths.values()) * dtype.itemsize > _physical_memory():
                raise MemoryError
            self.arrays = {name: new_array((setup.rows, records, width), dtype) for name, width in widths.items()}
        except MemoryError:
            raise ScalarTypeError(
                f"{setup.problem.where}: {setup.rows} rollouts of {records} records do not fit into memory, expected "
                f"fewer. Give record_every, or receive the records in pieces by on_chunk."
            ) from None
        self.records, self.used = records, 0

    def next(self, name: str, count: int) -> Array:
        """Return the view for the next ``count`` records of an array. They count as used only when ``used`` is raised:
        a state that is not recorded is overwritten by the next call."""
        assert self.used + count <= self.records
        return self.arrays[name][:, self.used : self.used + count]


def start_of(setup: Setup, method: str, *, momenta: bool = True) -> dict[str, Any]:
    """Return the state before the first step by name, with unit quaternions; see :func:`state_shapes`."""
    problem, system, q = setup.problem, setup.problem.system, setup.q
    if system.nq != system.nv:  # moved by zero with the group's exponential; without symbols no parameter matters
        move = setup.compiled(declaration(integrate), parameters=bool(system.symbols))
        q = move(q, setup.zeros((setup.rows, system.nv)))
    state = {"q": q, "qd": setup.qd, "u": setup.u}
    if momenta and has_momenta(problem, method):
        state |= {"p": setup.compiled(midpoint.MOMENTUM)(q, setup.qd), "v": setup.qd}
    shapes = state_shapes(problem, method, momenta=momenta)
    return {name: state[name] if name in state else setup.zeros((setup.rows, *shapes[name])) for name in shapes}


def _hosted(setup: Setup, method: str) -> HostedRollout:
    """Return the code of a method for the GPU of this process, for arrays of the CPU."""
    number = local_device(setup.problem.where)
    target = cuda(device(setup.problem.where, number).architecture)
    code: Any = rollout(setup.problem, method, setup.dtype, target=target)
    return HostedRollout(code, number)


class Runner:
    """All states of a setup on their way through time, in steps of length h [s], from the time ``start`` [s].

    ``kept`` is where the code of a problem with functions is kept, and was perhaps kept before. ``hosted``: steps of
    arrays of the CPU are computed on the GPU of this process.
    """

    def __init__(
        self, setup: Setup, method: str, h: float, start: float = 0.0, kept: dict[Any, Any] | None = None,
        hosted: bool = False,
    ) -> None:  # fmt: skip
        self.method, self.h = method, h
        self.rollout: Any = (
            _hosted(setup, method) if hosted else rollout(setup.problem, method, setup.dtype, kept, setup.target)
        )
        self._call = math.inf if setup.library.on_gpu else _CALL_ON_GPU if hosted else _CALL
        self._begin(setup, h, start)

    def restarted(self, setup: Setup, h: Array, start: float) -> Runner:
        """Return a runner of the same code on other states at the time ``start``, each with its own step (rows,)."""
        other = copy.copy(self)
        other._begin(setup, h, start)
        return other

    def _begin(self, setup: Setup, h: float | Array, start: float) -> None:
        self.setup, self.start = setup, start
        self._step = h  # one for all states, or one for each
        self.constants = dict(setup.constants)
        self._now = 0  # steps done
        self.state = start_of(setup, self.method)
        self._velocity = None if "qd" in self.state else setup.compiled(midpoint.VELOCITY)

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the steps so far: "unsolved", the number of problems of impulses that were not solved."""
        if UNSOLVED not in self.state:
            return {}
        counts = self.state[UNSOLVED]
        if self.setup.library.on_gpu:
            return {UNSOLVED: self.setup.shaped(counts)}
        return {UNSOLVED: counts.astype(int).tolist() if self.setup.batch else int(counts[0])}

    @property
    def velocity(self) -> Array:
        """Present velocity qd (rows, nv)."""
        return self.state["qd"] if self._velocity is None else self._velocity(self.state["q"], self.state["p"])

    def advance(self, marks: list[int], kept: int, buffer: RecordBuffer | None) -> StateRecords:
        """Advance to the step numbers ``marks``, in order, and return the records of the first ``kept`` of them."""
        library, stops = self.setup.library, np.array([self._now, *marks])
        counts = stops[1:] - stops[:-1]  # np.diff and similar functions are some Python calls each
        constants = [*map(self._number, (self._step, self.start)), *self.constants.values()]
        out = [buffer.next(name, len(marks)) if buffer and name in buffer.arrays else None for name in self.state]
        result = dict(zip(self.state, self.rollout(counts, [*self.state.values(), *constants], out), strict=True))
        # views of a buffer would change; arrays on a GPU are results of this call alone
        self.state = {name: x[:, -1] if library.on_gpu else x[:, -1].copy() for name, x in result.items()}
        self._now = marks[-1]
        q = result["q"][:, :kept]
        if self._velocity is None:
            qd = result["qd"][:, :kept]
        else:
            qd = self._velocity(q, result["p"][:, :kept], records=True)
            if buffer is not None:
                buffer.next("qd", kept)[:] = qd
        if buffer is not None:
            buffer.used += kept
        u, friction = (result[name][:, :kept] if name in result else None for name in ("u", "friction"))
        return StateRecords(np.array(marks[:kept], dtype=int) * self.h, q, qd, u, None, friction)  # type: ignore[arg-type]

    def _number(self, x: float | Array) -> Any:
        """Return a number for all states, or for each, as an array."""
        return np.array(x, self.setup.dtype) if isinstance(x, np.ndarray) else self.setup.number(x)

    def run(
        self, marks: Array, on_progress: Callable[[int], Any], buffer: RecordBuffer | None = None,
        last_step: float = 0.0,
    ) -> Iterator[StateRecords]:  # fmt: skip
        """Yield the records at the step numbers ``marks``, in pieces; their times are counted from the first step.

        ``on_progress(steps)`` is called after each piece. With a buffer, records are written there, and pieces are
        views of it. ``last_step`` is the length [s] of the last step, if that is shorter than the others, else 0.
        """
        sampled = self.setup.sampled
        last = int(marks[-1])
        if sampled is None:
            yield from self._advance_to(last, marks, on_progress, buffer)
            return
        every = 1 if sampled.interval is None else max(1, round(sampled.interval / self.h))
        # from sample to sample; a shorter last step is made alone
        ends = [*range(every, last, every), *([last - 1] if last_step and (last - 1) % every else []), last]
        first = 0
        for end in ends:
            if self._now % every == 0:
                t = self.start + self._now * self.h
                tau = sampled(t, self.state["q"], self.velocity).astype(self.setup.dtype)
                self.constants["tau"] = tau
            if last_step and end == last:  # start + steps · step stays the time
                self.start, self._step = self.start + self._now * (self.h - last_step), last_step
            # a record at the time of a sample has the force that begins there
            stop = len(marks) if end == last else int(np.searchsorted(marks, end))
            for part in self._advance_to(end, marks[first:stop], on_progress, buffer):
                yield part._replace(tau=np.repeat(tau[:, None], len(part.t), axis=1))
            first = stop

    def _advance_to(
        self, end: int, marks: Array, on_progress: Callable[[int], Any], buffer: RecordBuffer | None
    ) -> Iterator[StateRecords]:
        """Yield the records at the marks, and advance to the step ``end``, in calls of bounded length."""
        limit = self._call / max(self.rollout.operations * self.setup.rows, 1)
        limit = max(_SHORTEST, int(limit)) if limit < end else end
        longest = end + 1 if self.setup.library.on_gpu else _LONGEST
        at, count = 0, len(marks)
        while at < count or self._now < end:
            furthest = self._now + limit
            stop = min(int(marks.searchsorted(furthest, side="right")), at + longest)
            call = marks[at:stop].tolist()
            kept, goal = len(call), min(end, furthest)
            # a stop between marks, or at a sample, that is not recorded
            if (not call or call[-1] < goal) and (stop == count or marks[stop] > goal):
                call.append(goal)
            result = self.advance(call, kept, buffer)
            at = stop
            if kept:
                yield result
            on_progress(self._now)  # last: it may raise KeyboardInterrupt, and the records above are kept
