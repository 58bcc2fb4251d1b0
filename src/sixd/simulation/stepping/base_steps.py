"""One step of a method on (q, qd, u), with further forces held: the part that all kinds of steps share.

``base_step(problem, method, dtype, hold)`` traces the programs of a method and returns the function

    take(stages, t, h, q, qd, u, constants, force=None, first=None) -> (q, qd, u)

whose calls of ``stages`` are part of a recipe. ``force`` (hold.size,) is held during the step; ``first`` is (qdd, rates
of u) at its beginning under all forces, if these are known already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError
from sixd.forces.elements import Applied
from sixd.model.system import System
from sixd.simulation.problem import Problem
from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.implicit import IMPLICIT, implicit_step
from sixd.simulation.stepping.runge_kutta import EXPLICIT
from sixd.spatial.scalar import Array, Scalar
from sixd.trace.program import Program
from sixd.trace.stages import Stages

Take = Callable[..., tuple[Array, Array, Array]]


class HeldForces(NamedTuple):
    """Forces that are held: ``apply(system, q, force (size,))`` returns their effect on a system at q."""

    size: int
    apply: Callable[[System, Array, Array], Applied]


def base_step(problem: Problem, method: str, dtype: str, hold: HeldForces | None = None) -> Take:
    """Return the step of a method; see the head of this module."""
    if method in EXPLICIT:
        return explicit_step(problem, method, dtype, hold)
    if method == IMPLICIT:
        return implicit_step(problem, dtype, hold)
    return midpoint_step(problem, dtype, hold)


def explicit_step(problem: Problem, method: str, dtype: str, hold: HeldForces | None) -> Take:
    """Return a step of a method of ``EXPLICIT``."""
    system, method_step = problem.system, EXPLICIT[method]
    shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (system.nq,), "qd": (system.nv,), "u": (problem.nu,)}
    if hold is None:
        rates = problem.traced(problem.acceleration, shapes, dtype, again=True)
    else:

        def acceleration(
            t: Scalar, q: Array, qd: Array, u: Array, force: Array, constants: Mapping[str, Any]
        ) -> tuple[Array, Array]:
            held = hold.apply(problem.system_with(constants), q, force)
            return problem.acceleration(t, q, qd, u, constants, held)

        rates = problem.traced(acceleration, {**shapes, "force": (hold.size,)}, dtype, again=True)

    # states of force elements that a step records by itself, such as forces of contact, are left as they are
    varies = [not (rate.is_const and rate.value == 0) for rate in rates.outputs[1].entries]

    def take(
        stages: Stages, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, constants: Sequence[Array],
        force: Array | None = None, first: Sequence[Array] | None = None,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        known = [] if first is None else [first]
        held = () if hold is None else (force,)

        def f(*state: Any) -> Any:
            qdd, rate = known.pop() if known else stages(rates, *state, *held, *constants)
            return qdd, np.array([x if own else 0 for x, own in zip(rate, varies, strict=True)], dtype=object)

        return method_step(system.integrate_row, f, t, h, q, qd, u)

    return take


def midpoint_step(problem: Problem, dtype: str, hold: HeldForces | None) -> Take:
    """Return a step of "midpoint" on velocities: momenta are computed within it."""
    system = problem.system
    iterate, finish = midpoint_programs(problem, dtype, hold)
    smooth = partial(midpoint_derivative, problem, dtype, hold)
    shapes: dict[str, tuple[int, ...]] = {"q": (system.nq,), "qd": (system.nv,)}

    def momentum(q: Array, qd: Array, constants: Mapping[str, Any]) -> Array:
        return midpoint.momentum(problem.system_with(constants), q, qd)

    def velocity(q: Array, p: Array, constants: Mapping[str, Any]) -> Array:
        return midpoint.velocity(problem.system_with(constants), q, p)

    to_momentum = problem.traced(momentum, shapes, dtype)
    to_velocity = problem.traced(velocity, {"q": (system.nq,), "p": (system.nv,)}, dtype)

    def take(
        stages: Stages, t: Scalar, h: Scalar, q: Array, qd: Array, u: Array, constants: Sequence[Array],
        force: Array | None = None, first: Sequence[Array] | None = None,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        held = () if hold is None else (force,)
        p = stages(to_momentum, q, qd, *constants)
        guess = qd if first is None else qd + first[0] * (h / 2)
        inputs = guess, np.inf, 0.0, t, h, q, p, u, *held, *constants
        v, left, _ = stages(iterate, *inputs, most=midpoint.MOST, smooth=smooth)
        q, p, u = stages(finish, v, left, t, h, q, u, *held, *constants)
        return q, stages(to_velocity, q, p, *constants), u

    return take


def midpoint_programs(problem: Problem, dtype: str, hold: HeldForces | None = None) -> tuple[Program, Program]:
    """Return the programs of an iteration and of the end of a step of the midpoint rule."""
    if problem.system.constraints:
        raise ScalarTypeError(
            f"{problem.where}: method 'midpoint' does not support constraints, and {problem.system.name!r} has "
            f"{len(problem.system.constraints)}. Use 'rk4' or 'adaptive', or, for gears and mimic joints, "
            f"model.reduce()."
        )
    guess = _guess_shapes(problem)
    entries = {name: shape for name, shape in guess.items() if name not in ("done", "p")}
    iterate = _traced_with(midpoint.iterate, problem, guess, dtype, hold)
    return iterate, _traced_with(midpoint.finish, problem, entries, dtype, hold)


def midpoint_derivative(problem: Problem, dtype: str, hold: HeldForces | None) -> Program:
    """Return the program of an iteration whose velocity is a smooth function of all inputs."""

    def again(problem: Problem, v: Array, left: Scalar, done: Scalar, *rest: Any) -> tuple[Array, Scalar, Scalar]:
        return midpoint.iterate(problem, v, np.inf, 0, *rest)[0], left, done

    return _traced_with(again, problem, _guess_shapes(problem), dtype, hold)


def _guess_shapes(problem: Problem) -> dict[str, tuple[int, ...]]:
    nq, nv, nu = problem.system.nq, problem.system.nv, problem.nu
    return {"v": (nv,), "left": (), "done": (), "t": (), "h": (), "q": (nq,), "p": (nv,), "u": (nu,)}


def _traced_with(
    function: Callable[..., Any], problem: Problem, shapes: dict[str, tuple[int, ...]], dtype: str,
    hold: HeldForces | None,
) -> Program:  # fmt: skip
    """Return the program of ``function(problem, *arrays, constants)``, with a force that is held, if there is one."""
    if hold is None:
        return problem.traced(partial(function, problem), shapes, dtype)

    def with_force(*arguments: Any) -> Any:
        *state, force, constants = arguments
        return function(problem, *state, constants, lambda system, q: hold.apply(system, q, force))

    return problem.traced(with_force, {**shapes, "force": (hold.size,)}, dtype)
