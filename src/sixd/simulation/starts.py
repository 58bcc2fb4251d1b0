"""Where a simulation may start: a mass matrix that can be divided by, constraints that are satisfied."""

from __future__ import annotations

import numpy as np

from sixd.algorithms.singular import singular_joints
from sixd.constrained_api import constraint_error, constraint_velocity
from sixd.errors import AssemblyError
from sixd.evaluate import require_regular
from sixd.model.model import Model
from sixd.simulation.arguments import Setup

_UNASSEMBLED = 1e-6  # in a constraint's own unit, above which a start is refused; the first step mends what is below


def require_start(setup: Setup) -> None:
    """Raise if the system cannot move, or not from there."""
    system, problem = setup.problem.system, setup.problem
    if isinstance(system, Model) and not problem.parameters:
        names = singular_joints(system)
        require_regular(problem.where, system, tuple(system.joint_names.index(name) + 1 for name in names))
    _require_assembled(setup)


def _require_assembled(setup: Setup) -> None:
    """Raise if a row's start does not satisfy the constraints."""
    system, where = setup.problem.system, setup.problem.where
    if not system.constraints or setup.problem.parameters or not setup.rows:
        return
    lacks = {
        "q": (constraint_error(system, setup.q), "sixd.assemble(model, q)"),
        "qd": (constraint_velocity(system, setup.q, setup.qd), "sixd.assemble(model, q, qd)"),
    }
    for name, (lack, hint) in lacks.items():
        size = np.abs(lack).max(axis=-1, initial=0.0)
        worst = int(np.argmax(np.where(np.isfinite(size), size, -1)))
        scale = 1.0 if name == "q" else max(1.0, float(np.abs(setup.qd[worst]).max()))
        if size[worst] > _UNASSEMBLED * scale * (1e3 if setup.dtype == "float32" else 1):
            row = f" in row {worst}" if setup.batch else ""
            raise AssemblyError(
                f"{where}: {name} does not satisfy the constraints of {system.name!r}{row}: they are off by "
                f"{size[worst]:.3g}, expected 0. Start from {hint}."
            )
