"""``sixd.simulate`` and ``sixd.step``: the motion of a system from a state.

The order of the work: ``setup`` checks the arguments (``controller`` decides whether the controller is compiled),
``problem`` has the equations of motion, ``diagnostics`` warns, ``stepping`` advances the state, ``collect`` makes the
Trajectory. ``ensemble`` does this for many rows, on processes and clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError, unknown_name
from sixd.forces.elements import RigidForce
from sixd.model.system import System
from sixd.runtime.array_libraries import are_tensors, with_numpy
from sixd.simulation.collect import collect
from sixd.simulation.diagnostics import excess, friction_warning, limit_at_start, start_warnings, step_warning, warn
from sixd.simulation.gpu_motions import simulate_on_gpu, step_on_gpu
from sixd.simulation.gpu_rows import are_on_gpu
from sixd.simulation.known_steps import NO_FORCES, begin, find
from sixd.simulation.problem import PROJECTED
from sixd.simulation.progress import Progress
from sixd.simulation.quiet import is_quiet
from sixd.simulation.setup import Setup, make_setup, positive, require_countable, whole
from sixd.simulation.stepping.adaptive import ADAPTIVE, integrate_adaptively
from sixd.simulation.stepping.compiled_steps import FIXED_STEP
from sixd.simulation.stepping.fixed import STEP, RecordBuffer, Runner
from sixd.simulation.stepping.implicit import IMPLICIT
from sixd.spatial.scalar import Array, is_number
from sixd.trajectory.trajectory import Trajectory

_MOST_IN_FLOAT32 = 2**24  # steps: not all larger whole numbers are floats
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
) -> Any:
    """Simulate the motion of a system from a state, or from many states at once.

    Parameters
    ----------
    system : a Model (its constraints are satisfied), a reduced model, or equations of motion (``sixd.lagrange``).
    q, qd : (…, nq), (…, nv), the start; None: ``system.initial_configuration()`` (where an MJCF file has its bodies,
        else neutral), and rest; q="random" draws one with ``seed``,
        another string is the name of one of the model's configurations, such as a keyframe.
    duration : [s].
    dt : the step [s], 1e-3 if omitted; it is shortened to divide the duration, or ``sample_time``. For adaptive methods
        the interval of records; if omitted, one row has a record at each step of the method, a batch at the ends of 200
        intervals.
    method : "rk4", fourth order, on the group for quaternions; "euler", semi-implicit, first order, and not symplectic
        when M depends on q; "midpoint", implicit, second order, symplectic: no drift of energy over long times, but no
        constraints; "implicit", linearly implicit (ROS2-W), second order, L-stable, for hard springs, dampers and
        gains: forces are linearised by exact derivatives, except those held between samples, and where none has a slope
        it is Heun's method; "adaptive", SciPy's DOP853 of order 8, "stiff", SciPy's Radau of order 5, both to ``rtol``
        and ``atol``. By all but these two joints with dry friction stick, and rigid contact is possible.
    controller : constant forces (…, nv), or a function ``controller(t, q, qd) -> tau (nv,)`` of one state. Written with
        NumPy's operators and the functions of ``sixd.spatial`` it becomes part of the compiled step; it must then
        depend on its arguments alone. With ``sample_time`` [s] it is called with numbers, at every sample of each row,
        and its force is held until the next: then it may contain any code, and keep a memory, of which each row of a
        batch has a copy. An argument named ``rng`` gets a random generator made from ``seed``, one for each row.
        Ready-made controllers are in ``sixd.controllers``.
    f_ext : constant (…, nb, 6), or a function (t, q, qd) -> (nb, 6), compiled as a controller is.
    forces : elements such as ``sixd.Ground`` (compliant contact with friction) and ``sixd.JointLimits``, or the rigid
        ones, ``sixd.RigidGround`` and ``sixd.RigidLimits``.
    parameters : name -> (…, core) array, per row: "inertia", "gravity", "damping" … as in ``sixd.compile``, or symbols.
    constraints : "projected" projects the state onto the constraints after each step; "stabilised" adds Baumgarte's
        terms, by which errors decay at the rate ``stabilisation`` [1/s].
    record_every : number of steps between records; the start and the end are always recorded.
    events : for adaptive methods: functions (t, q, qd) -> number whose zeros are found, listed in ``facts["events"]``;
        the attribute ``terminal = True`` ends the motion there, ``direction`` (1, -1) selects rising or falling zeros.
        An event that is zero at the start is listed at t = 0, and does not end the motion.
    progress : a bar on long runs on a terminal (None), always, never, or a function of the fraction done.
    on_chunk : called with pieces of the trajectory as they are computed; they are not kept, and the result holds only
        the last record. So memory stays bounded however long it runs. Adaptive methods give one piece.

    Returns
    -------
    ``Trajectory``: t (r,), q (…, r, nq), qd (…, r, nv), tau, friction, energy, constraint_error. Rows that fail (a
    singular state, an iteration that does not converge) are NaN from there on, and a ``SimulationWarning`` names the
    joint that diverged first and when. A warning is also given of a step beyond 90 % of the stability limit of its
    method at the start (by damping, stiffness, force elements and a traced controller; of a batch some rows are
    examined). Where there are any, ``facts["unsolved"]`` counts, by row, problems of impulses (friction, limits,
    contact) that were not solved to the end, and implicit steps without a positive pivot. Interrupted by Ctrl-C it
    returns the computed part, with a warning, and ``interrupted`` is True.

    With arrays on an NVIDIA GPU (q, qd, controller, f_ext and parameters, as far as they are arrays: all there, of CuPy
    or PyTorch) a ``DeviceTrajectory``, whose arrays are on the GPU: all steps are one launch on the current stream, and
    nothing waits for it. So numbers are not checked and nothing is reported: rows that fail are NaN, without a warning.
    Fixed steps only, and controllers that are compiled; no events, on_chunk and progress.

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
    if are_on_gpu(q, qd, controller, f_ext, parameters=parameters):
        if events or on_chunk is not None:
            raise ScalarTypeError(f"{where}: events and on_chunk need arrays on the processor, got some on a GPU.")
        return simulate_on_gpu(
            where, system, q, qd, duration, dt=STEP if dt is None else dt, method=method, every=every, grid=_grid,
            controller=controller, sample_time=sample_time, f_ext=f_ext, parameters=parameters, forces=forces,
            constraints=constraints, stabilisation=stabilisation,
        )  # fmt: skip
    setup = make_setup(
        where, system, q, qd, controller=controller, sample_time=sample_time, f_ext=f_ext, forces=forces,
        parameters=parameters, constraints=constraints, stabilisation=stabilisation, seed=seed,
    )  # fmt: skip
    warn(where, friction_warning(setup), 2)
    for text in start_warnings(setup) if not is_quiet() else ():
        warn(where, text, 2)
    with Progress(f"{where} {system.name}", duration, progress) as bar:
        if method in ADAPTIVE:
            interval = None if dt is None else positive(where, "dt", dt, "s", zero=False) * every
            facts: dict[str, Any] = {"method": method, "record_every": every}
            pieces = integrate_adaptively(setup, method, duration, interval, events, rtol, atol, bar, facts)
            return collect(setup, pieces, facts, on_chunk)
        if events:
            raise ScalarTypeError(f"{where}: events need an adaptive method, got {method!r}. Use 'adaptive'.")
        return run_fixed(setup, method, duration, dt, every, bar, on_chunk)


