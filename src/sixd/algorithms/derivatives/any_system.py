"""Derivatives of the dynamics of any system: of a tree by the recursion, of others by dual numbers.

Reduced models and systems given by equations compute inverse dynamics in their own way; one evaluation on dual numbers
for each direction differentiates it.
"""

from __future__ import annotations

import numpy as np

from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.crba import crba
from sixd.algorithms.derivatives.aba_derivatives import ForwardSlopes, aba_derivatives
from sixd.algorithms.derivatives.joint_slopes import columns
from sixd.algorithms.derivatives.rnea_derivatives import InverseSlopes, rnea_derivatives
from sixd.algorithms.rnea import bias_force, rnea
from sixd.model.model import Model
from sixd.model.system import System, for_any_system
from sixd.spatial.dual import duals, parts
from sixd.spatial.scalar import Array
from sixd.spatial.transform import mirror_upper


@for_any_system
def inverse_slopes(system: System, q: Array, qd: Array, qdd: Array, *, f_ext: Array | None = None) -> InverseSlopes:
    """Derivatives of inverse dynamics in the tangent space at q."""
    if isinstance(system, Model):
        return rnea_derivatives(system, q, qd, qdd, f_ext=f_ext)
    still = np.zeros(system.nv, dtype=int)
    force = {} if f_ext is None else {"f_ext": duals(f_ext, np.zeros(f_ext.shape, dtype=int))}

    def slope(rate: Array, turn: Array) -> Array:
        row = duals(q, rate), duals(qd, turn), duals(qdd, still)
        return parts(system.apply("inverse_dynamics", rnea, *row, **force))[1]

    units = np.eye(system.nv, dtype=int)
    by_q = [slope(system.configuration_rate(q, e), still) for e in units]
    by_qd = [slope(np.zeros(system.nq, dtype=int), e) for e in units]
    return InverseSlopes(columns(by_q), columns(by_qd), system.apply("mass_matrix", crba, q))


@for_any_system
def forward_slopes(system: System, q: Array, qd: Array, tau: Array, *, f_ext: Array | None = None) -> ForwardSlopes:
    """Derivatives of forward dynamics in the tangent space at q."""
    if isinstance(system, Model):
        return aba_derivatives(system, q, qd, tau, f_ext=f_ext)
    metric, force = mass_metric(system, q), {} if f_ext is None else {"f_ext": f_ext}
    qdd = metric.solve(tau - system.apply("bias_force", bias_force, q, qd, **force))
    slopes = inverse_slopes(system, q, qd, qdd, f_ext=f_ext)
    minus = metric._replace(weight=-metric.weight)
    inverse = mirror_upper(metric.solve(np.eye(system.nv, dtype=int)))
    return ForwardSlopes(minus.solve(slopes.q), minus.solve(slopes.qd), inverse)
