"""One step of one state as a separate recipe: what a simulation does before, in and after its first step, in one call.

The middle is the recipe of :func:`make_recipe` as it is, so that the bits are those of a rollout. Before it,
quaternions are made unit, momenta are computed, and a guard selects the states for the general path: arguments
that it refuses, and states off the constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, reduce
from typing import Any

import numpy as np

from sixd.api.manifold import integrate
from sixd.engine.artifact import make_rollout, make_step, trace_request
from sixd.engine.functions import Function, Request
from sixd.engine.public import declaration
from sixd.engine.targets import CodeTarget
from sixd.runtime.calls import CallableCode
from sixd.simulation.problem import Problem
from sixd.simulation.setup import ERRORS, largest_error
from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.compiled_steps import code_of, has_momenta
from sixd.spatial.scalar import Array, absolute, maximum, where
from sixd.trace.program import Program, trace
from sixd.trace.recipe import ProgramCall, Recipe, Work

_GUARD = "guard"
_LARGE = {"float64": 1e300, "float32": 1e37}  # sums of squares up to this are of finite numbers


def single_step(problem: Problem, method: str, recipe: Recipe, dtype: str) -> Recipe:
    """Return the recipe ``(q, qd), (h, start, constants…) -> (q, qd)`` of one step; ``recipe`` is that of a rollout.
    The problem has no parameters, and its force elements have no states, but for rigid ones, which begin with zeros."""
    system = problem.system
    nq, nv = system.nq, system.nv
    memory: dict[str, tuple[int, ...]] = {**recipe.memory, "start q": (nq,), "start qd": (nv,), _GUARD: ()}
    works: list[Work] = []

    def call(program: Program, inputs: tuple[str, ...], *outputs: str) -> None:
        memory.update(zip(outputs, (slot.shape for slot in program.outputs), strict=True))
        works.append(ProgramCall(program, inputs, outputs))

    def library(function: Function) -> Program:
        return trace_request(system, Request(function, (), dtype, False))

    checked = ["h", "start", *(name for name in recipe.constants if name not in ("h", "start"))]
    if system.constraints:
        call(library(ERRORS), ("start q", "start qd", "start"), "error", "rate")
        checked += ["error", "rate", "start qd"]
    own = ("q", "qd", "p", "v")  # what else is in the state begins with zeros
    zeros = {name: memory[name] for name in recipe.state if name not in own} | {"no motion": (nv,)}
    call(trace(lambda: tuple(np.zeros(shape) for shape in zeros.values()), {}, dtype), (), *zeros)
    if nq != nv:
        call(library(declaration(integrate)), ("start q", "no motion"), "q")
        checked.append("q")
    else:
        call(_copy(nq, dtype), ("start q",), "q")
    call(trace(_guard(checked, dtype), {name: memory[name] for name in checked}, dtype), tuple(checked), _GUARD)
    if has_momenta(problem, method):
        call(library(midpoint.MOMENTUM), ("q", "start qd"), "p")
    call(_copy(nv, dtype), ("start qd",), "v" if has_momenta(problem, method) else "qd")
    works += recipe.works
    after = dict(zip(recipe.state, recipe.results, strict=True))
    q, qd = after["q"], after.get("qd", "final qd")
    if has_momenta(problem, method):
        call(library(midpoint.VELOCITY), (q, after["p"]), qd)
    return Recipe(memory, ("start q", "start qd"), recipe.constants, tuple(works), (q, qd), _GUARD)


@cache
def _copy(n: int, dtype: str) -> Program:
    return trace(lambda x: x, {"x": (n,)}, dtype)


def _guard(names: list[str], dtype: str) -> Callable[..., Any]:
    """The function of the named arrays that is 1 where the general way would accept them, perhaps not everywhere."""
    large = _LARGE[dtype]

    def guard(*arrays: Any) -> Any:
        named = dict(zip(names, arrays, strict=True))
        h, qd = named["h"], named.pop("start qd", None)
        good = h > 0
        for name, x in named.items():
            if name in ("error", "rate"):
                scale = 1 if name == "error" else _largest(qd)
                good = good & (_largest(x) <= maximum(1, scale) * (largest_error(dtype) / 2))
            else:
                good = good & (sum(y * y for y in np.ravel(x)) <= large)
        return where(good, 1, 0)

    return guard


def _largest(x: Array) -> Any:
    return reduce(maximum, map(absolute, x), 0)


def step_code(problem: Problem, method: str, dtype: str, form: str, kept: dict[Any, Any]) -> CallableCode:
    """Return the code ``(q, qd, h, start, *constants) -> (q, qd)`` of one state ("step") or several ("steps"). It is
    made at the first call. See :func:`code_of` for ``kept``."""
    return code_of(
        problem, method, dtype, form, lambda recipe: single_step(problem, method, recipe, dtype),
        lambda recipe, key: make_step(recipe, key, form, method, problem.system.name, dtype), kept,
    )  # fmt: skip


def step_rollout(
    problem: Problem, method: str, dtype: str, target: CodeTarget, kept: dict[Any, Any] | None = None
) -> Any:
    """Return the code of one step as a rollout, for targets without plans: ``code([1], [q, qd, h, start, *constants])``
    returns [q, qd]. Rows whose guard is not 1 are NaN, and are counted."""
    return code_of(
        problem, method, dtype, "steps",
        lambda recipe: replace(single_step(problem, method, recipe, dtype), recorded=()),
        lambda recipe, key: make_rollout(recipe, key, "step", method, problem.system.name, dtype, target), kept, target,
    )  # fmt: skip
