"""Frames: poses, velocities, Jacobians and inertias of frames, and forces on them.

Arrays, batches, ``out=`` and scalars are as in ``sixd.api.dynamics``. ``model.frame_names`` lists the frames.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sixd.algorithms import external_forces, kinematics
from sixd.algorithms import jacobian as jacobians
from sixd.algorithms.operational import terms
from sixd.algorithms.operational.stack import FrameChoice
from sixd.engine.functions import Function
from sixd.engine.public import public
from sixd.errors import ModelError, ShapeError
from sixd.model.system import System
from sixd.runtime.arrays.registry import is_on_gpu
from sixd.spatial.scalar import Array, ArrayLike, require_scalars

# motion -----------------------------------------------------------------------------------------


@public(kinematics.pose)
def pose(model: System, q: ArrayLike, frame: str, *, relative_to: str = "world", out: object = None) -> Array:
    """T_WF (…, 4, 4): the pose of a frame in the world, translation [m]; ``model.frame_names`` lists the frames.

    With ``relative_to="base"`` T_BF: the pose in the coordinates of that frame, which depends only on the joints
    between the two.
    """


@public(kinematics.body_poses)
def body_poses(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """T_WB (…, nb, 4, 4): the poses of all bodies in the world, translations [m]."""


@public(kinematics.velocity, stacks=True)
def velocity(
    model: System, q: ArrayLike, qd: ArrayLike, frame: FrameChoice, *, expressed_in: str = "body", out: object = None
) -> Array:
    """Spatial velocity [ω; v] (…, 6) of a frame [rad/s, m/s], or (…, m) of several; arguments as for ``jacobian``."""


@public(kinematics.acceleration, stacks=True)
def acceleration(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    frame: FrameChoice,
    *,
    kind: str = "spatial",
    expressed_in: str = "body",
    out: object = None,
) -> Array:
    """Acceleration (…, 6) of a frame [rad/s², m/s²], or (…, m) of several, gravity not included; see ``jacobian``.

    ``kind`` "spatial" is the rate of the spatial velocity; "classical" has the acceleration of the point, v̇ + ω×v, as
    its linear part.
    """


@public(jacobians.jacobian, stacks=True)
def jacobian(
    model: System, q: ArrayLike, frame: FrameChoice, *, expressed_in: str = "body", out: object = None
) -> Array:
    """J (…, 6, nv), angular rows first: the frame's spatial velocity is J qd; (…, m, nv) of several frames.

    Parameters
    ----------
    frame : a name; or several, whose rows are stacked in their order, ``("left", "right")``; or a mapping of names to
        the rows that count, ``{"left": "pose", "right": "position", "elbow": (3, 4)}``: "pose" (all six),
        "orientation" (0, 1, 2), "position" (3, 4, 5), or numbers of rows.
    expressed_in : "body" (the frame's axes and origin), "aligned" (world axes, the frame's origin) or "world".
    """


@public(jacobians.jacobian_rate, stacks=True)
def jacobian_rate(
    model: System, q: ArrayLike, qd: ArrayLike, frame: FrameChoice, *, expressed_in: str = "body", out: object = None
) -> Array:
    """dJ/dt (…, 6, nv), component by component in the coordinates of ``expressed_in``; arguments as of ``jacobian``."""


# inertia and force ------------------------------------------------------------------------------


@public(jacobians.inverse_operational_inertia, solves=True, stacks=True)
def inverse_operational_inertia(
    model: System, q: ArrayLike, frame: FrameChoice, *, expressed_in: str = "body", out: object = None
) -> Array:
    """Λ⁻¹ (…, m, m) = J M⁻¹ Jᵀ: the acceleration of frames per force on them; ``frame`` as for ``jacobian``.

    It is defined at singular poses and for dependent rows, too.
    """


@public(terms.operational_inertia, solves=True, generic=True, stacks=True, explain=terms.explain)
def operational_inertia(
    model: System,
    q: ArrayLike,
    frame: FrameChoice,
    *,
    expressed_in: str = "body",
    regularization: float = 0.0,
    out: object = None,
) -> Array:
    """Λ (…, m, m) = (J M⁻¹ Jᵀ)⁻¹, the inertia felt at a frame, m = 6, or at the rows of several; see ``jacobian``.

    Forces F on these rows and their accelerations a = J qdd + dJ/dt qd obey F = Λ a + μ, with μ of
    ``operational_bias``.

    Parameters
    ----------
    frame, expressed_in : as for ``jacobian``. A frame that cannot move in all directions has rows that it can move in:
        ``{"tip": "position"}``, ``{"tip": (3, 4)}``.
    regularization : δ, a number: Λ = (J M⁻¹ Jᵀ + δ² 1)⁻¹, which exists for all rows (δ² is a mobility, [1/kg] for
        linear rows, [1/(kg m²)] for angular ones). Each value is compiled separately.

    Notes
    -----
    Raises ``SingularError`` where the rows are dependent and there is no regularisation: at singular poses, for frames
    of too few DoF, for frames of one body. A row is dependent if its angle to the span of those before it, in the
    metric of M, is below 3e-7 rad (float32: 3e-5). On GPUs and in JAX results at singular poses are NaN. Constraints of
    the model do not enter; ``model.reduce()`` has them.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> sixd.operational_inertia(arm, [0.3, 1.2], {arm.frame_names[-1]: (3, 4)}, expressed_in="aligned").shape
    (2, 2)
    """


@public(terms.operational_bias, solves=True, generic=True, stacks=True, explain=terms.explain)
def operational_bias(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    frame: FrameChoice,
    *,
    expressed_in: str = "body",
    regularization: float = 0.0,
    out: object = None,
) -> Array:
    """μ (…, m) = Λ (J M⁻¹ h - dJ/dt qd): the forces at the frames that keep their velocities J qd as they are [N, N m].

    h is that of ``bias_force``: gravity, Coriolis and passive forces. With F = Λ a + μ the forces tau = Jᵀ F accelerate
    the rows by a = J qdd + dJ/dt qd, which is the classical acceleration for ``expressed_in="aligned"``, the spatial
    one for "body" and "world". The arguments are those of ``operational_inertia``.
    """


@public(terms.dynamically_consistent_inverse, solves=True, generic=True, stacks=True, explain=terms.explain)
def dynamically_consistent_inverse(
    model: System,
    q: ArrayLike,
    frame: FrameChoice,
    *,
    expressed_in: str = "body",
    regularization: float = 0.0,
    out: object = None,
) -> Array:
    """J̄ (…, nv, m) = M⁻¹ Jᵀ Λ: of all right inverses of J, J J̄ = 1, the one with J̄ᵀ Jᵀ F = F for every force.

    J̄ a is the smallest acceleration, in the metric of M, with J qdd = a; J̄ᵀ tau are the forces at the frames that
    tau amounts to. The arguments are those of ``operational_inertia``.
    """


@public(terms.null_space_projector, solves=True, generic=True, stacks=True, explain=terms.explain)
def null_space_projector(
    model: System,
    q: ArrayLike,
    frame: FrameChoice,
    *,
    expressed_in: str = "body",
    regularization: float = 0.0,
    out: object = None,
) -> Array:
    """N (…, nv, nv) = 1 - Jᵀ J̄ᵀ: joint forces N tau do not accelerate the rows of the frames, J M⁻¹ N = 0.

    N N = N, of rank nv - m; Nᵀ qd is the part of a velocity that the frames do not show. With a regularisation δ these
    hold to order δ². The arguments are those of ``operational_inertia``.
    """


def _fit_wrench(
    function: Function, model: System, choices: tuple[Any, ...], arrays: tuple[Any, ...]
) -> tuple[Function, tuple[Any, ...]]:
    """The variant of ``external_force`` for a wrench (6,) or a force (3,), with or without a point, and its arrays."""
    where, (frame, _), (_, wrench, point) = function.name, choices, arrays
    if model.frame(frame, where).body == 0:
        raise ModelError(f"{where}: frame {frame!r} is fixed to the world, expected one on a moving body.")
    on_gpu = is_on_gpu(wrench)
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
    model: System,
    q: ArrayLike,
    frame: str,
    wrench: ArrayLike,
    *,
    point: ArrayLike | None = None,
    expressed_in: str = "world",
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
