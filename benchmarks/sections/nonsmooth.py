"""Rollouts with dry friction, implicit steps and rigid contact, and of rk4 without them and ``mujoco.rollout``."""

from __future__ import annotations

import dataclasses
from typing import Any

import mujoco.rollout
import numpy as np

import sixd
from benchmarks import robots
from benchmarks.agreement import require_agreement
from benchmarks.contenders import with_mujoco
from benchmarks.report import progress
from benchmarks.session import Session, cell, ratio
from benchmarks.tasks import Array, States, random_states
from sixd.cli.timing import Contender

STEPS, DT = 25, 1e-3
LONG = 200  # steps of rollouts with contact: the first ones, in which feet come down, are a small part
MUJOCO_ROWS = 128  # its steps take up to 100 times as long
FRICTION = {"ur5": 0.5, "panda": 0.5, "talos": None}  # [N m] of each joint; None: that of the file
GROUND_FRICTION = 0.8
_SOLE = -0.107  # m: height of the sole of the talos in its last link
STANDING = (("go2", 4), ("go2", 16), ("talos", 16))  # robots on so many points
# of another method or of softer contacts, at speeds of some rad/s: they stop a wrong kernel
_LOOSE = {"implicit": 0.05, "MuJoCo": 0.2}


def measure(session: Session) -> None:
    """A table for friction and implicit steps, one for rigid contact."""
    report = session.report
    report.heading("Dry friction, implicit steps, rigid contact, one thread")
    report.paragraph(
        f"Nanoseconds per step of one state: {session.rows} states, {STEPS} steps of {1e3 * DT:g} ms, the last "
        "recorded, constant forces. 'rk4' is the same robot without friction; 'damped' has springs and dampers in its "
        f"joints. MuJoCo: `mujoco.rollout` with one thread, Euler's method and its default solver, on {MUJOCO_ROWS} of "
        "the states, with frictionloss, or with contacts of its default softness and elliptic cones."
    )
    _joints(session)
    _contact(session)


def _joints(session: Session) -> None:
    head = (
        "robot", "nv", "rk4", "with friction", "ratio", "rk4, damped", "implicit, damped", "ratio",
        "implicit with friction", "MuJoCo with friction", "MuJoCo / rk4 with friction",
    )  # fmt: skip
    rows = []
    for name, friction in FRICTION.items():
        if name not in {robot for robot, _ in session.robot_names}:
            continue
        progress(f"dry friction of the {name}")
        robot = robots.load(name)
        bare = robot.model
        rough = robot.with_friction.friction if friction is None and robot.with_friction else friction
        rubs = dataclasses.replace(bare, friction=np.broadcast_to(rough, bare.nv).astype(float))
        states = random_states(bare, session.rows)
        states["tau"] = 0.1 * states["tau"]
        soft = dataclasses.replace(bare, damping=np.full(bare.nv, 1e-3), stiffness=np.full(bare.nv, 1e-2))
        damped = [_ours("damped", soft, states), _ours("implicit", soft, states, method="implicit")]
        require_agreement(damped, _end(soft, states), f"steps with damping of the {name}")
        contenders = [
            _ours("rk4", bare, states),
            *damped,
            _ours("friction", rubs, states),
            _ours("implicit friction", rubs, states, method="implicit"),
            _mujoco(bare, with_mujoco.rubbing_model_of(rubs), states),
        ]
        require_agreement(contenders[3:], _end(rubs, states), f"steps with friction of the {name}")
        timings = session.time(("nonsmooth", name), contenders)
        rk4, soft_time, friction_time, implicit, theirs = (
            timings[k].median for k in ("rk4", "damped", "friction", "implicit", "MuJoCo")
        )
        cells = {k: cell(t) for k, t in timings.items()}
        rows.append([
            name, str(bare.nv), cells["rk4"], cells["friction"], ratio(friction_time, rk4), cells["damped"],
            cells["implicit"], ratio(implicit, soft_time), cells["implicit friction"], cells["MuJoCo"],
            ratio(theirs, friction_time),
        ])  # fmt: skip
    session.report.table(head, rows)


def _contact(session: Session) -> None:
    lines = []
    for robot, count in STANDING:
        title = f"{robot} on {count} points"
        progress(f"rigid contact of the {title}")
        model, stance = _go2() if robot == "go2" else _talos()
        points = _points(count) if robot == "go2" else _soles(count)
        rng = np.random.default_rng(7)
        rows = min(session.rows, 512)
        states = {
            "q": np.tile(stance, (rows, 1)), "qd": 0.1 * rng.standard_normal((rows, model.nv)),
            "qdd": np.zeros((rows, model.nv)), "tau": np.zeros((rows, model.nv)),
        }  # fmt: skip
        ground = sixd.RigidGround(points, friction=GROUND_FRICTION)
        theirs = _mujoco(model, with_mujoco.standing_model_of(model, points, GROUND_FRICTION), states)
        rigid = _ours("rigid", model, states, forces=ground)
        require_agreement([rigid, theirs], _end(model, states, forces=ground), f"the {title}")
        contenders = [
            _ours("rigid", model, states, LONG, forces=ground),
            _ours("rk4, in the air", model, states, LONG),
            theirs,
        ]
        timings = session.time(("nonsmooth", f"{robot}, {count} points"), contenders, min(session.rounds, 7))
        rigid_time, air, mujoco_time = (timings[word] for word in ("rigid", "rk4, in the air", "MuJoCo"))
        lines.append([
            title, str(model.nv), cell(air), cell(rigid_time), ratio(rigid_time.median, air.median),
            cell(mujoco_time), ratio(mujoco_time.median, rigid_time.median),
        ])  # fmt: skip
    session.report.paragraph(
        "The robots stand on their feet, with springs and dampers in their joints, and start with random velocities; "
        f"{rows} states. go2: a ball a foot, or four small ones; talos: eight. Rollouts of sixd have {LONG} steps."
    )
    head = ("robot", "nv", "rk4, in the air", "rigid contact", "ratio", "MuJoCo", "MuJoCo / rigid contact")
    session.report.table(head, lines)


