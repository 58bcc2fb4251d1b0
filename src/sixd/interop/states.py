"""Conversion of states to the coordinates of Pinocchio and MuJoCo, and back.

Neither program is imported: their models are read as objects. Every function expects q and accepts qd, qdd and tau. It
returns the same quantities in this order: the array q if there is only q, else a tuple. Arrays may have leading batch
dimensions, which broadcast. Forgetting to convert a state raises an error only if its quaternions are not of unit
length in sixd's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import ModelError
from sixd.interop.layouts import StateLayout, mujoco_layout, pinocchio_layout
from sixd.model import Model
from sixd.runtime import batch
from sixd.spatial.scalar import ArrayLike

if TYPE_CHECKING:
    import pinocchio
    from mujoco import MjModel

_KIND = {"q": "q", "qd": "v", "qdd": "v", "tau": "v"}  # nq or nv entries


def to_pinocchio(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    pinocchio_model: pinocchio.Model | None = None,
) -> Any:
    """Return a state of ``model`` in Pinocchio's coordinates.

    Parameters
    ----------
    q : (…, nq); qd, qdd, tau : (…, nv) or None, in sixd's conventions.
    pinocchio_model : the ``pinocchio.Model``; joints are matched by name. Without it the order is that of Pinocchio's
        own reader for the file that the model was loaded from: depth first over the links, siblings by the name of
        their joint. It is required for a model that was built, edited, or written by ``to_urdf``.

    Returns
    -------
    q if there is no other input, else a tuple of the inputs among (q, v, a, tau), in Pinocchio's conventions:
    free-flyer [x y z, qx qy qz qw] and [v; ω]; spherical [qx qy qz qw]; continuous (cos, sin); planar
    (x, y, cos, sin) and (vx, vy, ω) in body axes.
    """
    return _convert("to_pinocchio", pinocchio_layout, model, pinocchio_model, q, qd, qdd, tau)


def from_pinocchio(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    pinocchio_model: pinocchio.Model | None = None,
) -> Any:
    """Return Pinocchio's (q, v, a, tau) in the coordinates of ``model``; inverse of :func:`to_pinocchio`.

    Angles of continuous joints are in (-pi, pi]. Returns q if there is no other input, else a tuple.
    """
    return _convert("from_pinocchio", pinocchio_layout, model, pinocchio_model, q, qd, qdd, tau)


def to_mujoco(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    mujoco_model: MjModel | None = None,
) -> Any:
    """Return a state of ``model`` in MuJoCo's coordinates.

    Parameters
    ----------
    q : (…, nq); qd, qdd, tau : (…, nv) or None, in sixd's conventions.
    mujoco_model : the ``mujoco.MjModel``; joints are matched by name (unnamed ones by the name from ``sixd.load``, such
        as ``joint7``), joints of several degrees of freedom by the names of their parts in ``sixd.to_mjcf``. Without it
        the order is sixd's own, which is MuJoCo's for a model read from MJCF.

    Returns
    -------
    q if there is no other input, else a tuple of the inputs among (qpos, qvel, qacc, qfrc), in MuJoCo's conventions:
    a free joint is [x y z, qw qx qy qz] in the world; linear velocity, acceleration and force come first, in world
    axes, angular ones follow, in body axes.
    """
    return _convert("to_mujoco", mujoco_layout, model, mujoco_model, q, qd, qdd, tau)


def from_mujoco(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    mujoco_model: MjModel | None = None,
) -> Any:
    """Return MuJoCo's (qpos, qvel, qacc, qfrc) in the coordinates of ``model``; inverse of :func:`to_mujoco`.

    Returns q if there is no other input, else a tuple.
    """
    return _convert("from_mujoco", mujoco_layout, model, mujoco_model, q, qd, qdd, tau)


def _convert(where: str, layout_of: Callable[..., StateLayout], model: Model, other_model: Any, *state: Any) -> Any:
    """Return the arrays (q, qd, qdd, tau) in the other coordinates; whole batches are converted joint by joint."""
    layout, to_other = layout_of(where, model, other_model), where.startswith("to_")
    own, other = {"q": model.nq, "v": model.nv}, {"q": layout.nq, "v": layout.nv}
    sizes, new_sizes = (own, other) if to_other else (other, own)
    whose = f"of model {model.name!r}" if to_other else "of the other program"
    arguments = [
        batch.Argument(name, value, (sizes[_KIND[name]],), f"n{_KIND[name]} {whose}")
        for name, value in zip(_KIND, state, strict=True)
        if name == "q" or value is not None
    ]
    broadcast, shape, dtype = batch.broadcast(where, arguments)
    arrays = {argument.name: array for argument, array in zip(arguments, broadcast, strict=True)}
    varying = [entry.name for entry in layout.entries if entry.rule.rate is not None]
    if "qdd" in arrays and "qd" not in arrays and varying:
        raise ModelError(
            f"{where}: qd is missing, expected it with qdd: in the other program the acceleration of joint "
            f"{varying[0]!r} depends on its velocity. Pass qd."
        )
    out = {name: np.zeros((*shape, new_sizes[_KIND[name]]), dtype=dtype) for name in arrays}
    for entry in layout.entries:
        ours, theirs = {"q": entry.q, "v": entry.v}, {"q": entry.other_q, "v": entry.other_v}
        source, target = (ours, theirs) if to_other else (theirs, ours)
        old = {name: x[..., source[_KIND[name]]] for name, x in arrays.items()}
        with np.errstate(all="ignore"):  # a zero quaternion gives NaN in its state
            new = entry.rule.to_other(old) if to_other else entry.rule.from_other(old)
        for name, x in new.items():
            out[name][..., target[_KIND[name]]] = x
    return out["q"] if len(out) == 1 else tuple(out.values())
