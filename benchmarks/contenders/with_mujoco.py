"""MuJoCo's contenders: one state through its Python binding, without contacts and constraints.

The state is set once, outside the clock. What is run, for want of the bare algorithms: ``mj_inverse`` (kinematics, mass
matrix, RNE) for RNEA; ``mj_forward`` (kinematics, mass matrix and its factors, RNE, solve) for ABA.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

import mujoco
import numpy as np

import sixd
from benchmarks.agreement import Conversion
from benchmarks.robots import Robot
from benchmarks.tasks import Array, States, Task
from sixd.cli.timing import Contender

CHECKED = 64  # rows that are compared

_STATEMENTS = {
    "rnea": "mj_inverse(model, data)",
    "aba": "mj_forward(model, data)",
    "crba": "mj_kinematics(model, data); mj_comPos(model, data); mj_makeM(model, data); mj_fullM(model, data, M)",
    "jacobian": "mj_kinematics(model, data); mj_comPos(model, data); mj_jacBody(model, data, Jp, Jr, body)",
}
_OPTIONS = '<mujoco><compiler fusestatic="true" discardvisual="true" balanceinertia="false"/></mujoco>'
_OFF = ("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "SPRING", "DAMPER", "ACTUATION", "SENSOR")


@cache
def model_of(robot: Robot) -> Any:
    """The same mechanism, made once."""
    return fresh_model_of(robot)


def fresh_model_of(robot: Robot) -> Any:
    """The same mechanism, through URDF text; links that do not move against each other are one body."""
    return _without_extras(mujoco.MjModel.from_xml_string(_text(robot.model)))


def rubbing_model_of(model: sixd.Model) -> Any:
    """The same mechanism with its frictionloss, by Euler's method, without limits and contacts."""
    theirs = mujoco.MjModel.from_xml_string(_text(model))
    for word in ("LIMIT", "CONTACT"):
        theirs.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{word}")
    return theirs


def standing_model_of(model: sixd.Model, points: Mapping[str, Array], friction: float) -> Any:
    """The same mechanism, with its springs and dampers, on a plane z = 0: balls (k, 4) of frames, elliptic cones."""
    spec = mujoco.MjSpec.from_string(_text(model))
    for geom in list(spec.geoms):
        spec.delete(geom)
    touch = {"condim": 3, "friction": [friction, 0, 0]}
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 1], contype=0, conaffinity=1, priority=1, **touch
    )
    for name, balls in points.items():
        frame = model.frames[name]
        for *center, radius in balls:
            at = frame.pose[:3, :3] @ center + frame.pose[:3, 3]
            size = [radius, 0, 0]
            spec.body(model.body_names[frame.body - 1]).add_geom(
                type=mujoco.mjtGeom.mjGEOM_SPHERE, size=size, pos=at, contype=1, conaffinity=0, mass=0, **touch
            )
    theirs = spec.compile()
    theirs.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    # URDF has no springs; entries 7 … of q and 6 … of qd are the joints', in sixd's order
    theirs.jnt_stiffness[1:], theirs.qpos_spring[7:] = model.stiffness[6:], model.rest[7:]
    return theirs


def _text(model: sixd.Model) -> str:
    bare = dataclasses.replace(model, visuals=(), stiffness=np.zeros(model.nv))
    head, start, rest = sixd.to_urdf(bare).partition("<robot ")
    tag, end, body = rest.partition(">")
    return head + start + tag + end + _OPTIONS + body


def single(name: str, task: Task, robot: Robot, states: States) -> Contender:
    """One state; the mass matrix is expanded to a full one, the Jacobian is in world axes."""
    model = model_of(robot)
    conversion = Conversion(sixd.interop.to_mujoco, sixd.interop.from_mujoco, robot, mujoco_model=model)
    theirs = conversion.states(states)
    names = _names(model, mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, robot.frame))
    _set(names["data"], theirs, 0)

    def result() -> Array:
        rows = range(min(CHECKED, len(theirs["q"])))
        raw = np.array([_run(task, names, theirs, k) for k in rows])
        _set(names["data"], theirs, 0)
        return conversion.result(task, states, theirs, raw)

    return Contender(name, _STATEMENTS[task.word], names, result=result)


def empty(name: str, task: Task) -> Contender:
    """The same statement on a model without bodies."""
    model = _without_extras(mujoco.MjModel.from_xml_string("<mujoco/>"))
    return Contender(name, _STATEMENTS[task.word], _names(model, 0))


def _without_extras(model: Any) -> Any:
    for word in _OFF:
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{word}")
    return model


def _names(model: Any, body: int) -> dict[str, Any]:
    M, J = np.zeros((model.nv, model.nv)), np.zeros((6, model.nv))
    functions = {word: getattr(mujoco, word) for word in dir(mujoco) if word.startswith("mj_")}
    arrays = {"M": M, "J": J, "Jr": J[:3], "Jp": J[3:]}
    return {"model": model, "data": mujoco.MjData(model), "body": body, **arrays, **functions}


def _set(data: Any, theirs: States, k: int) -> None:
    data.qpos, data.qvel, data.qacc, data.qfrc_applied = (theirs[name][k] for name in ("q", "qd", "qdd", "tau"))


def _run(task: Task, names: dict[str, Any], theirs: States, k: int) -> Array:
    """The result of row k as MuJoCo has it, the Jacobian turned to the body's axes."""
    data = names["data"]
    _set(data, theirs, k)
    if task.word == "rnea":
        data.qfrc_applied = 0
    exec(_STATEMENTS[task.word], names)
    if task.word == "jacobian":
        R_WB = data.xmat[names["body"]].reshape(3, 3)
        return np.concatenate([R_WB.T @ names["J"][:3], R_WB.T @ names["J"][3:]])
    return {"rnea": data.qfrc_inverse, "aba": data.qacc, "crba": names["M"]}[task.word].copy()
