"""``sixd.simulate`` and ``sixd.step``: from a state to a motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError, unknown_name
from sixd.model.system import System
from sixd.simulation.checks import positive, require_countable, whole
from sixd.simulation.collect import collect
from sixd.simulation.diagnostics import friction_doubt, step_doubt, tell
from sixd.simulation.problem import PROJECTED
from sixd.simulation.progress import Progress
from sixd.simulation.setup import Setup, make_setup
from sixd.simulation.starts import require_start
from sixd.simulation.stepping.adaptive import ADAPTIVE, integrate_adaptively
from sixd.simulation.stepping.fixed import STEP, Records, Runner, Sheets
from sixd.simulation.stepping.recipes import FIXED_STEP
from sixd.spatial.scalar import Array, is_number
from sixd.trajectory.trajectory import Trajectory

_MOST_IN_FLOAT32 = 2**24  # steps: whole numbers beyond are not all floats
METHODS = (*FIXED_STEP, *ADAPTIVE)


def simulate(
    system: System,
    q: Any,
    qd: Any,
    duration: float,
    *,
    dt: float | None = None,
    method: str = "rk4",
    controller: Any = None,
    sample_time: float | None = None,
    f_ext: Any = None,
    forces: Any = (),
    parameters: Mapping[str, Any] | None = None,
    constraints: str = PROJECTED,
    stabilisation: float = 20.0,
    record_every: int = 1,
    events: Sequence[Callable[..., Any]] = (),
    rtol: float = 1e-9,
    atol: float = 1e-12,
    seed: Any = None,
    progress: bool | Callable[[float], Any] | None = None,
    on_chunk: Callable[[Trajectory], Any] | None = None,
) -> Trajectory:
    """The motion of a system from a state, or of many at once.

    Parameters
    ----------
    system : a Model (its constraints are honoured), a reduced model, or equations of motion (``sixd.lagrange``).
    q, qd : (…, nq), (…, nv), the start; None is the neutral configuration, or rest; q="random" draws one with ``seed``.
    duration : [s].
    dt : the step [s], 1e-3 if omitted; it is shortened to divide the duration, or ``sample_time``. For adaptive methods
        the distance of records; if omitted, those of one row lie at the method's own steps, those of a batch at 200
        intervals.
    method : "rk4", fourth order, on the group for quaternions; "euler", semi-implicit, first order, and not symplectic
        when M depends on q; "midpoint", implicit, second order, symplectic: no drift of energy over long times, but no
        constraints, and no dry friction at rest, where the implicit equation has no solution; "adaptive", SciPy's
        DOP853 of order 8, "stiff", SciPy's Radau of order 5, both to ``rtol`` and ``atol``.
    controller : forces (…, nv) that stay the same, or a function ``controller(t, q, qd) -> tau (nv,)`` of one state.
        Written in NumPy's style with the functions of ``sixd.spatial`` it becomes part of the compiled step; it must
        then depend on its arguments alone. With ``sample_time`` [s] it is called as it is, with numbers, at every
        sample of each row, and its force is held until the next: then it may do anything, and keep a memory, of
        which each row of a batch has a copy. An argument named ``rng`` gets a random generator made of ``seed``, one
        for each row. Ready ones are in ``sixd.controllers``.
    f_ext : (…, nb, 6) that stays the same, or a function (t, q, qd) -> (nb, 6), compiled as a controller is.
    forces : elements such as ``sixd.Ground`` (compliant contact with friction) and ``sixd.JointLimits``. Rigid contact
        and impacts are not offered.
    parameters : name -> (…, core) array, per row: "inertia", "gravity", "damping" … as in ``sixd.compile``, or symbols.
    constraints : "projected" puts every step's end back onto the constraints; "stabilised" adds terms that let errors
        die out at the rate ``stabilisation`` [1/s] (Baumgarte's).
    record_every : a record each so many steps; the start and the end are always recorded.
    events : for adaptive methods: functions (t, q, qd) -> number whose zeros are found, listed in ``facts["events"]``;
        the attribute ``terminal = True`` ends the motion there, ``direction`` (1, -1) picks rising or falling ones. One
        that is zero at the start is listed at t = 0, and ends nothing.
    progress : a bar on long runs on a terminal (None), always, never, or a function of the fraction done.
    on_chunk : called with pieces of the trajectory as they are computed; they are not kept, and the result holds the
        last record alone. So memory stays bounded however long it runs. Adaptive methods give one piece.

    Returns
    -------
    ``Trajectory``: t (r,), q (…, r, nq), qd (…, r, nv), tau, energy, constraint_error. Rows that went wrong (a singular
    state, an iteration without end) are NaN from there on, and told of by a ``SimulationWarning``, which names the
    joint that went first and when. So are dry friction, which no method gets right near rest, and a step beyond 90 % of
    what its method bears at the start (damping, stiffness, force elements and a traced controller counted; of a batch
    some rows are looked at). Interrupted by the keyboard it returns what was computed, with a warning, and
    ``interrupted`` is True.

    Notes
    -----
    Fixed steps are one compiled loop over time and rows, on all cores (``sixd.set_num_threads``); rows do not depend on
    each other: a row's bits are the same alone and in a batch. Angles of quaternions must turn by less than half a turn
    in a step.

    >>> import numpy as np, sixd
    >>> motion = sixd.simulate(sixd.zoo.pendulum(), [0.5], [0.0], 2.0, method="midpoint")
    >>> len(motion), bool(np.ptp(motion.energy) < 1e-4)
    (2001, True)
    """
    where = "simulate"
    if method not in METHODS:
        raise unknown_name(f"{where}: method", "choice", method, METHODS)
    duration = positive(where, "duration", duration, "s")
    every = whole(where, "record_every", record_every)
    if on_chunk is not None and not callable(on_chunk):
        raise ScalarTypeError(f"{where}: on_chunk is {on_chunk!r}, expected a function of a trajectory.")
    setup = make_setup(
        where, system, q, qd, controller=controller, sample_time=sample_time, f_ext=f_ext, forces=forces,
        parameters=parameters, constraints=constraints, stabilisation=stabilisation, seed=seed,
    )  # fmt: skip
    require_start(setup)
    facts: dict[str, Any] = {"method": method, "record_every": every}
    sheets: Sheets | None = None
    runner: Runner | None = None
    doubt = friction_doubt(setup, method)
    if doubt is not None:
        tell(where, doubt, 2)
    with Progress(f"{where} {system.name}", duration, progress) as bar:
        if method in ADAPTIVE:
            step = None if dt is None else positive(where, "dt", dt, "s", zero=False) * every
            pieces = integrate_adaptively(setup, method, duration, step, events, rtol, atol, bar, facts)
        else:
            if events:
                raise ScalarTypeError(f"{where}: events need an adaptive method, got {method!r}. Use 'adaptive'.")
            steps, h, rest = _grid(where, duration, STEP if dt is None else dt, setup)
            facts["dt"] = h
            require_countable(where, steps / every)
            marks = np.arange(0, steps + 1, every)
            marks = marks if marks[-1] == steps else np.append(marks, steps)
            runner = Runner(setup, method, h)
            doubt = step_doubt(runner)
            if doubt is not None:
                tell(where, doubt, 2)
            sheets = None if on_chunk is not None else _sheets(where, setup, len(marks))
            pieces = _timed(runner.run(marks, lambda done: bar.update(done * h), sheets, rest), h, steps, duration)
        return collect(setup, pieces, facts, on_chunk, sheets, runner)


def step(
    system: System,
    q: Any,
    qd: Any,
    dt: float,
    *,
    t: float = 0.0,
    method: str = "rk4",
    controller: Any = None,
    f_ext: Any = None,
    forces: Any = (),
    parameters: Mapping[str, Any] | None = None,
    constraints: str = PROJECTED,
    stabilisation: float = 20.0,
) -> tuple[Array, Array]:
    """The state (q, qd) one step of dt [s] later, of one row or of a batch; arguments as for ``sixd.simulate``.

    A method with fixed steps: "rk4", "euler" or "midpoint". A controller that is a function is traced at every call;
    for many steps use ``sixd.simulate``, or pass the forces themselves.

    >>> import sixd
    >>> q, qd = sixd.step(sixd.zoo.pendulum(), [0.5], [0.0], 1e-3)
    """
    where = "step"
    if method not in FIXED_STEP:
        raise unknown_name(f"{where}: method", "choice", method, FIXED_STEP)
    h = positive(where, "dt", dt, "s", zero=False)
    setup = make_setup(
        where, system, q, qd, controller=controller, sample_time=None, f_ext=f_ext, forces=forces,
        parameters=parameters, constraints=constraints, stabilisation=stabilisation, seed=None,
    )  # fmt: skip
    if setup.problem.nu:
        raise ScalarTypeError(f"{where}: an element of forces has a state of its own. Use sixd.simulate.")
    start = _moment(where, t)
    require_start(setup, start)
    runner = Runner(setup, method, h, start)
    *_, last = runner.run(np.array([1]), lambda done: None)
    q, qd = (x[:, -1].reshape((*setup.batch, x.shape[-1])) for x in (last.q, last.qd))
    return q, qd


def _sheets(where: str, setup: Setup, records: int) -> Sheets:
    """Arrays for all records, or an error if there is no room for them."""
    try:
        return Sheets(setup, records)
    except MemoryError:
        raise ScalarTypeError(
            f"{where}: {setup.rows} rows of {records} records do not fit into memory, expected fewer. Give "
            f"record_every, or take the records in pieces by on_chunk."
        ) from None


def _moment(where: str, t: Any) -> float:
    if isinstance(t, bool) or not is_number(t) or not np.isfinite(t):
        raise ScalarTypeError(f"{where}: t is {t!r}, expected a finite number [s].")
    return float(t)


def _grid(where: str, duration: float, dt: float, setup: Setup) -> tuple[int, float, float]:
    """(number of steps, step [s], length of the last if it is a shorter one, else 0).

    Steps are at most dt long, and divide the duration evenly, or the sampling interval; then the last may be shorter.
    """
    longest = positive(where, "dt", dt, "s", zero=False)
    whole = duration
    if setup.sampled is not None and setup.sampled.interval is not None:
        whole = min(setup.sampled.interval, duration)
    pieces = whole / longest
    if not pieces < 1e15:
        raise ScalarTypeError(f"{where}: dt is {dt!r} for {whole:g} s, expected fewer than 1e15 steps.")
    h = whole / max(1, math.ceil(pieces - 1e-9)) if whole else longest
    steps, rest = round(duration / h), 0.0
    if abs(steps * h - duration) > 1e-6 * h:
        steps = math.ceil(duration / h)
        rest = duration - (steps - 1) * h
    if setup.dtype == "float32" and steps > _MOST_IN_FLOAT32:
        raise ScalarTypeError(
            f"{where}: these are {steps} steps, expected at most {_MOST_IN_FLOAT32} in float32. Use float64."
        )
    return steps, h, rest


def _timed(pieces: Iterator[Records], h: float, steps: int, duration: float) -> Iterator[tuple[Array, Records]]:
    # the last record is at the duration to the bit, so that at(duration) is within
    for piece in pieces:
        yield np.where(piece.steps == steps, duration, piece.steps * h), piece
