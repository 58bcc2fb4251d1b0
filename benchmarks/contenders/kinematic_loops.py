"""Inverse kinematics as users of Pinocchio write it: a loop in Python for each pose, by itself and with pink's QPs.

Both start at the neutral configuration, and up to 30 times again from random ones, as sixd does; an attempt has at most
60 iterations (pink 400, as its steps are those of a controller), and all stop at the same residual.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from benchmarks.tasks import Array

RESTARTS, ITERATIONS, PINK_ITERATIONS = 30, 60, 400


class Loop:
    """Levenberg–Marquardt on Pinocchio's model: Sugihara's damping ½‖e‖² + 1e-9, steps clipped to the limits."""

    def __init__(self, model: Any, frame: str, tolerance: float) -> None:
        self.model, self.data, self.tolerance = model, model.createData(), tolerance
        self.frame = model.getFrameId(frame)
        self.lower = np.where(np.isfinite(model.lowerPositionLimit), model.lowerPositionLimit, -1.0)
        self.upper = np.where(np.isfinite(model.upperPositionLimit), model.upperPositionLimit, 1.0)
        self.box = np.abs(model.upperPositionLimit) < 1e300
        self.rng = np.random.default_rng(0)

    def start(self, attempt: int) -> Array:
        """The configuration at which an attempt begins."""
        if attempt == 0:
            return self.clipped(pin.neutral(self.model))
        return pin.normalize(self.model, self.rng.uniform(self.lower, self.upper))

    def clipped(self, q: Array) -> Array:
        """q within the limits of joints that have some."""
        inside = np.clip(q, self.model.lowerPositionLimit, self.model.upperPositionLimit)
        return np.where(self.box, inside, q)

    def solve(self, target: Any) -> Array | None:
        """The configuration of one pose, or None."""
        for attempt in range(RESTARTS + 1):
            q = self.attempt(self.start(attempt), target)
            if q is not None:
                return q
        return None

    def error(self, q: Array, target: Any) -> Array:
        """The error (6,) in the frame's axes: metres, then radians."""
        pin.forwardKinematics(self.model, self.data, q)
        there = pin.updateFramePlacement(self.model, self.data, self.frame)
        away = there.actInv(target)
        return np.concatenate([away.translation, pin.log3(away.rotation)])

    def attempt(self, q: Array, target: Any) -> Array | None:
        """The end of one attempt, None if it does not get there."""
        unit = np.eye(self.model.nv)
        for _ in range(ITERATIONS):
            e = self.error(q, target)
            square = e @ e
            if square <= self.tolerance**2:
                return q
            J = pin.computeFrameJacobian(self.model, self.data, q, self.frame, pin.LOCAL)
            step = np.linalg.solve(J.T @ J + unit * (square / 2 + 1e-9), J.T @ e)
            q = self.clipped(pin.integrate(self.model, q, step))
        return None


class PinkLoop(Loop):
    """The same with pink: a frame task, and a quadratic program with the limits for each step of 0.5 s."""

    def __init__(self, model: Any, frame: str, tolerance: float) -> None:
        super().__init__(model, frame, tolerance)
        import pink

        self.pink, self.name = pink, frame
        self.task = pink.FrameTask(frame, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3)
        self.solver = _qp_solver()

    def attempt(self, q: Array, target: Any) -> Array | None:
        """The end of one attempt, None if it does not get there."""
        configuration = self.pink.Configuration(self.model, self.data, q)
        self.task.set_target(target)
        limits = [self.pink.limits.ConfigurationLimit(self.model, config_limit_gain=1.0)]
        for _ in range(PINK_ITERATIONS):
            e = self.error(configuration.q, target)
            if e @ e <= self.tolerance**2:
                return configuration.q
            try:
                velocity = self.pink.solve_ik(
                    configuration, [self.task], 0.5, solver=self.solver, limits=limits, safety_break=False
                )
            except Exception:  # its solvers have errors of their own: this attempt has failed
                return None
            configuration.integrate_inplace(velocity, 0.5)
        return None


def _qp_solver() -> str:
    import qpsolvers

    known = qpsolvers.available_solvers
    return next((name for name in ("daqp", "quadprog", "proxqp", "piqp", "osqp") if name in known), known[0])


def loops() -> dict[str, Callable[..., Loop]]:
    """The loops that can run here."""
    available: dict[str, Callable[..., Loop]] = {"Pinocchio loop": Loop}
    if importlib.util.find_spec("pink") is not None:
        available["pink loop"] = PinkLoop
    return available
