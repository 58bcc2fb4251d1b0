"""States between two records by cubic Hermite interpolation on the configuration manifold.

The motion from q0 to q1 is written as q = q0 ∘ exp(φ(t)), φ (nv,) in the tangent space at q0, and φ is the cubic with
the values and derivatives of both records. On flat joints this is the classical cubic. Derivatives are
exact, by dual numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sixd.engine.functions import Function, Shape
from sixd.model.system import System
from sixd.spatial.dual import duals, parts
from sixd.spatial.scalar import Array, Scalar
from sixd.trajectory.derived import evaluate_records

# added to φ where exp is differentiated: at 0 the derivative of ‖φ‖ is 0/0; the square is still a normal number
_NEAR_ZERO = 1e-150


def hermite(
    model: System, q0: Array, qd0: Array, q1: Array, qd1: Array, duration: Scalar, part: Scalar
) -> tuple[Array, Array]:
    """Return q (nq,) and qd (nv,) at the fraction ``part``, 0 … 1, of the ``duration`` between two states.

    Works on one state of any scalar type. q and qd are exact at both ends, and qd is the velocity of q. With records h
    apart the errors are of order h⁴ in q and h³ in qd. Orientations must rotate by less than half a turn in between.
    """
    # φ at the end, and the dφ/dt there that gives the velocity qd1
    end, rate = _derivative(model.difference_row, q0, q1, model.configuration_rate(q1, qd1))
    s, h = part, duration
    phi = end * (s * s * (3 - 2 * s)) + (qd0 * (s * (1 - s) * (1 - s)) - rate * (s * s * (1 - s))) * h
    phid = end * (6 * s * (1 - s) / h) + qd0 * ((1 - s) * (1 - 3 * s)) + rate * (s * (3 * s - 2))

    # the velocity is the derivative of log at q along dq/dt
    q = model.integrate_row(q0, phi)
    _, moved = _derivative(model.integrate_row, q0, phi + _NEAR_ZERO, phid)
    _, qd = _derivative(model.difference_row, q, q, moved)
    return q, qd


def _derivative(
    function: Callable[[Array, Array], Array], fixed: Array, x: Array, direction: Array
) -> tuple[Array, Array]:
    """f(fixed, x) and its derivative with respect to x along ``direction``; all arguments become dual numbers."""
    return parts(function(duals(fixed, np.zeros(len(fixed), dtype=int)), duals(x, direction)))


_SHAPES: dict[str, Shape] = {"qd0": ("nv",), "qd1": ("nv",), "duration": (), "part": ()}
_ARRAYS = ("q0", "qd0", "q1", "qd1", "duration", "part")
_HERMITE = Function("at", hermite, _ARRAYS, named=False, check_finite=False, shapes=_SHAPES)


def interpolate(
    system: System, t: Array, q: Array, qd: Array, times: Array, parameters: Mapping[str, Array]
) -> tuple[Array, ...]:
    """Return (q, qd), each (…, m, n), at times (m,) within t (r,), r > 1."""
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    h = t[k + 1] - t[k]
    arrays = [np.asarray(x, dtype=float) for x in (q[..., k, :], qd[..., k, :], q[..., k + 1, :], qd[..., k + 1, :])]
    arrays += [h, (times - t[k]) / h]
    # the result does not depend on the parameters, but the compiled function has the symbols as inputs
    between = evaluate_records(_HERMITE, system, parameters if system.symbols else {}, *arrays)
    # at the time of a record, return the record itself, to the last bit
    exact = np.searchsorted(t, times).clip(0, len(t) - 1)
    same = (t[exact] == times)[:, None]
    return tuple(np.where(same, x[..., exact, :], y) for x, y in zip((q, qd), between, strict=True))
