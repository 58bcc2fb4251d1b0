"""Joint rows: the degrees of freedom on which dry friction or rigid limits act, and their response to impulses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sixd.algorithms.constrained.dynamics import correction, mass_metric
from sixd.algorithms.constrained.rows import constraint_jacobian
from sixd.algorithms.solve import solve_columns
from sixd.constraints.reduced_model import Reduced
from sixd.errors import ModelError
from sixd.forces.elements import Applied
from sixd.forces.joint_limits import limited_coordinates
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.model.system import System
from sixd.simulation.nonsmooth.rigid_limits import RigidLimits
from sixd.simulation.problem import Problem
from sixd.simulation.setup import Setup
from sixd.spatial.scalar import Array, absolute, is_zero
from sixd.symbolic.equations.dry_friction import dry_friction
from sixd.symbolic.equations.equations import Equations
from sixd.trajectory.labels import tree_behind

_ROWS = "joint rows"  # where a problem keeps them
# part of the mean pivot that is added to W where it may be singular: on loops, and where rows depend on each other
DAMPING = {"float64": 1e-9, "float32": 1e-5}


@dataclass(frozen=True, eq=False)
class JointRows:
    """The rows of a problem: first degrees of freedom, then joints that follow several others in a reduced model.

    ``dofs`` are entries of qd, ``followers`` entries of the tree's qd; ``limits`` has, by DoF, the index in q
    and the limits (-inf, inf where there is none).
    """

    problem: Problem
    dofs: tuple[int, ...]
    followers: tuple[int, ...]
    limits: Mapping[int, tuple[int, float, float]]

    @property
    def k(self) -> int:
        """Number of rows."""
        return len(self.dofs) + len(self.followers)

    @property
    def bounces(self) -> bool:
        """Whether rigid limits have a restitution."""
        return any(isinstance(force, RigidLimits) and force.restitution > 0 for force in self.problem.forces)

    @property
    def is_singular(self) -> bool:
        """Whether impulses on different rows may have the same effect."""
        return bool(self.problem.system.constraints or self.followers)

    def friction(self, q: Array, constants: Mapping[str, Any]) -> Array:
        """Return the largest friction force (k,) of each row, one state of any scalar."""
        system = replace(self.problem, has_friction=True).system_with(constants)
        own, followers = _friction(system, q)
        return np.array([*(own[i] for i in self.dofs), *(followers[i] for i in self.followers)])

    def jacobian(self, system: System, q: Array) -> Array:
        """Return J (k, nv): the rows' velocities are J qd."""
        J = np.eye(system.nv, dtype=int)[list(self.dofs)]
        if not self.followers:
            return J
        assert isinstance(system, Reduced)
        return np.concatenate([J, system.G(q)[list(self.followers)]])

    def apply(self, system: System, q: Array, force: Array) -> Applied:
        """Return the effect of forces (k,) on the rows."""
        if self.followers:
            return Applied(self.jacobian(system, q).T @ force)
        tau: list[Any] = [0] * system.nv
        for i, x in zip(self.dofs, force, strict=True):
            tau[i] = x
        return Applied(np.array(tau))

    def columns(self, system: System, q: Array, by_recursion: bool = True) -> Array:
        """Return the responses M⁻¹Jᵀ (nv, k) of the velocity to impulses; constraints take their part of them."""
        J = self.jacobian(system, q)
        if by_recursion and isinstance(system, Model):
            columns = solve_columns(system, q, J.T)
        else:
            columns = mass_metric(system, q).solve(J.T)
        if not system.constraints:
            return columns
        A, limits = constraint_jacobian(system, q), self.problem.limits
        return np.array([x - correction(system, q, A @ x, limits) for x in columns.T]).T

    @cached_property
    def joints(self) -> list[tuple[slice, slice]]:
        """Slices in q and qd of the joints all of whose degrees of freedom are rows."""
        system = self.problem.system
        if isinstance(system, Equations):
            return [(slice(i, i + 1), slice(i, i + 1)) for i in self.dofs] if system.nq == system.nv else []
        result = [(system.q_slice(name), system.v_slice(name)) for name in system.joint_names]
        return [(iq, iv) for iq, iv in result if set(range(system.nv)[iv]) <= set(self.dofs) and iv.stop > iv.start]


