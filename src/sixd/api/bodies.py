"""Forces and motion of each body: the arrays of ``sixd.newton_euler``, and the forces in joints and loops.

Arrays, batches and scalars are as in ``sixd.api.dynamics``. ``sixd.symbolic.newton`` makes the object of the arrays.
"""

from __future__ import annotations

from sixd.algorithms import body_dynamics
from sixd.engine.public import public
from sixd.model.system import System
from sixd.spatial.scalar import Array, ArrayLike


@public(body_dynamics.joint_reactions, solves=True, check_finite=False, generic=True)
def joint_reactions(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    t: ArrayLike = 0.0,
    expressed_in: str = "body",
    out: object = None,
) -> Array:
    """Force [n; f] that each joint transmits to its body while joint forces act, and that of each constraint.

    Parameters
    ----------
    q, qd, tau, f_ext, t : as for ``constrained_dynamics``; without constraints as for ``forward_dynamics``.
    expressed_in : "body" (axes and origin of the joint's successor frame, the body's own), "aligned" (world axes, the
        same origin) or "world" (world axes, moment about the world's origin).

    Returns
    -------
    (…, nb + number of constraints, 6) [N m, N]. Row k < nb is what the parent exerts through its joint on
    ``body_names[k]``, all six components: the ``.n`` and ``.f`` of ``newton_euler`` at the accelerations that result.
    After them comes a row for each entry of ``model.constraints``, in its order: the wrench of a loop, a rod or a
    rolling contact on the body of its ``frame_b`` (of ``frame``, for constraints on the ground), at that frame, and in
    its axes for "body". The body of the other frame gets the opposite. A model without constraints has (…, nb, 6).

    Notes
    -----
    These are forces on bodies, while ``constraint_forces`` returns the generalised forces Aᵢᵀλᵢ (nv,) on the joint
    coordinates: Σ JᵀW over the two bodies of a constraint is its row of ``constraint_forces``. Constraints between
    joints (``Mimic``, ``Coupling``) and functions of q (``Holonomic``, ``Pfaffian``) act along joint coordinates, as a
    motor does, and on no body: their rows here are zero. So Sᵀ[n; f] + armature qdd + passive forces = tau + their Aᵀλ.
    If constraints are redundant, the inner forces are not determined; λ and the reactions are the solution of least
    norm. The result is NaN where that of ``constrained_dynamics`` is.

    >>> import sixd
    >>> pendulum = sixd.zoo.pendulum()
    >>> sixd.joint_reactions(pendulum, [0.0], [0.0], [0.0]).round(6)[0, 3:]
    array([-0.  ,  0.  ,  9.81])
    """
