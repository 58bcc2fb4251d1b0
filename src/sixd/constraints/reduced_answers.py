"""How a model in reduced coordinates answers the functions of the library, by those of the whole model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.coriolis import coriolis_matrix
from sixd.algorithms.crba import crba
from sixd.algorithms.jacobian import inertia_of_inverse, jacobian
from sixd.algorithms.rnea import rnea
from sixd.spatial.scalar import Array
from sixd.spatial.transform import mirror_upper

if TYPE_CHECKING:
    from sixd.constraints.reduced import Reduced

# functions of the lifted state alone
LIFTED = frozenset({
    "energy", "momentum", "center_of_mass", "composite_inertia", "pose", "body_poses", "velocity", "acceleration",
})  # fmt: skip


def _inverse_dynamics(s: Reduced, y: Array, yd: Array, ydd: Array, **force: Any) -> Array:
    return s.G(y).T @ rnea(s.model, *s.state(y, yd, ydd), **force)


def _bias_force(s: Reduced, y: Array, yd: Array, **force: Any) -> Array:
    return _inverse_dynamics(s, y, yd, np.zeros(s.nv, dtype=int), **force)


def _mass_matrix(s: Reduced, y: Array) -> Array:
    G = s.G(y)
    return mirror_upper(G.T @ (crba(s.model, s.coordinates(y)) @ G))


def _forward_dynamics(s: Reduced, y: Array, yd: Array, tau: Array, **force: Any) -> Array:
    return mass_metric(s, y).solve(tau - _bias_force(s, y, yd, **force))


def _jacobian(s: Reduced, y: Array, **options: Any) -> Array:
    return jacobian(s.model, s.coordinates(y), **options) @ s.G(y)


def _inverse_operational_inertia(s: Reduced, y: Array, **options: Any) -> Array:
    J = _jacobian(s, y, **options)
    return mirror_upper(J @ mass_metric(s, y).solve(J.T))


def _operational_inertia(s: Reduced, y: Array, *, frame: str, expressed_in: str) -> tuple[Array, Array]:
    W = _inverse_operational_inertia(s, y, frame=frame)
    return inertia_of_inverse(s.model, s.coordinates(y), frame, W, expressed_in), W


def _coriolis_matrix(s: Reduced, y: Array, yd: Array) -> Array:
    """Gᵀ(C G + M dG/dt)."""
    (q, qd), G = s.state(y, yd), s.G(y)
    return G.T @ (coriolis_matrix(s.model, q, qd) @ G + crba(s.model, q) @ s.G_rate(y, yd))


def _christoffel(s: Reduced, y: Array) -> Array:
    """C is linear in yd: Γ[:, :, k] is that of the k-th unit velocity."""
    slices = [_coriolis_matrix(s, y, e) for e in np.eye(s.nv, dtype=int)]
    return np.moveaxis(np.array(slices).reshape(s.nv, s.nv, s.nv), 0, 2)


# of (reduced model, algorithm on a tree, *arrays, **options)
ANSWERS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": lambda s, f, *x, **o: _inverse_dynamics(s, *x, **o),
    "forward_dynamics": lambda s, f, *x, **o: _forward_dynamics(s, *x, **o),
    "bias_force": lambda s, f, *x, **o: _bias_force(s, *x, **o),
    "gravity_force": lambda s, f, y: s.G(y).T @ f(s.model, s.coordinates(y)),
    "mass_matrix": lambda s, f, y: _mass_matrix(s, y),
    "inverse_mass_matrix": lambda s, f, y: mirror_upper(mass_metric(s, y).solve(np.eye(s.nv, dtype=int))),
    "mass_matrix_solve": lambda s, f, y, b: mass_metric(s, y).solve(b),
    "coriolis_matrix": lambda s, f, y, yd: _coriolis_matrix(s, y, yd),
    "christoffel": lambda s, f, y: _christoffel(s, y),
    "centroidal_matrix": lambda s, f, y: f(s.model, s.coordinates(y)) @ s.G(y),
    "jacobian": lambda s, f, y, **o: _jacobian(s, y, **o),
    "jacobian_rate": lambda s, f, y, yd, **o: (
        f(s.model, *s.state(y, yd), **o) @ s.G(y) + jacobian(s.model, s.coordinates(y), **o) @ s.G_rate(y, yd)
    ),
    "inverse_operational_inertia": lambda s, f, y, **o: _inverse_operational_inertia(s, y, **o),
    "operational_inertia": lambda s, f, y, **o: _operational_inertia(s, y, **o),
    "external_force": lambda s, f, y, *wrench, **o: f(s.model, s.coordinates(y), *wrench, **o),
}
