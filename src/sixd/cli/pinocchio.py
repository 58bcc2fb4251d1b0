"""Pinocchio's functions as contenders: its batch calls on one thread, and its calls for one state.

Pinocchio is imported when it is used; ``find_pinocchio`` returns the reason if it cannot be compared.
"""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import sixd
from sixd.cli.timing import Contender
from sixd.errors import ModelError, ModelWarning
from sixd.model import Model
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    import pinocchio as pin

# sixd's function: Pinocchio's, and its last argument
_BATCH = {"inverse_dynamics": ("rneaInParallel", "qdd"), "forward_dynamics": ("abaInParallel", "tau")}
# sixd's function: Pinocchio's, and the call
_SINGLE = {
    "inverse_dynamics": ("rnea", "function(model, data, q, qd, qdd)"),
    "forward_dynamics": ("aba", "function(model, data, q, qd, tau, world)"),  # 5 to 15 % faster than the default LOCAL
    "mass_matrix": ("crba", "function(model, data, q)"),
    "bias_force": ("nonLinearEffects", "function(model, data, q, qd)"),
    "gravity_force": ("computeGeneralizedGravity", "function(model, data, q)"),
    "jacobian": ("computeFrameJacobian", "function(model, data, q, frame, local)"),
}


@dataclass(frozen=True)
class Pinocchio:
    """A model in Pinocchio, and states q, qd, qdd, tau (batch, n) in its coordinates."""

    model: pin.Model
    states: dict[str, Array]

    def batch(self, name: str, function: str) -> Contender | None:
        """Return its batch call on one thread, which fills ``out`` (nv, batch); None if it has no such call.

        Its matrices are (n, batch), column-major: transposed views of ours, without copies.
        """
        if function not in _BATCH:
            return None
        import pinocchio as pin

        word, last = _BATCH[function]
        states = len(self.states["q"])
        names: dict[str, Any] = {key: self.states[key].T for key in ("q", "qd", last)}
        names |= {"function": getattr(pin, word), "pool": pin.ModelPool(self.model, 1)}
        names |= {"out": np.zeros((states, self.model.nv)).T}
        return Contender(name, f"function(1, pool, q, qd, {last}, out)", names, states)

    def single(self, name: str, function: str, frame: int = 0) -> Contender | None:
        """Return its call for the first state, as its users write it; None if it has no such call."""
        if function not in _SINGLE:
            return None
        import pinocchio as pin

        word, statement = _SINGLE[function]
        names: dict[str, Any] = {key: x[0].copy() for key, x in self.states.items()}
        names |= {"function": getattr(pin, word), "model": self.model, "data": self.model.createData()}
        names |= {"frame": frame, "local": pin.ReferenceFrame.LOCAL, "world": pin.Convention.WORLD}
        return Contender(name, statement, names)


def to_pinocchio_model(model: Model) -> pin.Model:
    """Return the model in Pinocchio, through URDF text; raises ModelError if URDF cannot hold it."""
    import pinocchio as pin

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # URDF holds no gravity
        theirs = pin.buildModelFromXML(sixd.to_urdf(model))
    theirs.gravity.linear = model.gravity
    return theirs


def find_pinocchio(model: Model, states: dict[str, Array]) -> tuple[Pinocchio | None, str]:
    """Return the model and states in Pinocchio, or None and the reason."""
    if importlib.util.find_spec("pinocchio") is None:
        return None, "Pinocchio is not installed (pip install pin)"
    if any(joint.nv != 1 for joint in model.joints[1:]):
        return None, "Pinocchio is left out: this robot has joints of several degrees of freedom"
    try:
        theirs = to_pinocchio_model(model)
        arrays = sixd.interop.to_pinocchio(model, *states.values(), pinocchio_model=theirs)
    except ModelError as error:
        return None, f"Pinocchio is left out: {error}"
    return Pinocchio(theirs, dict(zip(states, arrays, strict=True))), ""


def first_result(model: Model, theirs: pin.Model, contender: Contender) -> Array:
    """Return the result of Pinocchio's contender for the first state, in our order, for joints of one DoF."""
    returned = eval(contender.statement, contender.names)
    first = np.asarray(contender.names["out"][:, 0] if returned is None else returned)
    order = [theirs.joints[theirs.getJointId(name)].idx_v for name in model.joint_names]
    if first.ndim == 1:
        return first[order]
    full = np.triu(first) + np.triu(first, 1).T  # crba fills the upper triangle
    return full[np.ix_(order, order)]
