"""What users call: free functions of a model and arrays.

Each names its arguments' shapes, has them validated and batched by ``sixd.batch``, and runs the algorithm of
the same name. State arrays may have leading batch dimensions, which broadcast; ``out=`` is filled if given;
float32 in, float32 out; object arrays (SymPy) in, object arrays out. NaN in a state gives NaN in its row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from sixd import batch
from sixd.algorithms import aba, crba, kinematics, rnea
from sixd.algorithms import jacobian as jacobians
from sixd.algorithms import momentum as momenta
from sixd.algorithms.singular import singular_joints
from sixd.errors import ModelError, ScalarTypeError, ShapeError, SingularError, unknown_name
from sixd.model.model import Model
from sixd.spatial.points import force_at_point
from sixd.spatial.scalar import Array, is_object
from sixd.spatial.transform import rotate_both

_COORDINATES = ("body", "aligned", "world")
_MEANING = {"q": "nq", "qd": "nv", "qdd": "nv", "tau": "nv", "b": "nv", "f_ext": "nb, 6"}


def _run(where: str, algorithm: Callable[..., Any], model: Model, out: Any, **arrays: Any) -> Any:
    """The algorithm on every row; ``arrays`` in the order in which the algorithm takes them, f_ext by keyword."""
    _require_model(where, model)
    shapes = {"nq": (model.nq,), "nv": (model.nv,), "nb, 6": (model.nb, 6)}
    with_force = arrays.get("f_ext") is not None
    given = {name: value for name, value in arrays.items() if name != "f_ext" or with_force}
    arguments = [
        batch.Argument(name, value, shapes[_MEANING[name]], f"{_MEANING[name]} of model {model.name!r}")
        for name, value in given.items()
    ]

    def one(*row: Array) -> Any:
        if not is_object(*row):
            model.require_numeric(where)
        if with_force:
            return algorithm(model, *row[:-1], f_ext=row[-1])
        return algorithm(model, *row)

    return batch.apply(where, one, arguments, out=out)


def _require_model(where: str, model: Model) -> None:
    if not isinstance(model, Model):
        raise ScalarTypeError(f"{where}: model is a {type(model).__name__}, expected a sixd.Model. See sixd.load.")


def _choice(where: str, name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise unknown_name(f"{where}: {name}", "choice", value, allowed)


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
    return _run("inverse_dynamics", rnea.rnea, model, out, q=q, qd=qd, qdd=qdd, f_ext=f_ext)


def forward_dynamics(model: Model, q: Any, qd: Any, tau: Any, *, f_ext: Any = None, out: Any = None) -> Array:
    """Accelerations under joint forces: qdd = M⁻¹ (tau - h).

    Arguments as for ``inverse_dynamics``; returns qdd (…, nv). Raises ``SingularError`` where the mass matrix is
    singular, naming the joints that move no inertia. Articulated-body algorithm, O(n)  [RBDA Table 7.1].
    """
    where = "forward_dynamics"
    _require_regular(where, model)
    qdd = _run(where, aba.aba, model, out, q=q, qd=qd, tau=tau, f_ext=f_ext)
    _require_finite(where, "qdd", qdd, 1, (q, qd, tau, f_ext))
    return qdd


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
    _require_model(where, model)
    prescribed = frozenset(model.joint_index(name) for name in given)
    _require_regular(where, model, prescribed)

    def algorithm(model: Model, q: Array, qd: Array, qdd: Array, tau: Array, f_ext: Array | None = None) -> Any:
        return aba.hybrid(model, prescribed, q, qd, qdd, tau, f_ext=f_ext)

    result = _run(where, algorithm, model, out, q=q, qd=qd, qdd=qdd, tau=tau, f_ext=f_ext)
    mask = np.zeros(model.nv, dtype=bool)
    for i in prescribed:
        mask[model.iv[i]] = True
    used = (q, qd, f_ext, np.asarray(qdd)[..., mask], np.asarray(tau)[..., ~mask])
    _require_finite(where, "qdd", result[0], 1, used)
    return result


def mass_matrix(model: Model, q: Any, *, out: Any = None) -> Array:
    """Mass matrix M (…, nv, nv), armature included; composite-rigid-body algorithm  [RBDA Table 6.2]."""
    return _run("mass_matrix", crba.crba, model, out, q=q)


def bias_force(model: Model, q: Any, qd: Any, *, f_ext: Any = None, out: Any = None) -> Array:
    """h (…, nv): inverse dynamics at zero acceleration (velocity terms, gravity, passive forces, -Jᵀf_ext)."""
    return _run("bias_force", rnea.bias_force, model, out, q=q, qd=qd, f_ext=f_ext)


def gravity_force(model: Model, q: Any, *, out: Any = None) -> Array:
    """g (…, nv): the joint forces that hold the mechanism against gravity alone."""
    return _run("gravity_force", rnea.gravity_force, model, out, q=q)


def inverse_mass_matrix(model: Model, q: Any, *, out: Any = None) -> Array:
    """M⁻¹ (…, nv, nv); raises ``SingularError`` where M is singular."""
    where = "inverse_mass_matrix"
    _require_regular(where, model)
    W = _run(where, crba.inverse_mass_matrix, model, out, q=q)
    _require_finite(where, "the inverse", W, 2, (q,))
    return W


def mass_matrix_solve(model: Model, q: Any, b: Any, *, out: Any = None) -> Array:
    """M⁻¹ b (…, nv) for b (…, nv), by LᵀDL with the tree's sparsity."""
    where = "mass_matrix_solve"
    _require_regular(where, model)
    x = _run(where, crba.mass_matrix_solve, model, out, q=q, b=b)
    _require_finite(where, "the solution", x, 1, (q, b))
    return x


