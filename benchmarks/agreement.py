"""Contenders must compute the same results; this is checked before anything is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.robots import Robot
from benchmarks.tasks import Array, States, Task
from sixd.cli.timing import Contender


class Disagreement(Exception):
    """Two contenders gave different results for the same states."""


class Conversion:
    """States of sixd in another program's coordinates, and that program's results in sixd's."""

    def __init__(self, to: Callable[..., Any], back: Callable[..., Any], robot: Robot, **theirs: Any) -> None:
        self._to, self._back, self._model, self._theirs = to, back, robot.model, theirs

    def states(self, ours: States) -> States:
        """Return the states in the other program's coordinates, row-major and contiguous."""
        arrays = self._to(self._model, *(ours[name] for name in ("q", "qd", "qdd", "tau")), **self._theirs)
        return {name: np.ascontiguousarray(x) for name, x in zip(("q", "qd", "qdd", "tau"), arrays, strict=True)}

    def result(self, task: Task, ours: States, theirs: States, raw: Array) -> Array:
        """Return results ``raw`` in sixd's coordinates; a Jacobian is in body axes, angular rows first."""
        q, qd = theirs["q"][: len(raw)], theirs["qd"][: len(raw)]
        if task.word == "rnea":
            return self._back(self._model, q, qd, tau=raw, **self._theirs)[-1]
        if task.word == "aba":
            return self._back(self._model, q, qd, raw, **self._theirs)[-1]
        # row k of B is the other program's velocity of our k-th degree of freedom
        B = self._to(self._model, ours["q"][: len(raw), None], np.eye(self._model.nv), **self._theirs)[1]
        B_T = B.swapaxes(-1, -2)
        return raw @ B_T if task.word == "jacobian" else B @ raw @ B_T


def require_agreement(contenders: Iterable[Contender], reference: Array, what: str) -> dict[str, float]:
    """Deviation of each contender with a result from the reference, norm-wise; raises if one is too large."""
    deviations = {}
    for contender in contenders:
        if contender.result is None:
            continue
        result = np.asarray(contender.result(), dtype=np.float64)
        expected = np.asarray(reference[: len(result)], dtype=np.float64)
        if result.shape != expected.shape:
            raise Disagreement(f"{what}: {contender.name} gives shape {result.shape}, expected {expected.shape}.")
        deviation = float(np.linalg.norm(result - expected) / np.linalg.norm(expected))
        if not deviation <= contender.tolerance:
            raise Disagreement(
                f"{what}: {contender.name} differs from sixd by {deviation:.1e} of the norm, "
                f"expected at most {contender.tolerance:.0e}. Contenders must compute the same."
            )
        deviations[contender.name] = deviation
    return deviations


def reference(task: Task, robot: Robot, states: States) -> Array:
    """sixd's own result in float64, allocated by sixd."""
    arrays = [states[name] for name in task.inputs]
    return np.asarray(task.function(robot.model, *arrays, **task.static(robot)))
