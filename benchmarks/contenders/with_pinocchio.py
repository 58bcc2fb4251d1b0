"""Pinocchio's contenders: its batch call on one thread, its single calls, and an empty call of the same function."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Any

import numpy as np
import pinocchio as pin

import sixd
from benchmarks.agreement import Conversion
from benchmarks.robots import Robot
from benchmarks.tasks import Array, States, Task
from benchmarks.timing import Contender

CHECKED = 64  # rows of which single calls are compared

_SINGLE = {
    "rnea": (pin.rnea, "function(model, data, q, v, a)"),
    "aba": (pin.aba, "function(model, data, q, v, tau, world)"),  # 5 to 15 % faster than its default, LOCAL
    "crba": (pin.crba, "function(model, data, q)"),
    "jacobian": (pin.computeFrameJacobian, "function(model, data, q, frame, local)"),
}
_BATCH = {"rnea": (pin.rneaInParallel, "a"), "aba": (pin.abaInParallel, "tau")}


@cache
def model_of(robot: Robot) -> Any:
    """Pinocchio's own reading of the robot's file, the same joints locked; a chain goes through URDF text."""
    if robot.path is None:
        return _from_text(robot.model)
    base = [pin.JointModelFreeFlyer()] if robot.floating else []
    with _Silence():
        model = pin.buildModelFromUrdf(str(robot.path), *base)
    locked = [model.getJointId(name) for name in robot.locked]
    return pin.buildReducedModel(model, locked, pin.neutral(model)) if locked else model


def _from_text(model: sixd.Model) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.ModelWarning)  # URDF holds no gravity
        theirs = pin.buildModelFromXML(sixd.to_urdf(model))
    theirs.gravity.linear = model.gravity
    return theirs


def batch(name: str, task: Task, robot: Robot, states: States, tolerance: float = 1e-9) -> list[Contender]:
    """``rneaInParallel`` or ``abaInParallel`` with one thread, result written into a given array; else nothing.

    Its arrays are (n, rows), column-major as its matrices are: transposed views of row-major (rows, n), no copies.
    """
    if task.word not in _BATCH:
        return []
    theirs, conversion = _states(robot, states)
    function, last = _BATCH[task.word]
    out = np.zeros((len(theirs["q"]), robot.model.nv))
    names = {
        "function": function, "pool": pin.ModelPool(model_of(robot), 1),
        "q": theirs["q"].T, "v": theirs["qd"].T, last: theirs[task.inputs[-1]].T, "out": out.T,
    }  # fmt: skip
    statement = f"function(1, pool, q, v, {last}, out)"

    def result() -> Array:
        exec(statement, names)
        return conversion.result(task, states, theirs, out)

    return [Contender(name, statement, names, len(out), result, tolerance)]


def single(name: str, task: Task, robot: Robot, states: States) -> Contender:
    """One state through Python, as its users call it."""
    theirs, conversion = _states(robot, states)
    function, statement = _SINGLE[task.word]
    model = model_of(robot)
    names = _single_names(model, {key: x[0].copy() for key, x in theirs.items()})
    names |= {"function": function, "frame": model.getFrameId(robot.frame)}

    def result() -> Array:
        rows = range(min(CHECKED, len(theirs["q"])))
        states_of = [_single_names(model, {key: x[k] for key, x in theirs.items()}) for k in rows]
        raw = np.array([eval(statement, names | row) for row in states_of])
        if task.word == "jacobian":
            raw = np.concatenate([raw[:, 3:], raw[:, :3]], axis=1)  # angular rows first
        return conversion.result(task, states, theirs, raw)

    return Contender(name, statement, names, result=result)


def empty(name: str, task: Task) -> Contender:
    """The same function on a model without joints: conversion of arguments and result, and loops that do nothing.

    Less than this no call takes; what it leaves out (copying longer arrays) stays in the robot's net time.
    """
    function, statement = _SINGLE[task.word]
    nothing = np.zeros(0)
    names = _single_names(pin.Model(), dict.fromkeys(("q", "qd", "qdd", "tau"), nothing))
    return Contender(name, statement, names | {"function": function, "frame": 0})


def _single_names(model: Any, state: States) -> dict[str, Any]:
    q, v, a, tau = state["q"], state["qd"], state["qdd"], state["tau"]
    choices = {"local": pin.ReferenceFrame.LOCAL, "world": pin.Convention.WORLD}
    return {"model": model, "data": model.createData(), "q": q, "v": v, "a": a, "tau": tau, **choices}


def _states(robot: Robot, states: States) -> tuple[States, Conversion]:
    to, back = sixd.interop.to_pinocchio, sixd.interop.from_pinocchio
    conversion = Conversion(to, back, robot, pinocchio_model=model_of(robot))
    return conversion.states(states), conversion


class _Silence:
    """Pinocchio's parser writes complaints about files to the process's stderr."""

    def __enter__(self) -> None:
        self._saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)

    def __exit__(self, *_: object) -> None:
        os.dup2(self._saved, 2)
        os.close(self._saved)
