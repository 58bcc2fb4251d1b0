"""The four functions that are measured, and random states for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sixd
from benchmarks.robots import Robot

Array = np.ndarray[Any, Any]
States = dict[str, Array]


@dataclass(frozen=True)
class Task:
    """A public function of sixd, the arrays that it takes, and its other arguments."""

    word: str
    title: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    framed: bool = False

    def static(self, robot: Robot) -> dict[str, str]:
        """Return the arguments that are not arrays."""
        return {"frame": robot.frame} if self.framed else {}

    def result_shape(self, model: sixd.Model) -> tuple[int, ...]:
        """Shape of the result for one state."""
        return {"crba": (model.nv, model.nv), "jacobian": (6, model.nv)}.get(self.word, (model.nv,))

    def megabytes(self, model: sixd.Model, rows: int, dtype: Any = np.float64) -> float:
        """Size of the arrays that are read and written."""
        read = sum(model.nq if name == "q" else model.nv for name in self.inputs)
        return (read + int(np.prod(self.result_shape(model)))) * rows * np.dtype(dtype).itemsize / 1e6


RNEA = Task("rnea", "RNEA", sixd.inverse_dynamics, ("q", "qd", "qdd"))
ABA = Task("aba", "ABA", sixd.forward_dynamics, ("q", "qd", "tau"))
CRBA = Task("crba", "CRBA", sixd.mass_matrix, ("q",))
JACOBIAN = Task("jacobian", "Jacobian", sixd.jacobian, ("q",), framed=True)
ALL = (RNEA, ABA, CRBA, JACOBIAN)


def random_states(model: sixd.Model, rows: int, seed: int = 7) -> States:
    """q in (-pi, pi) with unit quaternions, and normal qd, qdd, tau: row-major (rows, n)."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-np.pi, np.pi, (rows, model.nq))
    for name in model.joint_names:
        if isinstance(model.joint(name).joint, sixd.Free):
            quaternion = q[:, model.q_slice(name)][:, :4]
            quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    qd, qdd = rng.standard_normal((2, rows, model.nv))
    return {"q": q, "qd": qd, "qdd": qdd, "tau": 10 * rng.standard_normal((rows, model.nv))}


def resized(states: States, rows: int, dtype: Any = np.float64) -> States:
    """The same states, repeated or cut to this many rows, in another dtype."""
    return {name: np.ascontiguousarray(np.resize(x, (rows, x.shape[1])), dtype=dtype) for name, x in states.items()}
