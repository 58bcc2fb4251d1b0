"""Checks of the arguments of controllers: gains, states, models; and the effort limits."""

from __future__ import annotations

import numpy as np

from sixd.controllers.reference import gains_of_joints
from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.forces.elements import finite_array
from sixd.model.model import Model
from sixd.model.system import System, require_system
from sixd.spatial.scalar import Array, ArrayLike, maximum, minimum


def read_gain(where: str, name: str, value: ArrayLike, *sizes: int, system: System | None = None) -> Array:
    """Return a gain as a read-only array: a scalar, or (n,) with n among ``sizes``; without sizes, of any length. For
    gains on the velocities of a ``system``, the message on a wrong shape shows how to write them."""

    def fits(shape: tuple[int, ...]) -> bool:
        return shape == () or (len(shape) == 1 and (not sizes or shape[0] in sizes))

    wanted = " or ".join(f"({n},)" for n in sizes) or "(nv,)"
    wanted += gains_of_joints(system, name)
    return finite_array(f"{where}: {name}", value, fits, f"a number or {wanted}", signed=False)


def require_gains(where: str, n: int, **gains: Array) -> None:
    """Raise unless each gain is a scalar or has the shape (n,)."""
    for name, gain in gains.items():
        if gain.shape not in ((), (n,)):
            raise ShapeError(f"{where}: {name} has shape {gain.shape}, expected a number or ({n},).")


def read_state(where: str, q: ArrayLike, qd: ArrayLike, system: System | None) -> tuple[Array, Array]:
    """Return q and qd of one state as arrays that fit the system."""
    arrays = np.asarray(q), np.asarray(qd)
    if system is None and arrays[0].ndim == arrays[1].ndim == 1 and arrays[0].size != arrays[1].size:
        raise ShapeError(
            f"{where}: model is missing, expected the model, since q has {arrays[0].size} numbers and qd "
            f"{arrays[1].size}, as with a floating base. Pass it: {where}(target, kp, kd, model=model)."
        )
    sizes = (arrays[0].size, arrays[0].size) if system is None else (system.nq, system.nv)
    for name, array, n in zip(("q", "qd"), arrays, sizes, strict=True):
        if array.shape != (n,):
            hint = "" if system else " Without model= q and qd have the same length."
            raise ShapeError(f"{where}: {name} has shape {array.shape}, expected ({n},), one state.{hint}")
    return arrays


def read_model(where: str, model: System, *, saturate: object = False) -> None:
    """Raise unless ``model`` is a system, with effort limits if ``saturate`` is set."""
    require_system(where, model)
    if not isinstance(saturate, bool):
        raise ScalarTypeError(f"{where}: saturate is {saturate!r}, expected True or False.")
    if saturate and not isinstance(model, Model):
        raise ModelError(f"{where}: {model.name!r} has no effort limits, expected a sixd.Model for saturate=True.")


def saturated(model: System | None, tau: Array) -> Array:
    """Return tau (nv,) cut to ±model.effort_limit, where that is finite."""
    assert isinstance(model, Model)  # read_model has checked it
    limits = model.effort_limit
    pairs = zip(tau, limits, strict=True)
    return np.array([minimum(maximum(x, -limit), limit) if np.isfinite(limit) else x for x, limit in pairs])
