"""Constraints: constrained dynamics, constraint equations, assembly and mobility.

Arrays, batches, ``out=`` and scalars are as in ``sixd.api.dynamics``. The constraints are those of
``model.constraints``; add them with ``ModelBuilder.add_constraint``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sixd.algorithms.constrained import dynamics as constrained
from sixd.algorithms.constrained import rows
from sixd.algorithms.constrained.assembly import assembled, assembled_anywhere, assembled_velocity
from sixd.algorithms.constrained.rank import Mobility, assembled_rank, mobility_at
from sixd.algorithms.derivatives import implicit
from sixd.engine.public import public
from sixd.errors import AssemblyError, ScalarTypeError, ShapeError, SimulationWarning
from sixd.model.manifold import require_unit_quaternions
from sixd.model.system import System, require_system
from sixd.runtime.arrays.registry import require_cpu
from sixd.runtime.batch import Argument, apply, prepare
from sixd.spatial.scalar import Array, ArrayLike

_MOST_NAMED = 8  # states that a warning lists


@public(
    constrained.constrained_dynamics,
    solves=True,
    check_finite=False,
    generic=True,
    implicit=implicit.constrained_dynamics,
)
def constrained_dynamics(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    t: ArrayLike = 0.0,
    stabilisation: float = 0.0,
    out: object = None,
) -> tuple[Array, Array]:
    """Accelerations and constraint forces: M qdd + h = tau + Aᵀλ with A qdd + dA/dt qd = db/dt.

    Parameters
    ----------
    q, qd, tau, f_ext : as for ``forward_dynamics``; q assembled and qd with A qd = b (see ``assemble``).
    t : (…) time [s], for constraints with a prescribed rate b(t).
    stabilisation : ω [1/s], a number: adds -2ω(A qd - b) - ω²φ to the constraint equations (Baumgarte), so that errors
        decay. Each value is compiled separately.

    Returns
    -------
    qdd : (…, nv) accelerations; without constraints those of ``forward_dynamics``.
    lam : (…, k) the multipliers λ, in the order of ``model.constraints``. Each kind of constraint documents their
        meaning and units; ``constraint_forces`` returns their generalised forces. Where equations are redundant, qdd is
        unique and λ is the solution of least norm.

    Notes
    -----
    Where the constraints have a lower rank than in neighbouring assembled configurations, as in a dead centre, the
    motion is not determined: qdd and lam of such a state are NaN, and other states of a batch are not affected. The
    rank is lower if a row of A vanishes or if its angle to the span of the others, in the metric of M, is less than
    3e-7 rad (float32: 3e-5). Branches of assembly may differ in rank; twelve assembled configurations are searched for
    them. Results are also NaN where more rows of A are independent than in any branch: far from an assembled
    configuration. The rank of a model with symbols is computed with random numbers for them. Raises ``SingularError``
    if the mass matrix of the tree is singular in every configuration. A body carried by one that is 10⁶ times lighter
    costs five digits.

    >>> import numpy as np, sixd
    >>> model = sixd.zoo.four_bar()
    >>> q = sixd.assemble(model, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    >>> qdd, lam = sixd.constrained_dynamics(model, q, np.zeros(3), np.zeros(3))
    >>> qdd[0].round(8)
    np.float64(-7.82963904)
    """


@public(constrained.projections, solves=True, check_finite=False, generic=True)
def projections(model: System, q: ArrayLike, *, out: object = None) -> tuple[Array, Array]:
    """(P, P_u), each (…, nv, nv): P qd is the part of a velocity that A allows, P_u u the part of a force that moves.

    P_u = 1 - Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹ and P = P_uᵀ, of rank nv - rank A; (P qd)ᵀ M (1 - P) qd = 0. Redundant equations
    count once. The result is NaN where that of ``constrained_dynamics`` is.
    """


@public(rows.constraint_jacobian, generic=True)
def constraint_jacobian(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """A (…, k, nv): the constraints are A qd = b(t), with the rows of A in the order of ``model.constraints``."""


@public(rows.constraint_error, generic=True)
def constraint_error(model: System, q: ArrayLike, *, out: object = None) -> Array:
    """φ (…, h): the residual of the holonomic constraints, zero when assembled; each kind documents its units."""


@public(rows.constraint_velocity, generic=True)
def constraint_velocity(model: System, q: ArrayLike, qd: ArrayLike, *, t: ArrayLike = 0.0, out: object = None) -> Array:
    """A qd - b(t) (…, k): the residual of the velocity constraints, zero when qd satisfies them."""


@public(rows.constraint_forces, generic=True)
def constraint_forces(model: System, q: ArrayLike, lam: ArrayLike, *, out: object = None) -> Array:
    """Generalised force Aᵢᵀλᵢ (…, number of constraints, nv) of each constraint; their sum is Aᵀλ."""


# assembly ---------------------------------------------------------------------------------------


def assemble(
    model: System, q: ArrayLike, qd: ArrayLike | None = None, *, fixed: Iterable[str] = (), t: float = 0.0
) -> Any:
    """A configuration that satisfies the constraints, near q (…, nq); with qd also a velocity: (q, qd).

    Takes steps of least norm from q; joints named in ``fixed`` keep their coordinates (and velocities). The velocity is
    the one with A qd = b(t), t [s], that differs least from qd (…, nv) in the mass metric. Raises ``AssemblyError`` if
    the iteration fails, and names the constraint that is farthest from being satisfied. In a batch, states that fail
    are NaN, and a warning names them.

    If the iteration from q fails, it starts again near q: a stretched mechanism, for example, may bend either way.
    """
    where = "assemble"
    require_system(where, model)
    model.require_numeric(where)
    free = _free(where, model, fixed)
    arguments = [Argument("q", q, (model.nq,), f"nq of model {model.name!r}")]
    if qd is not None:
        arguments.append(Argument("qd", qd, (model.nv,), f"nv of model {model.name!r}"))
    require_unit_quaternions(where, model, "q", prepare(where, arguments).arrays[0])

    def one(q: Array, qd: Array | None = None) -> Any:
        for name, x in (("q", q), ("qd", qd)):
            if x is not None and (x.dtype == object or not np.isfinite(x).all()):
                raise AssemblyError(f"{where}: {name} is {x.tolist()}, expected finite numbers.")
        there = _assembled(where, model, q, free)
        return there if qd is None else (there, assembled_velocity(model, there, qd, t, free))

    return _apply_or_nan(where, one, arguments)


def _apply_or_nan(where: str, one: Callable[..., Any], arguments: list[Argument]) -> Any:
    """``one`` of every state of a batch, NaN with a warning where it fails; without a batch its error is raised."""
    batch = prepare(where, arguments).batch
    if batch == ():
        return apply(where, one, arguments)
    failures: list[AssemblyError | None] = []  # of each state

    def row(*arrays: Array) -> Any:
        try:
            result = one(*arrays)
        except AssemblyError as error:
            failures.append(error)
            missing = tuple(np.full(len(x), np.nan) for x in arrays)
            return missing if len(missing) > 1 else missing[0]
        failures.append(None)
        return result

    result = apply(where, row, arguments)
    _warn_of_rows(where, failures[: math.prod(batch)], batch)
    return result


def _warn_of_rows(where: str, failures: Sequence[Exception | None], batch: tuple[int, ...]) -> None:
    """Warn of the states of a batch that failed, with the reason of the first."""
    bad = [k for k, failure in enumerate(failures) if failure is not None]
    if not bad:
        return
    indices = [tuple(map(int, np.unravel_index(k, batch))) for k in bad[:_MOST_NAMED]]
    listed = ", ".join(str(index if len(batch) > 1 else index[0]) for index in indices)
    listed += f" and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
    verb = f"state {listed} is" if len(bad) == 1 else f"states {listed} are"
    reason = str(failures[bad[0]]).removeprefix(f"{where}: ")
    warnings.warn(f"{where}: {verb} not assembled and NaN. The first: {reason}", SimulationWarning, stacklevel=4)


def _assembled(where: str, model: System, q: Array, free: Array) -> Array:
    rng = np.random.default_rng(0)
    attempt = assembled(model, q, free, rng)
    if attempt.done:
        return attempt.q
    name = attempt.worst.label if attempt.worst is not None else "a constraint"
    if assembled_anywhere(model, q, free, rng):
        hint = "Other starts succeed: begin nearer to the configuration that you want, or fix fewer joints."
    else:
        held = "" if free.all() else " with these joints fixed"
        hint = (
            f"Starts elsewhere fail too: do the constraints contradict each other, or can no configuration{held} reach "
            f"that far? Try model.constraints one by one."
        )
    raise AssemblyError(
        f"{where}: {model.name!r} was not assembled: {name} is off by {attempt.residual:.3g} in its own unit, "
        f"expected 0. {hint}"
    )


def _free(where: str, model: System, fixed: Iterable[str]) -> Array:
    if isinstance(fixed, str):
        raise ScalarTypeError(f"{where}: fixed is the string {fixed!r}, expected a list of joint names: [{fixed!r}].")
    free = np.ones(model.nv, dtype=bool)
    for joint in fixed:
        free[model.v_slice(joint)] = False
    return free


def mobility(model: System, q: ArrayLike | None = None) -> Mobility:
    """DoF that the constraints leave, rank and number of their equations, and which are redundant.

    Computed at q (nq,), or without q in general assembled configurations. If branches of assembly differ, the result is
    that of the branch with the fewest DoF, and ``in_other_branches`` has the DoF in the others.

    >>> import sixd
    >>> print(sixd.mobility(sixd.zoo.bricard()))
    bricard: 1 DoF = 5 of the joints - 4 independent of 5 equations, 1 redundant (1 in Loop(ground_P5, P5))
    """
    where = "mobility"
    require_system(where, model)
    model.require_numeric(where)
    if q is None:
        rank = assembled_rank(model)
        others = tuple(model.nv - number for number in sorted(rank.branches - {rank.number}))
        return replace(mobility_at(model, rank.at), assembled=rank.assembles, in_other_branches=others)
    require_cpu(where, q=q)
    array = np.asarray(q)
    if array.shape != (model.nq,) or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise ShapeError(f"{where}: q is {q!r}, expected one configuration of {model.nq} finite numbers.")
    require_unit_quaternions(where, model, "q", array)
    return mobility_at(model, array.astype(float))
