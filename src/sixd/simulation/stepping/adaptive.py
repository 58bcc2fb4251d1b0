"""Adaptive steps: SciPy's methods on compiled rates, state by state, with dense output, events and constraints.

A state is y = [q; qd; u] with dq/dt from the joints, so quaternions are integrated as four numbers. After each
accepted step they are normalized, and the state is projected onto the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.engine.kernel import row_kernel
from sixd.errors import ScalarTypeError
from sixd.forces.elements import RigidForce
from sixd.simulation.arguments import require_countable
from sixd.simulation.nonsmooth.impulses.joint_rows import friction_joints
from sixd.simulation.progress import Progress, finish
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.compiled_steps import PROJECTIONS
from sixd.simulation.stepping.fixed import StateRecords
from sixd.spatial.scalar import Array, Scalar, is_number

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

    from sixd.model.system import System

ADAPTIVE = {"adaptive": "DOP853", "stiff": "Radau"}
_INTERVALS = 200  # between records of a batch
_EVENT_CHECKS = 8  # within a step
_SLOW = 1e-3  # rad/s or m/s: a method that fails at this speed does so because the joint sticks
_CREEP = 1e-9  # rad/s or m/s: a speed at which dry friction has its sign, and nothing else matters


def integrate_adaptively(
    setup: Setup, method: str, duration: float, interval: float | None, events: Sequence[Callable[..., Any]],
    rtol: float, atol: float, bar: Progress, facts: dict[str, Any],
) -> Iterator[StateRecords]:  # fmt: skip
    """Yield the records in one piece; add tolerances, numbers of steps and events to ``facts``."""
    _require_supported(setup, method, events)
    run = _Run(setup, method, duration, _times(setup, duration, interval), {"rtol": rtol, "atol": atol}, events)
    rows: list[_AdaptiveRun] = []
    interrupted = False
    try:
        for k in range(setup.rows):
            rows.append(_AdaptiveRun(run, k))
            rows[-1].advance(lambda t: bar.update((k * duration + t) / setup.rows))  # noqa: B023 (called at once)
    except KeyboardInterrupt:
        # at any point, also within a step of SciPy: each state keeps its records
        if not any(row.steps for row in rows):
            raise
        interrupted = True
    facts |= run.tolerances | _facts(setup, rows, events)
    joined, interrupted = finish(lambda: _joined(setup, rows, run.times), interrupted)
    yield joined
    if interrupted:
        raise KeyboardInterrupt


def _times(setup: Setup, duration: float, interval: float | None) -> Array | None:
    """Return the times of the records; None for the method's own steps."""
    if interval is None and not setup.batch:
        return None
    if interval is not None:
        count = max(1, int(np.ceil(duration / interval - 1e-9)))
        require_countable(setup.problem.where, count)
    if not duration:
        return np.zeros(1)
    if interval is None:
        return np.linspace(0.0, duration, _INTERVALS + 1)
    return np.append(np.arange(count) * interval, duration)


def _facts(setup: Setup, rows: list[_AdaptiveRun], events: Sequence[Callable[..., Any]]) -> dict[str, Any]:
    """Return the numbers of steps and the times of events; of a batch, lists with an entry for each state."""
    missing = setup.rows - len(rows)
    steps = [row.steps for row in rows] + [0] * missing
    facts: dict[str, Any] = {"steps": steps if setup.batch else steps[0]}
    if events:
        times = [[np.array(t) for t in row.events] for row in rows] + [[np.array([]) for _ in events]] * missing
        facts["events"] = times if setup.batch else times[0]
    return facts


def _require_supported(setup: Setup, method: str, events: Sequence[Callable[..., Any]]) -> None:
    """Raise if adaptive steps do not support the controller, the forces, the state or the events."""
    where = setup.problem.where
    if setup.sampled is not None:
        raise ScalarTypeError(
            f"{where}: a controller that is called with numbers needs fixed steps, got method {method!r}. Use 'rk4', "
            f"or write it so that it can be traced."
        )
    for element in setup.problem.forces:
        if isinstance(element, RigidForce):
            raise ScalarTypeError(
                f"{where}: {type(element).__name__} acts by impulses, which need fixed steps, got method {method!r}. "
                f'Use method="rk4".'
            )
    for name, iv in friction_joints(setup).items():
        if (setup.qd[:, iv] == 0).any():
            raise _rest_error(setup, name, "starts at rest", method)
    for event in events if isinstance(events, Sequence) else (events,):
        if not callable(event) or event is events:
            raise ScalarTypeError(f"{where}: events holds {event!r}, expected functions (t, q, qd) -> number.")


def _rest_error(setup: Setup, name: str, event: str, method: str) -> ScalarTypeError:
    return ScalarTypeError(
        f"{setup.problem.where}: joint {name!r} has dry friction and {event}: method {method!r} would take ever "
        f'shorter steps there. Use method="rk4", whose joints stick.'
    )


