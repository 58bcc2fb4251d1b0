"""How a simulation uses its controller: as constant forces, compiled into the step, or called with numbers ("sampled").

:func:`can_be_compiled` decides about functions (t, q, qd) without a sample time: those that can be traced are compiled,
the others are called at every step. A sampled controller may keep a memory: each rollout has a copy of it, and random
numbers of its own.
"""

from __future__ import annotations

import copy
import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from sixd.engine.artifact import graph_text
from sixd.errors import ScalarTypeError, ShapeError, TraceError
from sixd.simulation.arguments import Seed
from sixd.simulation.problem import Problem
from sixd.simulation.user_warnings import warn
from sixd.spatial.scalar import Array, Scalar

_CONTROLLER_STREAM = 0  # spawn key of a rollout's random numbers for its controller; draws use its key alone


# sampled controllers ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SampledController:
    """A controller that is called with numbers, every ``interval`` [s]; None: every step. Each rollout has a copy of
    it, and its own random numbers, made from ``seed``."""

    where: str
    function: Any
    interval: float | None
    seed: Any = None
    takes_rng: bool = False
    batch: tuple[int, ...] = ()

    @cached_property
    def _rows(self) -> list[Callable[..., Any]]:
        """The function that each rollout calls."""
        rows = math.prod(self.batch)
        functions = [self.function] * rows
        if rows > 1 and may_remember(self.function):
            try:
                functions = [independent_copy(self.function) for _ in range(rows)]
            except Exception as error:
                raise ScalarTypeError(
                    f"{self.where}: the controller cannot be copied, expected one that can, since each of {rows} "
                    f"rollouts gets its own: {type(error).__name__}: {error}."
                ) from error
        if not self.takes_rng:
            return functions
        if isinstance(self.seed, np.random.SeedSequence) and rows == 1:
            return [partial(self.function, rng=np.random.default_rng(self.seed))]
        entropy = np.random.SeedSequence(self.seed).entropy
        return [partial(f, rng=np.random.default_rng(row_seed(entropy, k))) for k, f in enumerate(functions)]

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the forces (rows, nv) at time t [s] for all rollouts."""
        if hasattr(self.function, "sample"):
            states = [x.reshape((*self.batch, x.shape[1])) for x in (q, qd)]
            result = np.asarray(self.function.sample(t, *states), dtype=float)
            if result.shape[-1:] != qd.shape[1:]:  # one number would be broadcast to all degrees of freedom
                raise ShapeError(
                    f"{self.where}: controller returns forces of shape {result.shape} at t = {t:g}, expected "
                    f"{qd.shape[1]} numbers, one for each degree of freedom."
                )
            return np.broadcast_to(result, states[1].shape).reshape(qd.shape)
        out = np.empty(qd.shape)
        for k, f in enumerate(self._rows):
            tau = np.asarray(f(t, q[k].copy(), qd[k].copy()))
            if tau.shape != qd.shape[1:] or tau.dtype.kind not in "fiu":
                raise ScalarTypeError(
                    f"{self.where}: controller returns {tau!r} at t = {t:g}, expected {qd.shape[1]} numbers, one for "
                    f"each degree of freedom."
                )
            out[k] = tau
        return out


def row_seed(entropy: int | Sequence[int] | None, row: int) -> np.random.SeedSequence:
    """Return the seed of the random numbers that a rollout's controller gets."""
    return np.random.SeedSequence(entropy, spawn_key=(row, _CONTROLLER_STREAM))


def may_remember(controller: object) -> bool:
    """Return whether a controller can keep a memory: all can, except functions without closure and defaults."""
    if isinstance(controller, types.FunctionType):
        return bool(controller.__closure__ or controller.__defaults__ or controller.__kwdefaults__)
    return not isinstance(controller, types.BuiltinFunctionType)


def independent_copy(controller: object) -> Any:
    """Return a copy with a memory of its own; systems, which never change, stay the same objects."""
    memo: dict[int, Any] = {}
    if not isinstance(controller, types.FunctionType) or not may_remember(controller):
        return copy.deepcopy(controller, memo)
    cells = tuple(types.CellType(copy.deepcopy(c.cell_contents, memo)) for c in controller.__closure__ or ())
    defaults = copy.deepcopy(controller.__defaults__, memo)
    made = types.FunctionType(controller.__code__, controller.__globals__, controller.__name__, defaults, cells)
    made.__kwdefaults__ = copy.deepcopy(controller.__kwdefaults__, memo)
    return made


