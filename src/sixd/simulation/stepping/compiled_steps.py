"""Compiled steps: a problem and a method as a recipe, and its code, from memory, from the disk, or made now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sixd.engine.artifact import make_rollout, recipe_key
from sixd.engine.targets import CodeTarget, cpu
from sixd.locks import Lock
from sixd.model.memo import known_of
from sixd.runtime.routine import Rollout
from sixd.simulation.nonsmooth.impulses.joint_rows import joint_rows
from sixd.simulation.nonsmooth.rigid_ground import RigidGround
from sixd.simulation.problem import Problem
from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.base_steps import base_step, midpoint_programs
from sixd.simulation.stepping.implicit import IMPLICIT
from sixd.simulation.stepping.runge_kutta import EXPLICIT
from sixd.slow_work import watched
from sixd.spatial.scalar import Array, Scalar
from sixd.trace.recipe import Recipe
from sixd.trace.stages import Stages, trace_stages

MIDPOINT = "midpoint"
UNSOLVED = "unsolved"  # the state that counts steps with a failure
FIXED_STEP = (*EXPLICIT, MIDPOINT, IMPLICIT)
PROJECTIONS = 2  # Newton steps onto the constraints after each step: an error of 1e-4 is squared twice

# the latest code by form, key of the recipe and target, for controllers that are made anew for each call; so many
_RECENT: dict[tuple[str, str, CodeTarget], Any] = {}
_MOST_RECENT = {"rollout": 256, "step": 8, "steps": 8}
_LOCK = Lock()


def rollout(
    problem: Problem, method: str, dtype: str, kept: dict[Any, Any] | None = None, target: CodeTarget = cpu
) -> Rollout:
    """Return the code of a method for a problem, for many steps and states; see :func:`code_of` for ``kept``."""

    def make(recipe: Recipe, key: str) -> Rollout:
        return make_rollout(recipe, key, "simulate", method, problem.system.name, dtype, target)

    return code_of(problem, method, dtype, "rollout", lambda recipe: recipe, make, kept, target)


def code_of(
    problem: Problem, method: str, dtype: str, form: str, adapt: Callable[[Recipe], Recipe],
    make: Callable[[Recipe, str], Any], kept: dict[Any, Any] | None, target: CodeTarget = cpu,
) -> Any:  # fmt: skip
    """Return ``make(recipe, its key)`` of the adapted recipe of a problem, made at the first call.

    It is kept with the system. With functions, which may change, it is kept in ``kept`` instead, if that is not None,
    with the recipe, so that another form of the same code needs no new trace.
    """
    forces = problem.key
    own = forces is None
    memo = (kept if kept is not None else {}) if own else known_of(problem.system)
    key = form, method, dtype, forces, target
    if key in memo:
        return memo[key]
    with watched(f"compiling {problem.where} for {problem.system.name!r}"):
        plain = memo.get(("recipe", dtype)) or make_recipe(problem, method, dtype)
        if own:
            plain = memo.setdefault(("recipe", dtype), plain)
        recipe = adapt(plain)
        digest = recipe_key(recipe, dtype)
        code = _RECENT.get((form, digest, target))  # another thread may drop it meanwhile
        if code is None:
            code = make(recipe, digest)
            with _LOCK:
                same = [k for k in _RECENT if k[0] == form]
                for old in same[: max(0, len(same) + 1 - _MOST_RECENT[form])]:
                    del _RECENT[old]
                _RECENT[form, digest, target] = code
    return memo.setdefault(key, code)  # of two threads the first wins


def has_momenta(problem: Problem, method: str) -> bool:
    """Return whether the state has momenta instead of velocities."""
    return method == MIDPOINT and joint_rows(problem) is None and not has_contact(problem)


def state_shapes(problem: Problem, method: str, *, momenta: bool = True) -> dict[str, tuple[int, ...]]:
    """What a step changes: the number of steps done, q, qd (or, by the midpoint rule, p and a guess v), and u.

    With impulses also the number of problems that were not solved, and on joint rows the mean forces of friction; with
    "implicit" the number of steps whose matrix was not positive definite. Without ``momenta`` always velocities.
    """
    nv, rows = problem.system.nv, joint_rows(problem)
    moving = {"p": (nv,), "v": (nv,)} if momenta and has_momenta(problem, method) else {"qd": (nv,)}
    more: dict[str, tuple[int, ...]] = {}
    if rows is not None or method == IMPLICIT or has_contact(problem):
        more = {UNSOLVED: ()}
    more |= {} if rows is None else {"friction": (nv,)}
    return {"steps": (), "q": (problem.system.nq,), **moving, "u": (problem.nu,), **more}


def make_recipe(problem: Problem, method: str, dtype: str = "float64") -> Recipe:
    """The recipe of one step; its constants are the step's length, the time at step 0, and those of the problem."""
    constants = {"h": (), "start": (), **problem.inputs}
    return trace_stages(make_step(problem, method, dtype), state_shapes(problem, method), constants, dtype)


