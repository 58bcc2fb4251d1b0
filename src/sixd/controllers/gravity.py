"""Gravity compensation: the joint forces that hold a model in place."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import final

from sixd.api import dynamics as api
from sixd.controllers.arguments import read_model, read_state, saturated
from sixd.model.system import System
from sixd.spatial.scalar import Array, ArrayLike, Scalar


@final
@dataclass(frozen=True, eq=False)
class GravityCompensation:
    """tau = g(q): the joint forces that hold the model against gravity.

    ``saturate`` cuts them to the model's effort limits. Every state of a batch uses this model: ``parameters`` of
    ``sixd.simulate`` change the simulated mechanism, not the model of the controller.
    """

    model: System
    _: KW_ONLY
    saturate: bool = False

    def __post_init__(self) -> None:
        read_model("GravityCompensation", self.model, saturate=self.saturate)

    def __call__(self, t: Scalar, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return tau (nv,) at time t [s] in the state q (nq,), qd (nv,)."""
        q, qd = read_state("GravityCompensation", q, qd, self.model)
        tau = api.gravity_force(self.model, q)
        return saturated(self.model, tau) if self.saturate else tau
