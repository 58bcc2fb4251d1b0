"""Ground contact under the original names: a compliant plane z = 0 (planar: y = 0) with friction.

Contact points are fixed in bodies: ``model["gc"]`` has ``body``, the number of each point's body, and ``point``, 3×n or
planar 2×n, its coordinates there. Points are always columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sixd.algorithms.kinematics import body_velocities, joint_kinematics, world_transforms
from sixd.errors import ModelError, ScalarTypeError, ShapeError, look_up
from sixd.forces.ground import contact_law, normal_pressure
from sixd.io.spatial_v2.matlab import columns, count, numbers, single, vector, vectors
from sixd.io.spatial_v2.structures import body_count, dimension, read
from sixd.model.model import Model
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial.transform import inverse_transform, transform_point
from sixd.spatial_v2.algebra import Vpt
from sixd.spatial_v2.dynamics import FDab, FDcrb, FDgq
from sixd.spatial_v2.floating import FDfb, floating_model, free_joint_state
from sixd.spatial_v2.structure import assemble

_DYNAMICS: dict[str, Callable[..., Any]] = {"FDab": FDab, "FDcrb": FDcrb, "FDgq": FDgq, "FDfb": FDfb}


def gcontact(K: ArrayLike, D: ArrayLike, mu: ArrayLike, p: ArrayLike, pd: ArrayLike, u: ArrayLike | None = None) -> Any:
    """Return (f, ud, fcone): forces [N] on points, rates of the ground's tangential deformation, a friction measure.

    Parameters
    ----------
    K, D : stiffness [N/m^1.5] and damping [N s/m^1.5] of the ground; K = F/d^1.5 for a force F at compression d.
    mu : coefficient of friction. With 0 only the normal forces (n,) are returned, and ``u`` is not required.
    p, pd : positions [m] and velocities [m/s], 3×n or planar 2×n.
    u : tangential deformation [m] of the ground under each point, 2×n or planar 1×n: a state to be integrated.

    Notes
    -----
    With s = √max(0, -z): fn = s (-K z - D ż), with contact while fn is positive. A point sticks with
    ft = -s (K u + D ṗt) if this lies in the friction cone, ``fcone`` = ‖ft‖/(μ fn) ≤ 1; else it slips, and ft is
    scaled back onto the cone. Then ud = -(ft + s K u)/(s D). A free point has f = 0 and fcone = 2, and its u decays
    with ud = -(K/D) u. The largest fcone returned is 2. The original returns one array: ``np.vstack`` does the same.
    """
    x = numbers("gcontact", "p", p)
    d = x.size if x.ndim < 2 else len(x)
    if d not in (2, 3):
        raise ShapeError(f"gcontact: p has shape {x.shape}, expected 3×n or, planar, 2×n.")
    P, V = columns("gcontact", "p", p, d), columns("gcontact", "pd", pd, d)
    if P.shape != V.shape:
        raise ShapeError(f"gcontact: p has {P.shape[1]} columns, pd {V.shape[1]}; expected the same number.")
    K, D, mu = (numbers("gcontact", name, x) for name, x in (("K", K), ("D", D), ("mu", mu)))
    for name, x in (("K", K), ("D", D), ("mu", mu)):
        if x.shape not in ((), (1,), (P.shape[1],)):
            raise ShapeError(f"gcontact: {name} has shape {x.shape}, expected a number or one for each of the points.")
        if not (x >= 0).all():
            raise ModelError(f"gcontact: {name} is {x.tolist()}, expected at least 0.")
    # a point with NaN in its velocity gets NaN forces
    z, zd = np.where(np.isnan(V[-1]), np.nan, P[-1]), V[-1]
    s, pressure = normal_pressure(K, D, z, zd)
    fn = s * pressure
    if not np.any(mu):
        return fn[0] if single(p) else fn
    if not np.all(D > 0):
        raise ModelError(
            f"gcontact: D is {D.tolist()}, expected positive damping; the ground's deformation decays by it."
        )
    if u is None:
        raise ModelError("gcontact: u is None, expected the ground's deformation, since mu > 0.")
    U = columns("gcontact", "u", np.atleast_2d(u) if d == 2 else u, d - 1)
    if U.shape[1] != P.shape[1]:
        raise ShapeError(f"gcontact: u has {U.shape[1]} columns, p {P.shape[1]}; expected the same number.")
    c = contact_law(K, D, mu, z, zd, V[:-1], U)
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 for points at rest on a ground without friction
        ratio = np.where(c.demand > 0, np.minimum(c.demand / c.limit, 2.0), 0.0)
    f, ud, fcone = np.concatenate([c.tangential, fn[None]]), c.rate, np.where(fn <= 0, 2.0, ratio)
    return (f[:, 0], ud[:, 0], fcone[0]) if single(p) else (f, ud, fcone)


def gcPosVel(model: Mapping[str, Any], *state: Any) -> Array:
    """Return positions [m] and velocities [m/s] of the model's contact points in base coordinates, 6×n (planar 4×n).

    Called as ``gcPosVel(model, q, qd)``, or for a floating base as ``gcPosVel(model, xfb)`` or
    ``gcPosVel(model, xfb, q, qd)``.
    """
    if len(state) == 2:
        parts = read("gcPosVel", model)
        tree = assemble(parts)
        index = {i: i for i in tree.bodies}
        q, qd = vectors("gcPosVel", tree.nv, q=state[0], qd=state[1])
    elif len(state) in (1, 3):
        tree, parts = (mech := floating_model("gcPosVel", model)).tree, mech.parts
        index = {i + 5: i for i in tree.bodies}  # body 6 is the tree's body 1
        q_base, qd_base, _ = free_joint_state("gcPosVel", state[0])
        joints = vectors("gcPosVel", parts.count - 6, **dict(zip(("q", "qd"), state[1:] or ((), ()), strict=True)))
        q, qd = np.concatenate([q_base, joints[0]]), np.concatenate([qd_base, joints[1]])
    else:
        raise ShapeError(f"gcPosVel: got {len(state)} arguments after the model, expected q, qd; xfb; or xfb, q, qd.")
    return _points_of(model, tree, index, q, qd, parts.dimension // 3 + 1)


def _points_of(model: Mapping[str, Any], tree: Model, index: dict[int, int], q: Array, qd: Array, height: int) -> Array:
    body, point = contact_points("gcPosVel", model, height)
    kinematics = joint_kinematics(tree, q, qd)
    X_W, v = world_transforms(tree, kinematics.X), body_velocities(tree, kinematics)
    unknown = [number for number in body if number and number not in index]
    if unknown:
        raise ModelError(f"gcPosVel: gc.body holds {unknown[0]}, expected 0 or {min(index)} to {max(index)}.")
    out = np.zeros((2 * height, len(body)))
    for number in set(body):
        i, mine = index.get(number, 0), [k for k, b in enumerate(body) if b == number]
        X_Wi = inverse_transform(X_W[i])
        p = np.concatenate([point[:, mine], np.zeros((3 - height, len(mine)))])
        at = transform_point(X_Wi, p)
        out[:, mine] = np.concatenate([at[:height], Vpt(X_Wi @ v[i], at)[:height]])
    return out


def gcFD(model: Mapping[str, Any], FDfun: str | Callable[..., Any], u: ArrayLike) -> Array:
    """Return the forward dynamics of a model with forces at its contact points, as one vector, for simulation loops.

    Parameters
    ----------
    FDfun : ``FDab``, ``FDcrb``, ``FDgq`` or ``FDfb``, or the name of one, or a function called like FDab.
    u : [q; qd; tau; f], for FDfb [xfb; q; qd; tau; f]. f contains the forces on the contact points one after another,
        as ``Fpt(f, p).ravel(order="F")`` returns them: 6 (planar 3) numbers per point, in base coordinates.

    Returns
    -------
    qdd, for FDfb [xdfb; qdd].
    """
    function = look_up("gcFD", "forward dynamics function", FDfun, _DYNAMICS) if isinstance(FDfun, str) else FDfun
    floating = function is FDfb
    if floating:
        floating_model("gcFD", model)  # raises if there is no floating base
    d, nb = dimension("gcFD", model), body_count("gcFD", model)
    body = contact_points("gcFD", model, d // 3 + 1)[0]
    sizes = [13, nb - 6, nb - 6, nb - 6] if floating else [nb, nb, nb]
    x = vector("gcFD", "u", u, sum(sizes) + d * len(body))
    *state, forces = np.split(x, np.cumsum(sizes))
    f_ext: list[Any] = [None] * nb
    for number, f in zip(body, forces.reshape(-1, d), strict=True):
        if not 0 <= number <= nb:
            raise ModelError(f"gcFD: gc.body holds {number}, expected 0 to {nb}.")
        if number:
            f_ext[number - 1] = f if f_ext[number - 1] is None else f_ext[number - 1] + f
    result = function(model, *state, f_ext)
    return np.concatenate(result) if floating else result


def contact_points(where: str, model: Mapping[str, Any], height: int) -> tuple[list[int], Array]:
    """Return body numbers and coordinates (height, n) of the contact points; empty if the model has no ``gc``."""
    gc = model.get("gc")
    if not gc:
        return [], np.zeros((height, 0))
    if not isinstance(gc, Mapping):
        raise ScalarTypeError(
            f"{where}: the model's gc is a {type(gc).__name__}, expected a dictionary of body and point."
        )
    if not {"body", "point"} <= set(gc):
        raise ModelError(f"{where}: the model's gc has the fields {', '.join(gc)}, expected body and point.")
    point = columns(where, "gc.point", gc["point"], height)
    numbers_of = vector(where, "gc.body", gc["body"], point.shape[1])
    return [count(where, "a number in gc.body", b) for b in numbers_of], point
