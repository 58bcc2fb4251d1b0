"""Floating bases: models with a base of six degrees of freedom, and their dynamics without a singularity.

``floatbase`` replaces joint 1 by six joints, so that all functions for trees apply; bodies 1 to 5 are massless and
the floating base is body 6. ``FDfb`` and ``IDfb`` use the same model but describe body 6 by 13 numbers:
x = [quaternion (4); position (3); spatial velocity (6)], the last in FIXED base coordinates, not in the body's.
They use a sixd Model whose body 6 has a free joint; sixd's own free joint has its velocity in body axes.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sixd.algorithms.aba import hybrid
from sixd.errors import ModelError, ModelWarning
from sixd.io.spatial_v2.matlab import vector
from sixd.io.spatial_v2.structures import Parts, body_count, dimension, entry, parents
from sixd.model.joints import Free
from sixd.model.model import Model
from sixd.spatial.rotation import quaternion_multiply, quaternion_to_rotation
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial.transform import inverse_transform, plucker, point_velocity
from sixd.spatial_v2.compiled import Mechanism, mechanism, state_vector
from sixd.spatial_v2.dynamics import Fields, Forces, require_regular, spatial_forces
from sixd.spatial_v2.rotation import rq, stabilised
from sixd.spatial_v2.structure import Struct, assemble

_JOINTS = ("Px", "Py", "Pz", "Rx", "Ry", "Rz")
_EXTRA = len(_JOINTS) - 1  # massless bodies before the floating base


def floatbase(model: Mapping[str, Any]) -> Struct:
    """Return the model with joint 1 replaced by Px Py Pz Rx Ry Rz: its body i becomes body i + 5.

    Body numbers in ``camera``, ``gc`` and ``appearance`` are shifted too. The Euler angles are singular at q(5) = ±π/2.
    Warns if the first joint is not at the base's origin (Xtree(6) keeps the offset, which FDfb and IDfb ignore), and if
    there is a ``gamma_q``, which does not include the new joints.
    """
    if dimension("floatbase", model) != 6:
        raise ModelError("floatbase: the model is planar, expected a spatial one. Use joints px, py, r instead.")
    old = parents("floatbase", "parent", model["parent"], body_count("floatbase", model))
    if old.count(0) != 1:
        raise ModelError(f"floatbase: {old.count(0)} bodies are joined to the base, expected one.")
    new = Struct(copy.deepcopy(dict(model)))
    n = len(old)
    new.NB = n + _EXTRA
    new.parent = np.array([*range(_EXTRA + 1), *(p + _EXTRA for p in old[1:])])
    new.jtype = [*_JOINTS, *(entry(new.jtype, i) for i in range(1, n))]
    new.Xtree = [*(np.eye(6) for _ in range(_EXTRA)), *(np.array(entry(new.Xtree, i)) for i in range(n))]
    new.I = [*(np.zeros((6, 6)) for _ in range(_EXTRA)), *(np.array(entry(new.I, i)) for i in range(n))]
    _shift_numbers(new)
    _warn_of_loss(new)
    return new


def FDfb(
    model: Fields, xfb: ArrayLike, q: ArrayLike = (), qd: ArrayLike = (), tau: ArrayLike = (), f_ext: Forces = None
) -> tuple[Array, Array]:
    """Return (xdfb, qdd): rate (13,) of the floating base's state, accelerations (NB - 6,) of the joints  [RBDA 9.3].

    q, qd and tau are those of joints 7 to NB. ``f_ext`` has NB entries; the first five are ignored. The last six
    numbers of xdfb are body 6's spatial acceleration, including gravity, in fixed base coordinates.
    """
    return _move("FDfb", model, xfb, f_ext, q=q, qd=qd, tau=tau)


def IDfb(
    model: Fields, xfb: ArrayLike, q: ArrayLike = (), qd: ArrayLike = (), qdd: ArrayLike = (), f_ext: Forces = None
) -> tuple[Array, Array]:
    """Return (xdfb, tau): rate of the floating base's state and joint forces (NB - 6,) for ``qdd``  [RBDA Table 9.6].

    Arguments as for ``FDfb``. Without joints (NB = 6) tau is empty.
    """
    return _move("IDfb", model, xfb, f_ext, q=q, qd=qd, qdd=qdd)


def floating_model(where: str, model: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism in which body 6 has a free joint, without bodies 1 to 5."""
    mech = mechanism(where, model, several=False)
    if mech.floating is None:
        mech.floating = Mechanism(mech.parts, _with_free_joint(where, mech.parts), mech.content)
    return mech.floating