def _go2() -> tuple[sixd.Model, Array]:
    """The go2 with springs of 60 N m/rad and dampers of 2 N m s/rad in its legs, and its stance on z = 0."""
    model = robots.load("go2", True).model
    q = model.neutral()
    q[7:] = np.tile((0.0, 0.8, -1.6), 4)
    foot = np.asarray(sixd.pose(model, q, "FL_foot"))
    q[6] += 0.022 - foot[2, 3]
    legs = np.arange(model.nv) >= 6
    return dataclasses.replace(model, rest=q.copy(), stiffness=60.0 * legs, damping=2.0 * legs), q


def _points(count: int) -> dict[str, Array]:
    """Balls (k, 4) of the feet: one each, or four each, at one height when the go2 stands."""
    if count == 4:
        return {f"{leg}_foot": np.array([[0, 0, 0, 0.022]]) for leg in ("FL", "FR", "RL", "RR")}
    corners = np.array([(x, y, -0.017) for x in (-0.01, 0.01) for y in (-0.01, 0.01)])
    c, s = np.cos(0.8), np.sin(0.8)  # shanks lean by 0.8 rad
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    balls = np.column_stack([corners @ turn.T, np.full(4, 0.005)])
    return {f"{leg}_foot": balls for leg in ("FL", "FR", "RL", "RR")}


def _talos() -> tuple[sixd.Model, Array]:
    """The talos with a spring and a damper in each joint, of 400/s² and 40/s of its inertia, and its stance on z = 0.

    They are as fast in light joints as in heavy ones, so that steps of 1 ms are stable.
    """
    model = robots.load("talos", True).model
    q = model.neutral()
    foot = np.asarray(sixd.pose(model, q, "leg_left_6_link"))
    q[6] -= foot[2, 3] + _SOLE
    inertia = np.where(np.arange(model.nv) < 6, 0, np.diag(np.asarray(sixd.mass_matrix(model, q))))
    return dataclasses.replace(model, rest=q.copy(), stiffness=400 * inertia, damping=40 * inertia), q


def _soles(count: int) -> dict[str, Array]:
    """Small balls (k, 4) in two rows under the soles of the talos."""
    rows = [(x, y, _SOLE + 0.005, 0.005) for x in np.linspace(-0.1, 0.1, count // 4) for y in (-0.06, 0.06)]
    return {f"leg_{side}_6_link": np.array(rows) for side in ("left", "right")}


def _ours(name: str, model: sixd.Model, states: States, steps: int = STEPS, **options: Any) -> Contender:
    names: dict[str, Any] = {
        "simulate": sixd.simulate, "model": model, **states,
        "options": {"dt": DT, "record_every": steps, "progress": False, **options},
    }  # fmt: skip
    statement = f"simulate(model, q, qd, {steps * DT!r}, controller=tau, **options)"

    def result() -> Array:
        motion = eval(statement, names)
        return np.concatenate([motion.q[:, -1], motion.qd[:, -1]], axis=1)

    return Contender(name, statement, names, steps * len(states["q"]), result, _LOOSE.get(name.split()[0], 1e-9))


def _end(model: sixd.Model, states: States, **options: Any) -> Array:
    result = _ours("rk4", model, states, **options).result
    assert result is not None
    return result()


def _mujoco(model: sixd.Model, theirs: Any, states: States) -> Contender:
    """One ``MjData``, so one thread."""
    theirs.opt.timestep = DT
    arguments = [states[name][:MUJOCO_ROWS] for name in ("q", "qd", "qdd", "tau")]
    q, qd, _, tau = sixd.interop.to_mujoco(model, *arguments, mujoco_model=theirs)
    names: dict[str, Any] = {
        "rollout": mujoco.rollout.rollout, "model": theirs, "data": mujoco.MjData(theirs),
        "start": np.ascontiguousarray(np.concatenate([np.zeros((len(q), 1)), q, qd], axis=1)),
        "forces": np.ascontiguousarray(np.broadcast_to(tau[:, None], (len(q), STEPS, theirs.nv))),
        "spec": int(mujoco.mjtState.mjSTATE_QFRC_APPLIED),
        "state": np.zeros((len(q), STEPS, 1 + theirs.nq + theirs.nv)),
    }  # fmt: skip
    statement = "rollout(model, data, start, forces, control_spec=spec, state=state)"

    def result() -> Array:
        exec(statement, names)
        end = names["state"][:, -1, 1:]
        state = sixd.interop.from_mujoco(model, end[:, : theirs.nq], end[:, theirs.nq :], mujoco_model=theirs)
        return np.concatenate(state, axis=1)

    return Contender("MuJoCo", statement, names, STEPS * len(q), result, _LOOSE["MuJoCo"])
