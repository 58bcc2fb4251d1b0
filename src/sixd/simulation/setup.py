"""The setup of a simulation: the checked arguments of ``sixd.simulate`` as a problem and rows of states and constants.

Here are also the checks of numbers and of the start; ``sixd.ensemble`` uses them too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.algorithms.constrained.least_norm import COARSE, EXACT
from sixd.algorithms.constrained.rows import constraint_velocity, padded_error
from sixd.algorithms.singular import singular_joints
from sixd.constraints.reduced_model import Reduced
from sixd.engine.functions import Function
from sixd.engine.kernel import batched
from sixd.engine.parameters import parameter_shape
from sixd.engine.result_checks import require_regular
from sixd.errors import AssemblyError, ModelError, ScalarTypeError, look_up, unknown_name
from sixd.forces.elements import elements
from sixd.model.manifold import require_unit_quaternions
from sixd.model.model import Model
from sixd.model.system import System, require_system
from sixd.runtime.batch import Argument, prepare
from sixd.simulation.controller import SampledController, can_be_compiled, classify_controller, require_pure
from sixd.simulation.problem import PROJECTED, STABILISED, Problem
from sixd.spatial.scalar import Array, Scalar, is_number
from sixd.trajectory.labels import tree_behind

_ARGUMENTS = ("q", "qd", "tau", "controller", "f_ext")  # names that no symbol can have
_MOST_RECORDS = 1e9
_UNASSEMBLED = 1e-6  # in a constraint's own unit: a start with larger errors is refused, the first step corrects others


@dataclass(frozen=True, eq=False)
class Setup:
    """A problem and its start: rows of states, and of constants (one row for all, or as many).

    ``batch`` is the shape of the batch, whose entries are the rows.
    """

    problem: Problem
    batch: tuple[int, ...]
    q: Array
    qd: Array
    u: Array
    constants: dict[str, Array]
    dtype: str
    sampled: SampledController | None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.q)


def make_setup(
    where: str,
    system: System,
    q: Any,
    qd: Any,
    *,
    controller: Any,
    sample_time: float | None,
    f_ext: Any,
    forces: Any,
    parameters: Mapping[str, Any] | None,
    constraints: str,
    stabilisation: float,
    seed: Any,
    start: float | None = 0.0,
    is_known: bool = False,
) -> Setup:
    """Return the setup of a simulation that begins at the time ``start`` [s]; raise if it cannot begin.

    ``start`` None: its state stands in for others, so that errors of constraints do not matter.
    ``is_known``: its functions were compiled before, and are not traced again.
    """
    require_system(where, system)
    if not system.nv:
        raise ScalarTypeError(f"{where}: {system.name!r} has no freedoms, expected a system that can move.")
    rng = _generator(where, seed)
    if isinstance(q, str):
        start_q = named_start(where, system, q)
        q = start_q(rng) if callable(start_q) else start_q
    q = system.initial_configuration() if q is None else q
    qd = np.zeros(system.nv, np.float32 if getattr(q, "dtype", None) == np.float32 else float) if qd is None else qd
    interval = None if sample_time is None else positive(where, "sample_time", sample_time, "s", zero=False)
    law, sampled, constant = classify_controller(where, controller, interval, seed)
    given = _parameters(where, parameters)
    if constraints not in (PROJECTED, STABILISED):
        raise unknown_name(f"{where}: constraints", "choice", constraints, (PROJECTED, STABILISED))
    problem = Problem(
        where,
        system,
        law=law,
        has_tau=constant is not None or sampled is not None,
        f_ext=f_ext if callable(f_ext) else None,
        has_f_ext=f_ext is not None and not callable(f_ext),
        forces=elements(where, forces),
        parameters=tuple(given),
        constraints=constraints,
        stabilisation=positive(where, "stabilisation", stabilisation, "1/s"),
    )
    if not is_known:
        if law is not None and not can_be_compiled(problem):
            problem, sampled = replace(problem, law=None, has_tau=True), SampledController(where, law, None)
        require_pure(problem)
    arrays, batch, dtype = _arrays(problem, q, qd, constant, f_ext, given)
    sticks = "friction" not in given or bool(arrays["friction"].any())
    problem = replace(problem, limits=COARSE if dtype == "float32" else EXACT, sticks=sticks)
    rows = len(arrays["q"])
    require_unit_quaternions(where, system, "q", arrays["q"].reshape((*batch, system.nq)))
    if sampled is not None:
        sampled = replace(sampled, batch=batch)
        arrays["tau"] = np.zeros((rows, system.nv), dtype)
    parts = [force.start(system) for force in problem.forces]
    u = np.tile(np.concatenate([np.zeros(0), *parts]).astype(dtype), (rows, 1))
    constants = {name: arrays[name] for name in problem.constants}
    setup = Setup(problem, batch, arrays["q"], arrays["qd"], u, constants, dtype, sampled)
    _require_start(setup, start)
    return setup


# arguments --------------------------------------------------------------------------------------


def _arrays(
    problem: Problem, q: Any, qd: Any, constant: Any, f_ext: Any, parameters: Mapping[str, Any]
) -> tuple[dict[str, Array], tuple[int, ...], str]:
    """Return (rows, core) copies of all arguments that are arrays, the batch's shape and the dtype.

    There is one row for all if an array has no batch, but q and qd have all rows.
    """
    where, system = problem.where, problem.system
    arguments = [
        Argument("q", q, (system.nq,), f"nq of {system.name!r}"),
        Argument("qd", qd, (system.nv,), f"nv of {system.name!r}"),
    ]
    if constant is not None:
        arguments.append(Argument("controller", constant, (system.nv,), "nv, constant forces"))
    if problem.has_f_ext:
        arguments.append(Argument("f_ext", f_ext, (system.nb, 6), "nb, 6"))
    arguments += [Argument(name, x, parameter_shape(where, system, name)) for name, x in parameters.items()]
    found, batch, kind = prepare(where, arguments)
    if kind is object:
        raise ScalarTypeError(f"{where}: arguments hold objects, expected numbers. For symbols see sixd.equations.")
    if any(str(s) not in parameters for s in system.symbols):
        system.require_numeric(where)
    dtype = np.dtype(kind).name
    arrays: dict[str, Array] = {}
    for (name, _, core, _), x in zip(arguments, found, strict=True):
        is_state = name in ("q", "qd")
        shape = batch if is_state or x.ndim > len(core) else ()
        rows = np.ascontiguousarray(np.broadcast_to(x.astype(dtype), shape + core))
        arrays[name] = rows.reshape((math.prod(shape), *core))
        if not is_state and not np.isfinite(rows).all():  # NaN in a state stays in its row
            raise ScalarTypeError(f"{where}: {name} holds NaN or infinity, expected finite numbers.")
    if "friction" in parameters and (arrays["friction"] < 0).any():
        raise ScalarTypeError(f"{where}: parameters: friction is negative in some entry, expected at least 0.")
    if constant is not None:
        arrays["tau"] = arrays.pop("controller")
    return arrays, batch, dtype


def named_start(where: str, system: System, name: str) -> Any:
    """Return the configuration (nq,) of that name; for "random" the function of a generator that draws one."""
    known = system.configurations if isinstance(system, Model) else {}
    return look_up(f"{where}: q", "configuration", name, {**known, "random": system.random_configuration})


def _generator(where: str, seed: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ScalarTypeError(
            f"{where}: seed is {seed!r}, expected a whole number of at least 0, some of them, or None."
        ) from None


def _parameters(where: str, parameters: Any) -> dict[str, Any]:
    """Return the parameters by name, symbols by their own."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ScalarTypeError(f"{where}: parameters is {parameters!r}, expected a mapping of names to arrays.")
    given = {str(name): x for name, x in (parameters or {}).items()}
    for name in _ARGUMENTS:
        if name in given:
            raise ScalarTypeError(f"{where}: parameters has {name!r}, which means something else. Rename the symbol.")
    return given


