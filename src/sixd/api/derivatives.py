"""Derivatives of dynamics: functions of a system and arrays.

Arrays, batches, ``out=`` and scalars are as in ``sixd.api.dynamics``. Derivatives by q are in the tangent space: column
k is along the motion with qd = e_k, measured as qd is. Row: of what; column: by what. f_ext is held fixed in the world;
dry friction has slope zero.
"""

from __future__ import annotations

from typing import Any

from sixd.algorithms.derivatives.aba_derivatives import ForwardSlopes, aba_derivatives
from sixd.algorithms.derivatives.rnea_derivatives import InverseSlopes, rnea_derivatives
from sixd.engine.public import public
from sixd.model.system import System


@public(rnea_derivatives, result=InverseSlopes)
def inverse_dynamics_derivatives(
    model: System, q: Any, qd: Any, qdd: Any, *, f_ext: Any = None, out: Any = None
) -> InverseSlopes:
    """Derivatives of ``inverse_dynamics``: how tau changes with q, qd and qdd.

    Parameters
    ----------
    q, qd, qdd, f_ext : as for ``inverse_dynamics``.

    Returns
    -------
    A named tuple of arrays (…, nv, nv), entry [i, k] the derivative of tau[i]:

    q : along the velocity e_k, in the tangent space [N m/rad, …]; springs included, f_ext held fixed in the world.
    qd : by qd[k], damping included; dry friction has slope zero.
    qdd : by qdd[k], the mass matrix, armature included.

    Notes
    -----
    An analytic recursion, exact for joints of every type, O(n · depth)  [Singh, Russell and Wensing 2022]. A joint of
    your own whose S depends on q needs ``subspace_rate``.

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> slopes = sixd.inverse_dynamics_derivatives(arm, [0.3, 0.5], [1, -2], [0.4, 0.6])
    >>> slopes.q.round(6)
    array([[ 0.      , -0.335598],
           [ 0.      ,  0.342906]])
    """


@public(aba_derivatives, result=ForwardSlopes, solves=True)
def forward_dynamics_derivatives(
    model: System, q: Any, qd: Any, tau: Any, *, f_ext: Any = None, out: Any = None
) -> ForwardSlopes:
    """Derivatives of ``forward_dynamics``: how qdd changes with q, qd and tau.

    Parameters
    ----------
    q, qd, tau, f_ext : as for ``forward_dynamics``.

    Returns
    -------
    A named tuple of arrays (…, nv, nv), entry [i, k] the derivative of qdd[i]:

    q : along the velocity e_k, in the tangent space [1/s²]; f_ext held fixed in the world.
    qd : by qd[k] [1/s]; dry friction has slope zero.
    tau : by tau[k], the inverse of the mass matrix.

    Notes
    -----
    -M⁻¹ times the derivatives of ``inverse_dynamics`` at the acceleration that results. Raises ``SingularError`` where
    ``forward_dynamics`` does.

    >>> import sixd
    >>> sixd.forward_dynamics_derivatives(sixd.zoo.pendulum(), [0.0], [0.0], [0.0]).q.round(6)
    array([[-14.715]])
    """
