"""Pinocchio's contenders: its batch call on one thread, its single calls, and an empty call of the same function."""

from __future__ import annotations

import dataclasses
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import sixd
from benchmarks.agreement import Conversion
from benchmarks.robots import Robot
from benchmarks.tasks import Array, States, Task
from sixd.cli.pinocchio import Pinocchio, to_pinocchio_model
from sixd.cli.timing import Contender

CHECKED = 64  # rows of which single calls are compared


@cache
def model_of(robot: Robot) -> Any:
    """Pinocchio's own reading of the robot's file, the same joints locked; a chain goes through URDF text."""
    if robot.path is None:
        return to_pinocchio_model(robot.model)
    base = [pin.JointModelFreeFlyer()] if robot.floating else []
    with _Silence():
        model = pin.buildModelFromUrdf(str(robot.path), *base)
    locked = [model.getJointId(name) for name in robot.locked]
    return pin.buildReducedModel(model, locked, pin.neutral(model)) if locked else model


def fits(robot: Robot) -> bool:
    """Whether its data fit into half of the free memory: they hold four tensors of nv³ numbers, and there are up to
    three copies, so that 400 degrees of freedom take 6 GB, and 1,000 would take 96."""
    try:
        text = Path("/proc/meminfo").read_text()
        free = 1024 * int(next(line for line in text.splitlines() if line.startswith("MemAvailable")).split()[1])
    except (OSError, StopIteration):
        return robot.model.nv <= 200
    return 3 * 32 * robot.model.nv**3 <= free / 2


def batch(name: str, task: Task, robot: Robot, states: States) -> list[Contender]:
    """``rneaInParallel`` or ``abaInParallel`` with one thread, written into an existing array; else nothing."""
    conversion = _conversion(robot)
    theirs = conversion.states(states)
    contender = Pinocchio(model_of(robot), theirs).batch(name, task.function.__name__)
    if contender is None:
        return []

    def result() -> Array:
        exec(contender.statement, contender.names)
        return conversion.result(task, states, theirs, contender.names["out"].T)

    return [dataclasses.replace(contender, result=result)]


def single(name: str, task: Task, robot: Robot, states: States) -> Contender:
    """One state through Python, as its users call it."""
    conversion, model = _conversion(robot), model_of(robot)
    theirs = conversion.states(states)
    frame = model.getFrameId(robot.frame) if task.framed else 0
    contender = _single(name, task, Pinocchio(model, theirs), frame)

    def result() -> Array:
        rows = range(min(CHECKED, len(theirs["q"])))
        states_of = [{key: x[k] for key, x in theirs.items()} for k in rows]
        raw = np.array([eval(contender.statement, contender.names | row) for row in states_of])
        if task.word == "jacobian":
            raw = np.concatenate([raw[:, 3:], raw[:, :3]], axis=1)  # angular rows first
        return conversion.result(task, states, theirs, raw)

    return dataclasses.replace(contender, result=result)


def empty(name: str, task: Task) -> Contender:
    """The same function on a model without joints: conversion of arguments and result, and loops that do nothing.

    No call takes less than this; the cost that it leaves out (copying longer arrays) stays in the robot's net time.
    """
    nothing = dict.fromkeys(("q", "qd", "qdd", "tau"), np.zeros((1, 0)))
    return _single(name, task, Pinocchio(pin.Model(), nothing), 0)


def _single(name: str, task: Task, theirs: Pinocchio, frame: int) -> Contender:
    contender = theirs.single(name, task.function.__name__, frame)
    assert contender is not None
    return contender


def _conversion(robot: Robot) -> Conversion:
    to, back = sixd.interop.to_pinocchio, sixd.interop.from_pinocchio
    return Conversion(to, back, robot, pinocchio_model=model_of(robot))


class _Silence:
    """Pinocchio's parser writes complaints about files to the process's stderr."""

    def __enter__(self) -> None:
        self._saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)

    def __exit__(self, *_: object) -> None:
        os.dup2(self._saved, 2)
        os.close(self._saved)
