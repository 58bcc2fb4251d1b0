"""``sixd.simulate`` and ``sixd.step`` on arrays that are on a GPU: all steps of all rows in one launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sixd.engine.kernel import batched, row_kernel
from sixd.errors import ScalarTypeError, unknown_name
from sixd.forces.elements import RigidForce
from sixd.model.system import System
from sixd.runtime.cuda.arrays import look
from sixd.runtime.cuda.driver import driver
from sixd.simulation.gpu_rows import GpuRows, constants_of, launch, make_rows, make_setup_of
from sixd.simulation.known_steps import begin, find
from sixd.simulation.problem import Problem
from sixd.simulation.setup import Setup, require_countable
from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.compiled_steps import FIXED_STEP, UNSOLVED, has_momenta, rollout
from sixd.simulation.stepping.single_step import step_rollout
from sixd.trajectory.device_trajectory import DeviceTrajectory

_BEFORE = "step before on a GPU"
_STAND_IN = np.zeros(0)  # for an array on the GPU: any array has the same code


def simulate_on_gpu(
    where: str,
    system: System,
    q: Any,
    qd: Any,
    duration: float,
    *,
    dt: float,
    method: str,
    every: int,
    grid: Callable[[str, float, float, Setup], tuple[int, float, float]],
    **options: Any,
) -> DeviceTrajectory:
    """Simulate rows whose arrays are on a GPU; ``grid`` chooses the steps, ``options`` as for :func:`make_setup_of`."""
    if method not in FIXED_STEP:
        raise ScalarTypeError(
            f"{where}: method is {method!r}, but arrays are on a GPU, expected fixed steps: {', '.join(FIXED_STEP)}."
        )
    controller, f_ext, parameters = (options[name] for name in ("controller", "f_ext", "parameters"))
    rows = make_rows(where, system, q, qd, constants_of(system, controller, f_ext), parameters)
    setup = make_setup_of(rows, system, **options)
    problem = setup.problem
    steps, h, _ = grid(where, duration, dt, setup)
    require_countable(where, steps / every)
    marks = np.append(np.arange(0, steps, every), steps)
    code = rollout(problem, method, rows.dtype, target=rows.target)
    found = launch(code, rows, np.diff(marks, prepend=0), rows.started(setup, method), problem, h)
    t = marks * h
    t[-1] = duration  # to the bit
    q = found["q"]
    qd = _velocities(rows, problem, found) if has_momenta(problem, method) else found["qd"]
    facts: dict[str, Any] = {"method": method, "record_every": every, "dt": h}
    if UNSOLVED in found:
        facts[UNSOLVED] = rows.shaped(found[UNSOLVED][:, -1])
    values = {name: rows.constants[name] for name in problem.parameters}
    values = {name: rows.library.view(x, (rows.rows, *x.shape[1:])) for name, x in values.items()}
    return DeviceTrajectory(
        t=t,
        q=rows.shaped(q),
        qd=rows.shaped(qd),
        system=system,
        tau=rows.shaped(_forces(rows, problem, t, q, qd)),
        friction=rows.shaped(found["friction"]) if "friction" in found else None,
        internal=rows.shaped(found["u"]) if problem.nu else None,
        forces=problem.forces,
        parameters={name: rows.shaped(x) for name, x in values.items()},
        facts=facts,
    )


def _velocities(rows: GpuRows, problem: Problem, found: Mapping[str, Any]) -> Any:
    """The velocities at the records of a method that steps momenta."""
    values = [rows.constants[name][:, None] for name in problem.parameters]
    made = batched(rows.where, midpoint.VELOCITY, problem.system, problem.parameters, rows.dtype)
    return made(found["q"], found["p"], *values)


def _forces(rows: GpuRows, problem: Problem, t: Any, q: Any, qd: Any) -> Any:
    """The controller's forces at the records; constant ones are not copied for each."""
    law, system = problem.law, problem.system
    if law is not None:
        cores = {"t": (), "q": (system.nq,), "qd": (system.nv,)}
        kernel = row_kernel("controller", lambda _, *x: np.asarray(law(*x)), cores, system, rows.dtype)
        return kernel(rows.numbers(t), q, qd)
    tau = rows.constants["tau"][:, None] if problem.has_tau else rows.zeros((1, 1, 1))
    return rows.library.view(tau, tuple(qd.shape))


