"""Controllers by their kind: constant forces, laws that become part of the step, functions that are sampled."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.compile import graph_text
from sixd.errors import ScalarTypeError, SimulationWarning, TraceError
from sixd.simulation.checks import positive
from sixd.simulation.kernels import traced
from sixd.simulation.problem import Problem
from sixd.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Sampled:
    """A controller that is called with numbers, every ``interval`` [s]; None: every step."""

    function: Any
    interval: float | None
    rng: np.random.Generator | None = None

    def __call__(self, where: str, t: float, q: Array, qd: Array) -> Array:
        """Forces (rows, nv) for all rows."""
        if hasattr(self.function, "sample"):
            return np.broadcast_to(np.asarray(self.function.sample(t, q, qd), dtype=float), qd.shape)
        given = {} if self.rng is None else {"rng": self.rng}
        found = [np.asarray(self.function(t, a, b, **given)) for a, b in zip(q.copy(), qd.copy(), strict=True)]
        for tau in found:
            if tau.shape != qd.shape[1:] or tau.dtype.kind not in "fiu":
                raise ScalarTypeError(
                    f"{where}: controller returns {tau!r} at t = {t:g}, expected {qd.shape[1]} numbers, one for each "
                    f"freedom."
                )
        return np.array(found, dtype=float).reshape(qd.shape)


def kind_of_controller(
    where: str, controller: Any, sample_time: float | None, rng: np.random.Generator
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
        return None, Sampled(controller, float(controller.sample_time)), None
    takes_rng = _takes_rng(controller)
    if interval is None and not takes_rng:
        return controller, None, None
    return None, Sampled(controller, interval, rng if takes_rng else None), None


def _takes_rng(controller: Callable[..., Any]) -> bool:
    try:
        return "rng" in inspect.signature(controller).parameters
    except (TypeError, ValueError):  # some of C have none
        return False


def can_be_traced(problem: Problem) -> bool:
    """Whether the controller can be part of the equations; if not, a warning tells that it is called every step."""
    nq, nv = problem.system.nq, problem.system.nv
    alone = replace(problem, held=False, f_ext=None, pushed=False, forces=(), parameters=())

    def law(t: Any, q: Array, qd: Array, _: Any) -> Any:
        return alone.applied(problem.system, t, q, qd, np.zeros(0), {}).tau

    shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (nq,), "qd": (nv,)}
    try:
        first = graph_text(traced(alone, law, shapes))
    except TraceError as error:
        warnings.warn(
            f"{problem.where}: the controller cannot be part of the compiled step, so it is called every step, and its "
            f"force is held over it. Give sample_time to choose how often, or mend it: {error}",
            SimulationWarning,
            stacklevel=4,
        )
        return False
    try:
        same = graph_text(traced(alone, law, shapes)) == first
    except TraceError:
        same = False
    if not same:
        raise ScalarTypeError(
            f"{problem.where}: the controller gives another law when it is asked again: it keeps a memory, or draws "
            f"random numbers. Give sample_time, so that it is called as it is, with numbers; make it anew, as it "
            f"was called twice now."
        )
    return True
