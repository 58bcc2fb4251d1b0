"""Inspection of suspect results: find the states that are not finite or inaccurate, and raise an error with the cause.
Systems for which a function is not defined at all are refused before.

Compiled code reports only that some state of a call is suspect; this module locates and checks these states.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sixd.algorithms.singular import (
    LARGEST_CONDITION,
    condition,
    dependent_joints,
    estimated_condition,
    is_large,
    solved_dofs,
    usual_sizes,
)
from sixd.engine import artifact
from sixd.engine.functions import LIBRARY, Function, Request
from sixd.errors import ModelError, SingularError
from sixd.model.manifold import nonfinite_error
from sixd.model.model import Model
from sixd.model.system import System
from sixd.runtime.routine import Routine
from sixd.spatial.scalar import Array, is_zero

_TOGETHER = 32  # states examined together, where one of them is suspect: 5 ms of a humanoid


def inspect(
    function: Function,
    model: System,
    choices: tuple[Any, ...],
    made: Routine,
    inputs: list[Array],
    shape: tuple[int, ...],
    results: list[Any],
) -> None:
    """Raise for the first state with finite arguments whose result is not finite or may have lost its digits."""
    names = (*function.arrays, "f_ext")[: len(inputs)]
    cores = [function.core(model, name) for name in names]
    count = math.prod(shape)

    def table(x: Any, core: tuple[int, ...]) -> Array:
        return np.reshape(x, (count, math.prod(core)))

    rows = [np.broadcast_to(a, shape + c).reshape((count, *c)) for a, c in zip(inputs, cores, strict=True)]
    flat = np.concatenate([table(r, np.shape(r)[len(shape) :]) for r in results], axis=1)
    given = np.all([np.isfinite(table(r, c)).all(axis=1) for r, c in zip(rows, cores, strict=True)], axis=0)
    lost = ~np.isfinite(flat).all(axis=1)
    singular = np.zeros(count, dtype=bool)
    prescribed = function.prescribed(choices)
    if function.solves:
        q = rows[names.index("q")].astype(float)
        suspect = _suspect_rows(made, rows, given)
        conditions = _conditions(model, prescribed, q[suspect]) if suspect else np.zeros(0)
        singular[suspect] = conditions > LARGEST_CONDITION[made.dtype]
    for k in np.flatnonzero(given & (lost | singular)).tolist():
        row = f" in state {tuple(int(i) for i in np.unravel_index(k, shape))}" if shape else ""
        if not singular[k]:
            given_row = tuple(r[k].astype(float) for r in rows)
            known = function.explain(function.name, model, choices, row, given_row) if function.explain else None
            raise known or nonfinite_error(model, function.name, row, *given_row)
        found = dependent_joints(model, q[k], prescribed, made.dtype)
        raise _singular_error(function.name, model, found, row, conditions[suspect.index(k)], made.dtype)


def _suspect_rows(made: Routine, rows: list[Array], given: Array) -> list[int]:
    """The suspect states among those with finite arguments, and some of their neighbours."""

    def is_suspect(among: Array) -> bool:
        return bool(len(among)) and made([r[among] for r in rows], among.shape, None)[1]

    def find_in(among: Array) -> list[int]:  # bisect: compiled code reports on all states of a call together
        if len(among) <= _TOGETHER:
            return [int(k) for k in among]
        return [k for half in np.array_split(among, 2) if is_suspect(half) for k in find_in(half)]

    among = np.flatnonzero(given)
    return find_in(among) if given.all() or is_suspect(among) else []


def _conditions(model: System, prescribed: frozenset[int], q: Array) -> Array:
    """The condition (n,) of M, restricted to the DoF that are solved for, at each q (n, nq)."""
    usual = usual_sizes(model, prescribed).size
    if is_large(model):
        return np.array([estimated_condition(model, row, prescribed, usual) for row in q])
    made = artifact.routine(model, Request(LIBRARY["mass_matrix"], (), "float64", False))
    M, free = made([q], q.shape[:1], None)[0][0], solved_dofs(model, prescribed)
    return condition(M[:, free[:, None], free], usual)


def _singular_error(where: str, model: System, names: list[str], row: str, found: float, dtype: str) -> SingularError:
    what, hint = "coordinates", "or use other coordinates"
    if isinstance(model, Model):
        what, hint = "joints", "or give the joints an armature"
    if dtype == "float32":
        hint = f"{hint}, or compute in float64"
    return SingularError(
        f"{where}: the mass matrix is singular in this configuration{row}: there {what} {names} move no "
        f"inertia that others do not move already, up to rounding (its condition is {found:.1e}, expected at most "
        f"{LARGEST_CONDITION[dtype]:.1e} for {dtype}). Move away from it, {hint}."
    )


# before a call ----------------------------------------------------------------------------------


def require_mass(function: Function, model: System) -> None:
    """Raise if a function is not defined because the model has no mass."""
    if function.needs_mass and isinstance(model, Model) and is_zero(model.mass):
        raise ModelError(
            f"{function.name}: model {model.name!r} has no mass, so no centre of mass. Give its bodies a mass."
        )


def require_regular(where: str, model: System, singular: tuple[int, ...]) -> None:
    """Raise if ``singular``, the joints that make the mass matrix singular in every configuration, is not empty."""
    if singular and isinstance(model, Model):
        names, bodies = [model.joint_names[i - 1] for i in singular], [model.body_names[i - 1] for i in singular]
        raise SingularError(
            f"{where}: the mass matrix of {model.name!r} is singular: joints {names} move no inertia of their own "
            f"(they carry {bodies}). Give those bodies a mass and a matrix, the joints an armature, or lock them with "
            f"model.lock."
        )