def run_fixed(
    setup: Setup,
    method: str,
    duration: float,
    dt: float | None,
    every: int,
    bar: Progress,
    on_chunk: Callable[[Trajectory], Any] | None = None,
    on_gpu: bool = False,
) -> Trajectory:
    """Return the trajectory of a setup by a method of fixed steps, computed on the GPU of this process if ``on_gpu``.

    Other arguments are those of ``simulate``; ``bar`` shows the progress.
    """
    where = setup.problem.where
    steps, h, last_step = _grid(where, duration, STEP if dt is None else dt, setup)
    require_countable(where, steps / every)
    marks = np.append(np.arange(0, steps, every), steps)
    runner = Runner(setup, method, h, on_gpu=on_gpu)
    if not is_quiet():
        warn(where, step_warning(runner), 3)
    buffer = None if on_chunk is not None else RecordBuffer(setup, len(marks))
    records = runner.run(marks, lambda done: bar.update(done * h), buffer, last_step)
    # the last record is at the duration to the bit, so that at(duration) is in range
    pieces = (piece._replace(t=np.where(piece.t == steps * h, duration, piece.t)) for piece in records)
    return collect(setup, pieces, {"method": method, "record_every": every, "dt": h}, on_chunk, buffer, runner, 4)


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
    forces: Any = NO_FORCES,
    parameters: Mapping[str, Any] | None = None,
    constraints: str = PROJECTED,
    stabilisation: float = 20.0,
) -> tuple[Array, Array]:
    """Return the state (q, qd) one step of dt [s] later, of one row or of a batch; arguments as for ``sixd.simulate``.

    ``method`` has fixed steps: "rk4", "euler", "midpoint" or "implicit". One row takes a few microseconds, except at
    the first call with a system, a method and these kinds of forces, which compiles. Arrays, dt and t may change from
    call to call.

    A function, as controller or f_ext or held by one, is traced at its first step with a system, method and dtype: the
    values of variables that it closes over, and of globals, are fixed from then on, as by ``sixd.compile``. Make a new
    function to have them read again, or pass the forces themselves, as an array: ``controller=law(t, q, qd)``. In
    float32 t has its precision, too. Attributes of an object that is called, or
    whose method is, are compared with those of its first step at every call; where one has changed, the object is
    traced again. An object whose attributes cannot be compared (with ``__slots__``, say) is traced at every call. Code
    is dropped when its function, or object, is garbage-collected.

    Arrays may be on an NVIDIA GPU, all of them, as for ``sixd.simulate``: (q, qd) are then of the same kind, rows that
    would be refused (off the constraints, not finite) are NaN, and ``sixd.cuda.check`` counts them. Tensors of PyTorch
    on the processor give tensors.

    >>> import sixd
    >>> q, qd = sixd.step(sixd.zoo.pendulum(), [0.5], [0.0], 1e-3)
    """
    known = None
    if parameters is None:
        known = find(system, method, controller, f_ext, forces, constraints, stabilisation)
        if known is not None:
            result = known.advance(q, qd, dt, t, controller, f_ext)
            if result is not None:
                return result
    where = "step"
    if method not in FIXED_STEP:
        raise unknown_name(f"{where}: method", "choice", method, FIXED_STEP)
    h = positive(where, "dt", dt, "s", zero=False)
    if isinstance(t, bool) or not is_number(t) or not np.isfinite(t):
        raise ScalarTypeError(f"{where}: t is {t!r}, expected a finite number [s].")
    if are_on_gpu(q, qd, controller, f_ext, parameters=parameters):
        return step_on_gpu(
            where, system, q, qd, h, float(t), method=method, controller=controller, f_ext=f_ext, forces=forces,
            parameters=parameters, constraints=constraints, stabilisation=stabilisation,
        )  # fmt: skip
    if are_tensors(q, qd, controller, f_ext):

        def on_numpy(values: list[Any], _: Any) -> Any:
            q, qd, law, force = values
            return step(
                system, q, qd, dt, t=t, method=method, controller=law, f_ext=force, forces=forces,
                parameters=parameters, constraints=constraints, stabilisation=stabilisation,
            )  # fmt: skip

        return with_numpy(where, ("q", "qd", "controller", "f_ext"), on_numpy, (q, qd, controller, f_ext), None)
    new = None
    if known is None and parameters is None:
        new = begin(system, method, controller, f_ext, forces, constraints, stabilisation)
    setup = make_setup(
        where, system, q, qd, controller=controller, sample_time=None, f_ext=f_ext, forces=forces,
        parameters=parameters, constraints=constraints, stabilisation=stabilisation, seed=None,
        start=float(t), is_known=known is not None,
    )  # fmt: skip
    problem = setup.problem
    if any(size and not isinstance(x, RigidForce) for x, size in zip(problem.forces, problem.sizes, strict=True)):
        raise ScalarTypeError(f"{where}: an element of forces has a state of its own. Use sixd.simulate.")
    known = new or known
    if known is not None:
        result = known.first(setup, method, h, float(t), controller)
        if result is not None:
            return result
    runner = Runner(setup, method, h, float(t), None if known is None else known.kept)
    *_, last = runner.run(np.array([1]), lambda done: None)
    q, qd = (x[:, -1].reshape((*setup.batch, x.shape[-1])) for x in (last.q, last.qd))
    return q, qd


