"""What users call: free functions of a model and arrays.

Each names its arguments' shapes, has them validated and batched by ``sixd.batch``, and runs the algorithm of
the same name. State arrays may have leading batch dimensions, which broadcast; ``out=`` is filled if given;
float32 in, float32 out; object arrays (SymPy) in, object arrays out. NaN in a state gives NaN in its row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

import numpy as np

from sixd import batch
from sixd.algorithms import aba, crba, kinematics, rnea
from sixd.algorithms import jacobian as jacobians
from sixd.algorithms import momentum as momenta
from sixd.algorithms import solve as solves
from sixd.errors import ModelError, ScalarTypeError, ShapeError, SingularError
from sixd.evaluate import COORDINATES, require_choice, require_mass, run, run_framed, solve
from sixd.model.manifold import nonfinite_error
from sixd.model.model import Model, require_model
from sixd.spatial.points import force_at_point
from sixd.spatial.scalar import Array, is_object, require_scalars
from sixd.spatial.transform import rotate_both

# dynamics ---------------------------------------------------------------------------------------


def inverse_dynamics(model: Model, q: Any, qd: Any, qdd: Any, *, f_ext: Any = None, out: Any = None) -> Array:
    """Joint forces that produce the accelerations: tau = M qdd + h.

    Parameters
    ----------
    q : (…, nq) configuration [rad or m; quaternions wxyz].
    qd, qdd : (…, nv) velocity and acceleration.
    f_ext : (…, nb, 6) wrench [n; f] that the environment exerts on each body, world axes, moment about the world's
        origin [N m, N]; see ``external_force``.

    Returns
    -------
    tau : (…, nv) [N m or N], damping, friction, springs and armature included.

    Notes
    -----
    Recursive Newton-Euler, O(n)  [RBDA Table 5.1].

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> sixd.inverse_dynamics(arm, [0.3, 0.5], [1, -2], [0.4, 0.6]).round(6)
    array([1.480974, 0.748563])
    """
    return run("inverse_dynamics", rnea.rnea, model, out, q=q, qd=qd, qdd=qdd, f_ext=f_ext)


def forward_dynamics(model: Model, q: Any, qd: Any, tau: Any, *, f_ext: Any = None, out: Any = None) -> Array:
    """Accelerations under joint forces: qdd = M⁻¹ (tau - h).

    Arguments as for ``inverse_dynamics``; returns qdd (…, nv). Raises ``SingularError`` where the mass matrix is
    singular, naming the joints that move no inertia. Articulated-body algorithm, O(n)  [RBDA Table 7.1].
    """
    return solve("forward_dynamics", aba.aba, model, out, q=q, qd=qd, tau=tau, f_ext=f_ext)


def hybrid_dynamics(
    model: Model,
    given: Collection[str],
    q: Any,
    qd: Any,
    qdd: Any,
    tau: Any,
    *,
    f_ext: Any = None,
    out: Any = None,
) -> tuple[Array, Array]:
    """(qdd, tau), both complete, where the joints named in ``given`` have their qdd given and the others their tau.

    Entries that are not given are ignored and may be anything. O(n)  [RBDA section 9.2].
    """
    where = "hybrid_dynamics"
    if isinstance(given, str):
        raise ScalarTypeError(f"{where}: given is the string {given!r}, expected a list of joint names: [{given!r}].")
    require_model(where, model)
    if not isinstance(given, Iterable):
        raise ScalarTypeError(f"{where}: given is {given!r}, expected a list of joint names, such as [].")
    prescribed = frozenset(model.joint_index(name) for name in given)
    mask = np.zeros(model.nv, dtype=bool)
    for i in prescribed:
        mask[model.iv[i]] = True

    def algorithm(model: Model, q: Array, qd: Array, qdd: Array, tau: Array, f_ext: Array | None = None) -> Any:
        return aba.hybrid(model, prescribed, q, qd, qdd, tau, f_ext=f_ext)

    qdd, tau = _used(where, "qdd", qdd, mask), _used(where, "tau", tau, ~mask)
    return solve(where, algorithm, model, out, prescribed, q=q, qd=qd, qdd=qdd, tau=tau, f_ext=f_ext)


def _used(where: str, name: str, values: Any, mask: Array) -> Any:
    """``values`` with what the mask leaves out set to zero; what is no array of that length is left to the border."""
    batch.require_unmasked(where, name, values)
    require_scalars(f"{where}: {name}", values)
    array = np.asarray(values)
    return np.where(mask, array, 0) if array.shape[-1:] == mask.shape else values


def mass_matrix(model: Model, q: Any, *, out: Any = None) -> Array:
    """Mass matrix M (…, nv, nv), armature included; composite-rigid-body algorithm  [RBDA Table 6.2]."""
    return run("mass_matrix", crba.crba, model, out, q=q)


def bias_force(model: Model, q: Any, qd: Any, *, f_ext: Any = None, out: Any = None) -> Array:
    """h (…, nv): inverse dynamics at zero acceleration (velocity terms, gravity, passive forces, -Jᵀf_ext)."""
    return run("bias_force", rnea.bias_force, model, out, q=q, qd=qd, f_ext=f_ext)


def gravity_force(model: Model, q: Any, *, out: Any = None) -> Array:
    """g (…, nv): the joint forces that hold the mechanism against gravity alone."""
    return run("gravity_force", rnea.gravity_force, model, out, q=q)


def inverse_mass_matrix(model: Model, q: Any, *, out: Any = None) -> Array:
    """M⁻¹ (…, nv, nv); raises ``SingularError`` where M is singular."""
    return solve("inverse_mass_matrix", solves.inverse_mass_matrix, model, out, q=q)


def mass_matrix_solve(model: Model, q: Any, b: Any, *, out: Any = None) -> Array:
    """M⁻¹ b (…, nv) for b (…, nv), in O(n) by the articulated-body recursion.

    A batch of right-hand sides is (batch, nv), a row each, unlike the columns of ``numpy.linalg.solve``.
    """
    return solve("mass_matrix_solve", solves.mass_matrix_solve, model, out, q=q, b=b)


# energy and momentum ----------------------------------------------------------------------------


def energy(model: Model, q: Any, qd: Any, *, out: Any = None) -> tuple[Any, Any]:
    """(kinetic, potential) [J], each (…). Zero potential: centre of mass at height 0, springs at rest."""
    return run("energy", momenta.energy, model, out, q=q, qd=qd)


def momentum(model: Model, q: Any, qd: Any, *, out: Any = None) -> Array:
    """Spatial momentum [k; p] (…, 6) of all bodies, world axes, about the world's origin."""
    return run("momentum", momenta.momentum, model, out, q=q, qd=qd)


