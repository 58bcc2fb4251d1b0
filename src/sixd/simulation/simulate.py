"""The motion of a run from a state: ``Scenario.simulate`` and ``sixd.simulate``.

The order of the work: ``scenario`` checks the arguments, ``setup`` reads the start and decides what is compiled,
``diagnostics`` warns, ``stepping`` advances the state, ``collect`` makes the trajectory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import ScalarTypeError
from sixd.simulation.arguments import Seed, nonnegative, require_countable, whole
from sixd.simulation.collect import collect
from sixd.simulation.diagnostics import excess, limit_at_start, start_warnings, step_warning
from sixd.simulation.progress import Progress
from sixd.simulation.setup import Setup, make_setup
from sixd.simulation.stepping.adaptive import ADAPTIVE, integrate_adaptively
from sixd.simulation.stepping.compiled_steps import FIXED_STEP
from sixd.simulation.stepping.fixed import STEP, RecordBuffer, Runner
from sixd.simulation.stepping.implicit import IMPLICIT
from sixd.simulation.user_warnings import is_quiet, warn
from sixd.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario
    from sixd.spatial.scalar import ArrayLike

_MOST_IN_FLOAT32 = 2**24  # steps: not all larger whole numbers are floats
METHODS = (*FIXED_STEP, *ADAPTIVE)
_WHERE = "simulate"


def simulate_run(
    run: Scenario, q: ArrayLike | str | None, qd: ArrayLike | None, duration: float, record_every: int,
    events: Sequence[Callable[..., Any]], seed: Seed, progress: bool | Callable[[float], Any] | None,
    on_chunk: Callable[[Trajectory], Any] | None = None, hosted: bool = False,
) -> Any:  # fmt: skip
    """Return the trajectory of a run; the arguments are those of ``sixd.simulate``. ``hosted``: arrays of the CPU are
    computed on the GPU of this process."""
    method = run.method
    duration = nonnegative(_WHERE, "duration", duration, "s")
    every = whole(_WHERE, "record_every", record_every)
    if on_chunk is not None and not callable(on_chunk):
        raise ScalarTypeError(f"{_WHERE}: on_chunk is {on_chunk!r}, expected a function of a trajectory.")
    setup = make_setup(_WHERE, run, q, qd, seed=seed)
    if setup.library.on_gpu:
        if method in ADAPTIVE:
            fixed = ", ".join(FIXED_STEP)
            raise ScalarTypeError(
                f"{_WHERE}: method is {method!r}, but arrays are on a GPU, expected fixed steps: {fixed}."
            )
        if events or on_chunk is not None:
            raise ScalarTypeError(f"{_WHERE}: events and on_chunk need arrays on the CPU, got some on a GPU.")
    elif not is_quiet():
        for text in start_warnings(setup):
            warn(_WHERE, text)
    with Progress(f"{_WHERE} {run.model.name}", duration, progress) as bar:
        if method in ADAPTIVE:
            interval = None if run.dt is None else run.dt * every
            facts: dict[str, Any] = {"method": method, "record_every": every}
            pieces = integrate_adaptively(setup, method, duration, interval, events, run.rtol, run.atol, bar, facts)
            return collect(setup, pieces, facts, on_chunk)
        if events:
            raise ScalarTypeError(f"{_WHERE}: events need an adaptive method, got {method!r}. Use 'adaptive'.")
        return _by_fixed_steps(setup, method, duration, run.dt, every, bar, on_chunk, hosted)


def _by_fixed_steps(
    setup: Setup, method: str, duration: float, dt: float | None, every: int, bar: Progress,
    on_chunk: Callable[[Trajectory], Any] | None, hosted: bool,
) -> Any:  # fmt: skip
    """Return the trajectory of a setup by a method of fixed steps."""
    on_gpu = setup.library.on_gpu
    steps, h, last_step = _grid(duration, STEP if dt is None else dt, setup)
    require_countable(_WHERE, steps / every)
    marks = np.append(np.arange(0, steps, every), steps)
    runner = Runner(setup, method, h, hosted=hosted)
    if not is_quiet() and not on_gpu:
        warn(_WHERE, step_warning(runner))
    buffer = None if on_chunk is not None or on_gpu else RecordBuffer(setup, len(marks))
    records = runner.run(marks, lambda done: bar.update(done * h), buffer, last_step)
    # the last record is at the duration to the bit, so that at(duration) is in range
    pieces = (piece._replace(t=np.where(piece.t == steps * h, duration, piece.t)) for piece in records)
    return collect(setup, pieces, {"method": method, "record_every": every, "dt": h}, on_chunk, buffer, runner)


def automatic_method(
    run: Scenario, q: ArrayLike | str | None, qd: ArrayLike | None, duration: float
) -> tuple[str, str]:
    """Return "rk4", or "implicit" and the reason, if the step is beyond RK4's limit at the start."""
    setup = make_setup(_WHERE, run, q, qd)
    dt = STEP if run.dt is None else run.dt
    _, h, _ = _grid(nonnegative(_WHERE, "duration", duration, "s"), dt, setup)
    runner = Runner(setup, "rk4", h)
    limit = limit_at_start(runner)
    return ("rk4", "") if limit is None else (IMPLICIT, excess(runner, limit))


def _grid(duration: float, dt: float, setup: Setup) -> tuple[int, float, float]:
    """Return (number of steps, step [s], length of the last step if it is shorter, else 0). Steps are at most dt long,
    and divide the duration evenly, or the sampling interval; then the last may be shorter."""
    divided = duration
    if setup.sampled is not None and setup.sampled.interval is not None:
        divided = min(setup.sampled.interval, duration)
    count = divided / dt
    if not count < 1e15:
        raise ScalarTypeError(f"{_WHERE}: dt is {dt!r} for {divided:g} s, expected fewer than 1e15 steps.")
    h = divided / max(1, math.ceil(count - 1e-9)) if divided else dt
    steps, last_step = round(duration / h), 0.0
    if abs(steps * h - duration) > 1e-6 * h:
        steps = math.ceil(duration / h)
        last_step = duration - (steps - 1) * h
    if setup.dtype == "float32" and steps > _MOST_IN_FLOAT32:
        most = _MOST_IN_FLOAT32
        raise ScalarTypeError(f"{_WHERE}: these are {steps} steps, expected at most {most} in float32. Use float64.")
    return steps, h, last_step
