"""Compiled steps: a problem and a method as a recipe, and its code, from memory, from the disk, or made now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sixd.engine.artifact import make_rollout, recipe_text
from sixd.errors import ScalarTypeError, SixdError, TraceError
from sixd.locks import Lock
from sixd.model.memo import remember
from sixd.runtime.routine import Rollout
from sixd.simulation.problem import Problem
from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.runge_kutta import EXPLICIT
from sixd.spatial.scalar import Array
from sixd.trace.program import Program, trace
from sixd.trace.stages import Recipe, Stages, trace_stages
from sixd.waiting import watched

MIDPOINT = "midpoint"
FIXED_STEP = (*EXPLICIT, MIDPOINT)
PROJECTIONS = 2  # Newton steps onto the constraints after each step: an error of 1e-4 is squared twice

# the latest rollouts by the text of their recipe, for controllers that are made anew for each simulation
_RECENT: dict[tuple[bytes, str], Rollout] = {}
_LOCK = Lock()
_MOST_RECENT = 256


def rollout(problem: Problem, method: str, dtype: str) -> Rollout:
    """Return the code of a method for a problem, made at the first call."""
    if problem.key is None:
        return _traced_rollout(problem, method, dtype)
    return remember(
        problem.system, ("rollout", method, dtype, problem.key), lambda: _traced_rollout(problem, method, dtype)
    )


def _traced_rollout(problem: Problem, method: str, dtype: str) -> Rollout:
    with watched(f"compiling {problem.where} for {problem.system.name!r}"):
        recipe = make_recipe(problem, method, dtype)
        key = recipe_text(recipe), dtype
        if key not in _RECENT:
            made = make_rollout(recipe, "simulate", method, problem.system.name, dtype)
            with _LOCK:
                while len(_RECENT) >= _MOST_RECENT:
                    _RECENT.pop(next(iter(_RECENT)))
                _RECENT[key] = made
        return _RECENT[key]


def state_shapes(problem: Problem, method: str) -> dict[str, tuple[int, ...]]:
    """What a step changes: the number of steps done, q, qd (or, by the midpoint rule, p and a guess v), and u."""
    nq, nv = problem.system.nq, problem.system.nv
    moving = {"p": (nv,), "v": (nv,)} if method == MIDPOINT else {"qd": (nv,)}
    shapes = {"steps": (), "q": (nq,), **moving}
    return shapes | ({"u": (problem.nu,)} if problem.nu else {})


def make_recipe(problem: Problem, method: str, dtype: str = "float64") -> Recipe:
    """The recipe of one step; its constants are the step's length, the time at step 0, and those of the problem."""
    constants = {"h": (), "start": (), **_named_apart(problem)}
    step = _midpoint_step(problem, dtype) if method == MIDPOINT else _explicit_step(problem, method, dtype)
    return trace_stages(step, state_shapes(problem, method), constants, dtype)


def _named_apart(problem: Problem) -> dict[str, tuple[int, ...]]:
    """The problem's constants by names that no state has: a model's symbol may be called h or p."""
    return {f"constant {name}": shape for name, shape in problem.constants.items()}


def traced(
    problem: Problem, function: Callable[..., Any], shapes: dict[str, tuple[int, ...]], dtype: str = "float64"
) -> Program:
    """The program of ``function(*arrays, constants)``; a user's controller may be what cannot be traced."""
    every = shapes | _named_apart(problem)

    def one(*arrays: Any) -> Any:
        return function(*arrays[: len(shapes)], dict(zip(problem.constants, arrays[len(shapes) :], strict=True)))

    try:
        with np.errstate(all="ignore"):
            return trace(one, every, dtype)
    except TraceError as error:
        raise TraceError(f"{problem.where}: {error}") from error
    except SixdError:
        raise
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        if problem.law is None and problem.f_ext is None:
            raise
        what, hint = "f_ext", ""
        if problem.law is not None:
            what, hint = "the controller, or f_ext,", ", or give sample_time, so that it is called with numbers"
        raise TraceError(
            f"{problem.where}: {what} cannot be run on traced scalars: {error}. Use the functions of sixd.spatial "
            f"(sin, sqrt, where …) in the place of NumPy's{hint}."
        ) from error


