"""``sixd.inverse_kinematics``: configurations that bring frames where they are wanted."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError, SimulationWarning
from sixd.ik.coordinates import Coordinates
from sixd.ik.targets import Wanted, read_targets, require_clearance
from sixd.model.manifold import read_generator, require_unit_quaternions
from sixd.model.system import System, require_system
from sixd.runtime.batch import prepare
from sixd.simulation.arguments import positive, whole
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from sixd.ik.iteration import IKProblem
    from sixd.ik.search import SearchResult

TOLERANCE = {"float64": 1e-6, "float32": 1e-4}
RESTARTS = 30
MOST_RESTARTS = 100_000


class InverseKinematics(NamedTuple):
    """Configurations and their errors; the leading dimensions … are those of the batch.

    q : (…, nq), within the limits; NaN where a target is.
    residual : (…), the remaining weighted error, √Σ(w r)² over all targets [m and rad].
    success : (…), whether the residual is within ``tol`` and constraints hold.
    iterations : (…), of all attempts.
    gradient : (…), the largest entry of the projected gradient of ½ residual²; at most ``tol`` where a target cannot be
        reached and a minimum was found.
    """

    q: Array
    residual: Array
    success: Array
    iterations: Array
    gradient: Array


def inverse_kinematics(
    model: System,
    frame: Any,
    target: Any = None,
    *,
    q0: Any = None,
    limits: Any = True,
    weights: Any = None,
    posture: Any = None,
    locked: Any = (),
    path: bool = False,
    restarts: int = RESTARTS,
    tol: float | None = None,
    seed: Any = 0,
    clearance: float | None = None,
    pairs: Any = None,
    placements: Mapping[str, Any] | None = None,
) -> InverseKinematics:
    """Configurations that bring a frame to a target, or several frames to theirs, for thousands of targets at once.

    Parameters
    ----------
    frame, target : the name of a frame and its target, or a mapping {frame: target}. A target is a pose (…, 4, 4) or a
        position (…, 3) in the world [m], or one of ``sixd.Orientation``, ``Direction``, ``LookAt``, ``RelativeTo`` and,
        of "world", ``CenterOfMass``; or a list of several of them.
    q0 : (…, nq), the initial guess, and the values of joints that do not move. If omitted, attempts start near the
        targets, and joints that do not move are neutral (within their limits).
    limits : True for the model's, False for none, or (lower, upper), numbers or (nq,) each. They are hard bounds.
    weights : a number, or two (of metres, of radians), or {frame: weight}. By default 1 m counts as much as
        1 rad.
    posture : (…, nq): of all solutions near the first one, the result is the one nearest to this configuration. It is
        also the initial guess without q0. A path has one posture for all of its poses, (…) without the length; a
        closed path then closes in q, too.
    locked : names of joints that keep their values in q0, or {joint: value}.
    path : the last leading dimension of the targets is a path: each pose starts from the solution of the one before,
        so that q is as continuous as the targets. Without q0 a path that is lost on its way is tried again from other
        solutions of its first pose.
    restarts : how many times a sample starts again, elsewhere, before it gives up.
    tol : the residual [m and rad] that counts as success; 1e-6, in float32 1e-4.
    seed : of the initial guesses: a number, or a NumPy generator. Equal seeds give equal results.
    clearance : the least distance of pairs of collision shapes [m]: solutions that are nearer are no success. None
        ignores collisions. Not together with ``path``.
    pairs, placements : which pairs, and where shapes are, with poses (4, 4): as for ``plan_path``.

    Returns
    -------
    ``InverseKinematics``: ``q`` (…, nq), ``residual``, ``success``, ``iterations`` and ``gradient`` (…).

    Notes
    -----
    Levenberg–Marquardt on the configuration manifold, in compiled code, with steps within the bounds. A target that
    cannot be reached ends at a local minimum of the residual, the best of all attempts, with success False. Mimic
    joints and couplings hold exactly, closed loops to 1e-10; other constraints do not restrict configurations. NaN in
    a target gives NaN in its sample. The result of a sample does not depend on the others. With ``clearance``, samples
    whose solution is too near try other starts, in batches, and then move away from what is nearest. If all fail, the
    result is the solution with the largest distance, with success False and a small residual.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.panda_arm()
    >>> T = sixd.pose(arm, [0.3, -0.4, 0.1, -2.0, 0.2, 1.8, 0.8], "tool")
    >>> result = sixd.inverse_kinematics(arm, "tool", T)
    >>> bool(result.success), bool(np.abs(sixd.pose(arm, result.q, "tool") - T).max() < 1e-6)
    (True, True)
    """
    # imported when needed: it takes as long as the rest of this folder
    from sixd.ik.clear_solutions import read_clearance
    from sixd.ik.iteration import IKProblem
    from sixd.ik.search import Search, nothing
    from sixd.ik.starts import known_starts

    where = "inverse_kinematics"
    require_system(where, model, frame, target)
    space = Coordinates(where, model)
    wanted = read_targets(where, model, frame, target, weights)
    dofs, held = space.locked(locked)
    lower, upper = space.limits(limits)
    restarts = whole(where, "restarts", restarts, 0)
    if restarts > MOST_RESTARTS:
        raise ScalarTypeError(
            f"{where}: restarts is {restarts}, expected at most {MOST_RESTARTS}: all are drawn at once."
        )
    if not isinstance(path, (bool, np.bool_)):
        raise ScalarTypeError(f"{where}: path is {path!r}, expected True or False.")
    seed = _seed(where, seed)
    samples = _read_samples(where, space, wanted, q0, posture, path)
    require_clearance(where, clearance, pairs, placements)
    keep = None if clearance is None else read_clearance(where, space, clearance, pairs, placements, path)
    dtype = samples.dtype
    tolerance = TOLERANCE[dtype] if tol is None else positive(where, "tol", tol, "m and rad")

    start = None if samples.q0 is None else space.inner(_with(samples.q0, held))
    near = None if samples.posture is None else space.inner(_with(samples.posture, held))
    first = [x[:, 0] for x in samples.targets] if path and samples.size else samples.targets
    problem = IKProblem(space.system, wanted.tasks, dofs, dtype=dtype)
    base = _neutral(space, list(problem.boxed.values()), lower, upper, held)
    search = Search(problem, first, wanted.weights, lower, upper, tolerance, near)
    if not samples.size:
        return _result(space, nothing(samples.number, space.system.nq), samples.batch, dtype)
    moving = np.zeros(space.system.nq, bool)
    moving[list(search.code.moving)] = True
    attempts = restarts + (start is None and near is None)
    starts = known_starts(space.system, wanted.tasks, wanted.weights, (lower, upper), moving, base, attempts, seed)
    # the first attempt
    if start is None and near is not None:
        start = np.where(moving, near, base)
    chosen = start is None
    if start is None:
        start = np.where(moving, starts.nearest(0, first), base)
    start = _clipped(problem, start, lower, upper)
    if path:
        tries = restarts if q0 is None else 0  # a path from q0 is never tried from elsewhere
        result = search.along(start, samples.targets, starts, restarts, tries, int(chosen))
    else:
        result = search.all(start, starts, restarts, int(chosen))
    if keep is not None:
        keep.select(search, result, starts, near if near is not None else start)
    return _result(space, result, samples.batch, dtype)


class SampleArrays(NamedTuple):
    """Arrays of n samples: targets (n, …), of a path (n, length, …); q0 and posture (n, nq) of the model, or None."""

    targets: list[Array]
    q0: Array | None
    posture: Array | None
    batch: tuple[int, ...]
    number: int
    dtype: str

    @property
    def size(self) -> int:
        """The number of targets of one frame."""
        return math.prod(self.batch)


def _read_samples(where: str, space: Coordinates, wanted: Wanted, q0: Any, posture: Any, path: bool) -> SampleArrays:
    """The arrays of a call, checked, with their leading dimensions as one."""
    arguments = list(wanted.arguments)
    configurations = {name: x for name, x in (("q0", q0), ("posture", posture)) if x is not None}
    for name, x in configurations.items():
        argument = space.argument(name, x)
        prepare(where, [argument])  # its own shape first
        require_unit_quaternions(where, space.model, name, np.asarray(x))
        arguments.append(argument._replace(value=np.asarray(x)[..., None, :]) if path else argument)
    arrays, batch, kind = prepare(where, arguments)
    if kind is object:
        raise ScalarTypeError(f"{where}: an argument holds symbols, expected numbers.")
    if path and not batch:
        raise ShapeError(f"{where}: path is True and a target has no leading dimension, expected (…, length, 4, 4).")
    dtype = str(np.dtype(kind))
    lead = batch[:-1] if path else batch
    n, tasks = math.prod(lead), wanted.tasks

    def flat(array: Array, core: tuple[int, ...]) -> Array:
        whole = np.broadcast_to(array, (*batch, *core))
        return np.ascontiguousarray(whole, dtype).reshape(n, *batch[len(lead) :], *core)

    targets = [flat(x, task.shape) for x, task in zip(arrays, tasks, strict=False)]
    others = {}
    for name, x in zip(configurations, arrays[len(tasks) :], strict=True):
        whole = flat(x, (space.model.nq,))
        others[name] = whole[:, 0] if path and batch[-1] else whole.reshape(-1, space.model.nq)[:n]
    return SampleArrays(targets, others.get("q0"), others.get("posture"), batch, n, dtype)


def _seed(where: str, seed: Any) -> Any:
    """A whole number as it is, else a generator; raise if it is neither."""
    if isinstance(seed, (int, np.integer)) and seed >= 0:
        return seed
    return read_generator(f"{where}: seed", seed)


def _neutral(space: Coordinates, boxed: list[int], lower: Array, upper: Array, held: dict[int, float]) -> Array:
    """The neutral configuration (nq,) of the system within the bounds, with locked coordinates at their values."""
    neutral = space.model.neutral()
    base = space.inner(neutral).copy()
    base[boxed] = np.clip(base[boxed], lower[boxed], upper[boxed])
    is_held = space.inner(_with(0 * neutral, dict.fromkeys(held, 1.0))) > 0
    return np.where(is_held, space.inner(_with(neutral, held)), base)


def _with(q: Array, held: dict[int, float]) -> Array:
    """Configurations (…, nq) with locked coordinates at their values."""
    q = np.array(q)
    q[..., list(held)] = list(held.values())
    return q


def _clipped(problem: IKProblem, q: Array, lower: Array, upper: Array) -> Array:
    """Configurations within the bounds of coordinates on the real line; locked ones stay."""
    q = np.array(q)
    places = [i for dof, i in problem.boxed.items() if dof not in problem.locked]
    q[:, places] = np.clip(q[:, places], lower[places], upper[places])
    return q


def _result(space: Coordinates, result: SearchResult, batch: tuple[int, ...], dtype: str) -> InverseKinematics:
    from sixd.ik.iteration import CLOSED

    apart = ~result.success & (result.closed > CLOSED[dtype])
    if apart.any():
        count = f"{int(apart.sum())} of {apart.size} samples"
        warnings.warn(
            f"{space.where}: constraints of {space.model.name!r} do not hold in {count}, by up to "
            f"{result.closed[apart].max():.1e}; their success is False. Start elsewhere: q0, or more restarts.",
            SimulationWarning,
            stacklevel=3,
        )
    q = np.array(result.q, dtype)
    q[np.isnan(result.residual)] = np.nan
    numbers = (result.residual.astype(dtype), result.success, result.iterations, result.gradient.astype(dtype))
    residual, success, iterations, gradient = (x.reshape(batch)[()] for x in numbers)
    outer = space.outer(q.reshape(-1, q.shape[-1]))
    return InverseKinematics(outer.reshape(*batch, outer.shape[-1]), residual, success, iterations, gradient)
