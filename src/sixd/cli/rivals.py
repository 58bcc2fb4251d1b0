"""The same functions by Pinocchio, where it is installed: its batch call on one thread, else its call for one state."""

from __future__ import annotations

import importlib.util
import warnings
from functools import partial
from typing import Any

import numpy as np

import sixd
from sixd.cli.timing import Contender
from sixd.errors import ModelError, ModelWarning
from sixd.model import Model
from sixd.spatial.scalar import Array

_BATCH = {"inverse_dynamics": ("rneaInParallel", "qdd"), "forward_dynamics": ("abaInParallel", "tau")}
_SINGLE = {
    "mass_matrix": ("crba", ("q",)),
    "bias_force": ("nonLinearEffects", ("q", "qd")),
    "gravity_force": ("computeGeneralizedGravity", ("q",)),
}


class Pinocchio:
    """A model in Pinocchio, and the states of a benchmark in its coordinates."""

    def __init__(self, model: Model, states: dict[str, Array]) -> None:
        import pinocchio as pin

        self.pin, self.ours = pin, model
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # URDF holds no gravity
            text = sixd.to_urdf(model)
        self.model = pin.buildModelFromXML(text)
        self.model.gravity.linear = model.gravity
        self.states = dict(zip(("q", "qd", "qdd", "tau"), self._there(*(states[k] for k in states)), strict=True))

    def _there(self, *state: Array) -> Any:
        return sixd.interop.to_pinocchio(self.ours, *state, pinocchio_model=self.model)

    def contender(self, function: str) -> Contender | None:
        """Its function, if it has one that computes the same; the name tells whether it takes batches."""
        pin, states = self.pin, self.states
        if function in _BATCH:
            name, last = _BATCH[function]
            pool, out = pin.ModelPool(self.model, 1), np.zeros((len(states["q"]), self.model.nv))
            # its matrices are (n, rows), column-major: transposed views, no copies
            arrays = [states[key].T for key in ("q", "qd", last)]
            return Contender("pinocchio_batch", _Filling(getattr(pin, name), (1, pool, *arrays), out), len(out))
        if function in _SINGLE:
            name, inputs = _SINGLE[function]
            row = [states[key][0].copy() for key in inputs]
            return Contender("pinocchio_single", partial(getattr(pin, name), self.model, self.model.createData(), *row))
        return None

    def result(self, function: str, raw: Any) -> Array:
        """The first row of what its function gave, in our order, for joints of one freedom."""
        order = [self.model.joints[self.model.getJointId(n)].idx_v for n in self.ours.joint_names]
        first = np.asarray(raw)[0] if function in _BATCH else np.asarray(raw)
        if function == "mass_matrix":
            full = np.triu(first) + np.triu(first, 1).T  # crba fills the upper triangle
            return full[np.ix_(order, order)]
        return first[order]


class _Filling:
    """A call that fills ``out``, and gives it."""

    def __init__(self, function: Any, arguments: tuple[Any, ...], out: Array) -> None:
        self.function, self.arguments, self.out = function, arguments, out

    def __call__(self) -> Array:
        self.function(*self.arguments, self.out.T)
        return self.out


def find_pinocchio(model: Model, states: dict[str, Array]) -> tuple[Pinocchio | None, str]:
    """Pinocchio's view of a model, or why there is none."""
    if importlib.util.find_spec("pinocchio") is None:
        return None, "Pinocchio is not installed (pip install pin)"
    if any(joint.nv != 1 for joint in model.joints[1:]):
        return None, "Pinocchio is left out: this robot has joints of several freedoms"
    try:
        return Pinocchio(model, states), ""
    except ModelError as error:  # what URDF cannot hold
        return None, f"Pinocchio is left out: {error}"
