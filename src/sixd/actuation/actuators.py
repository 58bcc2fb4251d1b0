"""Actuators: thrusters on frames and motors on joints, each with the joint forces of one unit of input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.api.frames import jacobian, pose
from sixd.errors import ModelError, require_known
from sixd.model import validate
from sixd.model.system import System
from sixd.spatial.rotation import unit_vector
from sixd.spatial.scalar import Array, exact, is_number, require_scalars

_UNLIMITED = (-np.inf, np.inf)


@dataclass(frozen=True)
class Thruster:
    """A force on a frame: f newtons along ``direction``, at ``point`` [m] in the frame's axes from its origin.

    ``direction`` is normalized; it is in the frame's axes, or in the world's for ``expressed_in="aligned"``.
    ``limits`` (lower, upper) [N] bound f.
    """

    frame: str
    direction: Any
    point: Any = (0, 0, 0)
    limits: tuple[float, float] = _UNLIMITED
    name: str = ""
    expressed_in: str = "body"

    def __post_init__(self) -> None:
        where = f"Thruster {self.name or self.frame!r}"
        require_known(f"{where}: expressed_in", "choice", self.expressed_in, ("body", "aligned"))
        require_scalars(f"{where}: direction", self.direction)
        direction = unit_vector(self.direction, name=f"{where}: direction")
        object.__setattr__(self, "direction", tuple(exact(direction)))
        object.__setattr__(self, "point", tuple(exact(validate.vector(f"{where}: point", self.point, 3, spread=False))))
        object.__setattr__(self, "limits", _limits(where, self.limits))

    def column(self, system: System, q: Array) -> Array:
        """Joint forces (nv,) of a force of one newton."""
        J = jacobian(system, q, self.frame)
        d, p = np.array(self.direction), np.array(self.point)
        if self.expressed_in == "aligned":
            d = pose(system, q, self.frame)[:3, :3].T @ d
        return J[:3].T @ np.cross(p, d) + J[3:].T @ d

    def check(self, system: System) -> None:
        """Raise unless the frame is on a body that moves."""
        if system.frame(self.frame, "Actuation").body == 0:
            raise ModelError(
                f"Actuation: frame {self.frame!r} is fixed to the world, expected one on a moving body for a thruster."
            )


@dataclass(frozen=True)
class Motor:
    """A motor on a joint: f at its shaft is ``gear`` · f at the joint [N m or N], on DoF number ``freedom``."""

    joint: str
    gear: Any = 1
    limits: tuple[float, float] = _UNLIMITED
    name: str = ""
    freedom: int = 0

    def __post_init__(self) -> None:
        where = f"Motor {self.name or self.joint!r}"
        require_scalars(f"{where}: gear", self.gear)
        if np.ndim(self.gear) or (is_number(self.gear) and not (np.isfinite(float(self.gear)) and self.gear)):
            raise ModelError(f"{where}: gear is {self.gear!r}, expected a finite number other than 0.")
        object.__setattr__(self, "limits", _limits(where, self.limits))

    def column(self, system: System, q: Array) -> Array:
        """Joint forces (nv,) of one newton metre (or newton) at the shaft."""
        at = system.v_slice(self.joint).start + self.freedom
        return np.array([self.gear if k == at else 0 for k in range(system.nv)])

    def check(self, system: System) -> None:
        """Raise unless the joint has that DoF."""
        own = system.v_slice(self.joint)
        count = own.stop - own.start
        if not isinstance(self.freedom, int) or not 0 <= self.freedom < count:
            raise ModelError(
                f"Actuation: a motor moves DoF {self.freedom!r} of joint {self.joint!r}, which has {count}, "
                f"expected one of 0 … {count - 1}."
            )


def _limits(where: str, limits: object) -> tuple[float, float]:
    if not isinstance(limits, (tuple, list, np.ndarray)) or len(limits) != 2 or not all(map(is_number, limits)):
        raise ModelError(f"{where}: limits are {limits!r}, expected two numbers (lower, upper).")
    low, high = (float(x) for x in limits)
    if not low <= high:
        raise ModelError(f"{where}: limits are {limits!r}, expected lower ≤ upper.")
    return low, high