def make_step(problem: Problem, method: str, dtype: str, *, momenta: bool = True) -> Callable[..., Any]:
    """The function (stages, *state, h, start, *constants) -> next state, to be traced; see :func:`state_shapes`."""
    rows = joint_rows(problem)
    # imported here: together they are a tenth of the time of `import sixd`
    if has_contact(problem):
        from sixd.simulation.nonsmooth.contact.contact_step import contact_step

        return contact_step(problem, method, dtype, projection(problem, dtype))
    if rows is not None:
        from sixd.simulation.nonsmooth.impulses.joint_step import joint_step

        return joint_step(problem, rows, method, dtype, projection(problem, dtype))
    if momenta and has_momenta(problem, method):
        return _midpoint_step(problem, dtype)
    return _plain_step(problem, method, dtype)


def _plain_step(problem: Problem, method: str, dtype: str) -> Callable[..., Any]:
    take, project = base_step(problem, method, dtype), projection(problem, dtype)
    counted = len(state_shapes(problem, method, momenta=False)) - 4  # whether there is a number of failures

    def step(stages: Stages, steps: Scalar, q: Array, qd: Array, u: Array, *rest: Scalar) -> Any:
        unsolved, (h, start, *constants) = rest[:counted], rest[counted:]
        q, qd, u = take(stages, start + steps * h, h, q, qd, u, constants)
        q, qd = project(stages, start + (steps + 1) * h, q, qd, constants)
        return steps + 1, q, qd, u, *(sum(stages.counts, x) for x in unsolved)

    return step


def has_contact(problem: Problem) -> bool:
    """Return whether there is rigid ground among the forces."""
    return any(isinstance(force, RigidGround) for force in problem.forces)


def projection(problem: Problem, dtype: str) -> Callable[..., tuple[Array, Array]]:
    """Return the function (stages, t, q, qd, constants) -> (q, qd) that ends a step on the constraints."""
    if not problem.is_projected:
        return lambda stages, t, q, qd, constants: (q, qd)
    nq, nv = problem.system.nq, problem.system.nv
    on_constraints = problem.traced(problem.on_constraints, {"q": (nq,)}, dtype)
    along_constraints = problem.traced(problem.along_constraints, {"t": (), "q": (nq,), "qd": (nv,)}, dtype)

    def project(stages: Stages, t: Scalar, q: Array, qd: Array, constants: Sequence[Array]) -> tuple[Array, Array]:
        for _ in range(PROJECTIONS):
            q = stages(on_constraints, q, *constants)
        return q, stages(along_constraints, t, q, qd, *constants)

    return project


def _midpoint_step(problem: Problem, dtype: str) -> Callable[..., Any]:
    iterate, finish = midpoint_programs(problem, dtype)

    def step(stages: Stages, steps: Scalar, q: Array, p: Array, v: Array, u: Array, *constants: Scalar) -> Any:
        h, start, *rest = constants
        t = start + steps * h
        v, left, _ = stages(iterate, v, np.inf, 0.0, t, h, q, p, u, *rest, most=midpoint.MOST)
        q, p, u = stages(finish, v, left, t, h, q, u, *rest)
        return steps + 1, q, p, v, u

    return step
