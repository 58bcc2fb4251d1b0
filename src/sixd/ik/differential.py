"""``sixd.differential_ik``: joint velocities that move frames as wanted, within limits: one bounded problem a sample.

min ½ Σ w²‖J qd - v*‖² + ½ d²‖qd‖² + ½ p²‖qd - k (posture ⊖ q)‖² with lower ≤ qd ≤ upper, solved by the active set of a
simulation's steps (``algorithms/linear/active_set.py``): its impulses are the velocities here, its W is the
matrix, its v_e the gradient at rest. Multipliers enforce constraints A qd = 0; a few more solutions make them exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError, require_known
from sixd.ik.coordinates import Coordinates
from sixd.ik.targets import WORLD, CenterOfMass, read_weights, require_clearance, shape_of
from sixd.model.manifold import require_unit_quaternions
from sixd.model.model import Model
from sixd.model.system import System, require_system
from sixd.runtime.batch import Argument, prepare
from sixd.simulation.arguments import nonnegative, positive
from sixd.spatial.scalar import Array, require_scalars

if TYPE_CHECKING:
    from sixd.ik.distance_rows import DistanceRows

UNLIMITED = 1e3  # rad/s or m/s: of joints without a limit of velocity
LEAST_DAMPING = 1e-6  # parts of a weight: its square is 1e4 times the rounding of J's
VIOLATION = 1e-5  # m/s, of the clearance: what the updates of multipliers leave
_FRAMES = ("body", "aligned", "world")


class DifferentialIK(NamedTuple):
    """Joint velocities and their errors; the leading dimensions … are those of the batch.

    qd : (…, nv), within the limits.
    residual : (…), the remaining weighted error, √Σ w²(J qd - v*)² over all targets [m/s and rad/s].
    success : (…), whether the bounded problem was solved; False where an argument is NaN, or where no velocity within
        the limits keeps the clearance.
    """

    qd: Array
    residual: Array
    success: Array


def differential_ik(
    model: System,
    q: Any,
    targets: Mapping[str, Any],
    *,
    expressed_in: str = "body",
    weights: Any = None,
    posture: Any = None,
    posture_gain: float = 1.0,
    posture_weight: float = 1e-2,
    damping: float = 1e-3,
    limits: Any = True,
    velocity_limits: Any = True,
    dt: float = 0.01,
    locked: Any = (),
    clearance: float | None = None,
    pairs: Any = None,
    placements: Mapping[str, Any] | None = None,
) -> DifferentialIK:
    """Joint velocities that move frames as wanted, as far as limits allow: one step of a kinematic controller.

    Parameters
    ----------
    q : (…, nq) configurations.
    targets : {frame: velocity}: a twist [ω; v] (…, 6) [rad/s, m/s], or the velocity (…, 3) of the frame's origin; of
        "world" ``sixd.CenterOfMass(velocity)``, in world axes.
    expressed_in : the axes and the origin of the twists: "body", "aligned" or "world", as for ``jacobian``.
    weights : as for ``inverse_kinematics``: of metres and radians.
    posture : (…, nq), a configuration that the remaining degrees of freedom approach, at ``posture_gain`` [1/s] times
        the difference, with the weight ``posture_weight``.
    damping : the weight of ‖qd‖, at least 1e-6 of the largest other weight: velocities stay small near singular
        configurations. In float32 the square of 1e-3 is near rounding: the velocities of degrees of freedom that the
        targets do not determine are accurate to 1e-2.
    limits : of positions: True, False or (lower, upper), as for ``inverse_kinematics``. The velocities do not cross
        them within ``dt`` [s]; a joint beyond a limit returns.
    velocity_limits : True for the model's, False for none, or a number or (nv,); at most 1000 rad/s or m/s.
    locked : names of joints that do not move.
    clearance : the least distance of pairs of collision shapes [m], None to ignore collisions: n·J qd ≥ -(distance -
        clearance) / dt for the 12 pairs that could reach it first. Pairs that are nearer move apart, at most at half of
        the speed that velocity limits allow. Velocities are linear in dt: a short one keeps the clearance better.
    pairs, placements : which pairs, and where shapes are, with poses (4, 4): as for ``plan_path``.

    Returns
    -------
    ``DifferentialIK``: ``qd`` (…, nv), ``residual`` (…), ``success`` (…).

    Notes
    -----
    Mimic joints follow, closed loops and rolling bodies keep their constraints. NaN affects only its own sample.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.panda_arm()
    >>> q = [0, -0.4, 0, -2.0, 0, 1.8, 0.8]
    >>> result = sixd.differential_ik(arm, q, {"tool": [0, 0, 0, 0.1, 0, 0]}, expressed_in="aligned")
    >>> (sixd.jacobian(arm, q, "tool", expressed_in="aligned") @ result.qd).round(4) + 0.0
    array([0. , 0. , 0. , 0.1, 0. , 0. ])
    """
    # imported when needed: it takes as long as the rest of this folder
    from sixd.ik.velocity_problem import compiled_velocities

    where = "differential_ik"
    require_system(where, model, q, targets)
    space = Coordinates(where, model)
    require_clearance(where, clearance, pairs, placements)
    require_known(f"{where}: expressed_in", "choice", expressed_in, _FRAMES)
    rates, arguments = _read_rates(where, model, targets, expressed_in)
    weights = read_weights(where, weights, targets)
    if isinstance(locked, Mapping):
        raise ScalarTypeError(f"{where}: locked is a mapping, expected names of joints: their values are those of q.")
    dofs, _ = space.locked(locked)
    numbers = {
        "damping": positive(where, "damping", damping, "1"),
        "posture weight": nonnegative(where, "posture_weight", posture_weight, "1"),
        "gain": nonnegative(where, "posture_gain", posture_gain, "1/s"),
        "dt": positive(where, "dt", dt, "s"),
    }
    least = LEAST_DAMPING * max(float(pair.max()) for pair in weights.values())
    if math.hypot(numbers["damping"], 0.0 if posture is None else numbers["posture weight"]) < least:
        raise ScalarTypeError(
            f"{where}: damping is {damping!r}, expected at least {least:.3g}, {LEAST_DAMPING:g} of the largest weight: "
            f"less is lost in rounding, and degrees of freedom that the targets leave would move at random."
        )
    arguments.append(space.argument("q", q))
    if posture is not None:
        arguments.append(space.argument("posture", posture))
    arrays, batch, kind = prepare(where, arguments)
    if kind is object:
        raise ScalarTypeError(f"{where}: an argument holds symbols, expected numbers.")
    dtype, n = str(np.dtype(kind)), math.prod(batch)

    def flat(array: Array, argument: Argument) -> Array:
        return np.ascontiguousarray(np.broadcast_to(array, batch + argument.core), dtype).reshape(n, *argument.core)

    rows = [flat(x, a) for x, a in zip(arrays, arguments, strict=True)]
    for name, x in zip(("q", "posture"), rows[len(rates) :], strict=False):
        require_unit_quaternions(where, model, name, x.reshape((*batch, model.nq)))
    goals, configurations = rows[: len(rates)], [space.inner(x) for x in rows[len(rates) :]]
    lower, upper = space.limits(limits)
    fastest = _velocity_bounds(space, velocity_limits, dofs)
    near = (
        None if clearance is None else _near_pairs(space, configurations[0], clearance, pairs, placements, fastest, dt)
    )
    own = dtype if near is None else "float64"  # penalties of inequalities are lost in the rounding of float32
    shared = [*weights.values(), lower, upper, fastest, *(np.array(x) for x in numbers.values())]
    code = compiled_velocities(space.system, rates, posture is not None, own, 0 if near is None else near.h.shape[1])
    empty = [np.zeros((n, space.system.nv), own), np.zeros(n, own), np.zeros(n, own)]
    inputs = [np.asarray(x, own) for x in (*empty, *configurations, *goals)] + [
        np.asarray(x, own)[None] for x in shared
    ]
    if near is not None and near.h.shape[1]:
        inputs += [near.G, near.h]
    qd, residual, solved = code(np.ones(1), inputs) if n else empty
    outer = space.outer_velocity(np.asarray(configurations[0], own), qd).astype(dtype, copy=False)
    success = (solved == 1) & np.isfinite(qd).all(axis=1)
    if near is not None:
        success &= near.violation(np.nan_to_num(qd)) <= VIOLATION
    return DifferentialIK(
        outer.reshape(*batch, model.nv),
        residual.astype(dtype, copy=False).reshape(batch)[()],
        success.reshape(batch)[()],
    )


def _near_pairs(
    space: Coordinates, y: Array, clearance: Any, pairs: Any, placements: Any, fastest: Array, dt: float
) -> DistanceRows:
    """The rows of the clearance at configurations y (n, nq) of the system."""
    from sixd.collision.pair_gaps import PairGaps
    from sixd.ik.distance_rows import distance_rows

    least = nonnegative(space.where, "clearance", clearance, "m")
    if not isinstance(space.model, Model):
        raise ModelError(f"{space.where}: {space.model.name!r} is in reduced coordinates, expected a sixd.Model.")
    gaps = PairGaps(space.where, space.model, pairs, placements)
    return distance_rows(space, gaps, np.asarray(y, dtype=float), least, dt, fastest)


def _read_rates(where: str, model: System, targets: Any, expressed_in: str) -> tuple[Any, list[Argument]]:
    """The wanted velocities, and their arrays."""
    from sixd.ik.velocity_problem import Rate

    if not isinstance(targets, Mapping) or not targets:
        raise ScalarTypeError(f"{where}: targets are {targets!r}, expected a mapping {{frame: twist}}, not empty.")
    rates: list[Rate] = []
    arguments: list[Argument] = []
    for name, value in targets.items():
        if isinstance(value, CenterOfMass):
            if name != WORLD:
                raise ModelError(f"{where}: a CenterOfMass is the target of {name!r}, expected that of {WORLD!r}.")
            rate, array = Rate("center of mass", WORLD, "world"), value.position
        else:
            if model.frame(name, where).body == 0:
                raise ModelError(f"{where}: frame {name!r} is fixed to the world, expected one that moves.")
            last = shape_of(where, f"the target of {name!r}", value)[-1:]
            if last not in ((3,), (6,)):
                raise ShapeError(
                    f"{where}: the target of {name!r} has shape {np.shape(value)}, expected a twist (…, 6) or the "
                    f"velocity (…, 3) of the frame's origin."
                )
            rate, array = Rate("twist" if last == (6,) else "velocity", name, expressed_in), value
        rates.append(rate)
        arguments.append(Argument(f"the target of {name!r}", array, (rate.size,)))
    return tuple(rates), arguments


def _velocity_bounds(space: Coordinates, limits: Any, locked: tuple[int, ...]) -> Array:
    """The largest speed (nv,) of each degree of freedom of the system."""
    model, where = space.model, space.where
    if isinstance(limits, (bool, np.bool_)):
        whole = np.full(model.nv, np.inf)
        if limits:
            whole = np.asarray(getattr(model, "velocity_limit", whole), float)
    else:
        require_scalars(f"{where}: velocity_limits", limits)
        whole = np.asarray(limits)
        if whole.dtype.kind not in "fiu" or whole.shape not in ((), (model.nv,)) or not (whole >= 0).all():
            raise ShapeError(
                f"{where}: velocity_limits are {limits!r}, expected True, False, a number or ({model.nv},), at least 0."
            )
        whole = np.broadcast_to(whole, (model.nv,))
    fastest = np.minimum(space.inner_velocity(whole), UNLIMITED).copy()
    fastest[list(locked)] = 0
    return fastest
