"""Single steps in time: ``sixd.step`` for one state, with each kind of controller, compared with its peers' calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import mujoco
import numpy as np

import sixd
from benchmarks.agreement import require_agreement
from benchmarks.contenders import with_mujoco, with_pinocchio
from benchmarks.report import progress
from benchmarks.robots import Robot
from benchmarks.session import Session, cell
from benchmarks.tasks import ALL, Array, States
from sixd.cli.timing import Contender

DT = 1e-3
BATCH = 8
_OURS = ("step", "forces", "PD", "function", "float32", f"batch of {BATCH}", "euler")
_HEAD = ("robot", *_OURS, "Pinocchio, 4 ABA", "MuJoCo", "step / Pinocchio", "step / MuJoCo")


def measure(session: Session) -> None:
    """A row for each robot."""
    report = session.report
    report.heading("Single steps")
    report.paragraph(
        f"Nanoseconds of one call of `sixd.step` from Python for one state, with rk4 and a step of {1e3 * DT:g} ms: "
        "without a controller, with forces as an array, with `sixd.controllers.PD`, and with a function; in float32; "
        f"for {BATCH} states, the whole call; and with the method euler. Pinocchio has no integrator of this kind: "
        "such a step needs at least four of its ABA calls. MuJoCo: `mj_step` with the integrator RK4, without "
        "contacts and constraints, continuing from the last step's state. The last two columns are fractions of their "
        "times."
    )
    rows = []
    aba = next(task for task in ALL if task.word == "aba")
    for robot in session.robots():
        progress(f"single steps of {robot.title}")
        states = {name: x[:BATCH] for name, x in session.states(robot).items()}
        ours = {word: _ours(word, robot, states) for word in _OURS}
        contenders = [*ours.values(), _mujoco(robot, states)]
        require_agreement(contenders, _reference(robot, states), f"single steps of {robot.title}")
        one = with_pinocchio.single("Pinocchio", aba, robot, {name: x[:1] for name, x in states.items()})
        four = "; ".join([one.statement] * 4)
        contenders.append(Contender("Pinocchio", four, one.names))
        timings = session.time(("steps", robot.title), contenders)
        step, theirs, others = (timings[name].median for name in ("step", "Pinocchio", "MuJoCo"))
        cells = [cell(timings[name]) for name in (*_OURS, "Pinocchio", "MuJoCo")]
        rows.append([robot.title, *cells, f"{step / theirs:.2f}", f"{step / others:.2f}"])
    report.table(_HEAD, rows)


def _reference(robot: Robot, states: States, **options: Any) -> Array:
    """The rows after one step of a simulation."""
    motion = sixd.simulate(robot.model, states["q"], states["qd"], DT, dt=DT, **options)
    return np.concatenate([motion.q[:, -1], motion.qd[:, -1]], axis=1)


def _ours(word: str, robot: Robot, states: States) -> Contender:
    model, rows = robot.model, BATCH if word.startswith("batch") else 1
    kind = np.float32 if word == "float32" else np.float64
    q, qd = (x[:rows].astype(kind) if rows > 1 else x[0].astype(kind) for x in (states["q"], states["qd"]))
    # small enough for the wrists of the ur5: with damping of 1 N m s/rad they turn by thousands of radians in a step
    controllers = {
        "forces": states["tau"][0] * 0.01,
        "PD": sixd.controllers.PD(model.neutral(), 0.01, 0.001, model=model),
        "function": lambda t, q, qd: qd * -0.001,
    }
    names: dict[str, Any] = {"step": sixd.step, "model": model, "q": q, "qd": qd, "controller": controllers.get(word)}
    options = ", controller=controller" if word in controllers else ', method="euler"' if word == "euler" else ""
    statement = f"step(model, q, qd, {DT!r}{options})"
    eval(statement, names)  # compiles

    def result() -> Array:
        result = np.concatenate(eval(statement, names), axis=-1)
        return result if rows > 1 else result[None]

    # those with forces compute something else; tests compare them
    compared = None if word in controllers else result
    return Contender(word, statement, names, 1, compared, {"float32": 1e-3, "euler": 0.1}.get(word, 1e-9))


def _mujoco(robot: Robot, states: States) -> Contender:
    """``mj_step``; every round begins at the first state."""
    model = with_mujoco.fresh_model_of(robot)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, DT
    data = mujoco.MjData(model)
    q, qd = sixd.interop.to_mujoco(robot.model, states["q"], states["qd"], mujoco_model=model)
    names: dict[str, Any] = {"mj_step": mujoco.mj_step, "model": model, "data": data}

    def begin(k: int) -> None:
        mujoco.mj_resetData(model, data)
        data.qpos, data.qvel = q[k], qd[k]

    def result() -> Array:
        rows = []
        for k in range(len(q)):
            begin(k)
            mujoco.mj_step(model, data)
            rows.append(np.concatenate([data.qpos, data.qvel]))
        end = np.array(rows)
        state = sixd.interop.from_mujoco(robot.model, end[:, : model.nq], end[:, model.nq :], mujoco_model=model)
        return np.concatenate(state, axis=1)

    return Contender("MuJoCo", "mj_step(model, data)", names, 1, result, 1e-9, partial(begin, 0))