def _parts(problem: Problem) -> dict[str, tuple[int, ...]]:
    nq, nv = problem.system.nq, problem.system.nv
    return {"t": (), "q": (nq,), "qd": (nv,), **({"u": (problem.nu,)} if problem.nu else {})}


def rate_program(problem: Problem, dtype: str = "float64") -> Program:
    """(t, q, qd, [u], constants) -> qdd, [du/dt]."""

    def rates(t: Any, q: Array, qd: Array, *rest: Any) -> Any:
        *u, constants = rest
        found = problem.acceleration(t, q, qd, u[0] if u else np.zeros(0, dtype=int), constants)
        return found if u else found[0]

    return traced(problem, rates, _parts(problem), dtype)


def _explicit_step(problem: Problem, method: str, dtype: str) -> Callable[..., Any]:
    system, take = problem.system, EXPLICIT[method]
    shapes = _parts(problem)
    rates = rate_program(problem, dtype)
    place = velocity = None
    if problem.is_projected:
        place = traced(problem, problem.on_constraints, {"q": shapes["q"]}, dtype)
        moment = {name: shapes[name] for name in ("t", "q", "qd")}
        velocity = traced(problem, problem.along_constraints, moment, dtype)

    def step(stages: Stages, steps: Any, q: Array, qd: Array, *rest: Any) -> Any:
        u, (h, start, *constants) = (rest[0], rest[1:]) if problem.nu else (np.zeros(0, dtype=int), rest)

        def f(t: Any, q: Array, qd: Array, u: Array) -> Any:
            found = stages(rates, t, q, qd, *([u] if problem.nu else []), *constants)
            return found if problem.nu else (found, np.zeros(0, dtype=int))

        q, qd, u = take(system.integrate_row, f, start + steps * h, h, q, qd, u)
        if place is not None and velocity is not None:
            for _ in range(PROJECTIONS):
                q = stages(place, q, *constants)
            qd = stages(velocity, start + (steps + 1) * h, q, qd, *constants)
        return (steps + 1, q, qd, u) if problem.nu else (steps + 1, q, qd)

    return step


def _midpoint_step(problem: Problem, dtype: str) -> Callable[..., Any]:
    if problem.system.constraints:
        raise ScalarTypeError(
            f"{problem.where}: method 'midpoint' does not take constraints, and {problem.system.name!r} has "
            f"{len(problem.system.constraints)}. Use 'rk4' or 'adaptive', or, for gears and mimic joints, "
            f"model.reduce()."
        )
    nv, shapes = problem.system.nv, _parts(problem)
    none = np.zeros(0, dtype=int)
    u_shape = {"u": shapes["u"]} if problem.nu else {}

    def guess(v: Array, left: Any, done: Any, t: Any, h: Any, q: Array, p: Array, *rest: Any) -> Any:
        *u, constants = rest
        return midpoint.iterate(problem, v, left, done, t, h, q, p, u[0] if u else none, constants)

    def end(v: Array, left: Any, t: Any, h: Any, q: Array, *rest: Any) -> Any:
        *u, constants = rest
        found = midpoint.finish(problem, v, left, t, h, q, u[0] if u else none, constants)
        return found if u else found[:2]

    numbers: dict[str, tuple[int, ...]] = {"v": (nv,), "left": ()}
    moment = {"t": (), "h": (), "q": shapes["q"]}
    iterate = traced(problem, guess, {**numbers, "done": (), **moment, "p": (nv,), **u_shape}, dtype)
    finish = traced(problem, end, {**numbers, **moment, **u_shape}, dtype)

    def step(stages: Stages, steps: Any, q: Array, p: Array, v: Array, *rest: Any) -> Any:
        u, (h, start, *constants) = ([rest[0]], rest[1:]) if problem.nu else ([], rest)
        t = start + steps * h
        v, left, _ = stages(iterate, v, np.inf, 0.0, t, h, q, p, *u, *constants, most=midpoint.MOST)
        q, p, *u = stages(finish, v, left, t, h, q, *u, *constants)
        return (steps + 1, q, p, v, *u)

    return step
