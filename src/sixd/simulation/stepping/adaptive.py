"""Adaptive steps: SciPy's methods on compiled rates, row by row, with dense output, events and constraints.

A row's state is y = [q; qd; u] with dq/dt from the joints, so quaternions are integrated as four numbers. After each
accepted step they are normalized, and the state is projected onto the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sixd.engine.functions import Function
from sixd.engine.kernel import Kernel
from sixd.errors import ScalarTypeError
from sixd.simulation.problem import Problem
from sixd.simulation.progress import Progress, finish
from sixd.simulation.setup import Setup, positive, require_countable
from sixd.simulation.stepping.recipes import PROJECTIONS
from sixd.simulation.stepping.records import Records
from sixd.spatial.scalar import Array, is_number

ADAPTIVE = {"adaptive": "DOP853", "stiff": "Radau"}
_INTERVALS = 200  # between records of a batch
_EVENT_CHECKS = 8  # within a step


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
    """Yield (t, records) in one piece; add tolerances, numbers of steps and events to ``facts``."""
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
    rows, interrupted = _run_rows(setup, ADAPTIVE[method], duration, times, tolerances, events, bar)
    facts |= tolerances
    nothing = [np.zeros(0) for _ in events]
    steps = [row.steps for row in rows] + [0] * (setup.rows - len(rows))
    zeros = [row.events for row in rows] + [nothing] * (setup.rows - len(rows))
    facts["steps"] = steps if setup.batch else steps[0]
    if events:
        facts["events"] = zeros if setup.batch else zeros[0]
    joined, interrupted = finish(lambda: _joined(setup, rows, times), interrupted)
    yield joined
    if interrupted:
        raise KeyboardInterrupt


def _run_rows(
    setup: Setup,
    method: str,
    duration: float,
    times: Array | None,
    tolerances: dict[str, float],
    events: Sequence[Callable[..., Any]],
    bar: Progress,
) -> tuple[list[_Row], bool]:
    """Return the rows, simulated one after the other up to a Ctrl-C, and whether there was one."""
    flow = _Flow(setup.problem)
    rows: list[_Row] = []
    try:
        for k in range(setup.rows):
            rows.append(_Row(flow, setup, k, method, duration, tolerances, events))
            rows[-1].run(times, lambda t: bar.update((k * duration + t) / setup.rows))  # noqa: B023 (called at once)
    except KeyboardInterrupt:
        # at any point, also within a step of SciPy: each row keeps its records
        if not any(row.steps for row in rows):
            raise
        return rows, True
    return rows, False


def _joined(setup: Setup, rows: list[_Row], times: Array | None) -> tuple[Array, Records]:
    """Return (t, records) of all rows; missing records are NaN."""
    nq, nv = setup.problem.system.nq, setup.problem.system.nv
    made = [row.recorded() for row in rows]
    t = made[0][0] if times is None else times
    if times is not None and not setup.batch:  # an event may have ended it
        own, y = made[0]
        t = times[: len(y)] if not rows[0].ended else np.append(times[: len(y) - 1], own[-1])
    y_all = np.full((setup.rows, len(t), nq + nv + setup.problem.nu), np.nan)
    for k, (row, (_, y)) in enumerate(zip(rows, made, strict=True)):
        y_all[k, : min(len(y), len(t))] = y[: len(t)]
        if row.ended:  # by an event: in a batch it stays in its last state
            y_all[k, len(y) :] = y[-1]
    y_all = y_all.astype(setup.dtype, copy=False)
    q, qd, u = y_all[..., :nq], y_all[..., nq : nq + nv], y_all[..., nq + nv :]
    return t, Records(np.arange(len(t)), q, qd, u, None)


class _Flow:
    """Compiled functions: dy/dt, and the projection of y onto the configuration space and the constraints."""

    def __init__(self, problem: Problem) -> None:
        system = problem.system
        nq, nv, nu = system.nq, system.nv, problem.nu

        def rate(_: Any, t: Any, y: Array, *given: Array) -> Array:
            q, qd, u = y[:nq], y[nq : nq + nv], y[nq + nv :]
            qdd, ud = problem.acceleration(t, q, qd, u, dict(zip(problem.constants, given, strict=True)))
            return np.concatenate([system.configuration_rate(q, qd), qdd, ud])

        def project(_: Any, t: Any, y: Array, *given: Array) -> Array:
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
            Function(f.__name__, f, tuple(cores), named=False, judged=False, shapes=cores) for f in (rate, project)
        ]
        self.rate, self._project = (Kernel(f, system, (), "float64") for f in functions)
        self.needs_projection = nq != nv or problem.is_projected

    def project(self, t: float, y: Array, constants: list[Array]) -> Array:
        """Return y with unit quaternions, and on the constraints."""
        return self._project(np.float64(t), y, *constants) if self.needs_projection else y


class _Row:
    """The simulation of one row."""

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
        self.where, self.watched_events = setup.problem.where, events
        self.nq, self.nv = setup.problem.system.nq, setup.problem.system.nv
        self.constants = [np.array(x[min(k, len(x) - 1)], dtype=float) for x in setup.constants.values()]
        start = np.concatenate([setup.q[k], setup.qd[k], setup.u[k]]).astype(float)
        self.start = flow.project(0.0, start, self.constants)
        self.events: list[Array] = [np.zeros(0) for _ in events]
        self.steps, self.ended = 0, False
        self._records: list[tuple[float, Array]] = [(0.0, self.start)]

    def recorded(self) -> tuple[Array, Array]:
        """Return t (r,) and y (r, n) of the records."""
        t, y = zip(*self._records, strict=True)
        return np.array(t), np.array(y)

    def _rate(self, t: float, y: Array) -> Array:
        return self.flow.rate(np.float64(t), y, *self.constants)

    def run(self, times: Array | None, on_progress: Callable[[float], Any]) -> None:
        """Record states at the times, or at the method's own steps; call ``on_progress(t)`` after each step.

        An exception at any point leaves the records up to there.
        """
        import scipy.integrate

        values = [self._event(e, 0.0, self.start) for e in self.watched_events]
        self._note_start(values)
        if not self.duration:
            return
        solver = self._solver(getattr(scipy.integrate, self.method))
        while solver is not None and solver.status == "running" and not self.ended:
            if not _stepped(solver):
                break
            values = self._record(solver, times, values)
            if self.flow.needs_projection:
                solver.y = self.flow.project(solver.t, solver.y, self.constants)
                solver.f = self._rate(solver.t, solver.y)
            on_progress(solver.t)
        if not self.ended:  # records after a failure are NaN
            ends = np.array([self.duration]) if times is None else times
            rest = ends[ends > self._records[-1][0]].tolist()
            self._records += [(t, np.full_like(self.start, np.nan)) for t in rest]

    def _record(self, solver: Any, times: Array | None, values: list[float]) -> list[float]:
        """Record the solver's last step and its events; return the events' values at its end."""
        end, dense = solver.t, solver.dense_output()
        found, after = self._find_events(solver.t_old, end, dense, values)
        stop = min((t for t, k in found if t and getattr(self.watched_events[k], "terminal", False)), default=None)
        upto = end if stop is None else stop
        new = [(t, self.flow.project(t, dense(t), self.constants)) for t in self._between(times, upto)]
        if (stop is not None or times is None) and (not new or new[-1][0] != upto):
            new.append((upto, self.flow.project(upto, dense(upto) if stop is not None else solver.y, self.constants)))
        # all at once: a Ctrl-C comes before or after
        self._records += new
        for t, k in sorted(found):
            if t <= upto:
                self.events[k] = np.append(self.events[k], t)
        self.steps += 1
        self.ended = stop is not None
        return after

    def _between(self, times: Array | None, upto: float) -> list[float]:
        """Return the times up to ``upto`` that are not yet recorded."""
        if times is None:
            return []
        return times[len(self._records) : int(np.searchsorted(times, upto, side="right"))].tolist()

    def _solver(self, method: Any) -> Any:
        """Return SciPy's solver, or None where a rate is NaN: its search for the first step would not end."""
        if not (np.isfinite(self.start).all() and np.isfinite(self._rate(0.0, self.start)).all()):
            return None
        try:
            return method(self._rate, 0.0, self.start, self.duration, **self.tolerances)
        except ValueError:  # slopes that are not finite
            return None

    # events --------------------------------------------------------------------------------------------

    def _event(self, event: Callable[..., Any], t: float, y: Array) -> float:
        q, qd = y[: self.nq].copy(), y[self.nq : self.nq + self.nv].copy()  # the event may change them
        value = event(t, q, qd)
        if not is_number(value):
            raise ScalarTypeError(f"{self.where}: an event returns {value!r} at t = {t:g}, expected a number.")
        return float(value)

    def _root(self, event: Callable[..., Any], left: float, right: float, dense: Any) -> float:
        from scipy.optimize import brentq

        def value(t: float) -> float:
            return self._event(event, t, dense(t))

        # the sign may have changed when the last step's end was projected onto the constraints: that is at the left
        if value(left) * value(right) > 0:
            return float(left)
        return float(brentq(value, left, right, xtol=1e-14, rtol=1e-14))

    def _note_start(self, values: list[float]) -> None:
        """List the events that are zero at the start; those with a direction are found in ``_find_events``."""
        for k, (event, value) in enumerate(zip(self.watched_events, values, strict=True)):
            if value == 0 and not getattr(event, "direction", 0):
                self.events[k] = np.zeros(1)

    def _find_events(
        self, before: float, end: float, dense: Any, values: list[float]
    ) -> tuple[list[tuple[float, int]], list[float]]:
        """Return (times and indices of the events in this step; all events' values at its end)."""
        found: list[tuple[float, int]] = []
        # steps are long where a motion is smooth: an event may rise and fall again within one
        for left, right in pairwise(np.linspace(before, end, _EVENT_CHECKS + 1)) if self.watched_events else ():
            after = [self._event(e, right, dense(right)) for e in self.watched_events]
            for k, (event, a, b) in enumerate(zip(self.watched_events, values, after, strict=True)):
                direction = getattr(event, "direction", 0)
                rises, falls = a < 0 <= b, a > 0 >= b
                if (rises and direction >= 0) or (falls and direction <= 0):
                    found.append((self._root(event, left, right, dense), k))
                elif left == 0 and a == 0 and direction * b > 0:  # zero at the start, then in that direction
                    found.append((0.0, k))
            values = after
        return found, values


def _stepped(solver: Any) -> bool:
    """Advance SciPy's solver by one step; return False if it fails."""
    try:
        with np.errstate(all="ignore"):
            solver.step()
    except ValueError:  # slopes that are not finite
        return False
    return solver.status != "failed" and bool(np.isfinite(solver.y).all())
