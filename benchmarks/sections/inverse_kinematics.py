"""Inverse kinematics of reachable random poses: sixd's batches compared with loops on Pinocchio's model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin

import sixd
from benchmarks import robots
from benchmarks.agreement import Disagreement
from benchmarks.contenders import with_pinocchio
from benchmarks.contenders.kinematic_loops import loops
from benchmarks.report import progress
from benchmarks.robots import Robot
from benchmarks.session import Session, cell, ratio
from benchmarks.tasks import Array
from sixd.cli.output import digits
from sixd.cli.timing import Contender

ROWS, TOLERANCE = 10_000, 1e-6
_LOOPED = {"Pinocchio loop": 40, "pink loop": 4}  # poses of a loop, which takes a thousand times as long for each
_CASES = {("ur5", False): "tool0", ("panda", False): "panda_hand", ("talos", False): "gripper_left_base_link",
          ("anymal", True): "LF_FOOT"}  # fmt: skip


def measure(session: Session) -> None:
    """A row a robot."""
    report = session.report
    report.heading("Inverse kinematics, one thread")
    report.paragraph(
        f"{ROWS:,} poses of random configurations within the limits: of the ur5's tool, the panda's hand, the left "
        "gripper of talos with its arm alone, and the foot of a floating anymal with all joints. All programs stop at "
        f"{TOLERANCE:g} (m and rad). Microseconds per pose. The loops are in Python, on Pinocchio's model, for "
        f"{_LOOPED['Pinocchio loop']} of the poses, with as many restarts. 'solved' is the part within the "
        f"limits. pink (pin-pink), for {_LOOPED['pink loop']} poses, is measured if it is installed."
    )
    rows = []
    for (name, floating), frame in _CASES.items():
        if session.quick and name != "ur5":
            continue
        progress(f"inverse kinematics, {name}")
        rows.append(_row(session, _robot(name, floating, frame)))
    heads = ["robot", "solved", "iterations", "sixd", "one pose"]
    for name in _LOOPED:
        heads += [name, "solved", "ratio"]
    report.table(heads, rows)


def _robot(name: str, floating: bool, frame: str) -> Robot:
    robot = dataclasses.replace(robots.load(name, floating), frame=frame)
    if name != "talos":
        return robot
    others = tuple(j for j in robot.model.joint_names if not j.startswith("arm_left"))
    return dataclasses.replace(robot, model=robot.model.lock(dict.fromkeys(others, 0.0)), locked=others)


def _row(session: Session, robot: Robot) -> list[str]:
    model, frame = robot.model, robot.frame
    targets = sixd.pose(model, model.random_configuration(0, size=ROWS), frame)
    solution = sixd.inverse_kinematics(model, frame, targets, tol=TOLERANCE)
    _require_there(robot, solution.q[solution.success], targets[solution.success])
    names = {"ik": sixd.inverse_kinematics, "model": model, "frame": frame, "targets": targets, "tol": TOLERANCE}
    contenders = [
        Contender("sixd", "ik(model, frame, targets, tol=tol)", names, ROWS),
        Contender("one", "ik(model, frame, targets[0], tol=tol)", names),
    ]
    parts: dict[str, float] = {}
    for name, make in loops().items():
        loop = make(with_pinocchio.model_of(robot), frame, TOLERANCE)
        poses = [pin.SE3(T) for T in targets[: _LOOPED[name]]]
        parts[name] = float(np.mean([loop.solve(T) is not None for T in poses]))
        names = {"solve": loop.solve, "poses": poses}
        contenders.append(Contender(name, "for T in poses: solve(T)", names, len(poses)))
    timings = session.time(("inverse kinematics", robot.title), contenders, rounds=min(session.rounds, 5))
    session.measured["inverse kinematics", robot.title, "solved"] = float(solution.success.mean())
    own = timings["sixd"]
    cells = [_percent(solution.success.mean()), digits(solution.iterations.mean())]
    cells += [_micro(timings[name].median) for name in ("sixd", "one")]
    for name in _LOOPED:
        other = timings.get(name)
        there = _percent(parts[name]) if name in parts else cell(None)
        cells += [
            _micro(other.median) if other else cell(None),
            there,
            ratio(other.median if other else None, own.median),
        ]
    return [robot.title, *cells]


def _percent(x: float) -> str:
    return f"{100 * x:.2f} %"


def _micro(nanoseconds: float) -> str:
    return digits(nanoseconds / 1e3)


def _require_there(robot: Robot, q: Array, targets: Array) -> None:
    """Raise unless Pinocchio's forward kinematics has the poses, and the limits hold."""
    model, theirs = robot.model, with_pinocchio.model_of(robot)
    data, frame = theirs.createData(), theirs.getFrameId(robot.frame)
    if not ((q >= model.lower) & (q <= model.upper)).all():
        raise Disagreement(f"inverse kinematics of {robot.title}: limits are not kept.")
    for row, T in zip(q[:64], targets[:64], strict=True):
        there = sixd.interop.to_pinocchio(model, row, pinocchio_model=theirs)
        pin.framesForwardKinematics(theirs, data, there)
        away = data.oMf[frame].actInv(pin.SE3(T))
        error = np.hypot(np.linalg.norm(away.translation), np.linalg.norm(pin.log3(away.rotation)))
        if not error <= 1.01 * TOLERANCE:
            raise Disagreement(f"inverse kinematics of {robot.title}: Pinocchio's pose is {error:.1e} away.")
