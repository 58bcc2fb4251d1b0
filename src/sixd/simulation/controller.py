"""Controllers by their kind: constant forces, laws that become part of the step, functions that are sampled."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from sixd.engine.artifact import graph_text
from sixd.errors import ScalarTypeError, ShapeError, SimulationWarning, TraceError
from sixd.simulation.checks import positive
from sixd.simulation.controller_memory import fresh, remembers, row_seed
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.recipes import traced
from sixd.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Sampled:
    """A controller that is called with numbers, every ``interval`` [s]; None: every step.

    Of several rows each has a copy of it, and its own random numbers, made of ``seed``.
    """

    where: str
    function: Any
    interval: float | None
    seed: Any = None
    takes_rng: bool = False
    batch: tuple[int, ...] = ()

    @cached_property
    def _rows(self) -> list[Callable[..., Any]]:
        rows = math.prod(self.batch)
        functions = [self.function] * rows
        if rows > 1 and remembers(self.function):
            try:
                functions = [fresh(self.function) for _ in range(rows)]
            except Exception as error:
                raise ScalarTypeError(
                    f"{self.where}: the controller cannot be copied, expected one that can, since each of {rows} rows "
                    f"gets its own: {type(error).__name__}: {error}."
                ) from error
        if not self.takes_rng:
            return functions
        if isinstance(self.seed, np.random.SeedSequence) and rows == 1:
            return [partial(self.function, rng=np.random.default_rng(self.seed))]
        entropy = np.random.SeedSequence(self.seed).entropy
        return [partial(f, rng=np.random.default_rng(row_seed(entropy, k))) for k, f in enumerate(functions)]

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Forces (rows, nv) for all rows."""
        if hasattr(self.function, "sample"):
            states = [x.reshape((*self.batch, x.shape[1])) for x in (q, qd)]
            found = np.asarray(self.function.sample(t, *states), dtype=float)
            if found.shape[-1:] != qd.shape[1:]:  # one number would be spread over all freedoms
                raise ShapeError(
                    f"{self.where}: controller returns forces of shape {found.shape} at t = {t:g}, expected "
                    f"{qd.shape[1]} numbers, one for each freedom."
                )
            return np.broadcast_to(found, states[1].shape).reshape(qd.shape)
        out = np.empty(qd.shape)
        for k, f in enumerate(self._rows):
            tau = np.asarray(f(t, q[k].copy(), qd[k].copy()))
            if tau.shape != qd.shape[1:] or tau.dtype.kind not in "fiu":
                raise ScalarTypeError(
                    f"{self.where}: controller returns {tau!r} at t = {t:g}, expected {qd.shape[1]} numbers, one for "
                    f"each freedom."
                )
            out[k] = tau
        return out


def kind_of_controller(
    where: str, controller: Any, sample_time: float | None, seed: Any
) -> tuple[Callable[..., Any] | None, Sampled | None, Any]:
    """(law to trace, controller to sample, constant forces): at most one of them is something."""
    interval = None if sample_time is None else positive(where, "sample_time", sample_time, "s", zero=False)
    if controller is None or not (callable(controller) or hasattr(controller, "sample")):
        if interval is not None:
            raise ScalarTypeError(f"{where}: sample_time is given, but controller is no function. Leave it out.")
        return None, None, controller
    if hasattr(controller, "sample"):
        if interval is not None and interval != controller.sample_time:
            raise ScalarTypeError(
                f"{where}: sample_time is {interval:g} s, but the controller's own is {controller.sample_time:g} s. "
                f"Leave one out."
            )
        return None, Sampled(where, controller, float(controller.sample_time)), None
    _require_arguments(where, controller)
    takes_rng = _takes_rng(controller)
    if interval is None and not takes_rng:
        return controller, None, None
    return None, Sampled(where, controller, interval, seed, takes_rng), None


def _require_arguments(where: str, controller: Callable[..., Any]) -> None:
    """Raise if a controller cannot be called with (t, q, qd)."""
    try:
        signature = inspect.signature(controller)
    except (TypeError, ValueError):  # some of C have none
        return
    try:
        signature.bind(0.0, None, None, **({"rng": None} if "rng" in signature.parameters else {}))
    except TypeError:
        raise ScalarTypeError(
            f"{where}: controller takes {signature}, expected a function of (t, q, qd), and of rng if it draws numbers."
        ) from None


def _takes_rng(controller: Callable[..., Any]) -> bool:
    try:
        return "rng" in inspect.signature(controller).parameters
    except (TypeError, ValueError):  # some of C have none
        return False


def can_be_traced(problem: Problem) -> bool:
    """Whether the controller can be part of the equations; if not, a warning tells that it is called every step."""
    try:
        law = fresh(problem.law)  # what is tried may leave traces
    except Exception:
        law = problem.law
    alone = replace(problem, law=law, held=False, f_ext=None, pushed=False, forces=(), parameters=())
    try:
        first = _text(alone)
    except TraceError as error:
        warnings.warn(
            f"{problem.where}: the controller cannot be part of the compiled step, so it is called every step, and its "
            f"force is held over it. Give sample_time to choose how often, or mend it: {error}",
            SimulationWarning,
            stacklevel=4,
        )
        return False
    if not _is_again(alone, first):
        raise ScalarTypeError(
            f"{problem.where}: the controller gives another law when it is asked again: it keeps a memory, or draws "
            f"random numbers. Give sample_time, so that it is called as it is, with numbers."
        )
    return True


def require_pure(problem: Problem) -> None:
    """Raise if f_ext, or a force element of the user's own, is no function of its arguments alone."""
    own = tuple(force for force in problem.forces if not type(force).__module__.startswith("sixd."))
    alone = replace(problem, law=None, held=False, pushed=False, forces=own)
    if (problem.f_ext is not None or own) and not _is_again(alone, _text(alone)):
        raise ScalarTypeError(
            f"{problem.where}: f_ext, or an element of forces, gives another result when it is asked again: it keeps a "
            f"memory, or draws random numbers. It must depend on its arguments alone; states belong into a Force's u."
        )


def _text(problem: Problem) -> bytes:
    """The forces of a problem as a graph's text."""
    nq, nv, nu = problem.system.nq, problem.system.nv, problem.nu

    def total(t: Any, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> Any:
        found = problem.applied(problem.settled(constants), t, q, qd, u, constants)
        return tuple(x for x in found if x is not None)

    return graph_text(traced(problem, total, {"t": (), "q": (nq,), "qd": (nv,), "u": (nu,)}))


def _is_again(problem: Problem, text: bytes) -> bool:
    try:
        return _text(problem) == text
    except TraceError:
        return False
