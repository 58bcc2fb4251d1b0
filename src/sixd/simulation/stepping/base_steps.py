"""One step of a method on (q, qd, u), with further forces held: the part that all kinds of steps share.

``base_step(problem, method, dtype, hold)`` traces the programs of a method and returns the function

    take(stages, t, h, q, qd, u, constants, force=None, first=None) -> (q, qd, u)

whose calls of ``stages`` are part of a recipe. ``force`` (hold.size,) is held during the step; ``first`` is (qdd, rates
of u) at its beginning under all forces, if these are known already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sixd.forces.elements import Applied
from sixd.model.system import System
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.implicit import IMPLICIT, implicit_step
from sixd.simulation.stepping.runge_kutta import EXPLICIT
from sixd.spatial.scalar import Array, Scalar
from sixd.trace.stages import Stages

Take = Callable[..., tuple[Array, Array, Array]]


class Hold(NamedTuple):
    """Forces that are held: ``apply(system, q, force (size,))`` returns their effect on a system at q."""

    size: int
    apply: Callable[[System, Array, Array], Applied]


def base_step(problem: Problem, method: str, dtype: str, hold: Hold | None = None) -> Take:
    """Return the step of a method; see the head of this module."""
    if method == IMPLICIT:
        return implicit_step(problem, dtype, hold)
    return explicit_step(problem, method, dtype, hold)


def explicit_step(problem: Problem, method: str, dtype: str, hold: Hold | None) -> Take:
    """Return a step of "rk4" or "euler"."""
    system, method_step = problem.system, EXPLICIT[method]
    shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (system.nq,), "qd": (system.nv,), "u": (problem.nu,)}
    if hold is None:
        rates = problem.traced(problem.acceleration, shapes, dtype)
    else:

        def acceleration(
            t: Scalar, q: Array, qd: Array, u: Array, force: Array, constants: Mapping[str, Any]
        ) -> tuple[Array, Array]:
            held = hold.apply(problem.system_with(constants), q, force)
            return problem.acceleration(t, q, qd, u, constants, held)

        rates = problem.traced(acceleration, {**shapes, "force": (hold.size,)}, dtype)

    def take(
        stages: Stages, t: Any, h: Any, q: Array, qd: Array, u: Array, constants: Any, force: Any = None,
        first: Any = None,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        known = [] if first is None else [first]
        held = () if hold is None else (force,)

        def f(*state: Any) -> Any:
            return known.pop() if known else stages(rates, *state, *held, *constants)

        return method_step(system.integrate_row, f, t, h, q, qd, u)

    return take
