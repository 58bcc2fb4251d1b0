"""Dynamics, energy and momentum: functions of a system and arrays.

Each is compiled for a system at the first call and runs as machine code. State arrays may have leading batch
dimensions, which broadcast; ``out=`` receives the result; float32 in, float32 out; object arrays (SymPy) in, object
arrays out. NaN in a state affects only the results of this state that depend on it.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from typing import Any

import numpy as np

from sixd.algorithms import aba, coriolis, crba, regressor, rnea, solve
from sixd.algorithms import momentum as momenta
from sixd.algorithms.derivatives import implicit
from sixd.engine.functions import Function
from sixd.engine.public import public
from sixd.model.model import Model
from sixd.model.system import System
from sixd.runtime.arrays.registry import is_on_gpu
from sixd.runtime.batch import require_unmasked
from sixd.spatial.scalar import Array, ArrayLike, require_scalars

# forces and accelerations -----------------------------------------------------------------------


@public(rnea.rnea)
def inverse_dynamics(
    model: System, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, f_ext: ArrayLike | None = None, out: object = None
) -> Array:
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


@public(aba.aba, solves=True, implicit=implicit.forward_dynamics)
def forward_dynamics(
    model: System, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *, f_ext: ArrayLike | None = None, out: object = None
) -> Array:
    """Accelerations under joint forces: qdd = M⁻¹ (tau - h).

    Arguments as for ``inverse_dynamics``; returns qdd (…, nv). Raises ``SingularError``, naming the joints,
    where the mass matrix is singular, or so nearly singular that a result could be off by 1 %. Articulated-body
    algorithm, O(n)  [RBDA Table 7.1].
    """


def _hybrid(
    model: Model, q: Array, qd: Array, qdd: Array, tau: Array, f_ext: Array | None = None, *, given: Set[int]
) -> Any:
    return aba.hybrid(model, given, q, qd, qdd, tau, f_ext=f_ext)


def _without_unused(
    function: Function, model: Model, choices: tuple[Any, ...], arrays: tuple[Any, ...]
) -> tuple[Function, tuple[Any, ...]]:
    """Set the ignored entries of qdd and tau to zero: they may be anything."""
    q, qd, qdd, tau = arrays
    if is_on_gpu(qdd, tau):  # compiled code does not read them
        return function, arrays
    prescribed = np.zeros(model.nv, dtype=bool)
    for i in function.prescribed(choices):
        prescribed[model.iv[i]] = True
    return function, (q, qd, _used("qdd", qdd, prescribed), _used("tau", tau, ~prescribed))


def _used(name: str, values: ArrayLike, mask: Array) -> Any:
    require_unmasked("hybrid_dynamics", name, values)
    require_scalars(f"hybrid_dynamics: {name}", values)
    array = np.asarray(values)
    return np.where(mask, array, 0) if array.shape[-1:] == mask.shape else values  # wrong shapes are refused later


@public(_hybrid, solves=True, adapt=_without_unused, implicit=implicit.hybrid_dynamics)
def hybrid_dynamics(
    model: System,
    given: Collection[str],
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    out: object = None,
) -> tuple[Array, Array]:
    """(qdd, tau), both complete, where qdd is prescribed for the joints named in ``given``, and tau for the others.

    Other entries are ignored and may be anything. O(n)  [RBDA section 9.2].
    """


@public(rnea.bias_force)
def bias_force(
    model: System, q: ArrayLike, qd: ArrayLike, *, f_ext: ArrayLike | None = None, out: object = None
) -> Array:
    """h (…, nv): inverse dynamics at zero acceleration (velocity terms, gravity, passive forces, -Jᵀf_ext)."""


@public(rnea.gravity_force)
def gravity_force(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """g (…, nv): the joint forces that hold the mechanism against gravity alone."""


@public(regressor.joint_torque_regressor)
def joint_torque_regressor(model: System, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, out: object = None) -> Array:
    """Regressor Y (…, nv, 10 nb) of inverse dynamics: tau = Y θ + armature qdd + passive forces.

    θ (10 nb,) are the inertial parameters of the bodies in the order of ``model.body_names``, each as in the parameter
    "inertia" of ``sixd.compile``: m, hx, hy, hz, Ixx, Iyy, Izz, Iyz, Ixz, Ixy about the body's origin, in its axes.
    Arguments as for ``inverse_dynamics``. O(n · depth).

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.planar(2)
    >>> Y = sixd.joint_torque_regressor(arm, [0.3, 0.5], [1, -2], [0.4, 0.6])
    >>> theta = np.concatenate([sixd.Inertia.from_matrix(I).parameters for I in arm.inertia[1:]])
    >>> (Y @ theta).round(6)
    array([1.480974, 0.748563])
    """


# matrices ---------------------------------------------------------------------------------------


@public(crba.crba)
def mass_matrix(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """Mass matrix M (…, nv, nv), armature included; composite-rigid-body algorithm  [RBDA Table 6.2]."""


@public(solve.inverse_mass_matrix, solves=True)
def inverse_mass_matrix(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """M⁻¹ (…, nv, nv); raises ``SingularError`` where M is singular or nearly so, as ``forward_dynamics`` does."""


@public(solve.mass_matrix_solve, solves=True, shapes={"b": ("nv",)}, implicit=implicit.mass_matrix_solve)
def mass_matrix_solve(model: System, q: ArrayLike, b: ArrayLike, *, out: object = None) -> Array:
    """M⁻¹ b (…, nv) for b (…, nv), in O(n) by the articulated-body recursion.

    A batch of right-hand sides is (batch, nv): they are rows, unlike the columns of ``numpy.linalg.solve``.
    """


@public(coriolis.coriolis_matrix)
def coriolis_matrix(model: System, q: ArrayLike, qd: ArrayLike, *, out: object = None) -> Array:
    """Coriolis matrix C (…, nv, nv): C qd are the centrifugal and Coriolis forces, and dM/dt - 2 C is skew.

    Parameters
    ----------
    q : (…, nq) configuration.
    qd : (…, nv) velocity.

    Returns
    -------
    C : (…, nv, nv), linear in qd. C qd is ``bias_force`` less ``gravity_force`` for ``model.without_passive()``, and
        dM/dt = C + Cᵀ along the motion. Damping, friction and springs are not part of it; armature, which is constant,
        does not contribute.

    Notes
    -----
    Many matrices satisfy these conditions; this is the one of the Christoffel symbols (see ``christoffel``), for joints
    of every type. O(n · depth).

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> sixd.coriolis_matrix(arm, [0.3, 0.5], [1, -2]).round(6)
    array([[0.479426, 0.239713],
           [0.239713, 0.      ]])
    """


@public(coriolis.christoffel)
def christoffel(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """Christoffel symbols Γ (…, nv, nv, nv): Γ[i, j, k] = ∂C_ij/∂qd_k, so C = Γ @ qd.

    Where qd is the derivative of q they are ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i), symmetric in j and k. The
    velocities of a free or spherical joint are not derivatives of coordinates: there Γ is not symmetric in j and k, and
    contracting j with qd instead of k gives a matrix that does not satisfy the conditions of C. O(n · depth²).
    """


# energy and momentum ----------------------------------------------------------------------------


@public(momenta.energy)
def energy(model: System, q: ArrayLike, qd: ArrayLike, *, per: str = "model", out: object = None) -> tuple[Any, Any]:
    """(kinetic, potential) [J]. Potential is zero with the centre of mass at height 0 and springs at rest.

    ``per`` is "model" for the whole, each (…); "body" for every body, each (…, nb) in the order of ``body_names``; or
    "subtree" for every body with all that it carries. Armature and spring of a joint count with the body that it moves,
    so the bodies' energies add up to the model's, and so do those of the subtrees that begin at the world.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> sixd.energy(arm, [0.3, 0.5], [1, -2], per="subtree")[0].round(6)
    array([0.394542, 0.227875])
    """


@public(momenta.momentum)
def momentum(model: System, q: ArrayLike, qd: ArrayLike, *, per: str = "model", out: object = None) -> Array:
    """Spatial momentum [k; p] (…, 6) of all bodies, world axes, about the world's origin.

    ``per`` is "model"; "body" for that of every body (…, nb, 6) in the order of ``body_names``; or "subtree" for every
    body with all that it carries: hᵢ = Iᵢvᵢ + Σ hⱼ over its children j. The total is the first body's subtree only if
    that body is the world's one child; else it is the sum over the world's children.
    """


@public(momenta.center_of_mass, needs_mass=True)
def center_of_mass(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """Centre of mass (…, 3) of the moving bodies in the world [m]."""


@public(momenta.centroidal_matrix, needs_mass=True)
def centroidal_matrix(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """A_G (…, 6, nv): momentum about the centre of mass, world axes, is A_G qd."""


@public(momenta.composite_inertia)
def composite_inertia(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """Inertia (…, 6, 6) of the whole mechanism with its joints locked, in world coordinates."""
