"""What users call: free functions of a model and arrays.

Each is compiled for a model at the first call and runs on machine code; ``sixd.engine.functions`` names the
algorithm behind it. State arrays may have leading batch dimensions, which broadcast; ``out=`` is filled if given;
float32 in, float32 out; object arrays (SymPy) in, object arrays out. NaN in a state gives NaN in its row,
in every result that depends on it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from sixd.engine.evaluate import call, evaluate, shortcut
from sixd.engine.functions import EXTERNAL_FORCE, LIBRARY
from sixd.errors import ModelError, ShapeError
from sixd.model.model import Model, require_model
from sixd.model.system import require_system
from sixd.runtime.batch import require_unmasked
from sixd.spatial.scalar import Array, require_scalars

# dynamics ---------------------------------------------------------------------------------------


@shortcut
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
    return call("inverse_dynamics", model, (q, qd, qdd), f_ext, out)


@shortcut
def forward_dynamics(model: Model, q: Any, qd: Any, tau: Any, *, f_ext: Any = None, out: Any = None) -> Array:
    """Accelerations under joint forces: qdd = M⁻¹ (tau - h).

    Arguments as for ``inverse_dynamics``; returns qdd (…, nv). Raises ``SingularError`` where the mass matrix is
    singular, or so nearly that a result could be off by 1 %, naming the joints. Articulated-body algorithm, O(n)
    [RBDA Table 7.1].
    """
    return call("forward_dynamics", model, (q, qd, tau), f_ext, out)


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
    require_model("hybrid_dynamics", model)
    hybrid = LIBRARY["hybrid_dynamics"]
    (prescribed,) = hybrid.settle(model, (given,))
    mask = np.zeros(model.nv, dtype=bool)
    for i in prescribed:
        mask[model.iv[i]] = True
    qdd, tau = _used("hybrid_dynamics", "qdd", qdd, mask), _used("hybrid_dynamics", "tau", tau, ~mask)
    return evaluate(hybrid, model, (prescribed,), (q, qd, qdd, tau), f_ext, out)


def _used(where: str, name: str, values: Any, mask: Array) -> Any:
    """``values`` with what the mask leaves out set to zero; what is no array of that length is left to the border."""
    require_unmasked(where, name, values)
    require_scalars(f"{where}: {name}", values)
    array = np.asarray(values)
    return np.where(mask, array, 0) if array.shape[-1:] == mask.shape else values


@shortcut
def mass_matrix(model: Model, q: Any, *, out: Any = None) -> Array:
    """Mass matrix M (…, nv, nv), armature included; composite-rigid-body algorithm  [RBDA Table 6.2]."""
    return call("mass_matrix", model, (q,), None, out)


@shortcut
def coriolis_matrix(model: Model, q: Any, qd: Any, *, out: Any = None) -> Array:
    """Coriolis matrix C (…, nv, nv): C qd are the centrifugal and Coriolis forces, and dM/dt - 2 C is skew.

    Parameters
    ----------
    q : (…, nq) configuration.
    qd : (…, nv) velocity.

    Returns
    -------
    C : (…, nv, nv), linear in qd. C qd is ``bias_force`` less ``gravity_force`` for ``model.without_passive()``, and
        dM/dt = C + Cᵀ along the motion. Damping, friction and springs are not part of it, and armature, which is
        constant, adds nothing.

    Notes
    -----
    Of all matrices with these laws it is the one of the Christoffel symbols (see ``christoffel``), for joints of every
    type. O(n · depth).

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> sixd.coriolis_matrix(arm, [0.3, 0.5], [1, -2]).round(6)
    array([[0.479426, 0.239713],
           [0.239713, 0.      ]])
    """
    return call("coriolis_matrix", model, (q, qd), None, out)


@shortcut
def christoffel(model: Model, q: Any, *, out: Any = None) -> Array:
    """Christoffel symbols Γ (…, nv, nv, nv): Γ[i, j, k] = ∂C_ij/∂qd_k, so C = Γ @ qd.

    Where qd is the derivative of q they are ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i), symmetric in j and k. The
    freedoms of a free or a spherical joint are no derivatives of coordinates: there Γ is not symmetric in j and k, and
    contracting j with qd instead of k gives a matrix without the laws of C. O(n · depth²).
    """
    return call("christoffel", model, (q,), None, out)


@shortcut
def bias_force(model: Model, q: Any, qd: Any, *, f_ext: Any = None, out: Any = None) -> Array:
    """h (…, nv): inverse dynamics at zero acceleration (velocity terms, gravity, passive forces, -Jᵀf_ext)."""
    return call("bias_force", model, (q, qd), f_ext, out)


@shortcut
def gravity_force(model: Model, q: Any, *, out: Any = None) -> Array:
    """g (…, nv): the joint forces that hold the mechanism against gravity alone."""
    return call("gravity_force", model, (q,), None, out)


@shortcut
def inverse_mass_matrix(model: Model, q: Any, *, out: Any = None) -> Array:
    """M⁻¹ (…, nv, nv); raises ``SingularError`` where M is singular, or as good as."""
    return call("inverse_mass_matrix", model, (q,), None, out)


@shortcut
def mass_matrix_solve(model: Model, q: Any, b: Any, *, out: Any = None) -> Array:
    """M⁻¹ b (…, nv) for b (…, nv), in O(n) by the articulated-body recursion.

    A batch of right-hand sides is (batch, nv), a row each, unlike the columns of ``numpy.linalg.solve``.
    """
    return call("mass_matrix_solve", model, (q, b), None, out)


# energy and momentum ----------------------------------------------------------------------------


@shortcut
def energy(model: Model, q: Any, qd: Any, *, out: Any = None) -> tuple[Any, Any]:
    """(kinetic, potential) [J], each (…). Zero potential: centre of mass at height 0, springs at rest."""
    return call("energy", model, (q, qd), None, out)


@shortcut
def momentum(model: Model, q: Any, qd: Any, *, out: Any = None) -> Array:
    """Spatial momentum [k; p] (…, 6) of all bodies, world axes, about the world's origin."""
    return call("momentum", model, (q, qd), None, out)


