"""Derivatives of the functions of any system: of a tree by the recursions, of a reduced model by the chain rule.

Systems of equations compute a function in their own way; one evaluation on dual numbers for each direction
differentiates it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sixd.algorithms import kinematics
from sixd.algorithms import momentum as momenta
from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.crba import crba
from sixd.algorithms.derivatives import frame_derivatives as frames
from sixd.algorithms.derivatives import lifted_derivatives as lifted
from sixd.algorithms.derivatives.aba_derivatives import ForwardDerivatives, aba_derivatives
from sixd.algorithms.derivatives.body_derivatives import energy_derivatives_per, momentum_derivatives_per
from sixd.algorithms.derivatives.frame_derivatives import AccelerationDerivatives, VelocityDerivatives
from sixd.algorithms.derivatives.momentum_derivatives import (
    EnergyDerivatives,
    MomentumDerivatives,
    center_of_mass_derivatives,
)
from sixd.algorithms.derivatives.rnea_derivatives import InverseDerivatives, rnea_derivatives
from sixd.algorithms.rnea import bias_force, rnea
from sixd.errors import ModelError
from sixd.model.model import Model
from sixd.model.system import System, for_any_system
from sixd.spatial.dual import duals, parts
from sixd.spatial.scalar import Array
from sixd.spatial.transform import mirror_upper

# dynamics ---------------------------------------------------------------------------------------


@for_any_system
def inverse_dynamics_derivatives(
    system: System, q: Array, qd: Array, qdd: Array, *, f_ext: Array | None = None
) -> InverseDerivatives:
    """Derivatives of inverse dynamics in the tangent space at q."""
    if isinstance(system, Model):
        return rnea_derivatives(system, q, qd, qdd, f_ext=f_ext)
    if lifting := system.lifting(q, qd, qdd):
        return lifted.lifted_inverse(lifting, qd, qdd, f_ext=f_ext)
    force = {} if f_ext is None else {"f_ext": duals(f_ext, np.zeros(f_ext.shape, dtype=int))}
    by_q, by_qd = _by_duals(system, "inverse_dynamics", rnea, (q, qd, qdd), 2, **force)
    return InverseDerivatives(by_q, by_qd, system.apply("mass_matrix", crba, q))


@for_any_system
def forward_dynamics_derivatives(
    system: System, q: Array, qd: Array, tau: Array, *, f_ext: Array | None = None
) -> ForwardDerivatives:
    """Derivatives of forward dynamics in the tangent space at q."""
    if isinstance(system, Model):
        return aba_derivatives(system, q, qd, tau, f_ext=f_ext)
    metric, force = mass_metric(system, q), {} if f_ext is None else {"f_ext": f_ext}
    qdd = metric.solve(tau - system.apply("bias_force", bias_force, q, qd, **force))
    partial = inverse_dynamics_derivatives(system, q, qd, qdd, f_ext=f_ext)
    minus = metric._replace(weight=-metric.weight)
    inverse = mirror_upper(metric.solve(np.eye(system.nv, dtype=int)))
    return ForwardDerivatives(minus.solve(partial.q), minus.solve(partial.qd), inverse)


# frames -----------------------------------------------------------------------------------------


@for_any_system
def frame_velocity_derivatives(system: System, q: Array, qd: Array, **options: Any) -> VelocityDerivatives:
    """Derivatives of the velocity of a frame in the tangent space at q."""
    if isinstance(system, Model):
        return frames.velocity_derivatives(system, q, qd, **options)
    if lifting := system.lifting(q, qd):
        return lifted.lifted_velocity(lifting, qd, **options)
    return VelocityDerivatives(*_by_duals(system, "velocity", kinematics.velocity, (q, qd), 2, **options))


@for_any_system
def frame_acceleration_derivatives(
    system: System, q: Array, qd: Array, qdd: Array, **options: Any
) -> AccelerationDerivatives:
    """Derivatives of the acceleration of a frame in the tangent space at q."""
    if isinstance(system, Model):
        return frames.acceleration_derivatives(system, q, qd, qdd, **options)
    if lifting := system.lifting(q, qd, qdd):
        return lifted.lifted_acceleration(lifting, qd, qdd, **options)
    return AccelerationDerivatives(
        *_by_duals(system, "acceleration", kinematics.acceleration, (q, qd, qdd), 3, **options)
    )


# momentum and energy ----------------------------------------------------------------------------


@for_any_system
def com_derivatives(system: System, q: Array) -> Array:
    """Derivatives (3, nv) of the centre of mass in the tangent space at q."""
    if isinstance(system, Model):
        return center_of_mass_derivatives(system, q)
    if lifting := system.lifting(q):
        return center_of_mass_derivatives(lifting.model, *lifting.state) @ lifting.G
    return _by_duals(system, "center_of_mass", momenta.center_of_mass, (q,), 1)[0]


@for_any_system
def total_momentum_derivatives(system: System, q: Array, qd: Array, *, per: str = "model") -> MomentumDerivatives:
    """Derivatives of the momentum in the tangent space at q."""
    if isinstance(system, Model):
        return momentum_derivatives_per(system, q, qd, per)
    if lifting := system.lifting(q, qd):
        return lifted.lifted_momentum(lifting, qd, per=per)
    return MomentumDerivatives(*_by_duals(system, "momentum", momenta.momentum, (q, qd), 2, per=per))


@for_any_system
def total_energy_derivatives(system: System, q: Array, qd: Array, *, per: str = "model") -> EnergyDerivatives:
    """Gradients of the kinetic and the potential energy in the tangent space at q."""
    if isinstance(system, Model):
        return energy_derivatives_per(system, q, qd, per)
    if lifting := system.lifting(q, qd):
        return lifted.lifted_energy(lifting, qd, per=per)
    by_q, by_qd = _by_duals(system, "energy", momenta.energy, (q, qd), 2, per=per)
    return EnergyDerivatives(by_q[0], by_qd[0], by_q[1])


def _by_duals(
    system: System, name: str, algorithm: Callable[..., Any], state: tuple[Array, ...], count: int, **options: Any
) -> list[Array]:
    """Derivatives (…, nv) of the library's function ``name`` with respect to the first ``count`` arrays: q, qd, …"""
    if not hasattr(system, f"{name}_row"):
        raise ModelError(system.refusal(f"{name}_derivatives"))
    still = [np.zeros(len(x), dtype=int) for x in state]

    def along(k: int, e: Array) -> Array:
        rates = [*still[:k], e if k else system.configuration_rate(state[0], e), *still[k + 1 :]]
        return parts(np.array(system.apply(name, algorithm, *map(duals, state, rates), **options)))[1]

    units = np.eye(system.nv, dtype=int)
    if not system.nv:
        shape = np.shape(system.apply(name, algorithm, *state, **options))
        return [np.zeros((*shape, 0), dtype=int)] * count
    return [np.stack([along(k, e) for e in units], axis=-1) for k in range(count)]
