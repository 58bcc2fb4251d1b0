"""Gravity compensation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, final

from sixd.api import dynamics as api
from sixd.controllers.arguments import read_model, read_state, saturated
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar


@final
@dataclass(frozen=True, eq=False)
class GravityCompensation:
    """tau = g(q): the joint forces that hold the model against gravity, and nothing else. ``saturate`` cuts them to the
    model's effort limits.

    The model is this very one in all rows: ``parameters`` of ``sixd.simulate`` that give a row another gravity or other
    inertias change what moves, not what the controller believes.
    """

    model: System
    _: KW_ONLY
    saturate: bool = False

    def __post_init__(self) -> None:
        read_model("GravityCompensation", self.model, saturate=self.saturate)

    def __call__(self, t: Scalar, q: Any, qd: Any) -> Array:
        """tau (nv,) at time t [s] in the state q (nq,), qd (nv,)."""
        q, qd = read_state("GravityCompensation", q, qd, self.model)
        tau = api.gravity_force(self.model, q)
        return saturated(self.model, tau) if self.saturate else tau
