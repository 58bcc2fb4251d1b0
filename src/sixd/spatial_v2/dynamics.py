"""Inverse, forward and hybrid dynamics, and energy, under the original names.

q, qd, qdd and tau have NB entries, one per joint (more for joints of several degrees of freedom). The functions are
compiled when the values of a model are first used. ``ID``, ``HandC``, ``CoriolisMatrix``, ``EnerMo`` and ``jcalc`` also
accept SymPy's symbols, in the model and in its state. ``f_ext`` is omitted, empty, or a list of NB entries, each None
(or empty) or the force on that body, in base coordinates with the moment about the base's origin: spatial (6,) or
planar (3,).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from sixd.algorithms.aba import aba, hybrid
from sixd.algorithms.coriolis import coriolis_matrix
from sixd.algorithms.crba import composite_inertias, crba
from sixd.algorithms.kinematics import body_velocities, joint_kinematics, world_transforms
from sixd.algorithms.linear.tree import ltdl, solve_l, solve_lt
from sixd.algorithms.rnea import bias_force, rnea
from sixd.algorithms.singular import vanishing_pivots
from sixd.errors import ModelError, ScalarTypeError, ShapeError, SingularError
from sixd.io.spatial_v2.matlab import numbers, square, vector
from sixd.io.spatial_v2.structures import PLANAR_CODES, PLANE, Parts, joint_code, joint_of_type, parents
from sixd.model.model import Model
from sixd.spatial.inertia import first_moment
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial_v2.compiled import Mechanism, mechanism, state_vector
from sixd.spatial_v2.structure import Struct

Fields = Mapping[str, Any]  # of a model
Forces = Sequence[ArrayLike | None] | None  # external ones


def ID(model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: Forces = None) -> Array:
    """Return the joint forces tau (NB,) that produce the accelerations ``qdd``, by RNEA  [RBDA Table 5.1]."""
    mech = mechanism("ID", model)
    return mech.run("ID", _rnea, **mech.state("ID", q=q, qd=qd, qdd=qdd), **_forces(mech, "ID", f_ext))


def HandC(model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, f_ext: Forces = None) -> tuple[Array, Array]:
    """Return H (NB, NB) and C (NB,) of H q̈ + C = τ  [RBDA Table 6.2]; C has velocity, gravity and -f_ext terms."""
    mech = mechanism("HandC", model)
    H, C = mech.run("HandC", _matrix_and_bias, **mech.state("HandC", q=q, qd=qd), **_forces(mech, "HandC", f_ext))
    return H, C


def CoriolisMatrix(
    model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, fn: Callable[[Array, Array], Array] | None = None
) -> tuple[Array, Array, Array]:
    """Return C, dH/dt and H (NB, NB): C q̇ is HandC's C without gravity, and dH/dt = C + Cᵀ.

    By default C is that of the Christoffel symbols. ``fn(I, v)`` returns another factor B (6, 6) of a body with
    inertia I and velocity v, spatial also for planar models, with B v = v×* I v and B + Bᵀ = v×* I - I v×.
    """
    where = "CoriolisMatrix"
    mech = mechanism(where, model)
    state = mech.state(where, q=q, qd=qd)
    if fn is not None and not callable(fn):
        raise ScalarTypeError(f"{where}: fn is {fn!r}, expected a function B = fn(I, v). Or omit it.")
    if fn is not None:
        return _coriolis(mech.tree, **state, factor=lambda I, v: square(where, "B of fn", fn(I, v), 6))
    C, Hd, H = mech.run(where, _coriolis, **state)
    return C, Hd, H


def FDab(model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: Forces = None) -> Array:
    """Return the joint accelerations qdd (NB,) under ``tau``, by the articulated-body algorithm  [RBDA Table 7.1].

    If the state is not finite or overflows, as in a step that an integrator rejects, the result is not finite.
    """
    mech = mechanism("FDab", model)
    state = mech.state("FDab", q=q, qd=qd, tau=tau)
    qdd = mech.run("FDab", _aba, **state, **_forces(mech, "FDab", f_ext))
    require_regular("FDab", mech.tree, frozenset(), qdd, state["q"])
    return qdd


def FDcrb(model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: Forces = None) -> Array:
    """Return the joint accelerations qdd (NB,) under ``tau``, by solving H q̈ = τ - C."""
    H, C = HandC(model, q, qd, f_ext)
    return solve("FDcrb", H, vector("FDcrb", "tau", tau, C.size) - C)


def FDgq(model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: Forces = None) -> Array:
    """Return the joint accelerations qdd (NB,) of a mechanism with the loop constraint q = γ(y), ``model["gamma_q"]``.

    ``q, qd, G, g = gamma_q(model, q, qd)`` returns a state closer to the constraint, G = ∂γ/∂y and
    g = Ġ ẏ plus stabilisation. Then q̈ = G (GᵀHG)⁻¹ Gᵀ(τ - C - H g) + g  [RBDA 3.2, 8.11]. Only Gᵀτ matters.
    """
    mech = mechanism("FDgq", model, several=False)
    n = mech.tree.nv
    if not callable(model.get("gamma_q")):
        raise ModelError("FDgq: the model has no function gamma_q, expected q, qd, G, g = gamma_q(model, q, qd).")
    tau = state_vector("FDgq", "tau", tau, n)
    result = model["gamma_q"](model, state_vector("FDgq", "q", q, n).copy(), state_vector("FDgq", "qd", qd, n).copy())
    if not isinstance(result, (tuple, list)) or len(result) != 4:
        raise ModelError(
            f"FDgq: gamma_q returned a {type(result).__name__}, expected q, qd, G, g = gamma_q(model, q, qd)."
        )
    q, qd, G, g = result
    G, g = numbers("FDgq", "G of gamma_q", G, symbols=True), state_vector("FDgq", "g of gamma_q", g, n)
    if G.ndim != 2 or len(G) != n:
        raise ShapeError(f"FDgq: G of gamma_q has shape {G.shape}, expected ({n}, independent variables).")
    q, qd = state_vector("FDgq", "q of gamma_q", q, n), state_vector("FDgq", "qd of gamma_q", qd, n)
    external = _forces(mech, "FDgq", f_ext)
    qdd = mech.run("FDgq", _loop_dynamics, q=q, qd=qd, tau=tau, G=G, g=g, **external)
    if qdd.dtype != object and not isfinite(qdd.sum()):  # a pivot vanishes, but the matrix may be regular
        with np.errstate(all="ignore"):
            H, C = _matrix_and_bias(mech.tree, q, qd, **external)
            qdd = G @ solve("FDgq", G.T @ H @ G, G.T @ (tau - C - H @ g)) + g
    return qdd


def HD(
    model: Fields, fd: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, f_ext: Forces = None
) -> tuple[Array, Array]:
    """Return (qdd, tau), both complete: tau is prescribed for joints with fd(i) = 1, qdd for those with fd(i) = 0.

    The other entries are ignored  [RBDA section 9.2].
    """
    mech = mechanism("HD", model, several=False)
    n = mech.tree.nv
    q, qd, tau = mech.state("HD", q=q, qd=qd, tau=tau).values()
    free = [1] * n if fd is None else vector("HD", "fd", fd, n).tolist()
    arrays = {"qdd": np.zeros(n) if qdd is None else state_vector("HD", "qdd", qdd, n), "tau": tau}
    prescribed = frozenset([i for i, x in enumerate(free, start=1) if x == 0])
    if len(prescribed) + free.count(1) != n:
        raise ModelError(f"HD: fd is {free}, expected 1 (prescribed tau) or 0 (prescribed qdd) for each joint.")
    arrays |= _forces(mech, "HD", f_ext)

    def algorithm(tree: Model, q: Array, qd: Array, qdd: Array, tau: Array, force: Array | None = None) -> Any:
        return hybrid(tree, prescribed, q, qd, qdd, tau, f_ext=force)

    accelerations, forces = mech.run("HD", algorithm, variant=prescribed, q=q, qd=qd, **arrays)
    require_regular("HD", mech.tree, prescribed, accelerations, q)
    return accelerations, forces


def EnerMo(model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike) -> Struct:
    """Return energy and momentum of the whole mechanism, in base coordinates.

    The result is a dictionary whose items are also attributes (``ret.KE`` is ``ret["KE"]``): ``KE``, ``PE`` [J] (0 with
    the centre of mass at the base's origin), ``htot`` (6,) spatial momentum, ``Itot`` (6, 6) inertia, ``mass`` [kg],
    ``cm`` (3,) [m], ``vcm`` (3,) [m/s]. For a planar model htot is (3,), Itot (3, 3), cm and vcm (2,).
    """
    mech = mechanism("EnerMo", model)
    sums = partial(_sums, planar=mech.parts.dimension == 3)
    values = mech.run("EnerMo", sums, **mech.state("EnerMo", q=q, qd=qd))
    ret = Struct(zip(("KE", "PE", "htot", "Itot", "mass", "cm", "vcm"), values, strict=True))
    if ret["mass"] == 0:
        raise ModelError("EnerMo: the total mass is 0, so there is no centre of mass, expected a nonzero mass.")
    return ret


def jcalc(jtyp: str | Mapping[str, Any], q: ArrayLike, qd: ArrayLike | None = None) -> tuple[Array, ...]:
    """Return (Xj, S) of a joint type at q, or with ``qd`` (Xj, S, S° q̇).

    Xj is (6, 6), S (6,), or (6, nf) for a joint of nf degrees of freedom; planar (3, 3) and (3,). S° q̇ (6,), the
    apparent derivative of S times q̇, is zero unless S depends on q; it is a term of the body's acceleration.

    Types are Rx Ry Rz (= R) Px Py Pz (= P), H with a pitch [m/rad], written as
    ``{"code": "H", "pars": {"pitch": 0.1}}``, and planar r px py. Beyond the original: C, cylindrical about z, q =
    (angle, distance); ``{"code": "rack", "pars": {"radius": 0.2}}``, a pinion that rotates about x and rolls along -y;
    S, a ball, q = quaternion, q̇ = ω in the body's axes; Fb, a floating base, q = [quaternion; position].

    >>> X, S, Sd = jcalc({"code": "rack", "pars": {"radius": 1.0}}, 0.0, 2.0)
    >>> S, Sd
    (array([ 1.,  0.,  0.,  0., -1.,  0.]), array([0., 0., 0., 0., 0., 4.]))
    """
    joint = joint_of_type(jtyp)
    at = vector("jcalc", "q", q, joint.nq, symbols=True)
    X, S = _floats(joint.transform(at)), _floats(joint.subspace(at))
    rows = PLANE if joint_code(jtyp) in PLANAR_CODES else list(range(6))
    X, S = X[np.ix_(rows, rows)], S[rows]
    S = S[:, 0] if joint.nv == 1 else S
    if qd is None:
        return X, S
    rate = vector("jcalc", "qd", qd, joint.nv, symbols=True)
    return X, S, _floats(joint.bias(at, rate))[rows]


def apply_external_forces(parent: Any, Xup: Sequence[Any], f_in: Sequence[Any], f_ext: Forces = None) -> list[Array]:
    """Return for each body f_in(i) minus f_ext(i), transformed from base to body coordinates  [RBDA section 5.3].

    ``Xup[i]`` is the transform from the parent's to body i's coordinates; spatial or planar.
    """
    n = len(f_in)
    over = parents("apply_external_forces", "parent", parent, n)
    up = [square("apply_external_forces", "Xup", X, 6, 3) for X in Xup]
    forces = external_forces("apply_external_forces", f_ext, n, len(up[0]) if up else 6)
    Xa: list[Array] = []
    out = []
    for i in range(n):
        Xa.append(up[i] @ Xa[over[i] - 1] if over[i] else up[i])
        f = vector("apply_external_forces", f"f_in of body {i + 1}", f_in[i], len(up[i]))
        out.append(f if forces is None else f - np.linalg.solve(Xa[i].T, forces[i]))
    return out


# reading and solving ------------------------------------------------------------------------------


def external_forces(where: str, f_ext: Any, n: int, d: int) -> Array | None:
    """Return ``f_ext`` as (n, d), zeros for missing entries; None if it is None or empty."""
    if f_ext is None:
        return None
    if not isinstance(f_ext, (list, tuple, dict)) and np.ndim(f_ext) == 0:
        raise ScalarTypeError(f"{where}: f_ext is {f_ext!r}, expected a list of forces, one per body.")
    if len(f_ext) == 0:
        return None
    if len(f_ext) != n:
        raise ShapeError(f"{where}: f_ext has {len(f_ext)} entries, expected NB = {n}, one per body, or an empty list.")
    forces = [np.zeros(d) if f is None or np.size(f) == 0 else vector(where, "an entry of f_ext", f, d) for f in f_ext]
    return np.array(forces)


def spatial_forces(where: str, parts: Parts, f_ext: Forces) -> Array | None:
    """Return ``f_ext`` as (NB, 6), planar forces as spatial ones; None if it is None or empty."""
    forces = external_forces(where, f_ext, parts.count, parts.dimension)
    if forces is None or parts.dimension == 6:
        return forces
    spatial = np.zeros((parts.count, 6))
    spatial[:, PLANE] = forces
    return spatial


def solve(where: str, A: Array, b: Array) -> Array:
    """Return A⁻¹ b; raises SingularError if A is singular."""
    try:
        return np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        raise _singular(where) from None


def require_regular(where: str, tree: Model, prescribed: frozenset[int], qdd: Array, *q: Array) -> None:
    """Raise if accelerations are not finite because the mass matrix is singular."""
    if qdd.dtype == object or isfinite(qdd.sum()) or np.isfinite(qdd).all():
        return
    with np.errstate(all="ignore"):
        if vanishing_pivots(tree, np.concatenate(q), prescribed):
            raise _singular(where)


def _rnea(tree: Model, q: Array, qd: Array, qdd: Array, force: Array | None = None) -> Array:
    return rnea(tree, q, qd, qdd, f_ext=force)


def _aba(tree: Model, q: Array, qd: Array, tau: Array, force: Array | None = None) -> Array:
    return aba(tree, q, qd, tau, f_ext=force)


def _matrix_and_bias(tree: Model, q: Array, qd: Array, force: Array | None = None) -> tuple[Array, Array]:
    return crba(tree, q), bias_force(tree, q, qd, f_ext=force)


def _coriolis(tree: Model, q: Array, qd: Array, factor: Any = None) -> tuple[Array, Array, Array]:
    C = coriolis_matrix(tree, q, qd, factor=factor)
    return C, C + C.T, crba(tree, q)


def _loop_dynamics(
    tree: Model, q: Array, qd: Array, tau: Array, G: Array, g: Array, force: Array | None = None
) -> Array:
    """Return q̈ = G (GᵀHG)⁻¹ Gᵀ(τ - C - H g) + g."""
    H, C = _matrix_and_bias(tree, q, qd, force)
    chain = range(-1, G.shape[1] - 1)
    L, D = ltdl(G.T @ H @ G, chain)
    return G @ solve_l(L, chain, solve_lt(L, chain, G.T @ (tau - C - H @ g)) / D) + g


def _sums(tree: Model, q: Array, qd: Array, planar: bool = False) -> tuple[Any, ...]:
    """Return KE, PE, htot, Itot, mass, cm and vcm of ``EnerMo``."""
    kinematics = joint_kinematics(tree, q, qd)
    X_W, v = world_transforms(tree, kinematics.X), body_velocities(tree, kinematics)

    # momentum of each body, and the sums over all of them in base coordinates
    h = [tree.inertia[i] @ v[i] for i in range(tree.nb + 1)]
    KE = sum(v[i] @ h[i] for i in tree.bodies) / 2
    htot = sum((X_W[i].T @ h[i] for i in tree.bodies), np.zeros(6))
    Itot = composite_inertias(tree, kinematics.X)[0]
    if planar:
        htot, Itot = htot[PLANE], Itot[np.ix_(PLANE, PLANE)]
    moment = np.array([Itot[0, 2], -Itot[0, 1]]) if planar else first_moment(Itot)
    mass, size = Itot[-1, -1], len(moment)
    return KE, -moment @ tree.gravity[:size], htot, Itot, mass, moment / mass, htot[-size:] / mass


def _floats(x: Array) -> Array:
    """Return numbers as floats, symbols as they are."""
    return x if x.dtype == object else x.astype(float)


def _forces(mech: Mechanism, where: str, f_ext: Forces) -> dict[str, Array]:
    """Return ``f_ext`` as the argument ``force`` (NB, 6), zeros if it is empty; no argument if it is None."""
    if f_ext is None:
        return {}
    force = spatial_forces(where, mech.parts, f_ext)
    return {"force": np.zeros((mech.parts.count, 6)) if force is None else force}


def _singular(where: str) -> SingularError:
    return SingularError(
        f"{where}: the mass matrix is singular, expected an inertia on every joint. "
        f"Give the massless bodies at the ends of the tree an inertia."
    )
