"""What a user gives to ``sixd.simulate``, checked: states and constants as rows, the controller by its kind."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.algorithms.least_norm import COARSE, EXACT
from sixd.batch import Argument, prepare
from sixd.compile import graph_text
from sixd.constrained_api import constraint_error, constraint_velocity
from sixd.errors import AssemblyError, ScalarTypeError, SimulationWarning, TraceError, unknown_name
from sixd.model.system import System, require_system
from sixd.parameters import parameter_shape
from sixd.simulation.forces import Force
from sixd.simulation.kernels import traced
from sixd.simulation.problem import PROJECTED, STABILISED, Problem
from sixd.spatial.scalar import Array, is_number

_MOST_RECORDS = 1e9
_OWN = ("q", "qd", "tau", "controller", "f_ext")  # names of arguments, which no symbol can have
_UNASSEMBLED = 1e-6  # in a constraint's own unit, above which a start is refused; the first step mends what is below


@dataclass(frozen=True, eq=False)
class Setup:
    """A problem with its start: rows of states, and of constants (one row for all, or as many)."""

    problem: Problem
    batch: tuple[int, ...]
    q: Array
    qd: Array
    u: Array
    constants: dict[str, Array]
    dtype: str
    sampled: Sampled | None

    @property
    def rows(self) -> int:
        """Number of rollouts."""
        return len(self.q)


@dataclass(frozen=True, eq=False)
class Sampled:
    """A controller that is called with numbers, every ``interval`` [s]; None: every step."""

    function: Any
    interval: float | None
    rng: np.random.Generator | None = None

    def __call__(self, where: str, t: float, q: Array, qd: Array) -> Array:
        """Forces (rows, nv) for all rows."""
        if hasattr(self.function, "sample"):
            return np.broadcast_to(np.asarray(self.function.sample(t, q, qd), dtype=float), qd.shape)
        given = {} if self.rng is None else {"rng": self.rng}
        found = [np.asarray(self.function(t, a, b, **given)) for a, b in zip(q.copy(), qd.copy(), strict=True)]
        for tau in found:
            if tau.shape != qd.shape[1:] or tau.dtype.kind not in "fiu":
                raise ScalarTypeError(
                    f"{where}: controller returns {tau!r} at t = {t:g}, expected {qd.shape[1]} numbers, one for each "
                    f"freedom."
                )
        return np.array(found, dtype=float).reshape(qd.shape)


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
) -> Setup:
    require_system(where, system)
    if not system.nv:
        raise ScalarTypeError(f"{where}: {system.name!r} has no freedoms, expected a system that can move.")
    rng = _generator(where, seed)
    q = _start(where, system, q, rng)
    qd = np.zeros(system.nv, np.float32 if getattr(q, "dtype", None) == np.float32 else float) if qd is None else qd
    law, sampled, held = _controller(where, controller, sample_time, rng, seed)
    push = f_ext if f_ext is None or callable(f_ext) else "array"
    given = _parameters(where, parameters)
    if constraints not in (PROJECTED, STABILISED):
        raise unknown_name(f"{where}: constraints", "choice", constraints, (PROJECTED, STABILISED))
    problem = Problem(
        where,
        system,
        law=law,
        held=held is not None or sampled is not None,
        f_ext=push if callable(push) else None,
        pushed=push == "array",
        forces=_elements(where, forces),
        parameters=tuple(given),
        constraints=constraints,
        stabilisation=positive(where, "stabilisation", stabilisation, "1/s"),
    )
    arrays, batch, dtype = _arrays(problem, q, qd, held, f_ext, given)
    problem = replace(problem, limits=COARSE if dtype == "float32" else EXACT)
    rows = len(arrays["q"])
    if sampled is not None:
        arrays["tau"] = np.zeros((rows, system.nv), dtype)
    parts = [force.start(system) for force in problem.forces]
    u = np.tile(np.concatenate([np.zeros(0), *parts]).astype(dtype), (rows, 1))
    constants = {name: arrays[name] for name in problem.constants}
    setup = Setup(problem, batch, arrays["q"], arrays["qd"], u, constants, dtype, sampled)
    return _traceable(setup) if law is not None else setup


def _arrays(
    problem: Problem, q: Any, qd: Any, held: Any, f_ext: Any, parameters: Mapping[str, Any]
) -> tuple[dict[str, Array], tuple[int, ...], str]:
    """(rows of everything that is an array, the batch's shape, the dtype); q and qd have all rows."""
    where, system = problem.where, problem.system
    arguments = [
        Argument("q", q, (system.nq,), f"nq of {system.name!r}"),
        Argument("qd", qd, (system.nv,), f"nv of {system.name!r}"),
    ]
    if held is not None:
        arguments.append(Argument("controller", held, (system.nv,), "nv, constant forces"))
    if problem.pushed:
        arguments.append(Argument("f_ext", f_ext, (system.nb, 6), "nb, 6"))
    arguments += [Argument(name, x, parameter_shape(where, system, name)) for name, x in parameters.items()]
    found, batch, kind = prepare(where, arguments)
    if kind is object:
        raise ScalarTypeError(f"{where}: arguments hold objects, expected numbers. For symbols see sixd.equations.")
    if any(str(s) not in parameters for s in system.symbols):
        system.require_numeric(where)
    dtype, rows = np.dtype(kind).name, math.prod(batch)
    arrays = {a.name: _rows(x, a.core, batch, dtype) for a, x in zip(arguments, found, strict=True)}
    for name, x in arrays.items():
        if name in ("q", "qd"):  # NaN in a state stays in its row
            arrays[name] = np.ascontiguousarray(np.broadcast_to(x, (rows, x.shape[1])))
        elif not np.isfinite(x).all():
            raise ScalarTypeError(f"{where}: {name} holds NaN or infinity, expected finite numbers.")
    if held is not None:
        arrays["tau"] = arrays.pop("controller")
    return arrays, batch, dtype


def _rows(array: Array, core: tuple[int, ...], batch: tuple[int, ...], dtype: str) -> Array:
    """One row for all, if the array has no batch, else all rows."""
    array = array.astype(dtype, copy=False)
    if array.ndim == len(core):
        return array.reshape((1, *core))
    return np.ascontiguousarray(np.broadcast_to(array, batch + core)).reshape((math.prod(batch), *core))


def _start(where: str, system: System, q: Any, rng: np.random.Generator) -> Any:
    if q is None:
        return system.neutral()
    if isinstance(q, str):
        if q != "random":
            raise unknown_name(f"{where}: q", "choice", q, ("random",))
        return system.random_configuration(rng)
    return q


def _generator(where: str, seed: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ScalarTypeError(
            f"{where}: seed is {seed!r}, expected a whole number of at least 0, some of them, or None."
        ) from None


def _parameters(where: str, parameters: Any) -> dict[str, Any]:
    """By names; a symbol stands for its own."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ScalarTypeError(f"{where}: parameters is {parameters!r}, expected a mapping of names to arrays.")
    given = {str(name): x for name, x in (parameters or {}).items()}
    for name in _OWN:
        if name in given:
            raise ScalarTypeError(f"{where}: parameters has {name!r}, which means something else. Rename the symbol.")
    return given


def _elements(where: str, forces: Any) -> tuple[Force, ...]:
    every = tuple(forces) if isinstance(forces, Iterable) else (forces,)
    for force in every:
        if not isinstance(force, Force):
            raise ScalarTypeError(f"{where}: forces holds {force!r}, expected elements such as sixd.Ground(…).")
    return every


def _controller(
    where: str, controller: Any, sample_time: float | None, rng: np.random.Generator, seed: Any
) -> tuple[Callable[..., Any] | None, Sampled | None, Any]:
    """(law to trace, controller to sample, constant forces): at most one of them is something."""
    interval = None if sample_time is None else positive(where, "sample_time", sample_time, "s", zero=False)
    if controller is None or not (callable(controller) or hasattr(controller, "sample")):
        if interval is not None:
            raise ScalarTypeError(f"{where}: sample_time is given, but controller is no function. Leave it out.")
        return None, None, controller
    if hasattr(controller, "sample"):
        if interval is not None and interval != controller.sample_time:
            raise ScalarTypeError(
                f"{where}: sample_time is {interval:g} s, but the controller's own is {controller.sample_time:g} s. "
                f"Leave one out."
            )
        return None, Sampled(controller, float(controller.sample_time)), None
    takes_rng = _takes_rng(controller)
    if interval is None and not takes_rng:
        return controller, None, None
    return None, Sampled(controller, interval, rng if takes_rng else None), None


def _takes_rng(controller: Callable[..., Any]) -> bool:
    try:
        return "rng" in inspect.signature(controller).parameters
    except (TypeError, ValueError):  # some of C have none
        return False


def _traceable(setup: Setup) -> Setup:
    """The setup, if its controller can be part of the equations; else with the controller called every step."""
    problem = setup.problem
    nq, nv = problem.system.nq, problem.system.nv
    alone = replace(problem, held=False, f_ext=None, pushed=False, forces=(), parameters=())

    def law(t: Any, q: Array, qd: Array, _: Any) -> Any:
        return alone.applied(problem.system, t, q, qd, np.zeros(0), {}).tau

    shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (nq,), "qd": (nv,)}
    try:
        first = graph_text(traced(alone, law, shapes))
    except TraceError as error:
        warnings.warn(
            f"{problem.where}: the controller cannot be part of the compiled step, so it is called every step, and its "
            f"force is held over it. Give sample_time to choose how often, or mend it: {error}",
            SimulationWarning,
            stacklevel=4,
        )
        constants = {"tau": np.zeros((setup.rows, nv), setup.dtype), **setup.constants}
        return replace(
            setup,
            problem=replace(problem, law=None, held=True),
            constants=constants,
            sampled=Sampled(problem.law, None),
        )
    try:
        same = graph_text(traced(alone, law, shapes)) == first
    except TraceError:
        same = False
    if not same:
        raise ScalarTypeError(
            f"{problem.where}: the controller gives another law when it is asked again: it keeps a memory, or draws "
            f"random numbers. Give sample_time, so that it is called as it is, with numbers; make it anew, as it "
            f"was called twice now."
        )
    return setup


def positive(where: str, name: str, value: Any, unit: str, *, zero: bool = True) -> float:
    """A finite number of at least 0, or above it."""
    if isinstance(value, bool) or not is_number(value) or not (0 <= value < np.inf) or (not zero and value == 0):
        raise ScalarTypeError(
            f"{where}: {name} is {value!r}, expected a finite number {'of at least' if zero else 'above'} 0 [{unit}]."
        )
    return float(value)


def require_assembled(setup: Setup) -> None:
    """Raise if a row's start does not satisfy the constraints."""
    system, where = setup.problem.system, setup.problem.where
    if not system.constraints or setup.problem.parameters or not setup.rows:
        return
    lacks = {
        "q": (constraint_error(system, setup.q), "sixd.assemble(model, q)"),
        "qd": (constraint_velocity(system, setup.q, setup.qd), "sixd.assemble(model, q, qd)"),
    }
    for name, (lack, hint) in lacks.items():
        size = np.abs(lack).max(axis=-1, initial=0.0)
        worst = int(np.argmax(np.where(np.isfinite(size), size, -1)))
        scale = 1.0 if name == "q" else max(1.0, float(np.abs(setup.qd[worst]).max()))
        if size[worst] > _UNASSEMBLED * scale * (1e3 if setup.dtype == "float32" else 1):
            row = f" in row {worst}" if setup.batch else ""
            raise AssemblyError(
                f"{where}: {name} does not satisfy the constraints of {system.name!r}{row}: they are off by "
                f"{size[worst]:.3g}, expected 0. Start from {hint}."
            )


def require_countable(where: str, records: float) -> None:
    """Raise if nobody can have meant so many records."""
    if records > _MOST_RECORDS:
        raise ScalarTypeError(
            f"{where}: these are {records:.2g} records, expected at most {_MOST_RECORDS:.0e}. Give a longer dt, or "
            f"record_every."
        )