# start ------------------------------------------------------------------------------------------


def _require_start(setup: Setup, t: float | None) -> None:
    """Raise if the mass matrix is singular, or if the start violates the constraints at the time t, if there is one."""
    system, problem = setup.problem.system, setup.problem
    _require_friction(setup)
    names = singular_joints(system) if isinstance(system, Model) and not problem.parameters else ()
    if names:
        require_regular(problem.where, system, tuple(system.joint_names.index(name) + 1 for name in names))
    if t is not None and system.constraints and setup.rows:
        errors = batched(problem.where, ERRORS, system, problem.parameters, setup.dtype)
        times = np.full(setup.rows, t, setup.dtype)
        error, rate = errors(setup.q, setup.qd, times, *(setup.constants[name] for name in problem.parameters))
        _require_small(setup, "q", error, 1.0, "sixd.assemble(model, q)")
        _require_small(setup, "qd", rate, np.abs(setup.qd).max(axis=-1), "sixd.assemble(model, q, qd)")


def _require_friction(setup: Setup) -> None:
    """Raise if a joint's friction is negative in the first row; symbols have their numbers there."""
    problem, system = setup.problem, setup.problem.system
    if not setup.rows or not isinstance(system, (Model, Reduced)):
        return
    if problem.parameters and system.symbols:
        system = problem.system_with({name: setup.constants[name][0] for name in problem.parameters})
    tree = tree_behind(system)
    assert tree is not None
    for i in tree.bodies if "friction" not in problem.parameters else ():
        for x in tree.friction[tree.iv[i]]:
            if is_number(x) and x < 0:
                raise ModelError(
                    f"{problem.where}: joint {tree.joint_names[i - 1]!r} of {tree.name!r} has friction {x:g}, expected "
                    f"at least 0: it would drive the joint. Use dataclasses.replace, or correct the model's file."
                )