def _with_free_joint(where: str, parts: Parts) -> Model:
    if parts.dimension != 6:
        raise ModelError(f"{where}: the model is planar, expected a spatial one made by floatbase.")
    if parts.count < 6 or parts.parent[:6] != (0, 1, 2, 3, 4, 5) or min(parts.parent[6:], default=6) < 6:
        raise ModelError(
            f"{where}: the model has no floating base, expected bodies 1 to 6 in a chain and all others carried by "
            f"body 6. Make it with floatbase."
        )
    floating = replace(
        parts,
        parent=(0, *(p - _EXTRA for p in parts.parent[6:])),
        joints=(Free(), *parts.joints[6:]),
        placement=np.concatenate([np.eye(4)[None], parts.placement[6:]]),
        inertia=parts.inertia[_EXTRA:],
    )
    return assemble(floating)


def free_joint_state(where: str, xfb: ArrayLike) -> tuple[Array, Array, Array]:
    """Return q (7,) and qd (6,) of sixd's free joint, and the transform (6, 6) from the fixed base to body 6."""
    x = vector(where, "xfb", xfb, 13)
    X = plucker(rq(x[:4]), x[4:7])
    return x[:7], X @ x[7:], X


def _move(where: str, model: Fields, xfb: ArrayLike, f_ext: Forces, **state: ArrayLike) -> Any:
    """Return xdfb, and qdd for a prescribed tau or tau for a prescribed qdd; no force drives the base."""
    mech = floating_model(where, model)
    x, n = state_vector(where, "xfb", xfb, 13), mech.parts.count - 6
    arrays = {name: state_vector(where, name, value, n) for name, value in state.items()}
    forces = spatial_forces(where, mech.parts, f_ext)
    if forces is not None:
        arrays["force"] = forces[_EXTRA:]
    if not x[:4].any():
        rq(x[:4])  # raises
    rate, rest = mech.run(where, _inverse if "qdd" in state else _forward, x=x, **arrays)
    prescribed = frozenset(range(2, mech.tree.nb + 1) if "qdd" in state else ())
    for accelerations in (rate, rest):
        require_regular(where, mech.tree, prescribed, accelerations, x[:7], arrays["q"])
    return rate, rest


def _forward(tree: Model, x: Array, q: Array, qd: Array, tau: Array, force: Array | None = None) -> Any:
    return _rates(tree, frozenset(), x, q, qd, 0 * tau, tau, force)[:2]


def _inverse(tree: Model, x: Array, q: Array, qd: Array, qdd: Array, force: Array | None = None) -> Any:
    return _rates(tree, frozenset(range(2, tree.nb + 1)), x, q, qd, qdd, 0 * qdd, force)[::2]


def _rates(
    tree: Model, prescribed: frozenset[int], x: Array, q: Array, qd: Array, qdd: Array, tau: Array, force: Any
) -> tuple[Array, Array, Array]:
    """Return xdfb, qdd and tau of one state."""
    X = plucker(quaternion_to_rotation(x[:4]).T, x[4:7])
    zero = np.zeros(6, dtype=int)
    state = [np.concatenate(pair) for pair in ((x[:7], q), (X @ x[7:], qd), (zero, qdd), (zero, tau))]
    qdd_all, tau_all = hybrid(tree, prescribed, *state, f_ext=force)
    quaternion_rate = quaternion_multiply(stabilised(x[:4], x[7:10]), x[:4]) / 2
    rate = np.concatenate([quaternion_rate, point_velocity(x[7:], x[4:7]), inverse_transform(X) @ qdd_all[:6]])
    return rate, qdd_all[6:], tau_all[6:]


def _shift_numbers(model: Struct) -> None:
    """Shift the body numbers in the optional fields; bodies 1 to 5 have no shapes."""
    if model.get("appearance") and "body" in model.appearance:
        model.appearance["body"] = [[] for _ in range(_EXTRA)] + list(model.appearance["body"])
    if model.get("camera") and model.camera.get("body", 0):
        model.camera["body"] = model.camera["body"] + _EXTRA
    if model.get("gc") and "body" in model.gc:
        body = np.asarray(model.gc["body"], dtype=int)
        model.gc["body"] = np.where(body > 0, body + _EXTRA, 0)


def _warn_of_loss(model: Struct) -> None:
    if not np.array_equal(model.Xtree[_EXTRA], np.eye(6)):
        text = "Xtree(1) is not the identity; it is kept as Xtree(6), which FDfb and IDfb ignore. "
        text += "Put the floating body's frame at the base's origin."
        warnings.warn(f"floatbase: {text}", ModelWarning, stacklevel=3)
    if model.get("gamma_q") is not None:
        text = "gamma_q is kept, but does not include the six new joints. Rewrite it."
        warnings.warn(f"floatbase: {text}", ModelWarning, stacklevel=3)
