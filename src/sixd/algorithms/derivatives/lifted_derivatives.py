"""Derivatives of functions of a tree whose state is lifted from other coordinates y.

q = γ(y), qd = G yd and qdd = G ydd + c. A change of y by the velocity e_k moves q by the k-th column of G, qd by
dG_k yd, and qdd by dG_k ydd and the change of c = dG/dt yd: the chain rule. Forces tau = Gᵀ t, t those of the tree,
change with G besides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.derivatives import frame_derivatives as frames
from sixd.algorithms.derivatives.body_derivatives import energy_derivatives_per, momentum_derivatives_per
from sixd.algorithms.derivatives.frame_derivatives import AccelerationDerivatives, VelocityDerivatives
from sixd.algorithms.derivatives.momentum_derivatives import EnergyDerivatives, MomentumDerivatives
from sixd.algorithms.derivatives.rnea_derivatives import InverseDerivatives, rnea_derivatives
from sixd.algorithms.rnea import rnea
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import mirror_upper


class Lifting(NamedTuple):
    """A tree, its state q, qd, … and how that changes: G (n, m), its derivative along each y, and those of c (n, m)."""

    model: Model
    state: tuple[Array, ...]
    G: Array
    dG: list[Array]
    c_q: Array
    c_qd: Array

    def change(self, rate: Array) -> Array:
        """Derivative (n, m) of G rate by y, ``rate`` (m,) held."""
        return np.array([dG @ rate for dG in self.dG]).reshape(self.G.T.shape).T


def lifted_inverse(lifting: Lifting, yd: Array, ydd: Array, **force: Any) -> InverseDerivatives:
    """Derivatives of Gᵀ rnea(…) by y, yd and ydd."""
    partial, G = rnea_derivatives(lifting.model, *lifting.state, **force), lifting.G
    tau = rnea(lifting.model, *lifting.state, **force)
    by_q = partial.q @ G + partial.qd @ lifting.change(yd) + partial.qdd @ (lifting.change(ydd) + lifting.c_q)
    turned = np.array([dG.T @ tau for dG in lifting.dG]).reshape(len(G.T), len(G.T)).T
    by_qd = partial.qd @ G + partial.qdd @ lifting.c_qd
    return InverseDerivatives(G.T @ by_q + turned, G.T @ by_qd, mirror_upper(G.T @ (partial.qdd @ G)))


def lifted_velocity(lifting: Lifting, yd: Array, **options: Any) -> VelocityDerivatives:
    """Derivatives of the velocity of a frame by y and yd."""
    q, qd = lifting.state
    partial = frames.velocity_derivatives(lifting.model, q, qd, **options)
    return VelocityDerivatives(*_by_velocity(lifting, yd, partial.q, partial.qd))


def lifted_acceleration(lifting: Lifting, yd: Array, ydd: Array, **options: Any) -> AccelerationDerivatives:
    """Derivatives of the acceleration of a frame by y, yd and ydd."""
    (q, qd, qdd), G = lifting.state, lifting.G
    partial = frames.acceleration_derivatives(lifting.model, q, qd, qdd, **options)
    by_q = partial.q @ G + partial.qd @ lifting.change(yd) + partial.qdd @ (lifting.change(ydd) + lifting.c_q)
    return AccelerationDerivatives(by_q, partial.qd @ G + partial.qdd @ lifting.c_qd, partial.qdd @ G)


def lifted_momentum(lifting: Lifting, yd: Array, *, per: str = "model") -> MomentumDerivatives:
    """Derivatives of the momentum by y and yd."""
    q, qd = lifting.state
    partial = momentum_derivatives_per(lifting.model, q, qd, per)
    return MomentumDerivatives(*_by_velocity(lifting, yd, partial.q, partial.qd))


def lifted_energy(lifting: Lifting, yd: Array, *, per: str = "model") -> EnergyDerivatives:
    """Gradients of the energies by y and yd."""
    q, qd = lifting.state
    partial = energy_derivatives_per(lifting.model, q, qd, per)
    kinetic = _by_velocity(lifting, yd, partial.kinetic_q, partial.kinetic_qd)
    return EnergyDerivatives(*kinetic, partial.potential_q @ lifting.G)


def _by_velocity(lifting: Lifting, yd: Array, by_q: Array, by_qd: Array) -> tuple[Array, Array]:
    """Derivatives with respect to y and yd, from those of a function of q and qd."""
    return by_q @ lifting.G + by_qd @ lifting.change(yd), by_qd @ lifting.G
