"""A posture that a redundant mechanism tends to in the null space of the controlled frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sixd.algorithms.operational.stack import Stack
from sixd.algorithms.operational.terms import explain
from sixd.api.dynamics import mass_matrix_solve
from sixd.controllers.arguments import read_gain
from sixd.controllers.reference import Reference
from sixd.errors import ModelError
from sixd.forces.elements import set_fields
from sixd.model.manifold import nonfinite_error
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar


@dataclass(frozen=True, eq=False)
class Posture:
    """Accelerations kp e + kd ė (nv,) toward a target (nq,) or a function t -> (nq,); -kd qd without a target."""

    where: str
    system: System
    target: Any
    kp: Any
    kd: Any

    def __post_init__(self) -> None:
        for name in ("kp", "kd"):
            gain = read_gain(self.where, f"posture_{name}", getattr(self, name), self.system.nv, system=self.system)
            set_fields(self, **{name: gain})
        if (self.target is None) is bool(np.any(self.kp)):
            raise ModelError(
                f"{self.where}: posture is {'None' if self.target is None else 'set'} and posture_kp is "
                f"{self.kp.tolist()}, expected both or neither. Pass posture=q and posture_kp=…."
            )
        if self.target is not None:
            self._reference  # noqa: B018 - raises for a target of the wrong shape

    @property
    def acts(self) -> bool:
        """Whether any of its gains is not zero."""
        return bool(np.any(self.kp) or np.any(self.kd))

    @cached_property
    def _reference(self) -> Reference:
        return Reference(f"{self.where}: posture", self.system, self.target)

    def acceleration(self, t: Scalar, q: Array, qd: Array) -> Array:
        """The acceleration (nv,) toward the posture."""
        if self.target is None:
            return qd * self.kd * -1
        e, e_rate = self._reference.errors(t, q, qd)
        return e * self.kp + e_rate * self.kd


def checked_force(where: str, system: System, stack: Stack, q: Array, qd: Array, tau: Array) -> Array:
    """tau; raises if it has entries that are not finite, which happens if the rows are dependent at q."""
    numbers = all(x.dtype.kind in "fiu" for x in (tau, q, qd))
    if numbers and not np.isfinite(tau).all() and np.isfinite(q).all() and np.isfinite(qd).all():
        mass_matrix_solve(system, q, np.zeros(system.nv))  # raises if the mass matrix is singular
        raise explain(where, system, (stack, "aligned"), "", (q,)) or nonfinite_error(system, where, "", q, qd)
    return tau
