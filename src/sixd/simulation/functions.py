"""The functions that users call: each makes a ``Scenario`` of its options and calls its method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sixd.errors import require_known
from sixd.model.system import System
from sixd.simulation.arguments import positive
from sixd.simulation.gradients.rollout_gradient import RolloutGradient
from sixd.simulation.gradients.step_derivatives import StepDerivatives
from sixd.simulation.problem import PROJECTED
from sixd.simulation.scenario import Scenario
from sixd.simulation.stepper import find
from sixd.simulation.stepping.compiled_steps import FIXED_STEP
from sixd.simulation.stepping.fixed import STEP
from sixd.spatial.scalar import Array
from sixd.trajectory.trajectory import Trajectory


def simulate(
    system: System, q: Any, qd: Any, duration: float, *, dt: float | None = None, method: str = "rk4",
    controller: Any = None, sample_time: float | None = None, f_ext: Any = None, forces: Any = (),
    parameters: Mapping[str, Any] | None = None, constraints: str = PROJECTED, stabilisation: float = 20.0,
    record_every: int = 1, events: Sequence[Callable[..., Any]] = (), rtol: float = 1e-9, atol: float = 1e-12,
    seed: Any = None, progress: bool | Callable[[float], Any] | None = None,
    on_chunk: Callable[[Trajectory], Any] | None = None,
) -> Any:  # fmt: skip
    """Simulate the motion of a system from a state, or from many states at once.

    Parameters
    ----------
    system : a Model (its constraints are satisfied), a reduced model, or equations of motion (``sixd.lagrange``).
    q, qd : (…, nq), (…, nv), the start. None: ``system.initial_configuration()`` (that of an MJCF file, else neutral),
        and rest. q="random" draws one with ``seed``; another string names one of the model's configurations, such as a
        keyframe.
    duration : [s].
    dt : the step [s], 1e-3 if omitted; it is shortened to divide the duration, or ``sample_time``. Adaptive methods:
        the interval of records; if omitted, a single state has a record at each step of the method, a batch at the ends
        of 200 intervals.
    method :
        "rk4", fourth order, on the group for quaternions;
        "euler", semi-implicit, first order, not symplectic when M depends on q;
        "midpoint", implicit, second order, symplectic: no drift of energy over long times, but no constraints;
        "implicit", linearly implicit (ROS2-W), second order, L-stable, for stiff springs, dampers and high gains. It
        linearises forces by exact derivatives, except those held between samples. Without such forces it is Heun's
        method;
        "adaptive", SciPy's DOP853 of order 8, and "stiff", SciPy's Radau of order 5, both to ``rtol`` and ``atol``.
        All methods except these two support sticking dry friction and rigid contact.
    controller : constant forces (…, nv), or a function ``controller(t, q, qd) -> tau (nv,)`` of one state. Written with
        NumPy's operators and the functions of ``sixd.spatial`` it becomes part of the compiled step. It must then
        depend on its arguments alone. With ``sample_time`` [s] it is called with numbers, at every sample of each
        state, and its force is held until the next sample. Then it may contain any code and keep a memory; each state
        of a batch has a copy. An argument named ``rng`` gets a random generator made from ``seed``, one for each state.
        Ready-made controllers are in ``sixd.controllers``.
    f_ext : constant (…, nb, 6), or a function (t, q, qd) -> (nb, 6), compiled as a controller is.
    forces : elements such as ``sixd.Ground`` (compliant contact with friction) and ``sixd.JointLimits``, or the rigid
        ones, ``sixd.RigidGround`` and ``sixd.RigidLimits``.
    parameters : name -> (…, core) array, per state: "inertia", "gravity", "damping" … as in ``sixd.compile``, or
        symbols.
    constraints : "projected" projects the state onto the constraints after each step; "stabilised" adds Baumgarte's
        terms, and errors decay at the rate ``stabilisation`` [1/s].
    record_every : number of steps between records; the start and the end are always recorded.
    events : for adaptive methods: functions (t, q, qd) -> number. Their zeros are listed in ``facts["events"]``. The
        attribute ``terminal = True`` ends the motion there, ``direction`` (1, -1) selects rising or falling zeros. An
        event that is zero at the start is listed at t = 0, and does not end the motion.
    progress : a bar on long runs on a terminal (None), always, never, or a function of the fraction done.
    on_chunk : called with pieces of the trajectory as they are computed. They are not stored, and the result has only
        the last record, so memory stays bounded. Adaptive methods call it once, with one piece.

    Returns
    -------
    ``Trajectory``: t (r,), q (…, r, nq), qd (…, r, nv), tau, friction, energy, constraint_error. States that fail (a
    singular state, an iteration that does not converge) are NaN from there on, and a ``SimulationWarning`` names the
    joint that diverged first and when. A warning is also issued for a step beyond 90 % of the stability limit of its
    method at the start (by damping, stiffness, force elements and a traced controller; some states of a batch are
    examined). ``facts["unsolved"]``, where there is friction, a limit, contact or method "implicit", counts for each
    state the problems of impulses that did not converge, and implicit steps without a positive pivot. Ctrl-C
    returns the computed part, with a warning and ``interrupted`` True.

    If q, qd and all other arrays (controller, f_ext, parameters) are on an NVIDIA GPU, in CuPy or PyTorch, the result
    is a ``DeviceTrajectory``, whose arrays are on the GPU. All steps are one launch on the current stream, and the call
    does not wait for it. Numbers are therefore not checked: states that fail are NaN, without a warning. Only fixed
    steps and compiled controllers are supported, without events, on_chunk and progress.

    Notes
    -----
    Fixed steps are one compiled loop over time and states, on all cores (``sixd.set_num_threads``). States do not
    depend on each other: the bits of a result are the same alone and in a batch. Quaternions must rotate by less than
    half a revolution in a step.

    >>> import numpy as np, sixd
    >>> motion = sixd.simulate(sixd.zoo.pendulum(), [0.5], [0.0], 2.0, method="midpoint")
    >>> len(motion), bool(np.ptp(motion.energy) < 1e-4)
    (2001, True)
    """
    run = Scenario(
        system, controller=controller, sample_time=sample_time, f_ext=f_ext, forces=forces,
        parameters={} if parameters is None else parameters, constraints=constraints, stabilisation=stabilisation,
        method=method, dt=dt, rtol=rtol, atol=atol, where="simulate",
    )  # fmt: skip
    return run.simulate(
        q, qd, duration, record_every=record_every, events=events, seed=seed, progress=progress, on_chunk=on_chunk
    )


def step(
    system: System, q: Any, qd: Any, dt: float, *, t: float = 0.0, method: str = "rk4", controller: Any = None,
    f_ext: Any = None, forces: Any = (), parameters: Mapping[str, Any] | None = None, constraints: str = PROJECTED,
    stabilisation: float = 20.0,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the state (q, qd) one step of dt [s] later, of one state or of a batch; arguments as ``sixd.simulate``.

    ``method`` has fixed steps: any but "adaptive" and "stiff". The first call with a system, a method and
    these kinds of forces compiles. Arrays, dt and t may change from call to call.

    A step takes some microseconds if it has only parts that cannot change: arrays, the library's controllers and force
    elements, frozen dataclasses, and functions whose closures hold numbers, systems and such objects. A function is
    traced at its first step, and again if a variable of its closure has changed; global variables that it reads are
    fixed at its first step, as in ``sixd.compile``. All other parts (an object with attributes, a bound method, a list
    in a closure) are traced again at each call, which takes milliseconds. For control loops use
    ``sixd.Scenario(…).stepper()``, or pass the forces as an array: ``controller=feedback(t, q, qd)``.

    All arrays may be on an NVIDIA GPU, as for ``sixd.simulate``. The result is then on the GPU, too. States that raise
    an error on the CPU (off the constraints, not finite) are NaN, and ``sixd.cuda.check`` counts them. For PyTorch
    tensors on the CPU, the results are tensors.

    >>> import sixd
    >>> q, qd = sixd.step(sixd.zoo.pendulum(), [0.5], [0.0], 1e-3)
    """
    if parameters is None:
        code = find(system, method, controller, f_ext, forces, constraints, stabilisation)
        if code is not None:
            result = code.advance(q, qd, dt, t, controller, f_ext)
            if result is not None:
                return result
    require_known("step: method", "choice", method, FIXED_STEP)
    run = Scenario(
        system, controller=controller, f_ext=f_ext, forces=forces, parameters={} if parameters is None else parameters,
        constraints=constraints, stabilisation=stabilisation, method=method, dt=positive("step", "dt", dt, "s"),
        where="step",
    )  # fmt: skip
    return run.step(q, qd, t=t)