def _constraint_errors(system: System, q: Array, qd: Array, t: Scalar) -> tuple[Array, Array]:
    """Return the errors (k,) of the constraints of one row, and of their rates."""
    return padded_error(system, q), constraint_velocity(system, q, qd, t)


ERRORS = Function("start", _constraint_errors, ("q", "qd", "t"), named=False, check_finite=False)


def largest_error(dtype: str) -> float:
    """Return the largest error of a constraint, in its own unit, at which a simulation begins."""
    return _UNASSEMBLED * (1e3 if dtype == "float32" else 1)


def _require_small(setup: Setup, name: str, error: Array, scale: Any, hint: str) -> None:
    size = np.abs(error).max(axis=-1, initial=0.0) / np.maximum(1.0, scale)
    worst = int(np.argmax(np.where(np.isfinite(size), size, -1)))
    if size[worst] > largest_error(setup.dtype):
        row = f" in row {worst}" if setup.batch else ""
        raise AssemblyError(
            f"{setup.problem.where}: {name} does not satisfy the constraints of {setup.problem.system.name!r}{row}: "
            f"they are off by {np.abs(error[worst]).max():.3g}, expected 0. Start from {hint}."
        )


# numbers ----------------------------------------------------------------------------------------


def positive(where: str, name: str, value: Any, unit: str, *, zero: bool = True) -> float:
    """Return a finite number of at least 0, or above 0 if not ``zero``, as a float."""
    if isinstance(value, bool) or not is_number(value) or not (0 <= value < np.inf) or (not zero and value == 0):
        raise ScalarTypeError(
            f"{where}: {name} is {value!r}, expected a finite number {'of at least' if zero else 'above'} 0 [{unit}]."
        )
    return float(value)


def whole(where: str, name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least ``least`` as an int."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ScalarTypeError(f"{where}: {name} is {value!r}, expected a whole number of at least {least}.")
    return int(value)


def require_countable(where: str, records: float) -> None:
    """Raise if there are more records than a simulation can be meant to have."""
    if records > _MOST_RECORDS:
        raise ScalarTypeError(
            f"{where}: these are {records:.2g} records, expected at most {_MOST_RECORDS:.0e}. Give a longer dt, or "
            f"record_every."
        )
