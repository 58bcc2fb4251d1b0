"""What a user gives to ``sixd.simulate``, checked: states and constants as rows, the controller by its kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.algorithms.constrained.least_norm import COARSE, EXACT
from sixd.engine.parameters import parameter_shape
from sixd.errors import ScalarTypeError, unknown_name
from sixd.forces.elements import elements
from sixd.model.system import System, require_system
from sixd.runtime.batch import Argument, prepare
from sixd.simulation.checks import positive
from sixd.simulation.controller import Sampled, can_be_traced, kind_of_controller, require_pure
from sixd.simulation.problem import PROJECTED, STABILISED, Problem
from sixd.spatial.scalar import Array

_OWN = ("q", "qd", "tau", "controller", "f_ext")  # names of arguments, which no symbol can have


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
    law, sampled, held = kind_of_controller(where, controller, sample_time, seed)
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
        forces=elements(where, forces),
        parameters=tuple(given),
        constraints=constraints,
        stabilisation=positive(where, "stabilisation", stabilisation, "1/s"),
    )
    if law is not None and not can_be_traced(problem):
        problem, sampled = replace(problem, law=None, held=True), Sampled(where, law, None)
    require_pure(problem)
    arrays, batch, dtype = _arrays(problem, q, qd, held, f_ext, given)
    problem = replace(problem, limits=COARSE if dtype == "float32" else EXACT)
    rows = len(arrays["q"])
    if sampled is not None:
        sampled = replace(sampled, batch=batch)
        arrays["tau"] = np.zeros((rows, system.nv), dtype)
    parts = [force.start(system) for force in problem.forces]
    u = np.tile(np.concatenate([np.zeros(0), *parts]).astype(dtype), (rows, 1))
    constants = {name: arrays[name] for name in problem.constants}
    return Setup(problem, batch, arrays["q"], arrays["qd"], u, constants, dtype, sampled)


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
    """One row for all, if the array has no batch, else all rows; the caller's array may change later."""
    array = array.astype(dtype)
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
