"""Derivatives of dynamics, of frames, of momentum and energy: functions of a system and arrays.

Arrays, batches, ``out=`` and scalars are as in ``sixd.api.dynamics``. Derivatives with respect to q are in the tangent
space: column k is along the motion with qd = e_k, in the units of qd. A row belongs to an entry of the result, a column
to an entry of the variable. f_ext is constant in the world; the derivative of dry friction is zero.
"""

from __future__ import annotations

from sixd.algorithms.derivatives import any_system
from sixd.algorithms.derivatives.aba_derivatives import ForwardDerivatives
from sixd.algorithms.derivatives.constrained_derivatives import ConstrainedDerivatives, constrained_derivatives
from sixd.algorithms.derivatives.frame_derivatives import AccelerationDerivatives, VelocityDerivatives
from sixd.algorithms.derivatives.momentum_derivatives import EnergyDerivatives, MomentumDerivatives
from sixd.algorithms.derivatives.rnea_derivatives import InverseDerivatives
from sixd.engine.patterns import packable
from sixd.engine.public import public
from sixd.model.system import System
from sixd.spatial.scalar import Array, ArrayLike

# dynamics ---------------------------------------------------------------------------------------


@public(packable("inverse_dynamics_derivatives", any_system.inverse_dynamics_derivatives), result=InverseDerivatives)
def inverse_dynamics_derivatives(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    packed: bool = False,
    out: object = None,
) -> InverseDerivatives:
    """Derivatives of ``inverse_dynamics``: how tau changes with q, qd and qdd.

    Parameters
    ----------
    q, qd, qdd, f_ext : as for ``inverse_dynamics``.
    packed : True gives arrays (…, nnz) of the entries that are not zero by structure: see ``derivative_pattern``.

    Returns
    -------
    A named tuple of arrays (…, nv, nv), entry [i, k] the derivative of tau[i]:

    q : along the velocity e_k, in the tangent space [N m/rad, …]; springs included, f_ext held fixed in the world.
    qd : with respect to qd[k], damping included; the derivative of dry friction is zero.
    qdd : with respect to qdd[k]: the mass matrix, armature included.

    Notes
    -----
    An analytic recursion, exact for joints of every type, O(n · depth)  [Singh, Russell and Wensing 2022]. A joint of
    your own whose S depends on q needs ``subspace_rate``.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> partial = sixd.inverse_dynamics_derivatives(arm, [0.3, 0.5], [1, -2], [0.4, 0.6])
    >>> partial.q.round(6)
    array([[ 0.      , -0.335598],
           [ 0.      ,  0.342906]])
    """


@public(
    packable("forward_dynamics_derivatives", any_system.forward_dynamics_derivatives),
    result=ForwardDerivatives,
    solves=True,
)
def forward_dynamics_derivatives(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    packed: bool = False,
    out: object = None,
) -> ForwardDerivatives:
    """Derivatives of ``forward_dynamics``: how qdd changes with q, qd and tau.

    Parameters
    ----------
    q, qd, tau, f_ext : as for ``forward_dynamics``.
    packed : True gives arrays (…, nnz) of the entries that are not zero by structure: see ``derivative_pattern``.

    Returns
    -------
    A named tuple of arrays (…, nv, nv), entry [i, k] the derivative of qdd[i]:

    q : along the velocity e_k, in the tangent space [1/s²]; f_ext held fixed in the world.
    qd : with respect to qd[k] [1/s]; the derivative of dry friction is zero.
    tau : with respect to tau[k]: the inverse of the mass matrix.

    Notes
    -----
    -M⁻¹ times the derivatives of ``inverse_dynamics`` at the acceleration that results. Raises ``SingularError`` where
    ``forward_dynamics`` does.

    >>> import sixd
    >>> sixd.forward_dynamics_derivatives(sixd.zoo.pendulum(), [0.0], [0.0], [0.0]).q.round(6)
    array([[-14.715]])
    """


