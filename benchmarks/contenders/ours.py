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
    return Contender(name, plain.statement, plain.names, plain.states)


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
    """One state without a batch dimension: a kernel and the public function, with and without ``out=``, both dtypes."""
    calls = []
    for dtype, suffix in ((np.float64, ""), (np.float32, ", float32")):
        one = {name: x[0].astype(dtype) for name, x in states.items()}
        names: dict[str, Any] = {**_names(task, robot, one), "function": task.function, "model": robot.model}
        names["out"] = np.zeros(task.result_shape(robot.model), dtype)
        names["kernel"] = sixd.compile(task.function, robot.model, dtype=np.dtype(dtype).name, **task.static(robot))
        arrays = ", ".join(task.inputs)
        statements = {
            f"kernel{suffix}": f"kernel({arrays})",
            f"kernel, out={suffix}": f"kernel({arrays}, out=out)",
            f"public{suffix}": f"function(model, {_arguments(task)})",
            f"public, out={suffix}": f"function(model, {_arguments(task)}, out=out)",
        }
        tolerance = SINGLE_PRECISION_TOLERANCE if suffix else 1e-9
        calls += [_single(name, text, names, tolerance) for name, text in statements.items()]
    return calls


def public_call(name: str, task: Task, robot: Robot, states: States) -> Contender:
    """The public function for one state, no batch dimension."""
    one = {name: x[0].copy() for name, x in states.items()}
    names = {**_names(task, robot, one), "function": task.function, "model": robot.model}
    return _single(name, f"function(model, {_arguments(task)})", names, 1e-9)


def _single(name: str, statement: str, names: dict[str, Any], tolerance: float) -> Contender:
    return Contender(name, statement, names, 1, lambda: np.asarray(eval(statement, names))[None], tolerance)


def small_batch(name: str, task: Task, robot: Robot, states: States, rows: int, dtype: Any) -> Contender:
    """The public function on a batch of that many rows, its result newly allocated."""
    names = {**_names(task, robot, resized(states, rows, dtype)), "function": task.function, "model": robot.model}
    statement = f"function(model, {_arguments(task)})"
    tolerance = SINGLE_PRECISION_TOLERANCE if dtype == np.float32 else 1e-9

    def result() -> Array:
        return eval(statement, names)[: len(states["q"])]

    return Contender(name, statement, names, rows, result, tolerance)


def _names(task: Task, robot: Robot, arrays: States) -> dict[str, Any]:
    return {**{name: arrays[name] for name in task.inputs}, **task.static(robot)}


def _arguments(task: Task) -> str:
    return ", ".join(task.inputs) + (", frame" if task.framed else "")
