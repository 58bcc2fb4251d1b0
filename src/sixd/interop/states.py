"""Conversion of states to the coordinates of Pinocchio and MuJoCo, and back.

Neither program is imported: their models are read as objects. Every function takes q and any of qd, qdd and tau, and
returns those given, in that order: the array q alone if only q is given, else a tuple. Arrays may have leading batch
dimensions, which broadcast; every result has the common ones. A state of another program that is not converted is an
error where its numbers are not unit quaternions of sixd, and goes unnoticed where they happen to be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.errors import ModelError
from sixd.interop.layouts import StateLayout, mujoco_layout, pinocchio_layout
from sixd.model import Model
from sixd.runtime import batch

_KIND = {"q": "q", "qd": "v", "qdd": "v", "tau": "v"}  # coordinates or freedoms


def to_pinocchio(
    model: Model, q: Any, qd: Any = None, qdd: Any = None, tau: Any = None, *, pinocchio_model: Any = None
) -> Any:
    """Return a state of ``model`` in Pinocchio's coordinates.

    Parameters
    ----------
    q : (…, nq); qd, qdd, tau : (…, nv) or None, in sixd's conventions.
    pinocchio_model : the ``pinocchio.Model``; joints are matched by name. Without it the order is that of Pinocchio's
        own reader for the file that the model was loaded from: depth first over the links, siblings by the name of
        their joint. It is needed for a model that was built, edited, or written by ``to_urdf``.

    Returns
    -------
    q alone if nothing else is given, else a tuple of those given of (q, v, a, tau), as Pinocchio has them:
    free-flyer [x y z, qx qy qz qw] and [v; ω]; spherical [qx qy qz qw]; continuous (cos, sin); planar
    (x, y, cos, sin) and (vx, vy, ω) in body axes.
    """
    layout = pinocchio_layout("to_pinocchio", model, pinocchio_model)
    return _convert("to_pinocchio", model, layout, True, q, qd, qdd, tau)


def from_pinocchio(
    model: Model, q: Any, qd: Any = None, qdd: Any = None, tau: Any = None, *, pinocchio_model: Any = None
) -> Any:
    """Return Pinocchio's (q, v, a, tau) in the coordinates of ``model``; inverse of :func:`to_pinocchio`.

    Angles of continuous joints are in (-pi, pi]. Returns q alone if nothing else is given, else a tuple.
    """
    layout = pinocchio_layout("from_pinocchio", model, pinocchio_model)
    return _convert("from_pinocchio", model, layout, False, q, qd, qdd, tau)


def to_mujoco(
    model: Model, q: Any, qd: Any = None, qdd: Any = None, tau: Any = None, *, mujoco_model: Any = None
) -> Any:
    """Return a state of ``model`` in MuJoCo's coordinates.

    Parameters
    ----------
    q : (…, nq); qd, qdd, tau : (…, nv) or None, in sixd's conventions.
    mujoco_model : the ``mujoco.MjModel``; joints are matched by name (an unnamed one as ``sixd.load`` calls it, such as
        ``joint7``), those of several freedoms by the names that ``sixd.to_mjcf`` gives their parts. Without it the
        order is sixd's own, which is MuJoCo's for a model read from MJCF.

    Returns
    -------
    q alone if nothing else is given, else a tuple of those given of (qpos, qvel, qacc, qfrc), as MuJoCo has them:
    a free joint is [x y z, qw qx qy qz] in the world, with linear velocity, acceleration and force first, in world
    axes, and the angular ones in body axes.
    """
    layout = mujoco_layout("to_mujoco", model, mujoco_model)
    return _convert("to_mujoco", model, layout, True, q, qd, qdd, tau)


def from_mujoco(
    model: Model, q: Any, qd: Any = None, qdd: Any = None, tau: Any = None, *, mujoco_model: Any = None
) -> Any:
    """Return MuJoCo's (qpos, qvel, qacc, qfrc) in the coordinates of ``model``; inverse of :func:`to_mujoco`.

    Returns q alone if nothing else is given, else a tuple.
    """
    layout = mujoco_layout("from_mujoco", model, mujoco_model)
    return _convert("from_mujoco", model, layout, False, q, qd, qdd, tau)


def _convert(where: str, model: Model, layout: StateLayout, to_other: bool, q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
    """Return the arrays given in the other coordinates; whole batches are converted joint by joint."""
    own, other = {"q": model.nq, "v": model.nv}, {"q": layout.nq, "v": layout.nv}
    sizes, new_sizes = (own, other) if to_other else (other, own)
    whose = f"of model {model.name!r}" if to_other else "of the other program"
    values = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    given = [
        batch.Argument(name, value, (sizes[_KIND[name]],), f"n{_KIND[name]} {whose}")
        for name, value in values.items()
        if name == "q" or value is not None
    ]
    rows, shape, dtype = batch.broadcast(where, given)
    arrays = {argument.name: array for argument, array in zip(given, rows, strict=True)}
    turning = [entry.name for entry in layout.entries if entry.rule.rate is not None]
    if qdd is not None and qd is None and turning:
        raise ModelError(
            f"{where}: qd is missing, expected it with qdd: in the other program the acceleration of joint "
            f"{turning[0]!r} depends on its velocity. Give qd."
        )
    out = {name: np.zeros((*shape, new_sizes[_KIND[name]]), dtype=dtype) for name in arrays}
    for entry in layout.entries:
        ours, theirs = {"q": entry.q, "v": entry.v}, {"q": entry.other_q, "v": entry.other_v}
        source, target = (ours, theirs) if to_other else (theirs, ours)
        state = {name: x[..., source[_KIND[name]]] for name, x in arrays.items()}
        with np.errstate(all="ignore"):  # a zero quaternion gives NaN in its row
            new = entry.rule.to_other(state) if to_other else entry.rule.from_other(state)
        for name, x in new.items():
            out[name][..., target[_KIND[name]]] = x
    return out["q"] if len(out) == 1 else tuple(out.values())
