"""The setup of a run: what of a scenario is compiled, and its start as arrays of states and constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.algorithms.constrained.least_norm import COARSE, EXACT
from sixd.algorithms.constrained.rows import constraint_velocity, padded_error
from sixd.algorithms.singular import singular_joints
from sixd.constraints.reduced_model import Reduced
from sixd.engine.functions import Function
from sixd.engine.kernel import batched
from sixd.engine.parameters import parameter_shape
from sixd.engine.result_checks import require_regular
from sixd.engine.targets import CodeTarget, cpu, cuda
from sixd.errors import AssemblyError, ModelError, ScalarTypeError, look_up
from sixd.model.manifold import require_unit_quaternions
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.model.system import System
from sixd.runtime.arrays.interface import NativeLibrary
from sixd.runtime.arrays.numpy_arrays import NUMPY
from sixd.runtime.arrays.registry import is_on_gpu, native_library, read_array
from sixd.runtime.batch import Argument, prepare
from sixd.runtime.cuda.device import device
from sixd.simulation.arguments import Seed
from sixd.simulation.controller import SampledController, can_be_compiled, classify_controller, require_pure
from sixd.simulation.problem import Problem
from sixd.spatial.scalar import Array, ArrayLike, Scalar, is_number
from sixd.trajectory.labels import tree_behind

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

_UNASSEMBLED = 1e-6  # in a constraint's own unit: a start with larger errors is refused, the first step corrects others


@dataclass(frozen=True, eq=False)
class Setup:
    """The equations of motion of a run, and its start: arrays of states, and of constants.

    q (rows, nq), qd (rows, nv), u (rows, nu), and constants (rows or 1, core) by name; ``batch`` is the shape of the
    batch, whose states are the rows. ``library`` made the arrays, ``target`` is what they are computed on.
    """

    problem: Problem
    batch: tuple[int, ...]
    q: Any
    qd: Any
    u: Any
    constants: dict[str, Any]
    dtype: str
    sampled: SampledController | None
    library: NativeLibrary = NUMPY
    target: CodeTarget = cpu

    @cached_property
    def rows(self) -> int:
        """Number of states."""
        return int(self.q.shape[0])

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """An array of zeros."""
        return self.library.full(self.q, shape, 0.0)

    def number(self, x: float) -> Any:
        """An array (1,): one number for all states."""
        return self.library.full(self.q, (1,), x)

    def shaped(self, x: Array) -> Array:
        """An array (rows, …) in the shape of the batch."""
        return x.reshape((*self.batch, *x.shape[1:]))

    def compiled(self, function: Function, *, parameters: bool = True) -> Callable[..., Any]:
        """The compiled ``f(*arrays)`` for states (rows, …), or with ``records=True`` for records (rows, r, …). It has
        the parameters of each state, unless ``parameters`` is False."""
        names = self.problem.parameters if parameters else ()
        made = batched(self.problem.where, function, self.problem.system, names, self.dtype)
        values = [self.constants[name] for name in names]
        return lambda *arrays, records=False: made(*arrays, *([x[:, None] for x in values] if records else values))


def make_problem(
    where: str, run: Scenario, seed: Seed = None, *, has_tau: bool = False, checked: bool = False
) -> tuple[Problem, SampledController | None]:
    """Return the equations of motion of a run, and its controller if that is called with numbers.

    This decides what is compiled: functions that can be traced are part of the equations, arrays and forces of sampled
    controllers are inputs. ``has_tau``: there are joint forces tau besides the controller's. ``checked``: its functions
    were compiled before, and are not traced here.
    """
    system = run.model
    if not system.nv:
        raise ScalarTypeError(f"{where}: {system.name!r} has no degrees of freedom, expected a system that can move.")
    law, sampled, constant = classify_controller(where, run.controller, run.sample_time, seed)
    problem = Problem(
        where, system, law=law, has_tau=has_tau or constant is not None or sampled is not None,
        f_ext=run.f_ext if callable(run.f_ext) else None, has_f_ext=run.f_ext is not None and not callable(run.f_ext),
        forces=tuple(run.forces), parameters=tuple(run.parameters), constraints=run.constraints,
        stabilisation=run.stabilisation,
    )  # fmt: skip
    if not checked:
        if law is not None and not can_be_compiled(problem):
            problem, sampled = replace(problem, law=None, has_tau=True), SampledController(where, law, None)
        require_pure(problem)
    return problem, sampled


def make_setup(
    where: str, run: Scenario, q: ArrayLike | str | None, qd: ArrayLike | None, *, seed: Seed = None,
    start: float = 0.0, tau: ArrayLike | None = None, steps: int | None = None, checked: bool = False,
) -> Setup:  # fmt: skip
    """Return the setup of a run that begins at the time ``start`` [s]; raise if it cannot begin.

    ``tau`` (…, nv), or (…, steps, nv), are joint forces besides those of the controller, which must then be a function
    that can be compiled, or None. The numbers of arrays on a GPU are not checked. ``checked`` as for
    :func:`make_problem`.
    """
    on_gpu = are_on_gpu(q, qd, tau, run)
    problem, sampled = make_problem(where, run, seed, has_tau=tau is not None, checked=checked)
    system = run.model
    if sampled is not None and (on_gpu or tau is not None):
        raise _not_compiled(where, on_gpu)
    rng = None if seed is None and not isinstance(q, str) else _generator(where, seed)  # new entropy takes 20 us
    if isinstance(q, str) and not on_gpu:
        draw = named_start(where, system, q)
        q = draw(rng) if callable(draw) else draw
    arguments = _arguments(where, run, problem, q, qd, tau, steps, is_sampled=sampled is not None)
    arrays, batch, dtype, library = _read(where, system, arguments)
    if any(str(s) not in run.parameters for s in system.symbols):
        system.require_numeric(where)
    sticks = on_gpu or "friction" not in run.parameters or bool(arrays["friction"].any())
    if dtype == "float32" or not sticks:
        problem = replace(problem, limits=COARSE if dtype == "float32" else EXACT, sticks=sticks)
    like, rows = arrays["q"], math.prod(batch)
    if sampled is not None:
        sampled = replace(sampled, batch=batch)
        arrays["tau"] = np.zeros((rows, system.nv), dtype)
    internal = _internal_states(problem, library, like, rows, dtype)
    constants = {name: arrays[name] for name in problem.constants}
    target = cuda(device(where, max(read_array(where, "q", like).device, 0)).architecture) if on_gpu else cpu
    setup = Setup(problem, batch, like, arrays["qd"], internal, constants, dtype, sampled, library, target)
    _require_start(setup, start)
    return setup


def _arguments(
    where: str, run: Scenario, problem: Problem, q: ArrayLike | str | None, qd: ArrayLike | None, tau: ArrayLike | None,
    steps: int | None, *, is_sampled: bool,
) -> dict[str, Argument]:  # fmt: skip
    """Return the arrays of a run by name, with the shapes of one state."""
    system = run.model
    arguments = {
        "q": Argument("q", q, (system.nq,), f"nq of {system.name!r}"),
        "qd": Argument("qd", qd, (system.nv,), f"nv of {system.name!r}"),
    }
    if steps is not None:
        arguments["tau"] = Argument("controls", tau, (steps, system.nv), "steps, nv")
    elif tau is not None:
        arguments["tau"] = Argument("tau", tau, (system.nv,), f"nv of {system.name!r}")
    elif problem.has_tau and not is_sampled:
        arguments["tau"] = Argument("controller", run.controller, (system.nv,), "nv, constant forces")
    if problem.has_f_ext:
        arguments["f_ext"] = Argument("f_ext", run.f_ext, (system.nb, 6), "nb, 6")
    for name, x in run.parameters.items():
        arguments[name] = Argument(name, x, parameter_shape(where, system, name))
    return arguments


def _internal_states(problem: Problem, library: NativeLibrary, like: Array, rows: int, dtype: str) -> Array:
    """Return the states u (rows, nu) of the force elements at the start, as an array of the library of ``like``."""
    if not problem.forces:
        return library.full(like, (rows, 0), 0.0)
    u = np.concatenate([np.zeros(0), *(force.start(problem.system) for force in problem.forces)])
    shape = rows, len(u)
    return library.rows(library.upload(like, u.astype(dtype)), shape) if u.any() else library.full(like, shape, 0.0)


# arguments --------------------------------------------------------------------------------------


def are_on_gpu(q: object, qd: object, tau: object, run: Scenario) -> bool:
    """Return whether one of the arrays of a run is on a GPU."""
    return is_on_gpu(q, qd, tau, run.controller, run.f_ext, *run.parameters.values())


def _not_compiled(where: str, on_gpu: bool) -> ScalarTypeError:
    if on_gpu:
        return ScalarTypeError(
            f"{where}: the controller is called with numbers between the steps, but arrays are on a GPU, where all "
            f"steps are one compiled program. Give a function (t, q, qd) -> tau of the functions of sixd.spatial, "
            f"without sample_time and rng, or copy the arrays to the CPU."
        )
    return ScalarTypeError(
        f"{where}: the controller cannot be run on traced scalars, so it cannot be differentiated. Write it "
        f"with the functions of sixd.spatial (sin, sqrt, where …), or give its forces as an array."
    )


def _read(
    where: str, system: System, arguments: Mapping[str, Argument]
) -> tuple[dict[str, Any], tuple[int, ...], str, NativeLibrary]:
    """Return all arguments by name as arrays (rows, core), the batch's shape, the dtype and the library.

    An array without a batch has one row for all, but q and qd have all rows. NumPy's arrays are copied; those on a
    GPU only where their layout requires it.
    """
    q = arguments["q"].value
    if isinstance(q, str):
        raise ScalarTypeError(f"{where}: q is {q!r}, expected an array on the GPU, as other arguments are.")
    library = native_library(where, [a.name for a in arguments.values()], [a.value for a in arguments.values()])
    known = _with_start(where, system, arguments, library)
    prepared, batch, kind = prepare(where, list(known.values()), library)
    if kind is object:
        raise ScalarTypeError(f"{where}: arguments hold objects, expected numbers. For symbols see sixd.equations.")
    dtype = np.dtype(kind).name
    arrays: dict[str, Any] = {}
    for (name, argument), x in zip(known.items(), prepared, strict=True):
        own = tuple(x.shape[: x.ndim - len(argument.core)])
        shape = batch if name in ("q", "qd") or own else ()
        if not library.on_gpu or own != shape:
            x = library.rows(x if library.on_gpu else x.astype(dtype), shape + argument.core)
        arrays[name] = x.reshape((math.prod(shape), *argument.core))
    if not library.on_gpu:
        _require_numbers(where, system, known, arrays, batch)
    return arrays, batch, dtype, library


def _with_start(
    where: str, system: System, arguments: Mapping[str, Argument], library: NativeLibrary
) -> dict[str, Argument]:
    """Return the arguments, with the state of the model where q or qd is None."""
    starts = {"q": system.initial_configuration, "qd": lambda: np.zeros(system.nv)}
    missing = [name for name in starts if arguments[name].value is None]
    known = dict(arguments)
    if not library.on_gpu:
        dtype = np.dtype("float32" if getattr(arguments["q"].value, "dtype", None) == np.float32 else float)
        return known | {name: known[name]._replace(value=starts[name]().astype(dtype)) for name in missing}
    like = next(a.value for a in arguments.values() if is_on_gpu(a.value))
    for name in missing:
        start = starts[name]().astype(read_array(where, name, like).dtype)
        known[name] = known[name]._replace(value=library.upload(like, start))
    return known


def _require_numbers(
    where: str, system: System, known: Mapping[str, Argument], arrays: Mapping[str, Array], batch: tuple[int, ...]
) -> None:
    """Raise for constants that are not finite, for negative friction, and for quaternions that are not unit."""
    for name, x in arrays.items():
        if name not in ("q", "qd") and not np.isfinite(x).all():  # NaN in a state affects this state only
            raise ScalarTypeError(f"{where}: {known[name].name} holds NaN or infinity, expected finite numbers.")
    if "friction" in arrays and (arrays["friction"] < 0).any():
        raise ScalarTypeError(f"{where}: parameters: friction is negative in some entry, expected at least 0.")
    require_unit_quaternions(where, system, "q", arrays["q"].reshape((*batch, system.nq)))


def named_start(where: str, system: System, name: str) -> Any:
    """Return the configuration (nq,) of that name; for "random" the function of a generator that draws one."""
    known = system.configurations if isinstance(system, Model) else {}
    return look_up(f"{where}: q", "configuration", name, {**known, "random": system.random_configuration})


def _generator(where: str, seed: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        wanted = "a whole number of at least 0, some of them, or None"
        raise ScalarTypeError(f"{where}: seed is {seed!r}, expected {wanted}.") from None


# start ------------------------------------------------------------------------------------------


def _require_start(setup: Setup, t: float) -> None:
    """Raise if the mass matrix is singular, or if the start violates the constraints at the time t."""
    system, problem = setup.problem.system, setup.problem
    _require_friction(setup)
    require_inertia(problem)
    if system.constraints and setup.rows and not setup.library.on_gpu:
        error, rate = setup.compiled(ERRORS)(setup.q, setup.qd, np.full(setup.rows, t, setup.dtype))
        _require_small(setup, "q", error, 1.0, "sixd.assemble(model, q)")
        _require_small(setup, "qd", rate, np.abs(setup.qd).max(axis=-1), "sixd.assemble(model, q, qd)")


def require_inertia(problem: Problem) -> None:
    """Raise if the mass matrix of a tree is singular."""
    system = problem.system
    if isinstance(system, Model) and not problem.parameters and (names := singular_joints(system)):
        require_regular(problem.where, system, tuple(system.joint_names.index(name) + 1 for name in names))


def _require_friction(setup: Setup) -> None:
    """Raise if a joint's friction is negative in the first state; symbols have their numbers there."""
    problem, system = setup.problem, setup.problem.system
    if not setup.rows or not isinstance(system, (Model, Reduced)):
        return
    if problem.parameters and system.symbols:
        if setup.library.on_gpu:
            return
        system = problem.system_with({name: setup.constants[name][0] for name in problem.parameters})
    joint = None if "friction" in problem.parameters else remember(system, "driving", lambda: _driving_joint(system))
    if joint is not None:
        name, friction, tree = joint
        raise ModelError(
            f"{problem.where}: joint {name!r} of {tree!r} has friction {friction:g}, expected at least 0: it would "
            f"drive the joint. Use dataclasses.replace, or correct the model's file."
        )


