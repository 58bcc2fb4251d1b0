"""Derivatives of forward dynamics, by those of inverse dynamics at the acceleration that results.

With tau = ID(q, qd, qdd) held, M ∂qdd = -∂ID along any change of q and qd, and ∂qdd/∂tau = M⁻¹. Symbols and indices as
in rnea_derivatives.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.derivatives.rnea_derivatives import rnea_derivatives
from sixd.algorithms.rnea import bias_force
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import mirror_upper


class ForwardDerivatives(NamedTuple):
    """∂qdd/∂q, ∂qdd/∂qd and ∂qdd/∂tau = M⁻¹, (…, nv, nv) each; row: of what, column: by what."""

    q: Array
    qd: Array
    tau: Array


def aba_derivatives(model: Model, q: Array, qd: Array, tau: Array, *, f_ext: Array | None = None) -> ForwardDerivatives:
    """Derivatives of ``aba`` in the tangent space at q: -M⁻¹ ∂ID/∂q, -M⁻¹ ∂ID/∂qd and M⁻¹."""
    metric = mass_metric(model, q)
    qdd = metric.solve(tau - bias_force(model, q, qd, f_ext=f_ext))
    partial = rnea_derivatives(model, q, qd, qdd, f_ext=f_ext)
    inverse = mirror_upper(metric.solve(np.eye(model.nv, dtype=int)))
    minus = metric._replace(weight=-metric.weight)  # fewer signs to change than in the results
    return ForwardDerivatives(minus.solve(partial.q), minus.solve(partial.qd), inverse)