# energy and momentum ----------------------------------------------------------------------------


def energy(model: Model, q: Any, qd: Any, *, out: Any = None) -> tuple[Any, Any]:
    """(kinetic, potential) [J], each (…). Zero potential: centre of mass at height 0, springs at rest."""
    return _run("energy", momenta.energy, model, out, q=q, qd=qd)


def momentum(model: Model, q: Any, qd: Any, *, out: Any = None) -> Array:
    """Spatial momentum [k; p] (…, 6) of all bodies, world axes, about the world's origin."""
    return _run("momentum", momenta.momentum, model, out, q=q, qd=qd)


def center_of_mass(model: Model, q: Any, *, out: Any = None) -> Array:
    """Centre of mass (…, 3) of the moving bodies in the world [m]."""
    _require_mass("center_of_mass", model)
    return _run("center_of_mass", momenta.center_of_mass, model, out, q=q)


def centroidal_matrix(model: Model, q: Any, *, out: Any = None) -> Array:
    """A_G (…, 6, nv): momentum about the centre of mass, world axes, is A_G qd."""
    _require_mass("centroidal_matrix", model)
    return _run("centroidal_matrix", momenta.centroidal_matrix, model, out, q=q)


def composite_inertia(model: Model, q: Any, *, out: Any = None) -> Array:
    """Inertia (…, 6, 6) of the whole mechanism with its joints held, in world coordinates."""
    return _run("composite_inertia", momenta.composite_inertia, model, out, q=q)


# frames -----------------------------------------------------------------------------------------


def pose(model: Model, q: Any, frame: str, *, out: Any = None) -> Array:
    """T_WF (…, 4, 4): the place of a frame in the world; ``model.frame_names`` lists the frames."""
    _require_model("pose", model)
    model.frame(frame, "pose")
    return _run("pose", partial(_framed, kinematics.pose, frame), model, out, q=q)