def center_of_mass(model: Model, q: Any, *, out: Any = None) -> Array:
    """Centre of mass (…, 3) of the moving bodies in the world [m]."""
    require_mass("center_of_mass", model)
    return run("center_of_mass", momenta.center_of_mass, model, out, q=q)


def centroidal_matrix(model: Model, q: Any, *, out: Any = None) -> Array:
    """A_G (…, 6, nv): momentum about the centre of mass, world axes, is A_G qd."""
    require_mass("centroidal_matrix", model)
    return run("centroidal_matrix", momenta.centroidal_matrix, model, out, q=q)


def composite_inertia(model: Model, q: Any, *, out: Any = None) -> Array:
    """Inertia (…, 6, 6) of the whole mechanism with its joints held, in world coordinates."""
    return run("composite_inertia", momenta.composite_inertia, model, out, q=q)


# frames -----------------------------------------------------------------------------------------


def pose(model: Model, q: Any, frame: str, *, out: Any = None) -> Array:
    """T_WF (…, 4, 4): the place of a frame in the world; ``model.frame_names`` lists the frames."""
    require_model("pose", model)
    model.frame(frame, "pose")
    return run("pose", lambda model, q: kinematics.pose(model, q, frame), model, out, q=q)


def jacobian(model: Model, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """J (…, 6, nv), angular rows first: the frame's spatial velocity is J qd.

    ``expressed_in``: "body" (the frame's axes and origin), "aligned" (world axes, the frame's origin) or "world".
    """
    return run_framed("jacobian", jacobians.jacobian, model, frame, expressed_in, out, q=q)


def jacobian_rate(model: Model, q: Any, qd: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """dJ/dt (…, 6, nv), component by component in the chosen coordinates."""
    return run_framed("jacobian_rate", jacobians.jacobian_rate, model, frame, expressed_in, out, q=q, qd=qd)


def velocity(model: Model, q: Any, qd: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """Spatial velocity [ω; v] (…, 6) of a frame [rad/s, m/s]."""
    return run_framed("velocity", kinematics.velocity, model, frame, expressed_in, out, q=q, qd=qd)


def acceleration(
    model: Model,
    q: Any,
    qd: Any,
    qdd: Any,
    frame: str,
    *,
    kind: str = "spatial",
    expressed_in: str = "body",
    out: Any = None,
) -> Array:
    """Acceleration (…, 6) of a frame, gravity not among it.

    ``kind`` "spatial" is the rate of the spatial velocity; "classical" has the acceleration of the point itself in
    its linear part, v̇ + ω×v.
    """
    require_choice("acceleration", "kind", kind, ("spatial", "classical"))
    algorithm = partial(kinematics.acceleration, kind=kind)
    return run_framed("acceleration", algorithm, model, frame, expressed_in, out, q=q, qd=qd, qdd=qdd)


def operational_inertia(model: Model, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """Λ (…, 6, 6) = (J M⁻¹ Jᵀ)⁻¹, the inertia felt at a frame.

    Raises ``SingularError`` where the frame cannot move in all six directions; ``inverse_operational_inertia`` exists
    there too.
    """
    where = "operational_inertia"

    def algorithm(model: Model, q: Array, frame: str, *, expressed_in: str) -> Array:
        W = jacobians.inverse_operational_inertia(model, q, frame)
        inertia = jacobians.inertia_of_inverse(model, q, frame, W, expressed_in)
        return inertia if is_object(W) or _has_full_rank(W) else inertia * np.nan

    def explain(row: str, *_: Array) -> SingularError:
        return SingularError(
            f"{where}: frame {frame!r} cannot move in all six directions there{row}, so it has no operational inertia. "
            f"Use sixd.inverse_operational_inertia."
        )

    by = partial(solve, explain=explain)
    return run_framed(where, algorithm, model, frame, expressed_in, out, by, q=q)


def _has_full_rank(W: Array) -> bool:
    """Whether a symmetric 6×6 matrix is regular when each row and column is taken in its own scale."""
    size = np.sqrt(np.diag(W))
    return bool(np.isfinite(W).all() and size.all() and np.linalg.cond(W / np.outer(size, size)) < 1e13)


def inverse_operational_inertia(
    model: Model, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None
) -> Array:
    """Λ⁻¹ (…, 6, 6) = J M⁻¹ Jᵀ: the acceleration of a frame per force on it."""
    where, algorithm = "inverse_operational_inertia", jacobians.inverse_operational_inertia
    return run_framed(where, algorithm, model, frame, expressed_in, out, solve, q=q)


def external_force(
    model: Model, q: Any, frame: str, wrench: Any, *, point: Any = None, expressed_in: str = "world"
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
    where = "external_force"
    require_model(where, model)
    require_choice(where, "expressed_in", expressed_in, COORDINATES)
    f = model.frame(frame, where)
    if f.body == 0:
        raise ModelError(f"{where}: frame {frame!r} is fixed to the world, expected one on a moving body.")
    require_scalars(f"{where}: wrench", wrench)
    width = np.shape(wrench)[-1] if np.ndim(wrench) else 0
    if width not in (3, 6):
        raise ShapeError(f"{where}: wrench has shape {np.shape(wrench)}, expected (..., 6), or (..., 3) for a force.")

    def one(q: Array, w: Array, *p: Array) -> Array:
        if not is_object(q, w, *p):
            model.require_numeric(where)
        force = w if width == 6 else np.concatenate([np.zeros(3, dtype=int), w])
        if p:
            force = np.concatenate([force[:3], np.zeros(3, dtype=int)]) + force_at_point(force[3:], p[0])
        X_FW = kinematics.frame_transform(model, q, frame)
        if expressed_in == "body":
            force = X_FW.T @ force
        elif expressed_in == "aligned":
            R = X_FW[:3, :3].T
            force = X_FW.T @ rotate_both(R.T, force)
        rows = [force if i == f.body else np.zeros(6, dtype=int) for i in model.bodies]
        return np.array(rows)

    arguments = [batch.Argument("q", q, (model.nq,), "nq"), batch.Argument("wrench", wrench, (width,))]
    if point is not None:
        arguments.append(batch.Argument("point", point, (3,)))
    return batch.apply(where, one, arguments, explain=partial(nonfinite_error, model, where))


def body_poses(model: Model, q: Any, *, out: Any = None) -> Array:
    """T_WB (…, nb, 4, 4) of all bodies in the world."""
    return run("body_poses", kinematics.body_poses, model, out, q=q)