def automatic_method(
    system: System, q: Any, qd: Any, duration: float, *, dt: float = STEP, controller: Any = None
) -> tuple[str, str]:
    """Return "rk4", or "implicit" and the reason, if the step is beyond RK4's limit at the start."""
    where = "simulate"
    setup = make_setup(
        where, system, q, qd, controller=controller, sample_time=None, f_ext=None, forces=(), parameters=None,
        constraints=PROJECTED, stabilisation=0.0, seed=None,
    )  # fmt: skip
    _, h, _ = _grid(where, positive(where, "duration", duration, "s"), dt, setup)
    runner = Runner(setup, "rk4", h)
    limit = limit_at_start(runner)
    return ("rk4", "") if limit is None else (IMPLICIT, excess(runner, limit))


def _grid(where: str, duration: float, dt: float, setup: Setup) -> tuple[int, float, float]:
    """Return (number of steps, step [s], length of the last step if it is shorter, else 0).

    Steps are at most dt long, and divide the duration evenly, or the sampling interval; then the last may be shorter.
    """
    longest = positive(where, "dt", dt, "s", zero=False)
    divided = duration
    if setup.sampled is not None and setup.sampled.interval is not None:
        divided = min(setup.sampled.interval, duration)
    count = divided / longest
    if not count < 1e15:
        raise ScalarTypeError(f"{where}: dt is {dt!r} for {divided:g} s, expected fewer than 1e15 steps.")
    h = divided / max(1, math.ceil(count - 1e-9)) if divided else longest
    steps, last_step = round(duration / h), 0.0
    if abs(steps * h - duration) > 1e-6 * h:
        steps = math.ceil(duration / h)
        last_step = duration - (steps - 1) * h
    if setup.dtype == "float32" and steps > _MOST_IN_FLOAT32:
        raise ScalarTypeError(
            f"{where}: these are {steps} steps, expected at most {_MOST_IN_FLOAT32} in float32. Use float64."
        )
    return steps, h, last_step