def step_derivatives(
    system: System, q: Any, qd: Any, dt: float, *, tau: Any = None, u: Any = None, t: float = 0.0, method: str = "rk4",
    controller: Any = None, f_ext: Any = None, forces: Any = (), parameters: Mapping[str, Any] | None = None,
    constraints: str = PROJECTED, stabilisation: float = 20.0,
) -> StepDerivatives:  # fmt: skip
    """Return the matrices A and B of one step of ``sixd.step``: δx⁺ = A δx + B δtau with x = (q, qd, u).

    Parameters
    ----------
    system, q, qd, dt, t, method, f_ext, forces, parameters, constraints, stabilisation : as for ``sixd.step``.
    tau : (…, nv), joint forces that are held during the step [N m or N]; zero if omitted.
    u : (…, nu), the states of force elements, as they are at the start of a simulation if omitted.
    controller : a function (t, q, qd) -> (nv,), whose forces are added to tau: A is then that of the closed loop.

    Returns
    -------
    ``StepDerivatives``: ``A`` (…, n, n) and ``B`` (…, n, nv), n = 2 nv + nu. Rows belong to what is
    differentiated, columns to what it is differentiated with respect to.

    Notes
    -----
    Exact derivatives of the step as computed (with states u of force elements, of a step of ``sixd.simulate``). With
    dry friction, rigid limits and contact, joints and points keep their mode (sticking, sliding or open) in the
    derivatives; the velocity of a joint that sticks has zero rows. Derivatives are NaN for states whose impulses did
    not converge. Under constraints the step ends with a projection, which also projects changes across the constraints.
    Infinite derivatives of roots count as zero. With a controller, a function f_ext or your own force elements, each
    call traces the step: 60 ms for two degrees of freedom, most of a second for six.

    >>> import sixd
    >>> A, B = sixd.step_derivatives(sixd.zoo.pendulum(), [0.5], [0.0], 1e-3)
    >>> A.shape, B.shape
    ((2, 2), (2, 1))
    """
    run = Scenario(
        system, controller=controller, f_ext=f_ext, forces=forces, parameters={} if parameters is None else parameters,
        constraints=constraints, stabilisation=stabilisation, method=method,
        dt=positive("step_derivatives", "dt", dt, "s"), where="step_derivatives",
    )  # fmt: skip
    return run.derivatives(q, qd, tau=tau, u=u, t=t)


