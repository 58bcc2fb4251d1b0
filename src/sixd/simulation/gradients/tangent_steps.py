"""Steps with their tangents: compiled code of the matrices of one step.

The step is that of a simulation on velocities, with joint forces tau. Its tangents (``sixd.trace.tangents``) are along
changes of q in the tangent space, of qd, of the states u of force elements, and of tau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sixd.engine.artifact import make_rollout, recipe_key
from sixd.gc_pause import PAUSED
from sixd.runtime.routine import Rollout
from sixd.simulation.gradients.adjoint_steps import TAU, forward_step, from_tangent, kept_with
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.compiled_steps import UNSOLVED
from sixd.slow_work import watched
from sixd.spatial.scalar import Array
from sixd.trace.program import Program, trace
from sixd.trace.recipe import ProgramCall, Recipe, TableCall
from sixd.trace.tangents.needed import needed_works
from sixd.trace.tangents.tangent_recipe import TangentRecipe

BLOCKS = {"q": "q", "qd": "qd", "u": "u", "tau": TAU}  # of directions, and the arrays that they change


@dataclass(frozen=True, eq=False)
class StepMatrices:
    """Code of the matrices of a step: ``inputs`` are the names of its arrays, ``outputs`` those of its results, among
    them "by q" … (directions, 2 nv + nu)."""

    code: Rollout
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def step_matrices(problem: Problem, method: str, dtype: str) -> StepMatrices:
    """Return the code for a problem with forces tau, made at the first call. It is kept with the system, unless forces
    of users' own classes act, which may change."""

    def make() -> StepMatrices:
        with watched(f"compiling {problem.where} for {problem.system.name!r}"), PAUSED:
            recipe = matrices_recipe(problem, method, dtype)
            key, name = recipe_key(recipe, dtype), problem.system.name
            code = make_rollout(recipe, key, problem.where, method, name, dtype)
            return StepMatrices(code, recipe.inputs, tuple(recipe.outputs))

    return make() if problem.key is None else kept_with(problem.system, ("matrices", method, dtype, problem.key), make)


def matrices_recipe(problem: Problem, method: str, dtype: str) -> Recipe:
    """Return the recipe (steps, q, qd, u, …) -> "by q", "by qd", "by u", "by tau", which it records."""
    step = forward_step(problem, method, dtype, None)
    tangents = TangentRecipe(step.memory, dtype)
    n = {block: problem.nu if block == "u" else problem.system.nv for block in BLOCKS}
    seeds = {block: (n[block], {BLOCKS[block]: tangents.arrays.unit(n[block])}) for block in BLOCKS if n[block]}
    seeds["q"] = n["q"], {"q": _tangent_space(problem, tangents, dtype)}
    tangents.follow(step.works, seeds)
    recorded = tuple(_ended(problem, step, tangents, block, n[block], dtype) for block in seeds)
    if UNSOLVED in step.state:
        recorded = *recorded, step.results[step.state.index(UNSOLVED)]
    works = needed_works([*tangents.arrays.first, *tangents.works], {*recorded})
    return Recipe(tangents.arrays.memory, (), step.inputs, tuple(works), (), recorded=recorded)


def _tangent_space(problem: Problem, tangents: TangentRecipe, dtype: str) -> str:
    """Append the tangents (nv, nq) of q along unit velocities, and return their name."""
    system = problem.system

    def rates(q: Array) -> Array:
        return np.array([system.configuration_rate(q, unit) for unit in np.eye(system.nv, dtype=int)])

    program = trace(rates, {"q": (system.nq,)}, dtype)
    if _is_unit(program):
        return tangents.arrays.unit(system.nv)
    name = tangents.arrays.new((system.nv, system.nq))
    tangents.arrays.first.append(ProgramCall(program, ("q",), (name,)))
    return name


def _is_unit(program: Program) -> bool:
    (slot,) = program.outputs
    unit = np.eye(slot.shape[0], slot.shape[1]).ravel()
    return len(unit) == len(slot.entries) and all(e.is_value(x) for e, x in zip(slot.entries, unit, strict=True))


def _ended(problem: Problem, step: Recipe, tangents: TangentRecipe, block: str, n: int, dtype: str) -> str:
    """Append the derivatives (n, 2 nv + nu) of the state after a step along a block, and return their name."""
    system, nu = problem.system, problem.nu
    after = dict(zip(step.state, step.results, strict=True))
    place = from_tangent(system, dtype)
    known = [after[name] for name in ("q", "qd", "u")][: 3 if nu else 2]
    of = [tangents.tangents.get(name, {}).get(block) for name in known]
    names = [t for t in of if t is not None]
    shapes = {f"d{k}": tangents.arrays.memory[known[k]] for k, t in enumerate(of) if t is not None}
    (entries,) = (slot.entries for slot in place.outputs)
    constant = all(e.is_const for e in entries)
    matrix = np.array([e.value if e.is_const else 0 for e in entries], dtype=object).reshape(place.outputs[0].shape)
    if not constant:
        key = "displacement"
        if key not in tangents.tangents:
            tangents.tangents[key] = {"": tangents.arrays.new(place.outputs[0].shape)}
            tangents.works.append(ProgramCall(place, (after["q"],), (tangents.tangents[key][""],)))
        names = [tangents.tangents[key][""], *names]
        shapes = {"F": place.outputs[0].shape, **shapes}

    def row(*arrays: Array) -> Array:
        given = list(arrays)
        F = matrix if constant else given.pop(0)
        parts = [
            given.pop(0) if t is not None else np.zeros(step.memory[x], dtype=int)
            for t, x in zip(of, known, strict=True)
        ]
        return np.concatenate([F @ parts[0], *parts[1:]])

    program = tangents.arrays.program(("ended", *shapes), row, shapes)
    name = f"by {block}"
    tangents.arrays.memory[name] = (n, 2 * system.nv + nu)
    each = tuple(range(n))
    parts = *(() if constant else (None,)), *(each for t in of if t is not None), each
    tangents.works.append(TableCall(program, tuple(names), (name,), parts, (False,), n))
    return name
