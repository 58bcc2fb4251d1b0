"""Rigid joint limits: the element ``RigidLimits``, whose forces are impulses within fixed steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from sixd.errors import ModelError
from sixd.forces.elements import RigidForce, set_fields, tree_of
from sixd.forces.joint_limits import limited_coordinates
from sixd.model.system import System
from sixd.spatial.scalar import is_number


@final
@dataclass(frozen=True, eq=False)
class RigidLimits(RigidForce):
    """Rigid stops at the joints' finite limits, ``model.lower`` and ``model.upper``: no joint goes beyond them.

    A joint that leans on its limit is held by whatever force that takes; one that hits it stops there, or rebounds
    off with ``restitution`` times its speed. ``sixd.JointLimits`` has springs and dampers instead.

    Parameters
    ----------
    restitution : from 0 to 1, the part of the speed with which a joint leaves a limit that it hits.

    Notes
    -----
    For methods of fixed steps. An impact is detected at the end of its step, and the joint is moved back to the limit
    in the mass metric. A joint counts as hitting its limit if it would pass that within a step at its present speed; it
    bounces only if that speed is more than twice what all other forces change in a step, so that a joint at rest on its
    limit stays there. A start beyond a limit is moved onto it in the first step, with a warning. Dry friction and limit
    of a joint act together, as one law. The trajectory's ``internal`` has the mean force [N m or N] of each limited
    joint's stops over the step that ended at the record, positive away from the lower limit. Limits of joints with as
    many coordinates as degrees of freedom count: all but spherical and free ones.
    """

    restitution: float = 0.0

    def __post_init__(self) -> None:
        e: Any = self.restitution
        if isinstance(e, bool) or not is_number(e) or not 0 <= e <= 1:
            raise ModelError(f"RigidLimits: restitution is {e!r}, expected a number from 0 to 1.")
        set_fields(self, restitution=float(e))

    def size(self, model: System) -> int:
        """Return the number of limited coordinates: the state is the mean force of the last step on each."""
        tree_of("RigidLimits", model)
        result = limited_coordinates(model, "RigidLimits")
        for i, _, lower, upper in result:
            if not lower <= upper:
                raise ModelError(
                    f"RigidLimits: coordinate {i} of {model.name!r} has the limits {lower:g} … {upper:g}, expected the "
                    f"lower one first."
                )
        return len(result)
