"""Names of spatial_v2_extended, computed by functions of this library on the original models.

Arguments and results are those of spatial_v2_extended; models are spatial and have no rotors. Velocities of joints
``S`` and ``Fb`` are in body axes, and so are derivatives with respect to their configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from sixd.api.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from sixd.api.dynamics import centroidal_matrix, christoffel, inverse_mass_matrix, joint_torque_regressor
from sixd.api.frames import jacobian, jacobian_rate
from sixd.engine.public import declaration
from sixd.errors import ModelError
from sixd.io.spatial_v2.matlab import count, numbers
from sixd.io.spatial_v2.structures import joint_of_type
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial_v2.compiled import mechanism


def ID_derivatives(model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array]:
    """Return ∂τ/∂q and ∂τ/∂q̇ (nv, nv) of inverse dynamics."""
    d_q, d_qd, _ = _run("ID_derivatives", inverse_dynamics_derivatives, model, q=q, qd=qd, qdd=qdd)
    return d_q, d_qd


def FD_derivatives(model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> tuple[Array, Array, Array]:
    """Return ∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ (nv, nv) of forward dynamics."""
    d_q, d_qd, d_tau = _run("FD_derivatives", forward_dynamics_derivatives, model, q=q, qd=qd, tau=tau)
    return d_q, d_qd, d_tau


def Hinverse(model: Mapping[str, Any], q: ArrayLike) -> Array:
    """Return H⁻¹ (nv, nv)."""
    return _run("Hinverse", inverse_mass_matrix, model, q=q)


def Christoffel(model: Mapping[str, Any], q: ArrayLike) -> Array:
    """Return Γ (nv, nv, nv): C(i, k) = Σ_j Γ(i, j, k) q̇_j is ``CoriolisMatrix``'s C."""
    return _run("Christoffel", christoffel, model, q=q).swapaxes(1, 2)


def CMM(model: Mapping[str, Any], q: ArrayLike) -> Array:
    """Return the centroidal momentum matrix A (6, nv): A q̇ is the momentum about the centre of mass, base axes."""
    return _run("CMM", centroidal_matrix, model, q=q)


def RegressorClassical(model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return Y (nv, 10 NB): τ = Y a with the parameters a of ``getModelInertialParams``."""
    return _run("RegressorClassical", joint_torque_regressor, model, q=q, qd=qd, qdd=qdd)


def BodyJacobian(model: Mapping[str, Any], q: ArrayLike, body: int, Xend: ArrayLike | None = None) -> Array:
    """Return J (6, nv) of a body, by its number, in its own coordinates; with ``Xend`` (k, 6) return Xend J."""
    J = _run("BodyJacobian", jacobian, model, body, q=q)
    return J if Xend is None else numbers("BodyJacobian", "Xend", Xend) @ J


def BodyJacobianTimeDerivative(
    model: Mapping[str, Any], q: ArrayLike, qd: ArrayLike, body: int, Xend: ArrayLike | None = None
) -> Array:
    """Return dJ/dt (6, nv) of ``BodyJacobian``'s J, for a constant ``Xend``."""
    J = _run("BodyJacobianTimeDerivative", jacobian_rate, model, body, q=q, qd=qd)
    return J if Xend is None else numbers("BodyJacobianTimeDerivative", "Xend", Xend) @ J


def getModelInertialParams(model: Mapping[str, Any]) -> Array:
    """Return the parameters (10 NB,) of all bodies: m, hx, hy, hz, Ixx, Iyy, Izz, Iyz, Ixz, Ixy about its origin."""
    tree = mechanism("getModelInertialParams", model).tree
    return np.concatenate([np.zeros(0), *(Inertia.from_matrix(I).parameters for I in tree.inertia[1:])])


def jinfo(jtyp: str | Mapping[str, Any]) -> tuple[int, int]:
    """Return nq and nv of a joint type: the numbers of its coordinates and of its degrees of freedom."""
    joint = joint_of_type(jtyp)
    return joint.nq, joint.nv


def _run(
    where: str, function: Callable[..., Any], model: Mapping[str, Any], body: int | None = None, **arrays: ArrayLike
) -> Any:
    """Return the result of a function of the library; ``body`` is the number of its frame's body, if it has one."""
    mech = mechanism(where, model)
    if mech.parts.dimension != 6:
        raise ModelError(f"{where}: the model is planar, expected a spatial one.")
    state = mech.state(where, **arrays)
    algorithm = declaration(function).algorithm
    if body is not None:
        body = count(where, "body", body, 1)
        if body > mech.tree.nb:
            raise ModelError(f"{where}: body is {body}, expected 1 … {mech.tree.nb}.")
        algorithm = partial(algorithm, frame=f"body{body}")
    return mech.run(where, algorithm, variant=body, **state)