# kinds ------------------------------------------------------------------------------------------


def classify_controller(
    where: str, controller: Any, interval: float | None, seed: Seed
) -> tuple[Callable[..., Any] | None, SampledController | None, Any]:
    """Return (function to compile, controller to sample, constant forces), of which at most one is not None.
    ``interval`` is the sample time [s], or None."""
    if controller is None or not (callable(controller) or hasattr(controller, "sample")):
        if interval is not None:
            raise ScalarTypeError(f"{where}: sample_time is set, but controller is not a function. Leave it out.")
        return None, None, controller
    if hasattr(controller, "sample"):
        if interval is not None and interval != controller.sample_time:
            raise ScalarTypeError(
                f"{where}: sample_time is {interval:g} s, but the controller's own is {controller.sample_time:g} s. "
                f"Leave one out."
            )
        return None, SampledController(where, controller, float(controller.sample_time)), None
    takes_rng = _takes_rng(where, controller)
    if interval is None and not takes_rng:
        return controller, None, None
    return None, SampledController(where, controller, interval, seed, takes_rng), None


def _takes_rng(where: str, controller: Callable[..., Any]) -> bool:
    """Return whether a controller has an argument rng; raise if it cannot be called with (t, q, qd)."""
    try:
        signature = inspect.signature(controller)
    except (TypeError, ValueError):  # some builtin functions have none
        return False
    takes_rng = "rng" in signature.parameters
    first = list(signature.parameters)[:3]
    if sorted(first) == ["q", "qd", "t"] and first != ["t", "q", "qd"]:
        raise ScalarTypeError(f"{where}: controller takes ({', '.join(first)}), expected (t, q, qd), in this order.")
    try:
        signature.bind(0.0, None, None, **({"rng": None} if takes_rng else {}))
    except TypeError:
        raise ScalarTypeError(
            f"{where}: controller takes {signature}, expected a function of (t, q, qd), and of rng if it draws numbers."
        ) from None
    return takes_rng


# compilation ------------------------------------------------------------------------------------


def can_be_compiled(problem: Problem) -> bool:
    """Return whether the controller can be part of the compiled step; if not, warn that it is called at every step."""
    try:
        law = independent_copy(problem.law)  # a trial must not change the controller's memory
    except Exception:
        law = problem.law
    alone = replace(problem, law=law, has_tau=False, f_ext=None, has_f_ext=False, forces=(), parameters=())
    try:
        pure = _is_pure(alone)
    except TraceError as error:
        is_step = problem.where == "step"
        choose = "To be silent, pass its forces as an array," if is_step else "Give sample_time to choose how often,"
        warn(
            problem.where,
            f"the controller cannot be part of the compiled step, so it is called every step, and its force is held "
            f"over it. {choose} or fix it: {error}",
        )
        return False
    if not pure:
        advice = problem.called_with_numbers
        raise ScalarTypeError(
            f"{problem.where}: the controller returns other forces when it is traced again: it keeps a memory, or "
            f"draws random numbers. {advice[0].upper()}{advice[1:]}."
        )
    return True


def require_pure(problem: Problem) -> None:
    """Raise if f_ext, or a force element that is not sixd's, does not depend on its arguments alone."""
    own = tuple(force for force in problem.forces if not type(force).__module__.startswith("sixd."))
    if problem.f_ext is None and not own:
        return
    if not _is_pure(replace(problem, law=None, has_tau=False, has_f_ext=False, forces=own)):
        raise ScalarTypeError(
            f"{problem.where}: f_ext, or an element of forces, returns another result when it is traced again: it "
            f"keeps a memory, or draws random numbers. It must depend on its arguments alone; states belong into a "
            f"Force's u."
        )


def _force_text(problem: Problem) -> bytes:
    """Return the traced forces of a problem as the text of their graph."""
    nq, nv, nu = problem.system.nq, problem.system.nv, problem.nu

    def total(t: Scalar, q: Array, qd: Array, u: Array, constants: Mapping[str, Array]) -> tuple[Array, ...]:
        result = problem.total_force(problem.system_with(constants), t, q, qd, u, constants)
        return tuple(x for x in result if x is not None)

    return graph_text(problem.traced(total, {"t": (), "q": (nq,), "qd": (nv,), "u": (nu,)}))


def _is_pure(problem: Problem) -> bool:
    """Return whether the forces are the same when they are traced again; raise if they cannot be traced at all."""
    text = _force_text(problem)
    try:
        return _force_text(problem) == text
    except TraceError:
        return False