def rollout_gradient(
    system: System, q: Any, qd: Any, controls: Any, *, dt: float = STEP, cost: Callable[..., Any] | None = None,
    final: Callable[..., Any] | None = None, method: str = "rk4", forces: Any = (),
    parameters: Mapping[str, Any] | None = None, f_ext: Any = None, constraints: str = PROJECTED,
    stabilisation: float = 20.0, progress: bool | Callable[[float], Any] | None = None,
) -> RolloutGradient:  # fmt: skip
    """Return the cost of a motion under prescribed joint forces, and its gradients with respect to start, forces and
    parameters.

    Parameters
    ----------
    system, q, qd : as for ``sixd.simulate``; q (…, nq), qd (…, nv), or None.
    controls : (…, steps, nv), the joint forces [N m or N], held during each step; their number is that of the steps.
    dt : the step [s].
    cost : a function ``cost(t, q, qd, tau)`` of one state and the forces that begin there, a number. It is summed over
        the steps, from the start to the last but one state; multiply by dt for an integral.
    final : a function ``final(q, qd)`` of the last state, a number. Both are written like controllers, with NumPy's
        operators and the functions of ``sixd.spatial``, and may call the functions of the library.
    method : with fixed steps, as for ``sixd.step``.
    forces, f_ext, constraints, stabilisation, progress : as for ``sixd.simulate``.
    parameters : name -> (…, core), as for ``sixd.simulate``; the result has the gradients with respect to all of them.

    Returns
    -------
    ``RolloutGradient``: ``cost`` (…), ``q``, ``qd`` (…, nv), ``controls`` (…, steps, nv), ``parameters``, ``last_q``,
    ``last_qd``, ``facts``.

    Notes
    -----
    Exact derivatives of the steps as computed, not finite differences, for all states in one compiled loop forward and
    one backward. The gradient takes three to four times as long as the motion, for any number of controls and
    parameters. With dry friction, rigid limits and contact, joints and points keep their mode (sticking, sliding or
    open) in the derivatives. Each call traces the functions, which takes a millisecond, or more if they call the
    library; new functions are compiled. With a function f_ext or your own force elements, the steps are traced, too.
    Infinite derivatives of roots count as zero. Ctrl-C raises KeyboardInterrupt.

    All arrays may be on an NVIDIA GPU, in CuPy or PyTorch. Those of the result (and "unsolved" in ``facts``) are then
    on the GPU, too. The call does not wait for them, numbers are not checked, and states that fail are NaN without a
    warning.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.pendulum()
    >>> result = sixd.rollout_gradient(
    ...     arm, [0.5], [0.0], np.zeros((100, 1)), cost=lambda t, q, qd, tau: q @ q, final=lambda q, qd: qd @ qd
    ... )
    >>> result.controls.shape
    (100, 1)
    """
    run = Scenario(
        system, f_ext=f_ext, forces=forces, parameters={} if parameters is None else parameters,
        constraints=constraints, stabilisation=stabilisation, method=method,
        dt=positive("rollout_gradient", "dt", dt, "s"), where="rollout_gradient",
    )  # fmt: skip
    return run.gradient(q, qd, controls, cost=cost, final=final, progress=progress)


