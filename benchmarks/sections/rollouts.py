"""Rollouts: ``sixd.simulate`` on batches and MuJoCo's ``rollout``, RK4 steps of both, alternating."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np

import sixd
from benchmarks import robots
from benchmarks.agreement import require_agreement
from benchmarks.contenders import with_mujoco
from benchmarks.report import progress
from benchmarks.robots import Robot
from benchmarks.session import Session, cell, ratio
from benchmarks.tasks import Array, States
from sixd.cli.timing import Contender

ROBOTS = ("ur5", "panda")
STEPS, DT = 25, 1e-3
_HEAD = (
    "robot", "nv", "operations", "sixd rk4", "every step recorded", "float32", "euler", "midpoint", "2 threads",
    "speed-up", "MuJoCo rk4", "ratio", "ratio, every step recorded",
)  # fmt: skip
_METHODS = {"rk4": "rk4", "every step recorded": "rk4", "float32": "rk4", "euler": "euler", "midpoint": "midpoint"}
# of another method: they stop a wrong kernel. Steps of 1 ms for 25 ms, at some rad/s and with wrists that turn fast
_TOLERANCE = {"float32": 1e-3, "euler": 0.1, "midpoint": 0.1}


@dataclass(frozen=True, eq=False)
class Case:
    """A robot without friction, and states with forces small enough for its wrists."""

    robot: Robot
    states: States


def measure(session: Session) -> None:
    """A row a robot."""
    report = session.report
    report.heading("Rollouts, one thread")
    report.paragraph(
        f"Nanoseconds per step of one state: {session.rows} states, {STEPS} steps of {1e3 * DT:g} ms, constant forces, "
        "for the whole call of `sixd.simulate`. MuJoCo: `mujoco.rollout` with one thread and the integrator RK4, "
        "without contacts and constraints. It records every step; sixd records the last one, or every step where the "
        "column says so. This run compares the final states of both. 'operations': those of one rk4 step."
    )
    rows = []
    for name in ROBOTS:
        if name not in {robot for robot, _ in session.robot_names}:
            continue
        robot = robots.load(name)
        states = session.states(robot)
        case = Case(robot, {**states, "tau": 0.1 * states["tau"]})
        progress(f"rollouts of the {name}")
        contenders = [*(_ours(case, word) for word in _METHODS), _ours(case, "rk4", threads=2), _mujoco(case)]
        try:
            deviations = require_agreement(contenders, _end(case), f"rollouts of the {name}")
            timings = session.time(("rollouts", name), contenders)
        finally:
            sixd.set_num_threads(1)
        session.note(
            f"Rollouts of the {name}: after {STEPS} steps MuJoCo's states differ from sixd's by "
            f"{deviations['MuJoCo']:.0e} of the norm."
        )
        one, two, other = (timings[word].median for word in ("rk4", "2 threads", "MuJoCo"))
        every = timings["every step recorded"].median
        cells = [cell(timings[word]) for word in (*_METHODS, "2 threads")]
        ratios = [ratio(other, one), ratio(other, every)]
        head = [name, str(robot.model.nv), str(_operations(robot))]
        rows.append([*head, *cells, ratio(one, two), cell(timings["MuJoCo"]), *ratios])
    report.table(_HEAD, rows)


def _operations(robot: Robot) -> int:
    """Operations of one rk4 step: the dynamics four times, and what lies between."""
    from sixd.simulation.problem import Problem
    from sixd.simulation.stepping.compiled_steps import make_recipe

    return make_recipe(Problem("benchmarks", robot.model, has_tau=True), "rk4").operations


def _ours(case: Case, word: str, threads: int = 1) -> Contender:
    kind = np.float32 if word == "float32" else np.float64
    states = {name: np.ascontiguousarray(x, dtype=kind) for name, x in case.states.items()}
    every = 1 if word == "every step recorded" else STEPS
    names: dict[str, Any] = {"simulate": sixd.simulate, "model": case.robot.model, **states}
    statement = (
        f"simulate(model, q, qd, {STEPS * DT!r}, dt={DT!r}, method={_METHODS[word]!r}, controller=tau, "
        f"record_every={every})"
    )

    def result() -> Array:
        sixd.set_num_threads(threads)
        motion = eval(statement, names)
        return np.concatenate([motion.q[:, -1], motion.qd[:, -1]], axis=1)

    rows = STEPS * len(states["q"])
    before = partial(sixd.set_num_threads, threads)
    name = word if threads == 1 else f"{threads} threads"
    return Contender(name, statement, names, rows, result, _TOLERANCE.get(word, 1e-9), before)


def _end(case: Case) -> Array:
    result = _ours(case, "rk4").result
    assert result is not None
    return result()


def _mujoco(case: Case) -> Contender:
    """One ``MjData``, so one thread. The state is time, positions, velocities; forces are ``qfrc_applied``."""
    model = with_mujoco.fresh_model_of(case.robot)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, DT
    arguments = [case.states[name] for name in ("q", "qd", "qdd", "tau")]
    q, qd, _, tau = sixd.interop.to_mujoco(case.robot.model, *arguments, mujoco_model=model)
    names: dict[str, Any] = {
        "rollout": mujoco.rollout.rollout,
        "model": model,
        "data": mujoco.MjData(model),
        "start": np.ascontiguousarray(np.concatenate([np.zeros((len(q), 1)), q, qd], axis=1)),
        "forces": np.ascontiguousarray(np.broadcast_to(tau[:, None], (len(q), STEPS, model.nv))),
        "spec": int(mujoco.mjtState.mjSTATE_QFRC_APPLIED),
        "state": np.zeros((len(q), STEPS, 1 + model.nq + model.nv)),
    }
    statement = "rollout(model, data, start, forces, control_spec=spec, state=state)"

    def result() -> Array:
        exec(statement, names)
        end = names["state"][:, -1, 1:]
        state = sixd.interop.from_mujoco(case.robot.model, end[:, : model.nq], end[:, model.nq :], mujoco_model=model)
        return np.concatenate(state, axis=1)

    return Contender("MuJoCo", statement, names, STEPS * len(q), result)
