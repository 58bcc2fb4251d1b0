"""One step as a single function of arrays, for libraries that differentiate: PyTorch and JAX.

The calls of a step are traced in line, so that it is a function like those of the library, with derivatives of every
order. Steps that repeat a call until it converges (dry friction, contact, the midpoint rule) cannot be traced so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained.least_norm import COARSE, EXACT
from sixd.engine.artifact import trace_request
from sixd.engine.functions import Function, Request
from sixd.errors import ScalarTypeError, require_known
from sixd.model.memo import remember
from sixd.model.system import System
from sixd.simulation.problem import Problem
from sixd.simulation.setup import require_inertia
from sixd.simulation.stepping.compiled_steps import FIXED_STEP, make_step, state_shapes
from sixd.spatial.scalar import Array
from sixd.trace.program import Program
from sixd.trace.replay import replay

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

MOST_OPERATIONS = 20_000  # of a step in line; the code of a longer one is better made of its calls


class Motion(NamedTuple):
    """States along a motion, the start first: q (…, steps + 1, nq), qd (…, steps + 1, nv)."""

    q: Any
    qd: Any


def require_arrays(where: str, kind: str, f_ext: Any, parameters: Any) -> None:
    """Raise unless f_ext and parameters are arrays of a kind, or None."""
    if callable(f_ext) and not hasattr(f_ext, "shape"):
        raise ScalarTypeError(f"{where}: f_ext is a function, expected {kind} (…, nb, 6).")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ScalarTypeError(f"{where}: parameters is {parameters!r:.60}, expected a mapping of names to {kind}s.")


def equations(where: str, run: Scenario, dtype: str) -> Callable[[System], Problem]:
    """Return the equations of motion of a scenario with forces tau, as a function that does not hold its system. Raise
    if the scenario cannot be differentiated in one go."""
    system = run.model
    require_known(f"{where}: method", "choice", run.method, FIXED_STEP)
    if any(str(s) not in run.parameters for s in system.symbols):
        system.require_numeric(where)
    make = partial(
        Problem, where, has_tau=True, has_f_ext=run.f_ext is not None, forces=tuple(run.forces),
        parameters=tuple(run.parameters), constraints=run.constraints, stabilisation=run.stabilisation,
        limits=COARSE if dtype == "float32" else EXACT,
    )  # fmt: skip
    require_inertia(make(system))
    return make


def step_request(where: str, run: Scenario, dtype: str) -> Request | None:
    """Return the request of (q, qd, dt, t, tau, f_ext if any, parameters…) -> (q, qd) after a step of a scenario. None
    where a step repeats calls, or is long. Quaternions are made unit first, as in a simulation."""
    system = run.model

    def make() -> Request | None:
        request = Request(_function(where, run, dtype), (), dtype, False)
        try:
            program = trace_request(system, request)
        except _RepeatedError:
            return None
        return request if program.operations <= MOST_OPERATIONS else None

    return remember(system, ("step as a function", where, run.structure, dtype), make)


def _function(where: str, run: Scenario, dtype: str) -> Function:
    """Return the function, which does not keep the system alive."""
    make, method, system = equations(where, run, dtype), run.method, run.model
    constants, parameters = make(system).constants, make(system).parameters
    # names with a blank, as a model's symbol may be called t
    shapes: dict[str, tuple[int, ...]] = {"the q": (system.nq,), "the qd": (system.nv,), "the dt": (), "the t": ()}
    shapes |= {name if name in parameters else f"the {name}": core for name, core in constants.items()}

    def algorithm(system: System, q: Array, qd: Array, dt: Any, t: Any, *constants: Any) -> tuple[Array, Array]:
        problem = make(system)
        shapes = state_shapes(problem, method, momenta=False)
        state: dict[str, Any] = {name: np.zeros(core, dtype=int)[()] for name, core in shapes.items()}
        state |= {"q": q, "qd": qd}
        if system.nq != system.nv:
            state["q"] = system.integrate_row(q, np.zeros(system.nv, dtype=int))
        if problem.nu:
            state["u"] = np.concatenate([force.start(system) for force in problem.forces])
        advance = make_step(problem, method, dtype, momenta=False)
        after = dict(zip(state, advance(_InLine(), *state.values(), dt, t, *constants), strict=True))
        return after["q"], after["qd"]

    return Function(where, algorithm, tuple(shapes), shapes, named=False, check_finite=False)


class _RepeatedError(Exception):
    """A call is repeated."""


class _InLine:
    """Has the calls of a step done in the trace of their caller, where ``Stages`` collects them."""

    def __init__(self) -> None:
        self.counts: list[Any] = []

    def __call__(self, program: Program, *arrays: Any, most: int = 1, when: Any = None, smooth: Any = None) -> Any:
        if most > 1:
            raise _RepeatedError
        # the source has derivatives of implicit functions
        result = replay(program, arrays) if program.source is None else program.source(*arrays)
        results: Sequence[Any] = result if isinstance(result, tuple) else (result,)
        return results[0] if len(results) == 1 else tuple(results)

    def repeat(self, *_: Any, **__: Any) -> Any:
        raise _RepeatedError

    each = repeat

    def kept(self, *arrays: Any) -> tuple[Any, ...]:
        return arrays