def step_on_gpu(
    where: str,
    system: System,
    q: Any,
    qd: Any,
    h: float,
    t: float,
    *,
    method: str,
    controller: Any,
    f_ext: Any,
    forces: Any,
    parameters: Mapping[str, Any] | None,
    constraints: str,
    stabilisation: float,
) -> tuple[Any, Any]:
    """One step of rows whose arrays are on a GPU: (q, qd)."""
    if method not in FIXED_STEP:
        raise unknown_name(f"{where}: method", "choice", method, FIXED_STEP)
    known, kept = None, None
    arrays = constants_of(system, controller, f_ext)
    if parameters is None:
        given = (_STAND_IN if "tau" in arrays else controller), (_STAND_IN if "f_ext" in arrays else f_ext)
        known = find(system, method, *given, forces, constraints, stabilisation)
        before = None if known is None else known.kept.get(_BEFORE)
        found = None if before is None else before.again((q, qd, *(x for x, _ in arrays.values())), h, t)
        if found is not None:
            return found
        known = known or begin(system, method, *given, forces, constraints, stabilisation)
        kept = None if known is None else known.kept
    rows = make_rows(where, system, q, qd, arrays, parameters)
    key = "problem on a GPU", rows.dtype
    problem = None if kept is None else kept.get(key)
    if problem is None:
        setup = make_setup_of(
            rows, system, controller=controller, sample_time=None, f_ext=f_ext, parameters=parameters, forces=forces,
            constraints=constraints, stabilisation=stabilisation,
        )  # fmt: skip
        problem = setup.problem
        if any(size and not isinstance(x, RigidForce) for x, size in zip(problem.forces, problem.sizes, strict=True)):
            raise ScalarTypeError(f"{where}: an element of forces has a state of its own. Use sixd.simulate.")
        if parameters is not None:
            code = rollout(problem, method, rows.dtype, target=rows.target)
            found = launch(code, rows, [1], rows.started(setup, method), problem, h, t)
            after = _velocities(rows, problem, found) if has_momenta(problem, method) else found["qd"]
            return rows.shaped(found["q"][:, 0]), rows.shaped(after[:, 0])
        if kept is not None and known is not None:
            kept[key] = problem
            known.keep(system)
    code = step_rollout(problem, method, rows.dtype, rows.target, kept)
    if kept is not None and q is not None and qd is not None:
        kept[_BEFORE] = _LastStep(rows, code, (q, qd, *(x for x, _ in arrays.values())), h, t)
    after = launch(code, rows, [1], {"q": rows.q, "qd": rows.qd}, problem, h, t)
    return rows.shaped(after["q"]), rows.shaped(after["qd"])


class _LastStep:
    """The step before, to be repeated on arrays of the same layouts, without the checks of new ones."""

    def __init__(self, rows: GpuRows, code: Any, arrays: tuple[Any, ...], h: float, t: float) -> None:
        self.batch, self.library, self.code, self.h, self.t = rows.batch, rows.library, code, h, t
        self.layouts, addresses, self.numbers = zip(*(look(x) for x in arrays), strict=True)
        used = (rows.q, rows.qd, *rows.constants.values())
        # an array that was copied to all rows would be so again
        self.usable = addresses == tuple(look(x)[1] for x in used) and rows.rows > 0
        self.shapes = tuple(None if x is y else tuple(y.shape) for x, y in zip(arrays, used, strict=True))
        # numbers made while a graph is recorded belong to that graph
        stream = self.library.stream(max(self.numbers[0], 0))
        self.usable = self.usable and not driver(rows.where).is_capturing(stream)
        self.step: Any = rows.number(h) if self.usable else None
        self.start: Any = rows.number(t) if self.usable else None

    def again(self, arrays: tuple[Any, ...], h: float, t: float) -> tuple[Any, Any] | None:
        """Return (q, qd) a step later; None if arrays have other layouts."""
        try:
            layouts, _, numbers = zip(*(look(x) for x in arrays), strict=True)
        except Exception:  # found again, and named, by the general way
            return None
        if not self.usable or layouts != self.layouts or numbers != self.numbers:
            return None
        given = [x if shape is None else x.reshape(shape) for x, shape in zip(arrays, self.shapes, strict=True)]
        full, like = self.library.full, arrays[0]
        step = self.step if h == self.h else full(like, (1,), h)
        start = self.start if t == self.t else full(like, (1,), t)
        q, qd = self.code([1], [*given[:2], step, start, *given[2:]])
        if len(self.batch) == 1:
            return q, qd
        return q.reshape((*self.batch, q.shape[1])), qd.reshape((*self.batch, qd.shape[1]))