def ensemble(
    system: System, q: Any, qd: Any, duration: float, *, count: int | None = None, seed: Any = 0,
    parameters: Mapping[str, Any] | None = None, processes: int | None = None, cluster: Any = None, device: str = "cpu",
    chunk: int | None = None, retries: int = 2, keep: str = "all", dt: float | None = None, method: str = "rk4",
    controller: Any = None, sample_time: float | None = None, f_ext: Any = None, forces: Any = (),
    constraints: str = PROJECTED, stabilisation: float = 20.0, record_every: int = 1,
    events: Sequence[Callable[..., Any]] = (), rtol: float = 1e-9, atol: float = 1e-12,
    progress: bool | Callable[[float], Any] | None = None,
) -> Trajectory:  # fmt: skip
    """Simulate many motions of a system: random draws, sweeps of parameters, or both; one entry each, in order.

    Parameters
    ----------
    q, qd, parameters, controller, f_ext : each q, qd, entry of parameters, constant force and constant f_ext is one
        value for all simulations; an array with ``count`` values; or a function of a ``numpy.random.Generator`` that
        draws one value. None as for ``sixd.simulate``; q="random" draws configurations. A controller, a function (t, q,
        qd), is the same for all simulations.
    count : number of simulations; it may be omitted if an argument is an array with as many values.
    seed : the generator of simulation i is made from (seed, i) alone. It draws q, qd, the parameters in their order,
        the controller's force, f_ext. None: another seed each time, in ``facts["seed"]``.
    processes : worker processes on this machine. 1: in this process, on its threads; this is the default for fixed
        steps without a controller that is called with numbers, and for short work. Otherwise one for each core.
    cluster : instead of processes, the address of a dask scheduler ("tcp://…"), a ``distributed.Client``, or any
        executor like those of ``concurrent.futures``: an object with ``submit(function, *arguments)``, whose futures
        have ``result()``, and ``add_done_callback`` or ``done()`` (pools of processes, mpi4py.futures, submitit …).
    device : "cpu", or "cuda": the steps are computed on a GPU, by methods of fixed steps without a controller that is
        called with numbers. Without processes or cluster, in this process, on GPU ``sixd.cuda.local_device()``;
        ``processes=8`` is one process for each of eight GPUs; on a cluster each worker uses the GPU assigned to it.
    chunk : simulations of a task; by default as many as take half a second.
    retries : how often the simulations of a lost worker are computed again. Errors in the simulation itself are raised
        at once.
    keep : "all" records, or only the start and the "end".
    dt … progress : as for ``sixd.simulate``.

    Returns
    -------
    ``Trajectory`` with the batch (count,). It is bit-identical to the result of one call of ``sixd.simulate``, for any
    chunks, processes and machines with one kind of CPU. Ctrl-C returns the complete simulations, with a warning; the
    others are NaN, and ``interrupted`` is True. If no simulation is complete, the result is one record with the initial
    states.

    Notes
    -----
    In this process a controller may be any function or object. Workers get arrays and pickled objects: draws may be any
    function, while controllers must be functions of a module, or objects such as those of ``sixd.controllers``. A
    cluster accepts lambdas, too, if cloudpickle is installed. Workers that need functions of the script import the
    script, so the call must be under ``if __name__ == "__main__":``. A controller with ``sample_time`` may keep a
    memory: each simulation has a copy of it, and an argument ``rng`` gets the simulation's generator.

    >>> import sixd
    >>> top = sixd.zoo.spinning_top()
    >>> spins = sixd.ensemble(top, [0, 0.5, 0], lambda rng: [0, 0, rng.uniform(500, 1000)], 0.01, count=100, dt=1e-4)
    >>> spins.q.shape
    (100, 101, 3)
    """
    run = Scenario(
        system, controller=controller, sample_time=sample_time, f_ext=f_ext, forces=forces,
        parameters={} if parameters is None else parameters, constraints=constraints, stabilisation=stabilisation,
        method=method, dt=dt, rtol=rtol, atol=atol, where="ensemble",
    )  # fmt: skip
    return run.ensemble(
        q, qd, duration, count=count, seed=seed, processes=processes, cluster=cluster, device=device, chunk=chunk,
        retries=retries, keep=keep, record_every=record_every, events=events, progress=progress,
    )  # fmt: skip