@shortcut
def center_of_mass(model: Model, q: Any, *, out: Any = None) -> Array:
    """Centre of mass (…, 3) of the moving bodies in the world [m]."""
    return call("center_of_mass", model, (q,), None, out)


@shortcut
def centroidal_matrix(model: Model, q: Any, *, out: Any = None) -> Array:
    """A_G (…, 6, nv): momentum about the centre of mass, world axes, is A_G qd."""
    return call("centroidal_matrix", model, (q,), None, out)


@shortcut
def composite_inertia(model: Model, q: Any, *, out: Any = None) -> Array:
    """Inertia (…, 6, 6) of the whole mechanism with its joints held, in world coordinates."""
    return call("composite_inertia", model, (q,), None, out)


# frames -----------------------------------------------------------------------------------------


@shortcut
def pose(model: Model, q: Any, frame: str, *, out: Any = None) -> Array:
    """T_WF (…, 4, 4): the place of a frame in the world; ``model.frame_names`` lists the frames."""
    return call("pose", model, (q,), None, out, frame)


@shortcut
def jacobian(model: Model, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """J (…, 6, nv), angular rows first: the frame's spatial velocity is J qd.

    ``expressed_in``: "body" (the frame's axes and origin), "aligned" (world axes, the frame's origin) or "world".
    """
    return call("jacobian", model, (q,), None, out, frame, expressed_in)


@shortcut
def jacobian_rate(model: Model, q: Any, qd: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """dJ/dt (…, 6, nv), component by component in the chosen coordinates."""
    return call("jacobian_rate", model, (q, qd), None, out, frame, expressed_in)


@shortcut
def velocity(model: Model, q: Any, qd: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """Spatial velocity [ω; v] (…, 6) of a frame [rad/s, m/s]."""
    return call("velocity", model, (q, qd), None, out, frame, expressed_in)


@shortcut
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
    return call("acceleration", model, (q, qd, qdd), None, out, frame, expressed_in, kind)


@shortcut
def operational_inertia(model: Model, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None) -> Array:
    """Λ (…, 6, 6) = (J M⁻¹ Jᵀ)⁻¹, the inertia felt at a frame.

    Raises ``SingularError`` where the frame cannot move in all six directions; ``inverse_operational_inertia`` exists
    there too.
    """
    return call("operational_inertia", model, (q,), None, out, frame, expressed_in)


@shortcut
def inverse_operational_inertia(
    model: Model, q: Any, frame: str, *, expressed_in: str = "body", out: Any = None
) -> Array:
    """Λ⁻¹ (…, 6, 6) = J M⁻¹ Jᵀ: the acceleration of a frame per force on it."""
    return call("inverse_operational_inertia", model, (q,), None, out, frame, expressed_in)


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
    require_system(where, model)
    if model.frame(frame, where).body == 0:
        raise ModelError(f"{where}: frame {frame!r} is fixed to the world, expected one on a moving body.")
    require_scalars(f"{where}: wrench", wrench)
    width = np.shape(wrench)[-1] if np.ndim(wrench) else 0
    if width not in (3, 6):
        raise ShapeError(f"{where}: wrench has shape {np.shape(wrench)}, expected (..., 6), or (..., 3) for a force.")
    arrays = (q, wrench) if point is None else (q, wrench, point)
    function = EXTERNAL_FORCE[width, point is not None]
    return evaluate(function, model, function.settle(model, (frame, expressed_in)), arrays)


@shortcut
def body_poses(model: Model, q: Any, *, out: Any = None) -> Array:
    """T_WB (…, nb, 4, 4) of all bodies in the world."""
    return call("body_poses", model, (q,), None, out)