def _driving_joint(system: System) -> tuple[str, float, str] | None:
    """Return a joint with negative friction, its friction, and the name of its model; None if there is none."""
    tree = tree_behind(system)
    assert tree is not None
    for i in tree.bodies:
        for x in tree.friction[tree.iv[i]]:
            if is_number(x) and x < 0:
                return tree.joint_names[i - 1], float(x), tree.name
    return None


def _constraint_errors(system: System, q: Array, qd: Array, t: Scalar) -> tuple[Array, Array]:
    """Return the errors (k,) of the constraints of one state, and of their rates."""
    return padded_error(system, q), constraint_velocity(system, q, qd, t)


ERRORS = Function("start", _constraint_errors, ("q", "qd", "t"), named=False, check_finite=False)


def largest_error(dtype: str) -> float:
    """Return the largest error of a constraint, in its own unit, at which a simulation begins."""
    return _UNASSEMBLED * (1e3 if dtype == "float32" else 1)


def _require_small(setup: Setup, name: str, error: Array, scale: ArrayLike, hint: str) -> None:
    size = np.abs(error).max(axis=-1, initial=0.0) / np.maximum(1.0, scale)
    worst = int(np.argmax(np.where(np.isfinite(size), size, -1)))
    if size[worst] > largest_error(setup.dtype):
        row = f" in state {worst}" if setup.batch else ""
        raise AssemblyError(
            f"{setup.problem.where}: {name} does not satisfy the constraints of {setup.problem.system.name!r}{row}: "
            f"they are off by {np.abs(error[worst]).max():.3g}, expected 0. Start from {hint}."
        )
