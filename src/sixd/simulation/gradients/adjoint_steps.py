"""Steps there and back: compiled code of steps that record their states, and of steps that carry gradients back.

The forward step is that of a simulation on velocities, with joint forces tau of its own at each step (a series), and
the sum of a cost. The backward step is its adjoint (``sixd.trace.adjoint``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from sixd.engine.artifact import graph_text, make_rollout, recipe_key
from sixd.engine.evaluate import evaluate
from sixd.engine.functions import Function
from sixd.engine.targets import CodeTarget, cpu
from sixd.errors import TraceError
from sixd.model.memo import known_of, remember
from sixd.model.system import System
from sixd.runtime.arrays.registry import is_on_gpu
from sixd.runtime.routine import Rollout
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.compiled_steps import make_step, state_shapes
from sixd.slow_work import watched
from sixd.spatial.scalar import Array, is_number, object_array
from sixd.trace import derivative
from sixd.trace.adjoint import forward_backward, pruned
from sixd.trace.expr import Expr
from sixd.trace.program import Program, trace
from sixd.trace.recipe import Recipe
from sixd.trace.replay import replay
from sixd.trace.stages import Stages, trace_stages

T = TypeVar("T")
TAU = "constant tau"
COST = "cost"
_MOST_KEPT = 16  # of one system


@dataclass(frozen=True, eq=False)
class Pair:
    """Code of steps there and back, and the names and shapes of their arrays, in order.

    ``state``, ``constants``: of the forward step. ``outputs``: what it returns, and whether as records. ``series``:
    those that the backward step reads besides tau: states at the beginning of each step, and records of what was
    computed in it. ``gradients``: the state of the backward step, by the names of what they are gradients by.
    """

    forward: Rollout
    backward: Rollout
    state: dict[str, tuple[int, ...]]
    constants: tuple[str, ...]
    outputs: dict[str, bool]
    series: dict[str, tuple[int, ...]]
    gradients: dict[str, tuple[int, ...]]


def forward_backward_steps(
    problem: Problem, method: str, dtype: str, cost: Program | None, target: CodeTarget = cpu,
    along: tuple[str, ...] = (),
) -> Pair:  # fmt: skip
    """Return the code for a problem with forces tau and the program of a cost (t, q, qd, tau), made at the first call.

    With ``along``, such as ("q", "qd"), the way there records these states alone, and the way back has their weights as
    series "weight of q", and gradients by all constants. It is kept with the system, unless forces of users' own
    classes act, which may change.
    """

    def make() -> Pair:
        with watched(f"compiling {problem.where} for {problem.system.name!r}"):
            return _make_pair(problem, method, dtype, cost, target, along)

    if problem.key is None:
        return make()
    key = "gradient", method, dtype, problem.key, cost and graph_text(cost), target, along
    return kept_with(problem.system, key, make)


def kept_with(system: System, key: tuple[Any, ...], make: Callable[[], T]) -> T:
    """Return what a system's memo has for the key, made at the first call; the latest keys are kept."""
    memo = known_of(system)
    result = memo.get(key)
    if result is None:
        result = make()
        old = [k for k in list(memo) if isinstance(k, tuple) and k[:1] == key[:1]]
        for k in old[: max(0, len(old) + 1 - _MOST_KEPT)]:
            memo.pop(k, None)
        memo[key] = result
    return result


def _make_pair(
    problem: Problem, method: str, dtype: str, cost: Program | None, target: CodeTarget, along: tuple[str, ...]
) -> Pair:
    forward = forward_step(problem, method, dtype, cost)
    weighed = tuple(n for n in ("q", "qd", "u", COST) if n in forward.state and 0 not in forward.memory[n])
    constants = [name for name in problem.constants if name in problem.parameters or (along and name != "tau")]
    by = *(f"constant {name}" for name in constants), TAU
    there, back = forward_backward(forward, weighed, by, dtype, along)

    def compiled(recipe: Recipe) -> Rollout:
        key, name = recipe_key(recipe, dtype), problem.system.name
        return make_rollout(recipe, key, problem.where, method, name, dtype, target)

    state = {name: there.memory[name] for name in there.state}
    series = {name: back.memory[name] for name in back.series if name != TAU}
    gradients = {name: there.memory[name] for name in (*weighed, *by)}
    return Pair(compiled(there), compiled(back), state, there.constants, there.outputs, series, gradients)


def forward_step(problem: Problem, method: str, dtype: str, cost: Program | None) -> Recipe:
    """Return the recipe of the forward step."""
    own = state_shapes(problem, method, momenta=False)
    step = make_step(problem, method, dtype, momenta=False)
    state = own if cost is None else {**own, COST: ()}
    inputs = problem.inputs
    constants = {"h": (), "start": (), **{name: shape for name, shape in inputs.items() if name != TAU}}

    def counted(stages: Stages, *arrays: Any) -> tuple[Any, ...]:
        values = dict(zip((*state, *constants, TAU), arrays, strict=True))
        after = step(stages, *(values[name] for name in (*own, "h", "start", *inputs)))
        if cost is None:
            return after
        t = values["start"] + values["steps"] * values["h"]
        more = stages(cost, t, values["q"], values["qd"], values[TAU])
        return *after, values[COST] + more

    return pruned(trace_stages(counted, state, constants, dtype, {TAU: inputs[TAU]}, smooth=True))


