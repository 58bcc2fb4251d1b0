"""Quantities that follow from the states of a motion: energies, errors of the constraints, forces at contacts.

Each is one compiled function over all rollouts and records. Parameters are constant in time, one set per rollout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.algorithms.constrained.rows import constraint_error
from sixd.api.dynamics import energy
from sixd.engine.functions import Function
from sixd.engine.kernel import batched, compile
from sixd.engine.parameters import parameter_shape
from sixd.engine.public import declaration
from sixd.forces.elements import state_slices
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, absolute, maximum

if TYPE_CHECKING:
    from sixd.forces.elements import Force
    from sixd.trajectory.trajectory import Trajectory

# a rollout that blew up may have finite states of infinite energy: here that is a result, not an error
_ENERGY = replace(declaration(energy), check_finite=False, choices={})  # of the whole model


def along_time(system: System, parameters: Mapping[str, Array]) -> dict[str, Array]:
    """Return parameters (…, core) as (…, 1, core): one set per rollout, the same at all times."""
    return {
        name: np.expand_dims(value, np.ndim(value) - len(parameter_shape("Trajectory", system, name)))
        for name, value in parameters.items()
    }


def evaluate_records(function: Function, system: System, parameters: Mapping[str, Array], *arrays: Array) -> Any:
    """Return the function's results for arrays (…, r, core), with the parameters (…, core) of each rollout."""
    values = along_time(system, parameters)
    return batched("Trajectory", function, system, tuple(values), "float64")(*arrays, *values.values())


def energies(system: System, q: Array, qd: Array, parameters: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return kinetic and potential energy (…, r) [J]."""
    return evaluate_records(_ENERGY, system, parameters, q, qd)


def energy_of_state(system: System, q: Array, qd: Array) -> float:
    """Return the total energy [J] of one state by the plain algorithm, without compiling anything."""
    kinetic, potential = _ENERGY.row(system, (), (np.asarray(q, dtype=float), np.asarray(qd, dtype=float)))
    return float(kinetic) + float(potential)


def largest_error(model: System, q: Array) -> Scalar:
    """Return the largest |φ| of the holonomic constraints, for one state of any scalar type."""
    return reduce(maximum, map(absolute, constraint_error(model, q)), 0)


_LARGEST = Function("constraint_error", largest_error, ("q",), named=False, check_finite=False)


def constraint_errors(system: System, q: Array, parameters: Mapping[str, Array]) -> Array:
    """Return the largest |φ| (…, r) of the constraints, each in its own unit."""
    if not system.constraints:
        return np.zeros(q.shape[:-1])
    return evaluate_records(_LARGEST, system, parameters, q)


def contacts(system: System, traj: Trajectory) -> list[tuple[str, Array, Array]]:
    """Return (name, points, forces) of every force element with contacts, each (…, r, k, 3) in world axes."""
    results: list[tuple[str, Array, Array]] = []
    values = along_time(system, traj.parameters)
    sizes = [element.size(system) for element in traj.forces]
    for element, size, own in zip(traj.forces, sizes, state_slices(sizes), strict=True):
        if hasattr(element, "contacts"):
            u = np.zeros((len(traj), 0)) if traj.internal is None else traj.internal[..., own]
            kernel = _contacts_of(element, system, size, tuple(values))
            points, pushes = kernel(traj.t, traj.q, traj.qd, u, *values.values())
            results.append((_unique(_name(element), [name for name, *_ in results]), points, pushes))
    return results


def _contacts_of(
    element: Force, system: System, size: int, parameters: tuple[str, ...]
) -> Callable[..., tuple[Array, Array]]:
    """The compiled (points, forces) of a force element with contacts."""

    def contacts(model: System, t: Array, q: Array, qd: Array, u: Array) -> tuple[Array, Array]:
        points, pushes = element.contacts(model, t, q, qd, u)  # type: ignore[attr-defined]
        return np.asarray(points), np.asarray(pushes)

    shapes = {"t": (), "u": (size,)}
    return compile(contacts, system, dtype="float64", parameters=parameters, shapes=shapes)


def _name(element: Force) -> str:
    name = getattr(element, "name", None)
    return name if isinstance(name, str) and name else type(element).__name__.lower()


def _unique(name: str, others: list[str]) -> str:
    """The name, with a number added if another element has it."""
    return name if name not in others else next(f"{name} {k}" for k in range(2, 10**6) if f"{name} {k}" not in others)
