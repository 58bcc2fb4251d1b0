"""Frames: poses, velocities, Jacobians and inertias of frames, and forces on them.

Arrays, batches, ``out=`` and scalars are as in ``sixd.api.dynamics``. ``model.frame_names`` lists the frames.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sixd.algorithms import external_forces, kinematics
from sixd.algorithms import jacobian as jacobians
from sixd.algorithms.singular import LARGEST_CONDITION
from sixd.engine.functions import Function
from sixd.engine.public import public
from sixd.errors import ModelError, ShapeError, SingularError
from sixd.model.model import Model
from sixd.model.system import System
from sixd.runtime.foreign import GPU, kind_of
from sixd.spatial.scalar import Array, require_scalars

# motion -----------------------------------------------------------------------------------------


@public(kinematics.pose)
def pose(model: System, q: Any, frame: str, *, out: Any = None) -> Array:
    """T_WF (…, 4, 4): the pose of a frame in the world, translation [m]; ``model.frame_names`` lists the frames."""


@public(kinematics.body_poses)
def body_poses(model: System, q: Any, *, out: Any = None) -> Array:
    """T_WB (…, nb, 4, 4): the poses of all bodies in the world, translations [m]."""


@public(kinematics.velocity)
def velocity(model: System, q: Any, qd: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """Spatial velocity [ω; v] (…, 6) of a frame [rad/s, m/s]; ``expressed_in`` as for ``jacobian``."""


@public(kinematics.acceleration)
def acceleration(
    model: System,
    q: Any,
    qd: Any,
    qdd: Any,
    frame: str,
    *,
    kind: str = "spatial",
    expressed_in: str = "body",
    out: Any = None,
) -> Array:
    """Acceleration (…, 6) of a frame [rad/s², m/s²], gravity not included; ``expressed_in`` as for ``jacobian``.

    ``kind`` "spatial" is the rate of the spatial velocity; "classical" has the acceleration of the point, v̇ + ω×v, as
    its linear part.
    """


@public(jacobians.jacobian)
def jacobian(model: System, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """J (…, 6, nv), angular rows first: the frame's spatial velocity is J qd.

    ``expressed_in``: "body" (the frame's axes and origin), "aligned" (world axes, the frame's origin) or "world".
    """


@public(jacobians.jacobian_rate)
def jacobian_rate(model: System, q: Any, qd: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """dJ/dt (…, 6, nv), component by component in the coordinates of ``expressed_in``; see ``jacobian``."""


# inertia and force ------------------------------------------------------------------------------


@public(jacobians.inverse_operational_inertia, solves=True)
def inverse_operational_inertia(
    model: System, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None
) -> Array:
    """Λ⁻¹ (…, 6, 6) = J M⁻¹ Jᵀ: the acceleration of a frame per force on it."""


def _operational_inertia(model: Model, q: Array, *, frame: str, expressed_in: str) -> tuple[Array, Array]:
    """Λ, and W = Λ⁻¹ in the frame's own coordinates, whose rank is checked."""
    W = jacobians.inverse_operational_inertia(model, q, frame)
    return jacobians.inertia_of_inverse(model, q, frame, W, expressed_in), W


def _full_rank(where: str, choices: tuple[Any, ...], results: list[Any]) -> list[Any]:
    """[Λ]; raise if W, scaled to a unit diagonal, is singular in some row of the batch."""
    inertia, W = results
    if W.dtype == object:
        return [inertia]
    with np.errstate(all="ignore"):
        size = np.sqrt(np.diagonal(W, axis1=-2, axis2=-1))
        scaled = W / (size[..., :, None] * size[..., None, :])
    finite = np.isfinite(W).all(axis=(-2, -1))
    scaled = np.where(np.isfinite(scaled), scaled, 0).astype(float)
    regular = size.all(axis=-1) & (np.linalg.cond(scaled) < LARGEST_CONDITION[W.dtype.name])
    bad = np.argwhere(finite & ~regular)  # W is NaN where the state is
    if len(bad):
        row = f" in row {tuple(bad[0].tolist())}" if finite.ndim else ""
        raise SingularError(
            f"{where}: frame {choices[0]!r} cannot move in all six directions there{row}, so it has no operational "
            f"inertia. Use sixd.inverse_operational_inertia."
        )
    return [inertia]


@public(_operational_inertia, solves=True, check=_full_rank)
def operational_inertia(model: System, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """Λ (…, 6, 6) = (J M⁻¹ Jᵀ)⁻¹, the inertia felt at a frame.

    Raises ``SingularError`` where the frame cannot move in all six directions; ``inverse_operational_inertia`` is
    defined there too.
    """


def _fit_wrench(
    function: Function, model: System, choices: tuple[Any, ...], arrays: tuple[Any, ...]
) -> tuple[Function, tuple[Any, ...]]:
    """The variant of ``external_force`` for a wrench (6,) or a force (3,), with or without a point, and its arrays."""
    where, (frame, _), (_, wrench, point) = function.name, choices, arrays
    if model.frame(frame, where).body == 0:
        raise ModelError(f"{where}: frame {frame!r} is fixed to the world, expected one on a moving body.")
    on_gpu = kind_of(wrench) == GPU
    if not on_gpu:
        require_scalars(f"{where}: wrench", wrench)
    shape = tuple(wrench.shape) if on_gpu else np.shape(wrench)
    width = shape[-1] if shape else 0
    if width not in (3, 6):
        raise ShapeError(f"{where}: wrench has shape {shape}, expected (..., 6), or (..., 3) for a force.")
    key = (width, point is not None)
    if key not in _WRENCHES:
        names = ("q", "wrench", "point")[: 3 if point is not None else 2]
        _WRENCHES.setdefault(key, replace(function, arrays=names, shapes={**function.shapes, "wrench": (width,)}))
    return _WRENCHES[key], arrays if point is not None else arrays[:2]


_WRENCHES: dict[tuple[int, bool], Function] = {}


@public(external_forces.external_force, shapes={"wrench": (6,), "point": (3,)}, adapt=_fit_wrench)
def external_force(
    model: System, q: Any, frame: str, wrench: Any, *, point: Any = None, expressed_in: str = "world"
) -> Array:
    """An ``f_ext`` array (…, nb, 6) with one wrench, zero on the other bodies; add several to combine them.

    Parameters
    ----------
    wrench : (…, 6) [n; f] [N m, N], or (…, 3) a force [N] alone.
    expressed_in : "world" (world axes, moment about the world's origin), "aligned" (world axes, moment about the
        frame's origin) or "body" (the frame's axes and origin).
    point : (3,) [m] where the force acts, in the coordinates of ``expressed_in``; the moment of ``wrench`` is then
        about that point. Without it a bare force acts at the origin of those coordinates.
    """