def _joined(setup: Setup, rows: list[_AdaptiveRun], times: Array | None) -> StateRecords:
    """Return the records of all states; missing ones are NaN."""
    system = setup.problem.system
    t = times if times is not None and setup.batch else np.array([t for t, _ in rows[0].records])
    y_all = np.full((setup.rows, len(t), system.nq + system.nv + setup.problem.nu), np.nan)
    for k, row in enumerate(rows):
        y = np.array([y for _, y in row.records])
        y_all[k, : len(y)] = y
        if row.ended:  # by an event: in a batch it stays in its last state
            y_all[k, len(y) :] = y[-1]
    q, qd, u = np.split(y_all.astype(setup.dtype, copy=False), [system.nq, system.nq + system.nv], axis=-1)
    return StateRecords(t, q, qd, u, None)


@dataclass(frozen=True, eq=False)
class _Run:
    """What all states share; records are at ``times``, or at the method's own steps if these are None."""

    setup: Setup
    method: str
    duration: float
    times: Array | None
    tolerances: dict[str, float]
    events: Sequence[Callable[..., Any]]

    @cached_property
    def friction(self) -> dict[str, slice]:
        """The joints with dry friction, and their entries of qd."""
        return friction_joints(self.setup)

    @cached_property
    def rate(self) -> Callable[..., Array]:
        """The compiled dy/dt of (t, y, *constants)."""
        problem, system = self.setup.problem, self.setup.problem.system

        def rate(t: Scalar, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> list[Array]:
            qdd, ud = problem.acceleration(t, q, qd, u, constants)
            return [system.configuration_rate(q, qd), qdd, ud]

        return self._compiled(rate)

    @cached_property
    def project(self) -> Callable[..., Array] | None:
        """The compiled y of (t, y, *constants), with unit quaternions and on the constraints; None: y is already."""
        problem, system = self.setup.problem, self.setup.problem.system
        if system.nq == system.nv and not problem.is_projected:
            return None

        def project(t: Scalar, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> list[Array]:
            q = system.integrate_row(q, np.zeros(system.nv, dtype=int))
            if problem.is_projected:
                for _ in range(PROJECTIONS):
                    q = problem.on_constraints(q, constants)
                qd = problem.along_constraints(t, q, qd, constants)
            return [q, qd, u]

        return self._compiled(project)

    def _compiled(self, function: Callable[..., list[Array]]) -> Callable[..., Array]:
        """Return ``function(t, q, qd, u, constants)`` compiled as a function of (t, y, *constants) with one result."""
        problem, system = self.setup.problem, self.setup.problem.system

        def row(_: System, t: Scalar, y: Array, *numbers: Array) -> Array:
            q, qd, u = np.split(y, [system.nq, system.nq + system.nv])
            return np.concatenate(function(t, q, qd, u, dict(zip(problem.constants, numbers, strict=True))))

        # names with a blank, as a model's symbol may be called t or y
        cores = {"the t": (), "the y": (system.nq + system.nv + problem.nu,), **problem.constants}
        return row_kernel(function.__name__, row, cores, system, "float64")


class _AdaptiveRun:
    """The simulation of one state: its records (t, y), the times of its events, the number of its steps. ``ended``: a
    terminal event has ended it."""

    def __init__(self, run: _Run, k: int) -> None:
        self.run, setup = run, run.setup
        self.constants = [np.array(x[min(k, len(x) - 1)], dtype=float) for x in setup.constants.values()]
        start = np.concatenate([setup.q[k], setup.qd[k], setup.u[k]]).astype(float)
        self.start = self._projected(0.0, start)
        self.events: list[list[float]] = [[] for _ in run.events]
        self.steps, self.ended = 0, False
        self.records: list[tuple[float, Array]] = [(0.0, self.start)]
        self._velocity = setup.qd[k]

    def _rate(self, t: float, y: Array) -> Array:
        return self.run.rate(np.float64(t), y, *self.constants)

    def _projected(self, t: float, y: Array) -> Array:
        return y if self.run.project is None else self.run.project(np.float64(t), y, *self.constants)

    def advance(self, on_progress: Callable[[float], Any]) -> None:
        """Record states from the start to the end; call ``on_progress(t)`` after each step. An exception at any point
        leaves the records up to there."""
        run = self.run
        values = [self._event(e, 0.0, self.start) for e in run.events]
        for k, (event, value) in enumerate(zip(run.events, values, strict=True)):
            if value == 0 and not getattr(event, "direction", 0):  # with a direction: see _find_events
                self.events[k] = [0.0]
        solver = self._solver() if run.duration else None
        while solver is not None and solver.status == "running" and not self.ended:
            if not _stepped(solver):
                self._require_sliding(solver, _SLOW)
                break
            self._require_sliding(solver)
            values = self._record(solver, values)
            if run.project is not None:
                solver.y = self._projected(solver.t, solver.y)
                solver.f = self._rate(solver.t, solver.y)
            on_progress(solver.t)
        if not self.ended:  # records after a failure are NaN
            ends = np.array([run.duration]) if run.times is None else run.times
            rest = ends[ends > self.records[-1][0]].tolist()
            self.records += [(t, np.full_like(self.start, np.nan)) for t in rest]

    def _require_sliding(self, solver: OdeSolver, slow: float = 0.0) -> None:
        """Raise if a joint with dry friction has come to rest in the last step, or is ``slow``, and would stay so."""
        setup, run = self.run.setup, self.run
        nq, nv = setup.problem.system.nq, setup.problem.system.nv
        before, after = self._velocity, solver.y[nq : nq + nv]
        self._velocity = after.copy()
        for name, iv in run.friction.items():
            for j in range(nv)[iv]:
                if before[j] * after[j] > 0 and not abs(after[j]) < slow:
                    continue
                accelerations = []
                for sign in (1, -1):  # the acceleration of a joint that moves a little
                    y = solver.y.copy()
                    y[nq + j] = sign * _CREEP
                    accelerations.append(self._rate(solver.t, y)[nq + j])
                if accelerations[0] <= 0 <= accelerations[1]:
                    raise _rest_error(setup, name, f"comes to rest at t = {solver.t:.3g} s", run.method)

    def _record(self, solver: OdeSolver, values: list[float]) -> list[float]:
        """Record the solver's last step and its events; return the events' values at its end."""
        end, dense, times = solver.t, solver.dense_output(), self.run.times
        events_here, after = self._find_events(solver.t_old, end, dense, values)
        stop = min((t for t, k in events_here if t and getattr(self.run.events[k], "terminal", False)), default=None)
        upto = end if stop is None else stop
        due = []
        if times is not None:
            due = times[len(self.records) : int(np.searchsorted(times, upto, side="right"))].tolist()
        new = [(t, self._projected(t, dense(t))) for t in due]
        if (stop is not None or times is None) and (not new or new[-1][0] != upto):
            new.append((upto, self._projected(upto, dense(upto) if stop is not None else solver.y)))
        # all at once: a Ctrl-C comes before or after
        self.records += new
        for t, k in sorted(events_here):
            if t <= upto:
                self.events[k].append(t)
        self.steps += 1
        self.ended = stop is not None
        return after

    def _solver(self) -> OdeSolver | None:
        """Return SciPy's solver, or None where a rate is NaN: its search for the first step would not end."""
        import scipy.integrate

        if not (np.isfinite(self.start).all() and np.isfinite(self._rate(0.0, self.start)).all()):
            return None
        method = getattr(scipy.integrate, ADAPTIVE[self.run.method])
        try:
            return method(self._rate, 0.0, self.start, self.run.duration, **self.run.tolerances)
        except ValueError:  # rates that are not finite
            return None

    # events --------------------------------------------------------------------------------------------

    def _event(self, event: Callable[..., Any], t: float, y: Array) -> float:
        system = self.run.setup.problem.system
        q, qd = y[: system.nq].copy(), y[system.nq : system.nq + system.nv].copy()  # the event may change them
        value = event(t, q, qd)
        if not is_number(value):
            where = self.run.setup.problem.where
            raise ScalarTypeError(f"{where}: an event returns {value!r} at t = {t:g}, expected a number.")
        return float(value)

    def _root(self, event: Callable[..., Any], left: float, right: float, dense: Callable[[float], Array]) -> float:
        from scipy.optimize import brentq

        def value(t: float) -> float:
            return self._event(event, t, dense(t))

        # the sign may have changed when the last step's end was projected onto the constraints: that is at the left
        if value(left) * value(right) > 0:
            return float(left)
        return float(brentq(value, left, right, xtol=1e-14, rtol=1e-14))

    def _find_events(
        self, before: float, end: float, dense: Callable[[float], Array], values: list[float]
    ) -> tuple[list[tuple[float, int]], list[float]]:
        """Return (times and indices of the events in this step; all events' values at its end)."""
        events_here: list[tuple[float, int]] = []
        # steps are long where a motion is smooth: an event may rise and fall again within one
        for left, right in pairwise(np.linspace(before, end, _EVENT_CHECKS + 1)) if self.run.events else ():
            after = [self._event(e, right, dense(right)) for e in self.run.events]
            for k, (event, a, b) in enumerate(zip(self.run.events, values, after, strict=True)):
                direction = getattr(event, "direction", 0)
                rises, falls = a < 0 <= b, a > 0 >= b
                if (rises and direction >= 0) or (falls and direction <= 0):
                    events_here.append((self._root(event, left, right, dense), k))
                elif left == 0 and a == 0 and direction * b > 0:  # zero at the start, then in that direction
                    events_here.append((0.0, k))
            values = after
        return events_here, values


def _stepped(solver: OdeSolver) -> bool:
    """Advance SciPy's solver by one step; return False if it fails."""
    try:
        with np.errstate(all="ignore"):
            solver.step()
    except ValueError:  # rates that are not finite
        return False
    return solver.status != "failed" and bool(np.isfinite(solver.y).all())