def jacobian(model: Model, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """J (…, 6, nv), angular rows first: the frame's spatial velocity is J qd.

    ``expressed_in``: "body" (the frame's axes and origin), "aligned" (world axes, the frame's origin) or "world".
    """
    return _framed_call("jacobian", jacobians.jacobian, model, frame, expressed_in, out, q=q)


def jacobian_rate(model: Model, q: Any, qd: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """dJ/dt (…, 6, nv), component by component in the chosen coordinates."""
    return _framed_call("jacobian_rate", jacobians.jacobian_rate, model, frame, expressed_in, out, q=q, qd=qd)


def velocity(model: Model, q: Any, qd: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """Spatial velocity [ω; v] (…, 6) of a frame [rad/s, m/s]."""
    return _framed_call("velocity", kinematics.velocity, model, frame, expressed_in, out, q=q, qd=qd)


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
    _choice("acceleration", "kind", kind, ("spatial", "classical"))
    algorithm = partial(kinematics.acceleration, kind=kind)
    return _framed_call("acceleration", algorithm, model, frame, expressed_in, out, q=q, qd=qd, qdd=qdd)


def operational_inertia(model: Model, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """Λ (…, 6, 6) = (J M⁻¹ Jᵀ)⁻¹, the inertia felt at a frame.

    Raises ``SingularError`` where the frame cannot move in all six directions; ``inverse_operational_inertia`` exists
    there too.
    """
    where = "operational_inertia"
    W = inverse_operational_inertia(model, q, frame, expressed_in=expressed_in)
    if not is_object(W) and np.isfinite(W).all() and (np.linalg.cond(W) > 1e13).any():
        raise SingularError(
            f"{where}: frame {frame!r} cannot move in all six directions there, so it has no operational inertia. "
            f"Use sixd.inverse_operational_inertia."
        )
    return _framed_call(where, jacobians.operational_inertia, model, frame, expressed_in, out, q=q)


def inverse_operational_inertia(
    model: Model, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None
) -> Array:
    """Λ⁻¹ (…, 6, 6) = J M⁻¹ Jᵀ: the acceleration of a frame per force on it."""
    where = "inverse_operational_inertia"
    _require_regular(where, model)
    return _framed_call(where, jacobians.inverse_operational_inertia, model, frame, expressed_in, out, q=q)


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
    _require_model(where, model)
    _choice(where, "expressed_in", expressed_in, _COORDINATES)
    f = model.frame(frame, where)
    if f.body == 0:
        raise ModelError(f"{where}: frame {frame!r} is fixed to the world, expected one on a moving body.")
    width = np.shape(wrench)[-1] if np.ndim(wrench) else 0
    if width not in (3, 6):
        raise ShapeError(f"{where}: wrench has shape {np.shape(wrench)}, expected (..., 6), or (..., 3) for a force.")

    def one(q: Array, w: Array, *p: Array) -> Array:
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
    return batch.apply(where, one, arguments)


def body_poses(model: Model, q: Any, *, out: Any = None) -> Array:
    """T_WB (…, nb, 4, 4) of all bodies in the world."""
    return _run("body_poses", kinematics.body_poses, model, out, q=q)


def _framed(algorithm: Callable[..., Any], frame: str, model: Model, *row: Array) -> Any:
    return algorithm(model, *row, frame)


def _framed_call(
    where: str, algorithm: Callable[..., Any], model: Model, frame: str, expressed_in: str, out: Any, **arrays: Any
) -> Array:
    _require_model(where, model)
    _choice(where, "expressed_in", expressed_in, _COORDINATES)
    model.frame(frame, where)
    bound = partial(_framed, partial(algorithm, expressed_in=expressed_in), frame)
    return _run(where, bound, model, out, **arrays)


# what cannot be solved --------------------------------------------------------------------------


def _require_regular(where: str, model: Model, prescribed: frozenset[int] = frozenset()) -> None:
    _require_model(where, model)
    names = singular_joints(model, prescribed)
    if names:
        bodies = [model.body_names[model.joint_index(n) - 1] for n in names]
        raise SingularError(
            f"{where}: the mass matrix of {model.name!r} is singular: joints {list(names)} move no inertia "
            f"(massless: {bodies}). Give those bodies a mass, the joints an armature, or lock them with model.lock."
        )


def _require_finite(where: str, what: str, result: Any, core: int, inputs: tuple[Any, ...]) -> None:
    """A non-finite row from finite arguments means that M is singular in that configuration."""
    if is_object(result) or np.isfinite(result).all():
        return
    if not all(np.isfinite(np.asarray(x, dtype=float)).all() for x in inputs if x is not None):
        return  # NaN in, NaN out, row by row
    bad = ~np.isfinite(result).all(axis=tuple(range(-core, 0)))
    row = f" in row {tuple(int(k) for k in np.argwhere(bad)[0])}" if bad.ndim else ""
    raise SingularError(
        f"{where}: {what} is not finite{row}: the mass matrix is singular in this configuration, or a quaternion is "
        f"zero. Check q, or look at np.linalg.cond(sixd.mass_matrix(model, q))."
    )


def _require_mass(where: str, model: Model) -> None:
    _require_model(where, model)
    if not model.symbols and model.mass == 0:
        raise ModelError(f"{where}: model {model.name!r} has no mass, so no centre of mass. Give its bodies a mass.")
