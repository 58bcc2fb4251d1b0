"""Where a simulation may start: a mass matrix that can be divided by, constraints that are satisfied."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.algorithms.constrained.rows import constraint_velocity, padded_error
from sixd.algorithms.singular import singular_joints
from sixd.engine.evaluate import require_regular
from sixd.engine.functions import Function
from sixd.errors import AssemblyError
from sixd.model.model import Model
from sixd.model.system import System
from sixd.simulation.setup import Setup
from sixd.spatial.scalar import Array, Scalar
from sixd.trajectory.batching import batched

_UNASSEMBLED = 1e-6  # in a constraint's own unit, above which a start is refused; the first step mends what is below


def require_start(setup: Setup, t: float = 0.0) -> None:
    """Raise if the system cannot move, or not from there at the time t."""
    system, problem = setup.problem.system, setup.problem
    if isinstance(system, Model) and not problem.parameters:
        names = singular_joints(system)
        require_regular(problem.where, system, tuple(system.joint_names.index(name) + 1 for name in names))
    if system.constraints and setup.rows:
        lacks = batched(problem.where, _LACKS, system, problem.parameters, setup.dtype)
        moment = np.full(setup.rows, t, setup.dtype)
        error, rate = lacks(setup.q, setup.qd, moment, *(setup.constants[name] for name in problem.parameters))
        _require_small(setup, "q", error, 1.0, "sixd.assemble(model, q)")
        _require_small(setup, "qd", rate, np.abs(setup.qd).max(axis=-1), "sixd.assemble(model, q, qd)")


def _lacks(system: System, q: Array, qd: Array, t: Scalar) -> tuple[Array, Array]:
    """What one row lacks (k,) of its constraints, and of these on velocities."""
    return padded_error(system, q), constraint_velocity(system, q, qd, t)


_LACKS = Function("start", _lacks, ("q", "qd", "t"), named=False, judged=False)


def _require_small(setup: Setup, name: str, lack: Array, scale: Any, hint: str) -> None:
    size = np.abs(lack).max(axis=-1, initial=0.0) / np.maximum(1.0, scale)
    worst = int(np.argmax(np.where(np.isfinite(size), size, -1)))
    if size[worst] > _UNASSEMBLED * (1e3 if setup.dtype == "float32" else 1):
        row = f" in row {worst}" if setup.batch else ""
        raise AssemblyError(
            f"{setup.problem.where}: {name} does not satisfy the constraints of {setup.problem.system.name!r}{row}: "
            f"they are off by {np.abs(lack[worst]).max():.3g}, expected 0. Start from {hint}."
        )
