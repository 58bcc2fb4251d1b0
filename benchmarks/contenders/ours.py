"""sixd's contenders: the public functions on row-major arrays, and kernels made by ``sixd.compile``."""

from __future__ import annotations

from typing import Any

import numpy as np

import sixd
from benchmarks.robots import Robot
from benchmarks.tasks import Array, States, Task, resized
from sixd.cli.timing import Contender

SINGLE_PRECISION_TOLERANCE = 1e-3  # stops a wrong kernel; the report has the accuracy of a right one


def public(
    name: str, task: Task, robot: Robot, states: States, rows: int | None = None, dtype: Any = np.float64
) -> Contender:
    """The public function with ``out=`` on that many rows (all of them if None)."""
    rows = len(states["q"]) if rows is None else rows
    return _batched(name, task, robot, robot.model, states, rows, dtype)


def with_friction(name: str, task: Task, robot: Robot, states: States) -> Contender:
    """The public function for the robot with its file's damping and friction; the others leave them out."""
    assert robot.with_friction is not None
    plain = _batched(name, task, robot, robot.with_friction, states, len(states["q"]), np.float64)
    return Contender(name, plain.statement, plain.names, plain.rows)


def _batched(
    name: str, task: Task, robot: Robot, model: sixd.Model, states: States, rows: int, dtype: Any
) -> Contender:
    arrays = resized(states, rows, dtype)
    names = {**_names(task, robot, arrays), "function": task.function, "model": model}
    exec(f"out = function(model, {_arguments(task)})", names)  # an array for the results of later calls
    out = names["out"]
    statement = f"function(model, {_arguments(task)}, out=out)"

    def result() -> Array:
        exec(statement, names)
        return out[: len(states["q"])]

    tolerance = SINGLE_PRECISION_TOLERANCE if dtype == np.float32 else 1e-9
    return Contender(name, statement, names, rows, result, tolerance)


def unbatched(task: Task, robot: Robot, states: States) -> list[Contender]:
    """One state, no batch dimension: a kernel, a kernel with ``out=``, and the public function."""
    names = _one_state(task, robot, states)
    names["out"] = np.zeros(task.result_shape(robot.model))
    names["kernel"] = sixd.compile(task.function, robot.model, **task.static(robot))
    arrays = ", ".join(task.inputs)
    kernels = {"kernel": f"kernel({arrays})", "kernel, out=": f"kernel({arrays}, out=out)"}
    return [*(_single(name, text, names) for name, text in kernels.items()), public_call("public", task, robot, states)]


def public_call(name: str, task: Task, robot: Robot, states: States) -> Contender:
    """The public function for one state, no batch dimension."""
    return _single(name, f"function(model, {_arguments(task)})", _one_state(task, robot, states))


def _one_state(task: Task, robot: Robot, states: States) -> dict[str, Any]:
    one = {name: x[0].copy() for name, x in states.items()}
    return {**_names(task, robot, one), "function": task.function, "model": robot.model}


def _single(name: str, statement: str, names: dict[str, Any]) -> Contender:
    return Contender(name, statement, names, result=lambda: np.asarray(eval(statement, names))[None])


def _names(task: Task, robot: Robot, arrays: States) -> dict[str, Any]:
    return {**{name: arrays[name] for name in task.inputs}, **task.static(robot)}


def _arguments(task: Task) -> str:
    return ", ".join(task.inputs) + (", frame" if task.framed else "")
