"""Gradients of rollouts, compared with the rollouts."""

from __future__ import annotations

from typing import Any

import numpy as np

import sixd
from benchmarks import robots
from benchmarks.report import progress
from benchmarks.robots import Robot
from benchmarks.session import Session, cell, ratio
from benchmarks.tasks import Array, random_states
from sixd.cli.timing import Contender

ROWS, STEPS, DT = 1024, 100, 1e-3
ROLLOUTS = (("ur5", False), ("panda", False), ("anymal", True))
_CLOSE = 1e-6  # of a difference quotient: it stops a wrong gradient


def measure(session: Session) -> None:
    """One table."""
    report = session.report
    report.heading("Gradients of rollouts, one thread")
    report.paragraph(
        f"`rollout_gradient` compared with `simulate`: {ROWS} states, {STEPS} steps of {1e3 * DT:g} ms, nanoseconds "
        "per step of one state. Different forces at each step, a cost that is quadratic in q, qd and tau, gradients "
        "with respect to initial state and forces. `simulate` records the last state."
    )
    rows = []
    for name, floating in ROLLOUTS:
        if (name, floating) in session.robot_names:
            rows += [_rollout(session, robots.load(name, floating), method) for method in ("rk4", "euler", "implicit")]
    report.table(["robot", "method", "rollout", "with gradient", "ratio"], rows)


def _cost(t: float, q: Array, qd: Array, tau: Array) -> float:
    return q @ q + 0.1 * (qd @ qd) + 0.01 * (tau @ tau)


def _final(q: Array, qd: Array) -> float:
    return qd @ qd


def _rollout(session: Session, robot: Robot, method: str) -> list[str]:
    progress(f"gradients of rollouts, {robot.title}, {method}")
    model, key = robot.model, ("gradient", robot.title, method)
    states = random_states(model, ROWS)
    q, qd = states["q"], states["qd"]
    tau = 0.1 * np.random.default_rng(0).normal(size=(ROWS, STEPS, model.nv))
    options = {"dt": DT, "method": method}
    _require_gradient(model, q[0], qd[0], tau[0], options)
    motion = "sixd.simulate(model, q, qd, T, controller=tau[:, 0], record_every=n, **options)"
    gradient = "sixd.rollout_gradient(model, q, qd, tau, cost=cost, final=final, **options)"
    names = {
        "sixd": sixd, "model": model, "q": q, "qd": qd, "tau": tau, "T": STEPS * DT, "n": STEPS, "cost": _cost,
        "final": _final, "options": options,
    }  # fmt: skip
    count = ROWS * STEPS
    timings = session.time(
        key, [Contender("rollout", motion, names, count), Contender("gradient", gradient, names, count)]
    )
    once, both = (timings[name] for name in ("rollout", "gradient"))
    return [robot.title, method, cell(once), cell(both), ratio(both.median, once.median)]


def _require_gradient(model: sixd.Model, q: Array, qd: Array, tau: Array, options: dict[str, object]) -> None:
    """Raise unless the gradient with respect to a velocity agrees with a difference quotient."""

    def at(e: float) -> Any:
        moved = qd + e * np.eye(model.nv)[-1]
        return sixd.rollout_gradient(model, q, moved, tau[:10], cost=_cost, final=_final, **options)  # type: ignore[arg-type]

    gradient, e = at(0.0).qd, 1e-5
    there = (at(e).cost - at(-e).cost) / (2 * e)
    if not abs(there - gradient[-1]) <= _CLOSE * np.abs(gradient).max():
        raise AssertionError(f"the gradient of {model.name} is {gradient[-1]}, differences give {there}.")
