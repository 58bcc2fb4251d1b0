"""Adaptive steps: SciPy's methods on compiled rates, row by row, with dense output, events and constraints.

A row's state is y = [q; qd; u] with dq/dt from the joints, so quaternions are integrated as four numbers and brought
back to unit length after each accepted step; so is whatever strays from the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError
from sixd.kernel import Kernel
from sixd.library import Function
from sixd.simulation.arguments import Setup
from sixd.simulation.checks import positive, require_countable
from sixd.simulation.fixed import Records
from sixd.simulation.kernels import PROJECTIONS
from sixd.simulation.problem import Problem
from sixd.simulation.progress import Progress
from sixd.spatial.scalar import Array, is_number

ADAPTIVE = {"adaptive": "DOP853", "stiff": "Radau"}
_INTERVALS = 200  # of records of a batch
_LOOKS = 8  # at events within a step


def integrate_adaptively(
    setup: Setup,
    method: str,
    duration: float,
    interval: float | None,
    events: Sequence[Callable[..., Any]],
    rtol: float,
    atol: float,
    bar: Progress,
    facts: dict[str, Any],
) -> Iterator[tuple[Array, Records]]:
    """(t, records) in one piece; ``facts`` gets what the methods tell."""
    where = setup.problem.where
    tolerances = {name: positive(where, name, x, "1", zero=False) for name, x in (("rtol", rtol), ("atol", atol))}
    if setup.sampled is not None:
        raise ScalarTypeError(
            f"{where}: a controller that is called with numbers needs fixed steps, got method {method!r}. Use 'rk4', "
            f"or write it so that it can be traced."
        )
    for event in events if isinstance(events, Sequence) else (events,):
        if not callable(event) or event is events:
            raise ScalarTypeError(f"{where}: events holds {event!r}, expected functions (t, q, qd) -> number.")
    times = None
    if interval is not None:
        count = max(1, int(np.ceil(duration / interval - 1e-9)))
        require_countable(where, count)
        times = np.append(np.arange(count) * interval, duration)
    elif setup.batch:
        times = np.linspace(0.0, duration, _INTERVALS + 1)
    if not duration and times is not None:
        times = np.zeros(1)
    flow = _Flow(setup.problem)
    found = []
    for k in range(setup.rows):
        row = _Row(flow, setup, k, ADAPTIVE[method], duration, tolerances, events)

        def told(t: float, k: int = k) -> None:
            bar.update((k * duration + t) / setup.rows)

        found.append(row.run(times, told))
        if row.interrupted:
            break
    facts |= tolerances
    facts["steps"] = [row.steps for row in found] if setup.batch else found[0].steps
    if events:
        facts["events"] = [row.events for row in found] if setup.batch else found[0].events
    nq, nv = setup.problem.system.nq, setup.problem.system.nv
    t = found[0].t if times is None else times
    if times is not None and not setup.batch:  # an event may have ended it
        t = times[: len(found[0].y)] if not found[0].ended else np.append(times[: len(found[0].y) - 1], found[0].t[-1])
    y = np.full((setup.rows, len(t), nq + nv + setup.problem.nu), np.nan)
    for k, row in enumerate(found):
        y[k, : min(len(row.y), len(t))] = row.y[: len(t)]
        if row.ended:  # by an event: among others it stays in its last state
            y[k, len(row.y) :] = row.y[-1]
    y = y.astype(setup.dtype, copy=False)
    q, qd, u = y[..., :nq], y[..., nq : nq + nv], y[..., nq + nv :]
    yield t, Records(np.arange(len(t)), q, qd, u, None)
    if found and found[-1].interrupted:
        raise KeyboardInterrupt


class _Flow:
    """Compiled: dy/dt, and y brought back to the configuration space and the constraints."""

    def __init__(self, problem: Problem) -> None:
        system = problem.system
        nq, nv, nu = system.nq, system.nv, problem.nu

        def rate(_: Any, t: Any, y: Array, *given: Array) -> Array:
            q, qd, u = y[:nq], y[nq : nq + nv], y[nq + nv :]
            qdd, ud = problem.acceleration(t, q, qd, u, dict(zip(problem.constants, given, strict=True)))
            return np.concatenate([system.configuration_rate(q, qd), qdd, ud])

        def settle(_: Any, t: Any, y: Array, *given: Array) -> Array:
            q, qd, u = y[:nq], y[nq : nq + nv], y[nq + nv :]
            constants = dict(zip(problem.constants, given, strict=True))
            q = system.integrate_row(q, np.zeros(nv, dtype=int))
            if problem.is_projected:
                for _ in range(PROJECTIONS):
                    q = problem.on_constraints(q, constants)
                qd = problem.along_constraints(t, q, qd, constants)
            return np.concatenate([q, qd, u])

        # names with a blank, as a model's symbol may be called t or y
        cores = {"the t": (), "the y": (nq + nv + nu,), **problem.constants}
        functions = [
            Function(f.__name__, f, tuple(cores), named=False, judged=False, shapes=cores) for f in (rate, settle)
        ]
        self.rate, self._settle = (Kernel(f, system, (), "float64") for f in functions)
        self.strays = nq != nv or problem.is_projected

    def settle(self, t: float, y: Array, constants: list[Array]) -> Array:
        return self._settle(np.float64(t), y, *constants) if self.strays else y


class _Row:
    """One rollout."""

    def __init__(
        self,
        flow: _Flow,
        setup: Setup,
        k: int,
        method: str,
        duration: float,
        tolerances: dict[str, float],
        events: Sequence[Callable[..., Any]],
    ) -> None:
        self.flow, self.method, self.duration, self.tolerances = flow, method, duration, tolerances
        self.where, self.watch = setup.problem.where, events
        self.nq, self.nv = setup.problem.system.nq, setup.problem.system.nv
        self.constants = [np.array(x[min(k, len(x) - 1)], dtype=float) for x in setup.constants.values()]
        start = np.concatenate([setup.q[k], setup.qd[k], setup.u[k]]).astype(float)
        self.start = flow.settle(0.0, start, self.constants)
        self.events: list[Array] = [np.zeros(0) for _ in events]
        self.steps, self.ended, self.interrupted = 0, False, False
        self.t, self.y = np.zeros(0), np.zeros((0, len(start)))

    def _rate(self, t: float, y: Array) -> Array:
        return self.flow.rate(np.float64(t), y, *self.constants)

    def run(self, times: Array | None, told: Callable[[float], Any]) -> _Row:
        """Records at the times, or at the method's own steps."""
        import scipy.integrate

        t_all, y_all = [0.0], [self.start]
        values = [self._event(e, 0.0, self.start) for e in self.watch]
        if self.duration:
            solver = self._solver(getattr(scipy.integrate, self.method))
            while solver is not None and solver.status == "running" and not self.ended and not self.interrupted:
                if not _stepped(solver):
                    break
                self.steps += 1
                before, end, dense = solver.t_old, solver.t, solver.dense_output()
                stop, values = self._look(before, end, dense, values)
                upto = end if stop is None else stop
                inside = self._between(times, len(t_all), upto)
                for t in inside:
                    t_all.append(t)
                    y_all.append(self.flow.settle(t, dense(t), self.constants))
                if stop is not None or times is None:
                    if not len(inside) or inside[-1] != upto:
                        t_all.append(upto)
                        y_all.append(
                            self.flow.settle(upto, dense(upto) if stop is not None else solver.y, self.constants)
                        )
                    self.ended = stop is not None
                if self.flow.strays:
                    solver.y = self.flow.settle(solver.t, solver.y, self.constants)
                    solver.f = self._rate(solver.t, solver.y)
                try:
                    told(solver.t)
                except KeyboardInterrupt:
                    self.interrupted = True
            if not (self.ended or self.interrupted):  # what is missing failed: told by NaN
                ends = np.array([self.duration]) if times is None else times
                rest = ends[ends > t_all[-1]].tolist()
                t_all += rest
                y_all += [np.full_like(self.start, np.nan)] * len(rest)
        self.t, self.y = np.array(t_all), np.array(y_all)
        return self

    def _between(self, times: Array | None, first: int, upto: float) -> Array:
        """Those of the times that are not yet recorded, up to one."""
        return np.zeros(0) if times is None else times[first : int(np.searchsorted(times, upto, side="right"))]

    def _solver(self, method: Any) -> Any:
        """SciPy's, or None if there is nowhere to go: it looks for its first step for ever where a rate is NaN."""
        if not (np.isfinite(self.start).all() and np.isfinite(self._rate(0.0, self.start)).all()):
            return None
        try:
            return method(self._rate, 0.0, self.start, self.duration, **self.tolerances)
        except ValueError:  # slopes that are not finite
            return None

    # events --------------------------------------------------------------------------------------------

    def _event(self, event: Callable[..., Any], t: float, y: Array) -> float:
        q, qd = y[: self.nq].copy(), y[self.nq : self.nq + self.nv].copy()  # what it may change is its own
        value = event(t, q, qd)
        if not is_number(value):
            raise ScalarTypeError(f"{self.where}: an event returns {value!r} at t = {t:g}, expected a number.")
        return float(value)

    def _root(self, event: Callable[..., Any], left: float, right: float, dense: Any) -> float:
        from scipy.optimize import brentq

        def value(t: float) -> float:
            return self._event(event, t, dense(t))

        # the sign may have changed when the last step's end was put back onto the constraints: that is at the left
        if value(left) * value(right) > 0:
            return float(left)
        return float(brentq(value, left, right, xtol=1e-14, rtol=1e-14))

    def _look(self, before: float, end: float, dense: Any, values: list[float]) -> tuple[float | None, list[float]]:
        """(when the motion ends in this step, or None; the events' values at its end)."""
        found: list[tuple[float, int]] = []
        # a smooth motion is crossed in long steps: an event may rise and fall again within one
        for left, right in pairwise(np.linspace(before, end, _LOOKS + 1)) if self.watch else ():
            after = [self._event(e, right, dense(right)) for e in self.watch]
            for k, (event, a, b) in enumerate(zip(self.watch, values, after, strict=True)):
                direction = getattr(event, "direction", 0)
                rises, falls = a < 0 <= b, a > 0 >= b
                if (rises and direction >= 0) or (falls and direction <= 0):
                    found.append((self._root(event, left, right, dense), k))
            values = after
        stop = min((t for t, k in found if getattr(self.watch[k], "terminal", False)), default=None)
        for t, k in sorted(found):
            if stop is None or t <= stop:
                self.events[k] = np.append(self.events[k], t)
        return stop, values


def _stepped(solver: Any) -> bool:
    """Take SciPy's solver one step on; False if it cannot."""
    try:
        with np.errstate(all="ignore"):
            solver.step()
    except ValueError:  # slopes that are not finite
        return False
    return solver.status != "failed" and bool(np.isfinite(solver.y).all())
