"""``sixd.linearize``: linear equations of small motions about a motion, with or without constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sixd.algorithms.constrained.perturbation import WHERE, Linearization, linearized
from sixd.api.derivatives import constrained_dynamics_derivatives
from sixd.errors import ScalarTypeError, ShapeError
from sixd.model.manifold import require_unit_quaternions
from sixd.model.system import System, require_system
from sixd.runtime.arrays.registry import require_cpu
from sixd.spatial.scalar import Array, ArrayLike


def linearize(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    positions: Sequence[int] | None = None,
    speeds: Sequence[int] | None = None,
    t: float = 0.0,
) -> Linearization:
    """Linear equations of the motions near a motion that satisfies the constraints: dx/dt = A x + B u.

    The derivatives are exact, not finite differences. Constraints are optional; they may be loops, rolling (with fewer
    DoF of velocity than of position) or redundant.

    Parameters
    ----------
    q, qd, tau : (nq,), (nv,), (nv,), one state; tau is zero if omitted. Assembled: see ``sixd.assemble``.
    positions, speeds : indices of DoF (into qd, see ``model.v_slice``) whose changes make up x; they must be
        independent under the constraints. As many as are independent if omitted. Others may be left out only if those
        in x do not depend on them, such as the position and heading of a vehicle, or the angle of a wheel.
    t : time [s], for constraints with a prescribed rate.

    Returns
    -------
    ``.A`` (n, n), ``.B`` (n, nv), ``.positions``, ``.speeds``, ``.dq``, ``.dqd`` (nv, n), ``.eigenvalues`` (n,).
    Changes of a joint whose configuration space is not flat, such as a free one, are measured like its velocity, in its
    body's axes.

    Notes
    -----
    The eigenvalues determine stability if A is constant along the motion: at rest, or when only coordinates change on
    which A does not depend, such as the position and wheel angles of a vehicle that drives straight. The axes of a free
    body that spins rotate with it, so A changes: give such a wheel a separate joint for the spin. The derivatives are
    those of ``constrained_dynamics_derivatives``, which are compiled at the first call for a model.

    >>> import sixd
    >>> model = sixd.zoo.pendulum()
    >>> sixd.linearize(model, [0.0], [0.0]).A.shape
    (2, 2)
    """
    require_system(WHERE, model)
    model.require_numeric(WHERE)
    tau = np.zeros(model.nv) if tau is None else tau
    q, qd, tau = (_row(name, x, n) for name, x, n in (("q", q, model.nq), ("qd", qd, model.nv), ("tau", tau, model.nv)))
    require_unit_quaternions(WHERE, model, "q", q)
    chosen = _indices("positions", positions, model.nv), _indices("speeds", speeds, model.nv)

    def derivatives() -> tuple[Array, Array]:
        partial = constrained_dynamics_derivatives(model, q, qd, tau, t=t)
        return partial.qdd_q, partial.qdd_qd

    return linearized(model, q, qd, t, *chosen, derivatives)


def _row(name: str, value: ArrayLike, n: int) -> Array:
    """The value as an array (n,) of finite floats."""
    require_cpu(WHERE, **{name: value})
    row = np.asarray(value)
    if row.shape != (n,) or row.dtype.kind not in "fiu" or not np.isfinite(row).all():
        raise ShapeError(f"{WHERE}: {name} is {value!r}, expected one array of {n} finite numbers.")
    return row.astype(float)


def _indices(name: str, indices: Sequence[int] | None, nv: int) -> list[int] | None:
    if indices is None:
        return None
    numbers = np.asarray(indices)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ScalarTypeError(f"{WHERE}: {name} is {indices!r}, expected a list of indices of DoF, such as [0, 7].")
    chosen = [int(j) for j in numbers]
    if len(set(chosen)) != len(chosen) or any(not 0 <= j < nv for j in chosen):
        raise ShapeError(f"{WHERE}: {name} are {chosen}, expected indices from 0 to {nv - 1}, each once.")
    return chosen