def joint_rows(problem: Problem) -> JointRows | None:
    """Return the rows of a problem, None if it has no dry friction and no rigid limits; computed once."""
    known = vars(problem)
    if _ROWS not in known:
        known[_ROWS] = _find_rows(problem)
    return known[_ROWS]


def _find_rows(problem: Problem) -> JointRows | None:
    system = problem.system
    may_be_any = "friction" in problem.parameters
    own = remember(system, "joints with friction", lambda: [not is_zero(x) for x in _own_friction(system)])
    has_friction = [problem.sticks and (may_be_any or has) for has in own]
    dofs, followers = _rows_of(system, has_friction)
    limits: dict[int, tuple[int, float, float]] = {}
    stops = [force for force in problem.forces if isinstance(force, RigidLimits)]
    if len(stops) > 1:
        raise ModelError(
            f"{problem.where}: forces holds {len(stops)} RigidLimits, expected one: joints have one limit."
        )
    if stops:
        limits = {j: (i, low, high) for i, j, low, high in limited_coordinates(system)}
    dofs = sorted({*dofs, *limits})
    if not dofs and not followers:
        return None
    return JointRows(problem, tuple(dofs), tuple(followers), limits)


def _own_friction(system: System) -> Any:
    """Return the friction of the tree's joints, or of the coordinates of equations of motion: numbers or symbols."""
    if isinstance(system, Equations):
        return dry_friction(system).coefficients
    tree = tree_behind(system)
    assert tree is not None
    return tree.friction


def _rows_of(system: System, has_friction: list[bool]) -> tuple[list[int], list[int]]:
    """Return the DoF with friction, of themselves or of joints that follow them alone; and the other joints."""
    if not isinstance(system, Reduced) or not any(has_friction):
        return [i for i, has in enumerate(has_friction) if has], []
    dofs, followers = set(), []
    for i, row in enumerate(_pattern(system)):
        on = np.flatnonzero(row)
        if has_friction[i] and len(on) == 1:
            dofs.add(int(on[0]))
        elif has_friction[i] and len(on):
            followers.append(i)
    return sorted(dofs), followers


def _pattern(system: Reduced) -> Array:
    """Return where G (nv of the tree, nv) is not zero, in some configuration; computed once."""

    def compute() -> Array:
        rng = np.random.default_rng(0)
        samples = [np.asarray(system.G(system.random_configuration(rng)), dtype=float) for _ in range(3)]
        return np.any([x != 0 for x in samples], axis=0)

    return remember(system, "pattern of G", compute)


def _friction(system: System, q: Array) -> tuple[Any, Any]:
    """Return the friction (nv,) of each DoF, with that of joints that follow it alone; and of the tree's joints."""
    if isinstance(system, Equations):
        return system.evaluate(dry_friction(system).coefficients, q), ()
    if not isinstance(system, Reduced):
        return system.friction, ()  # type: ignore[attr-defined]
    tree, pattern, G = system.model, _pattern(system), system.G(q)
    total: list[Any] = [0] * system.nv
    for i, row in enumerate(pattern):
        on = np.flatnonzero(row)
        if len(on) == 1 and not is_zero(tree.friction[i]):
            total[int(on[0])] = total[int(on[0])] + tree.friction[i] * absolute(G[i, int(on[0])])
    return total, tree.friction


def friction_joints(setup: Setup) -> dict[str, slice]:
    """Return the joints, or coordinates, of a setup with dry friction in some row: name -> slice in qd."""
    system, problem = setup.problem.system, setup.problem
    friction = _own_friction(system)
    if "friction" in problem.parameters:
        friction = np.abs(setup.constants["friction"]).max(axis=0, initial=0.0)
    elif system.symbols and problem.parameters and setup.rows and not isinstance(system, Equations):
        # a symbol's number may be zero
        row = {name: setup.constants[name][0] for name in problem.parameters}
        friction = _own_friction(problem.system_with(row))
    dofs, _ = _rows_of(system, [not is_zero(x) for x in friction])
    if isinstance(system, Equations):
        return {str(system.q[i]): slice(i, i + 1) for i in dofs}
    every = {name: system.v_slice(name) for name in system.joint_names}
    return {name: iv for name, iv in every.items() if set(range(system.nv)[iv]) & set(dofs)}


def jumping_coordinates(system: System) -> tuple[str, ...]:
    """Return the coordinates of equations of motion whose forces jump with a velocity, but not as dry friction does."""
    return dry_friction(system).others if isinstance(system, Equations) else ()