@public(
    packable("constrained_dynamics_derivatives", constrained_derivatives),
    result=ConstrainedDerivatives,
    solves=True,
    check_finite=False,
    generic=True,
)
def constrained_dynamics_derivatives(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    t: ArrayLike = 0.0,
    stabilisation: float = 0.0,
    packed: bool = False,
    out: object = None,
) -> ConstrainedDerivatives:
    """Derivatives of ``constrained_dynamics``: how qdd and the multipliers λ change with q, qd and tau.

    Parameters
    ----------
    q, qd, tau, f_ext, t, stabilisation : as for ``constrained_dynamics``.
    packed : True gives arrays (…, nnz) of the entries that are not zero by structure: see ``derivative_pattern``.

    Returns
    -------
    A named tuple of six arrays; those of qdd are (…, nv, nv), those of λ (…, k, nv), column k with respect to DoF k:

    qdd_q, lam_q : along the velocity e_k, in the tangent space; f_ext held fixed in the world.
    qdd_qd, lam_qd : with respect to qd[k]; the derivative of dry friction is zero.
    qdd_tau, lam_tau : with respect to tau[k].

    Notes
    -----
    Exact, by the implicit function theorem on M qdd + h = tau + Aᵀλ and A qdd = c. The ``dq`` and ``dqd`` of
    ``linearize`` are changes of the state that keep the constraints. If equations are redundant, only products with
    such changes are meaningful. The result is NaN where that of ``constrained_dynamics`` is.

    >>> import numpy as np, sixd
    >>> model = sixd.zoo.four_bar()
    >>> q = sixd.assemble(model, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    >>> partial = sixd.constrained_dynamics_derivatives(model, q, np.zeros(3), np.zeros(3))
    >>> partial.qdd_tau.shape, partial.lam_q.shape
    ((3, 3), (2, 3))
    """


# frames -----------------------------------------------------------------------------------------


@public(any_system.frame_velocity_derivatives, result=VelocityDerivatives)
def velocity_derivatives(
    model: System, q: ArrayLike, qd: ArrayLike, frame: str, *, expressed_in: str = "body", out: object = None
) -> VelocityDerivatives:
    """Derivatives of ``velocity`` of a frame.

    Parameters
    ----------
    q, qd, frame, expressed_in : as for ``velocity``.

    Returns
    -------
    A named tuple of arrays (…, 6, nv), rows [ω; v], entry [i, k] the derivative of component i in the chosen
    coordinates:

    q : along the velocity e_k, in the tangent space [1/s]. The coordinates may move with the frame.
    qd : with respect to qd[k]: the Jacobian.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> sixd.velocity_derivatives(arm, [0.3, 0.5], [1, -2], "link2").q[3:5].round(6)
    array([[ 0.      ,  0.877583],
           [ 0.      , -0.479426]])
    """


@public(any_system.frame_acceleration_derivatives, result=AccelerationDerivatives)
def acceleration_derivatives(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    frame: str,
    *,
    kind: str = "spatial",
    expressed_in: str = "body",
    out: object = None,
) -> AccelerationDerivatives:
    """Derivatives of ``acceleration`` of a frame, without gravity.

    Parameters
    ----------
    q, qd, qdd, frame, kind, expressed_in : as for ``acceleration``.

    Returns
    -------
    A named tuple of arrays (…, 6, nv), entry [i, k] the derivative of component i in the chosen coordinates:

    q : along the velocity e_k, in the tangent space [1/s²].
    qd : with respect to qd[k] [1/s].
    qdd : with respect to qdd[k]: the Jacobian.
    """


# momentum and energy ----------------------------------------------------------------------------


@public(any_system.com_derivatives, needs_mass=True)
def center_of_mass_derivatives(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """Derivatives (…, 3, nv) of ``center_of_mass``: column k along the velocity e_k, in the tangent space.

    It is the Jacobian of the centre of mass: its velocity in the world is this matrix times qd.
    """


@public(any_system.total_momentum_derivatives, result=MomentumDerivatives)
def momentum_derivatives(
    model: System, q: ArrayLike, qd: ArrayLike, *, per: str = "model", out: object = None
) -> MomentumDerivatives:
    """Derivatives of ``momentum``, [k; p] in world axes about the world's origin.

    Returns a named tuple of arrays (…, 6, nv), or (…, nb, 6, nv) with ``per`` "body" or "subtree", as for ``momentum``:

    q : along the velocity e_k, in the tangent space.
    qd : with respect to qd[k]: momentum is this matrix times qd.
    """


@public(any_system.total_energy_derivatives, result=EnergyDerivatives)
def energy_derivatives(
    model: System, q: ArrayLike, qd: ArrayLike, *, per: str = "model", out: object = None
) -> EnergyDerivatives:
    """Gradients of ``energy``, armature and springs included.

    Returns a named tuple of arrays (…, nv), or (…, nb, nv) with ``per`` "body" or "subtree", as for ``energy``:

    kinetic_q : of the kinetic energy, entry k along the velocity e_k, in the tangent space [J/rad or N].
    kinetic_qd : of the kinetic energy with respect to qd: M qd, the generalised momentum.
    potential_q : of the potential energy, entry k along the velocity e_k: gravity's forces and the springs'.

    >>> import sixd
    >>> sixd.energy_derivatives(sixd.zoo.pendulum(), [0.5], [1.0]).potential_q.round(6)
    array([2.351582])
    """
