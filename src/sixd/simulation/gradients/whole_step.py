"""One step as a single function of arrays, for libraries that differentiate: PyTorch and JAX.

The calls of a step are traced in line, so that it is a function like those of the library, with derivatives of every
order. Steps that repeat a call until it converges (dry friction, contact, the midpoint rule) cannot be traced so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained.least_norm import COARSE, EXACT
from sixd.algorithms.singular import singular_joints
from sixd.engine.artifact import trace_request
from sixd.engine.evaluate import require_regular
from sixd.engine.functions import Function, Request
from sixd.errors import unknown_name
from sixd.forces.elements import Force
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.model.system import System, require_system
from sixd.simulation.problem import PROJECTED, STABILISED, Problem
from sixd.simulation.stepping.compiled_steps import FIXED_STEP, make_step, state_shapes
from sixd.spatial.scalar import Array
from sixd.trace.program import Program
from sixd.trace.replay import replay

MOST_OPERATIONS = 20_000  # of a step in line; the code of a longer one is better made of its calls
STATE = ("q", "qd", "dt", "t")  # the first inputs


class Setting(NamedTuple):
    """What acts in a step, without the system: its problem has forces tau, and f_ext if ``has_f_ext``."""

    where: str
    method: str = "rk4"
    has_f_ext: bool = False
    forces: tuple[Force, ...] = ()
    parameters: tuple[str, ...] = ()
    constraints: str = PROJECTED
    stabilisation: float = 20.0

    def problem(self, system: System, dtype: str) -> Problem:
        """Return the problem of a system."""
        where, _, has_f_ext, forces, parameters, constraints, stabilisation = self
        return Problem(
            where, system, has_tau=True, has_f_ext=has_f_ext, forces=forces, parameters=parameters,
            constraints=constraints, stabilisation=stabilisation, limits=COARSE if dtype == "float32" else EXACT,
        )  # fmt: skip

    def check(self, system: System) -> None:
        """Raise if a choice is unknown, or if the system cannot be moved."""
        require_system(self.where, system)
        if self.method not in FIXED_STEP:
            raise unknown_name(f"{self.where}: method", "choice", self.method, FIXED_STEP)
        if self.constraints not in (PROJECTED, STABILISED):
            raise unknown_name(f"{self.where}: constraints", "choice", self.constraints, (PROJECTED, STABILISED))
        if any(str(s) not in self.parameters for s in system.symbols):
            system.require_numeric(self.where)
        if isinstance(system, Model) and not self.parameters:
            joints = tuple(system.joint_names.index(name) + 1 for name in singular_joints(system))
            require_regular(self.where, system, joints)


def step_request(system: System, setting: Setting, dtype: str) -> Request | None:
    """Return the request of (q, qd, dt, t, tau, f_ext if any, parameters…) -> (q, qd) after a step.

    None where a step repeats calls, or is long. Quaternions are made unit first, as in a simulation.
    """

    require_system(setting.where, system)

    def make() -> Request | None:
        setting.check(system)
        request = Request(_function(system, setting, dtype), (), dtype, False)
        try:
            program = trace_request(system, request)
        except _RepeatedError:
            return None
        return request if program.operations <= MOST_OPERATIONS else None

    return remember(system, ("step as a function", setting, dtype), make)


def _function(system: System, setting: Setting, dtype: str) -> Function:
    """Return the function, which does not keep the system alive."""
    own = setting.problem(system, dtype)
    # names with a blank, as a model's symbol may be called t
    shapes: dict[str, tuple[int, ...]] = {"the q": (system.nq,), "the qd": (system.nv,), "the dt": (), "the t": ()}
    shapes |= {name if name in setting.parameters else f"the {name}": core for name, core in own.constants.items()}

    def algorithm(system: System, q: Array, qd: Array, dt: Any, t: Any, *constants: Any) -> tuple[Array, Array]:
        problem = setting.problem(system, dtype)
        shapes = state_shapes(problem, setting.method, momenta=False)
        state: dict[str, Any] = {name: np.zeros(core, dtype=int)[()] for name, core in shapes.items()}
        state |= {"q": q, "qd": qd}
        if system.nq != system.nv:
            state["q"] = system.integrate_row(q, np.zeros(system.nv, dtype=int))
        if problem.nu:
            state["u"] = np.concatenate([force.start(system) for force in problem.forces])
        step: Any = make_step(problem, setting.method, dtype, momenta=False)
        after = dict(zip(state, step(_InLine(), *state.values(), dt, t, *constants), strict=True))
        return after["q"], after["qd"]

    return Function(setting.where, algorithm, tuple(shapes), shapes, named=False, check_finite=False)


class _RepeatedError(Exception):
    """A call is repeated."""


class _InLine:
    """Has the calls of a step done in the trace of their caller, where ``Stages`` collects them."""

    def __init__(self) -> None:
        self.counts: list[Any] = []

    def __call__(self, program: Program, *arrays: Any, most: int = 1, when: Any = None, smooth: Any = None) -> Any:
        if most > 1:
            raise _RepeatedError
        # the source has slopes of implicit functions
        found = replay(program, arrays) if program.source is None else program.source(*arrays)
        results: Sequence[Any] = found if isinstance(found, tuple) else (found,)
        return results[0] if len(results) == 1 else tuple(results)

    def kept(self, *arrays: Any) -> tuple[Any, ...]:
        return arrays
