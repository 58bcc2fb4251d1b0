"""The bounded problem of one state of ``sixd.differential_ik``, traced and compiled; imported when it is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.algorithms.jacobian import jacobian
from sixd.algorithms.linear.active_set import ActiveSet, Bounds
from sixd.algorithms.linear.responses import DenseResponse
from sixd.algorithms.momentum import centroidal_matrix
from sixd.engine.artifact import make_rollout, recipe_key
from sixd.ik.task_rows import joint_slices, posture_error, squared, total_mass
from sixd.model.memo import remember
from sixd.model.system import System
from sixd.runtime.routine import Rollout
from sixd.slow_work import watched
from sixd.spatial.scalar import Array, maximum, minimum, sqrt
from sixd.trace.program import Program, trace
from sixd.trace.recipe import Recipe
from sixd.trace.stages import Stages, trace_stages

_PENALTY, _UPDATES = 1e4, 3  # of constraints: multipliers gain four digits in each
_LARGEST = 1e4  # m/s: the slack of an inequality, of pairs 100 m apart at steps of 0.01 s
_NUMBERS = ("damping", "posture weight", "gain", "dt")


@dataclass(frozen=True)
class Rate:
    """The velocity that is wanted of a frame: "twist" (6,), "velocity" of its origin (3,), or of the centre of mass."""

    kind: str
    frame: str
    expressed_in: str

    @property
    def size(self) -> int:
        """The number of its components."""
        return 6 if self.kind == "twist" else 3

    def jacobian(self, system: System, q: Array) -> Array:
        """J (size, nv) at a configuration."""
        if self.kind == "center of mass":
            return system.apply("centroidal_matrix", centroidal_matrix, q)[3:] / total_mass(system)
        J = system.apply("jacobian", jacobian, q, frame=self.frame, expressed_in=self.expressed_in)
        return J if self.kind == "twist" else J[3:]


def compiled_velocities(system: System, rates: tuple[Rate, ...], posture: bool, dtype: str, rows: int = 0) -> Rollout:
    """The code, kept with the system; ``rows`` is the number of inequalities near · qd ≥ least."""

    def make() -> Rollout:
        with watched(f"compiling differential_ik for {system.name!r}"):
            recipe = _recipe(system, rates, posture, dtype, rows)
            return make_rollout(recipe, recipe_key(recipe, dtype), "differential_ik", "", system.name, dtype)

    return remember(system, ("differential inverse kinematics", rates, posture, dtype, rows), make)


def _recipe(system: System, rates: tuple[Rate, ...], posture: bool, dtype: str, rows: int) -> Recipe:
    nq, nv = system.nq, system.nv
    shapes: dict[str, tuple[int, ...]] = {"q": (nq,), **({"posture": (nq,)} if posture else {})}
    shapes |= {f"goal {k}": (rate.size,) for k, rate in enumerate(rates)}
    shapes |= {f"weights {k}": (2,) for k in range(len(rates))}
    shapes |= {"lower": (nq,), "upper": (nq,), "fastest": (nv,), **dict.fromkeys(_NUMBERS, ())}
    if rows:
        shapes |= {"near": (rows, nv), "least": (rows,)}
    size = nv + rows  # inequalities have slacks: near · qd - slack = least
    response = DenseResponse(size, size)
    solver = ActiveSet(response, size, False, dtype, trace)
    make, judge = _programs(system, rates, shapes, dtype)

    def step(stages: Stages, qd: Array, residual: Any, solved: Any, *arrays: Any) -> Any:
        W, b, low, high, A, c = stages(make, *arrays)
        k = A.shape[0]
        y: Any = np.zeros(k)
        found = None
        for _ in range(_UPDATES + 1 if k else 1):
            gradient = b + A.T @ y if k else b
            state = np.zeros(size) if found is None else found.state
            found = solver(stages, [W, np.zeros((1, size), dtype=int)], gradient, Bounds(low, high), state)
            y = y + (A @ found.impulse - c) * _PENALTY if k else y
        assert found is not None
        qd = found.impulse[:nv]
        return qd, stages(judge, qd, *arrays), found.done

    state: dict[str, tuple[int, ...]] = {"qd": (nv,), "residual": (), "solved": ()}
    return replace(trace_stages(step, state, shapes, dtype), recorded=())


def _programs(
    system: Any, rates: tuple[Rate, ...], shapes: dict[str, tuple[int, ...]], dtype: str
) -> tuple[Program, Program]:
    """The programs of the problem (W, gradient at rest, bounds, A qd = c) and of the error that a velocity leaves."""
    nv = system.nv

    def rows(given: dict[str, Any]) -> tuple[Array, Array]:
        J, goal = [], []
        for k, rate in enumerate(rates):
            metres, radians = given[f"weights {k}"]
            share = [radians] * 3 + [metres] * 3 if rate.kind == "twist" else [metres] * 3
            J.append(np.array([row * w for row, w in zip(rate.jacobian(system, given["q"]), share, strict=True)]))
            goal.append(given[f"goal {k}"] * np.array(share))
        return np.concatenate(J), np.concatenate(goal)

    def make(*arrays: Any) -> Any:
        given = dict(zip(shapes, arrays, strict=True))
        q, (J, goal) = given["q"], rows(given)
        W, b = J.T @ J, -(J.T @ goal)
        ridge = given["damping"] * given["damping"]
        if "posture" in given:
            share = given["posture weight"] * given["posture weight"]
            ridge = ridge + share
            b = b + posture_error(system, q, given["posture"]) * (share * given["gain"])
        W = W + np.diag([ridge] * nv)
        A = np.concatenate([np.zeros((0, nv), dtype=int), *(c.jacobian(system, q) for c in system.constraints)])
        W, b, A, c = _with_slacks(W, b, A, given.get("near"), given.get("least"))
        if len(A):
            W, b = W + A.T @ A * _PENALTY, b - A.T @ c * _PENALTY
        low, high, v = list(-given["fastest"]), list(given["fastest"]), 0
        for joint, i in joint_slices(system):
            for k in range(joint.nv if joint.is_vector_space else 0):
                x, most = q[i][k], given["fastest"][v + k]
                low[v + k] = minimum(maximum((given["lower"][i][k] - x) / given["dt"], -most), most)
                high[v + k] = maximum(minimum((given["upper"][i][k] - x) / given["dt"], most), -most)
            v += joint.nv
        slacks = len(W) - nv
        low, high = low + [0] * slacks, high + [_LARGEST] * slacks
        triangle = np.array([W[i, j] for i in range(len(W)) for j in range(i + 1)])
        return triangle, b, np.array(low), np.array(high), A, c

    def judge(qd: Array, *arrays: Any) -> Any:
        J, goal = rows(dict(zip(shapes, arrays, strict=True)))
        return sqrt(squared(J @ qd - goal))

    return trace(make, shapes, dtype), trace(judge, {"qd": (nv,), **shapes}, dtype)


def _with_slacks(W: Array, b: Array, A: Array, near: Any, least: Any) -> tuple[Array, Array, Array, Array]:
    """W, b, A and c of the velocities and a slack for each inequality near · qd - slack = least."""
    k, nv = A.shape
    c = np.zeros(k, dtype=int)
    if near is None:
        return W, b, A, c
    rows = len(near)
    whole = np.zeros((nv + rows, nv + rows), dtype=object)
    whole[:nv, :nv] = W
    A = np.block([[A, np.zeros((k, rows), dtype=int)], [near, -np.eye(rows, dtype=int)]])
    return whole, np.concatenate([b, np.zeros(rows, dtype=int)]), A, np.concatenate([c, least])