# functions of users --------------------------------------------------------------------------------


def traced_cost(
    where: str, name: str, function: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]], dtype: str
) -> Program:
    """Return the program of a user's cost, a number; raise if it cannot be traced, or is something else."""

    def one(*arrays: Any) -> Any:
        result = function(*arrays)
        if isinstance(result, np.ndarray) and result.shape == ():
            result = result[()]
        if not (isinstance(result, Expr) or is_number(result)) or isinstance(result, bool):
            kind = f"an array of shape {result.shape}" if isinstance(result, np.ndarray) else f"{result!r:.60}"
            raise TraceError(f"it returns {kind}, expected one number.")
        return result

    call = f"{name}({', '.join(shapes)})"
    try:
        with np.errstate(all="ignore"):
            return trace(one, shapes, dtype)
    except TraceError as error:
        raise TraceError(f"{where}: {call}: {error}") from error
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise TraceError(
            f"{where}: {call} cannot be run on traced scalars: {error}. It gets one state, and is written with the "
            f"functions of sixd.spatial (sin, sqrt, where …) instead of NumPy's."
        ) from error


def final_code(problem: Problem, program: Program, dtype: str, target: CodeTarget = cpu) -> Rollout:
    """Return the code of a final cost: (q, qd, zeros…) -> (q, qd, value, derivatives with respect to q, and to qd)."""
    shapes = {slot.name: slot.shape for slot in program.inputs}
    state: dict[str, tuple[int, ...]] = {**shapes, "value": (), **{f"by {name}": x for name, x in shapes.items()}}

    def both(*arrays: Any) -> tuple[Any, ...]:
        (value,) = replay(program, arrays)
        entries = [e for array in arrays for e in np.ravel(array)]
        gradient = derivative.vjp([entries[0].graph.lift(value)], entries, [1], bounded=True)
        derivatives = iter(derivative.resolved(gradient))
        return value, *(object_array([next(derivatives) for _ in a], np.shape(a)) for a in arrays)

    def step(stages: Stages, *arrays: Any) -> tuple[Any, ...]:
        values = arrays[: len(shapes)]
        return *values, *stages(traced, *values)

    def make() -> Rollout:
        recipe = replace(trace_stages(step, state, {}, dtype), recorded=())
        key, name = recipe_key(recipe, dtype), problem.system.name
        return make_rollout(recipe, key, problem.where, "final", name, dtype, target)

    traced = trace(both, shapes, dtype)
    return kept_with(problem.system, ("gradient", "final", dtype, graph_text(traced), target), make)


# the tangent space ---------------------------------------------------------------------------------


def _pulled(system: System, q: Array, derivatives: Array) -> Array:
    """Return the gradient (nv,) in the tangent space at q (nq,), of traced scalars, from that with respect to q."""
    graph = q[0].graph
    velocity = graph.input("velocity", (system.nv,))  # a linear function of it: its transpose does not depend on it
    rate = graph.entries(system.configuration_rate(q, velocity))
    return object_array(derivative.vjp(rate, graph.entries(velocity), graph.entries(derivatives)), (system.nv,))


_TO_TANGENT = Function(
    "gradient", _pulled, ("q", "derivatives"), {"derivatives": ("nq",)}, named=False, check_finite=False
)


def tangent_gradient(system: System, q: Any, gradient: Any) -> Any:
    """Return the gradients (states, nv) in the tangent space at q (states, nq) from those with respect to q."""
    if is_on_gpu(q):
        return evaluate(_TO_TANGENT, system, (), (q, gradient))
    shapes, dtype = {"q": (system.nq,), "derivatives": (system.nq,)}, q.dtype.name
    # a short program, which is not worth compiling
    program = remember(system, ("to tangent", dtype), lambda: trace(partial(_pulled, system), shapes, dtype))
    return evaluated(program, (q, gradient), dtype)[0]


def from_tangent(system: System, dtype: str) -> Program:
    """Return the program q (nq,) -> (nv, nq): the derivatives of a small displacement from q with respect to q."""

    def derivatives(q: Array) -> Array:
        fixed = np.array([x.held(0) for x in q], dtype=object)
        moved = system.difference_row(fixed, q)
        graph = q[0].graph
        table = derivative.directional(list(graph.entries(moved)), list(q), np.eye(system.nq, dtype=int))
        flat = derivative.resolved(list(table.ravel()))
        return object_array(flat, table.shape)

    return remember(system, ("from tangent", dtype), lambda: trace(derivatives, {"q": (system.nq,)}, dtype))


def evaluated(program: Program, arrays: Sequence[Array], dtype: str) -> tuple[Array, ...]:
    """Return the outputs of a short program for rows of arrays."""
    return tuple(x.astype(dtype, copy=False) for x in program.evaluate(*arrays))
