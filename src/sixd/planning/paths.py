"""``sixd.plan_path``: a path from one configuration to another that keeps a distance from obstacles and itself."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sixd.collision.pair_gaps import PairGaps
from sixd.collision.pairs import CollisionPairs
from sixd.errors import ModelError, SimulationWarning
from sixd.model.manifold import read_generator
from sixd.model.model import Model, require_model
from sixd.planning.edges import Edges
from sixd.planning.motion_bounds import MotionBounds
from sixd.planning.region import Region
from sixd.planning.shortcuts import points_along, shortened
from sixd.planning.trees import grow, path_length
from sixd.simulation.arguments import nonnegative, positive, whole
from sixd.simulation.progress import Progress
from sixd.spatial.scalar import Array

_WHERE = "plan_path"
RESOLUTION = 1e-3  # m
_FINEST = 1e-6  # m: the resolution near ends that touch something
_REACH = 0.25  # of the diagonal of what is sampled: how far trees grow in a step
_SHORTENING = 0.5  # of the time that is left may be spent on shorter paths


@dataclass(frozen=True, eq=False)
class PlannedPath:
    """A path between two configurations, or why there is none.

    q : (n, nq), the waypoints, the first and the last as they were passed; (0, nq) without success. Between them the
        path follows the geodesics of ``model.integrate`` and ``difference``: straight lines of most joints. Joints that
        are coupled by a function follow that: see ``sample``. ``sixd.view(model, path)`` shows it.
    success : whether a path was found.
    reason : why not; empty otherwise.
    length : the sum of ‖difference‖ over the waypoints [rad and m].
    time : the time that the search took [s].
    checks : the number of configurations whose distances were computed.
    nodes : the numbers of nodes of the trees of q0 and of q1.
    pairs : the pairs of collision shapes that keep their distance.
    """

    q: Array
    success: bool
    reason: str
    length: float
    time: float
    checks: int
    nodes: tuple[int, int]
    pairs: CollisionPairs
    region: Region = field(repr=False)

    def sample(self, count: int) -> Array:
        """Return ``count`` configurations (count, nq) at equal distances along the path, with both ends."""
        count = whole("sample", "count", count, 2)
        if not self.success:
            raise ModelError(f"sample: there is no path, expected one. {self.reason}")
        if len(self.q) < 2 or not self.length:
            return np.repeat(self.q[:1], count, axis=0)
        y = self.region.space.inner(self.q)
        found = self.region.lifted(points_along(self.region, y, np.linspace(0, path_length(self.region, y), count)))
        found[0], found[-1] = self.q[0], self.q[-1]
        return found

    def timed(self, speed: float = 1.0) -> tuple[Array, Array]:
        """Return times (r,) [s] and configurations (r, nq) along the path at a constant ``speed`` [rad/s and m/s], 60 a
        second and at least two: what ``sixd.view`` shows of a path."""
        speed = positive("timed", "speed", speed, "rad/s and m/s")
        duration = self.length / speed
        q = self.sample(max(2, math.ceil(60 * duration) + 1))
        return np.linspace(0, duration, len(q)), q

    def __repr__(self) -> str:
        cost = f"{self.checks} configurations in {self.time:.3g} s"
        if not self.success:
            return f"<PlannedPath: none; {self.reason}>"
        return f"<PlannedPath: {len(self.q)} waypoints, length {self.length:.4g}; {cost}>"


def plan_path(
    model: Model,
    q0: Any,
    q1: Any,
    *,
    pairs: Any = None,
    placements: Mapping[str, Any] | None = None,
    clearance: float = 0.0,
    limits: Any = True,
    locked: Any = (),
    resolution: float = RESOLUTION,
    max_time: float | None = 10.0,
    max_rounds: int = 10_000,
    shorten: bool = True,
    seed: Any = 0,
    progress: bool | Callable[[float], Any] | None = None,
) -> PlannedPath:
    """A path from q0 to q1 on which no pair of collision shapes comes nearer than a clearance.

    Parameters
    ----------
    q0, q1 : (nq,) the first and the last configuration.
    pairs : the result of ``collision_pairs``, or what that accepts as ``among``; None for all of its pairs.
    placements : {shape: pose (4, 4)}: shapes that are elsewhere than in the model, as for ``distance``.
    clearance : the least distance of all pairs [m].
    limits : True for the model's, False for none, or (lower, upper), numbers or (nq,) each. Coordinates without limits
        stay near those of q0 and q1.
    locked : names of joints that keep their values.
    resolution : a passage must be wider by this length [m] than the clearance needs. A longer one makes the search
        faster, and never leads to a collision. Near the ends it becomes as small as their own distances require.
    max_time : the search ends after so many seconds; None for no such limit.
    max_rounds : or after so many rounds, of up to 64 samples each.
    shorten : whether the path that is found first is made shorter.
    seed : of the samples: a number, or a NumPy generator. Equal seeds give equal paths, unless time runs out.
    progress : a bar on long runs on a terminal (None), always, never, or a function of the fraction done.

    Returns
    -------
    ``PlannedPath``: ``q`` (n, nq) waypoints, ``success``, ``reason``, ``length``, ``time``, ``checks``, ``pairs``; and
    ``sample(count)``. That no path was found is no error: ``success`` is False, and ``reason`` says more. It does not
    prove that there is none. Arguments that cannot have a path, such as ends in collision, raise.

    Notes
    -----
    RRT-Connect with batches of samples, and shortest paths through random points of its result. Edges are not sampled
    but certified: distances at one configuration, minus bounds of the motion from lever arms, hold for a piece of the
    edge. So all of the path keeps the clearance, between the waypoints too, to the accuracy of ``distance``. Mimic
    joints follow. For joints coupled by other functions the motion is estimated, not bounded: by twice the rates
    in the middle of a piece. Closed loops are not supported. Meshes are replaced by their hulls.

    >>> import numpy as np, sixd
    >>> ball = sixd.Shape("sphere", (0.1,))
    >>> arm = sixd.zoo.planar(2).with_collision("world", ball, sixd.placement((1.5, 0, 0)), name="ball")
    >>> for link in arm.body_names:
    ...     rod = sixd.Shape("capsule", (0.05, 0.8))
    ...     arm = arm.with_collision(link, rod, sixd.placement((0.5, 0, 0), (0, np.pi / 2, 0)))
    >>> path = sixd.plan_path(arm, [1.0, 0.0], [-1.0, 0.0], clearance=0.02)
    >>> path.success, bool(sixd.min_distance(arm, path.sample(200)).min() >= 0.02)
    (True, True)
    """
    require_model(_WHERE, model)
    model.require_numeric(_WHERE)
    started = time.monotonic()
    clearance = nonnegative(_WHERE, "clearance", clearance, "m")
    resolution = positive(_WHERE, "resolution", resolution, "m")
    if max_time is not None:
        max_time = nonnegative(_WHERE, "max_time", max_time, "s")
    max_rounds = whole(_WHERE, "max_rounds", max_rounds, 0)
    rng = read_generator(f"{_WHERE}: seed", seed)
    region = Region(_WHERE, model, limits, locked)
    ends = [region.end(name, q) for name, q in (("q0", q0), ("q1", q1))]
    gaps = PairGaps(_WHERE, model, pairs, placements)
    least = min(_require_clear(gaps, name, q, clearance) for name, q in zip(("q0", "q1"), ends, strict=True))
    finest = max(min(resolution, (least - clearance) / 2), _FINEST)
    bounds = MotionBounds(_WHERE, model, gaps.solids, gaps.placed)
    inner = np.array([region.space.inner(q) for q in ends])
    edges = Edges(region, gaps, bounds, clearance, resolution, inner, finest)
    search = _PathSearch(edges, inner[0], inner[1], rng, started, max_time, max_rounds, shorten)
    with Progress(f"{_WHERE} {model.name}", 1.0, progress) as bar:
        path, reason, nodes = search.run(bar)
    found = np.zeros((0, model.nq))
    length = 0.0
    if path is not None:
        found, length = region.lifted(path), path_length(region, path)
        found[0], found[-1] = ends
    spent = time.monotonic() - started
    return PlannedPath(found, path is not None, reason, length, spent, edges.checks, nodes, gaps.names, region)


def _require_clear(gaps: PairGaps, name: str, q: Array, clearance: float) -> float:
    """Return the least distance of an end of the path; raise if it is below the clearance."""
    if not gaps.names:
        return np.inf
    distances = gaps.exact(q)
    k = int(distances.argmin())
    least = float(distances[k])
    if least < clearance:
        a, b = gaps.names[k]
        how = f"overlap by {-least:.3g} m" if least < 0 else f"are {least:.3g} m apart"
        more = int((distances < clearance).sum()) - 1
        raise ModelError(
            f"{_WHERE}: {name} is in collision{'' if least < 0 else ' with the clearance'}: {a!r} and {b!r} {how}"
            f"{f' (and {more} more)' if more else ''}, expected at least {clearance:.3g} m. Change "
            f"{name}, or leave out pairs that always touch: pairs=[pair for pair in sixd.collision_pairs(model) if …]."
        )
    return least


@dataclass
class _PathSearch:
    """One search: its ends in independent coordinates and its budget."""

    edges: Edges
    y0: Array
    y1: Array
    rng: np.random.Generator
    started: float
    max_time: float | None
    max_rounds: int
    shorten: bool

    def run(self, bar: Progress) -> tuple[Array | None, str, tuple[int, int]]:
        """Return the path or None, why there is none, and the numbers of nodes."""
        region, edges = self.edges.region, self.edges
        region.bound(self.y0, self.y1)
        direct = np.array([self.y0, self.y1])
        if edges.free(direct[:1], region.difference(direct[:1], direct[1:]))[0]:
            return direct, "", (1, 1)
        reach = _REACH * float(np.linalg.norm((region.high - region.low)[~region.fixed]))
        rounds = 0

        def proceed(count: int) -> bool:
            nonlocal rounds
            rounds = count
            spent = 0.0 if self.max_time is None else self._spent() / max(self.max_time, 1e-9)
            bar.update(max(spent, count / max(self.max_rounds, 1)))
            return spent < 1 and count < self.max_rounds

        found, nodes = grow(edges, self.y0, self.y1, self.rng, reach, proceed)
        if found is None:
            return None, self._why(rounds, nodes), nodes
        path = np.array(found)
        return (self._shorter(path, bar) if self.shorten else path), "", nodes

    def _spent(self) -> float:
        return time.monotonic() - self.started

    def _shorter(self, path: Array, bar: Progress) -> Array:
        """Return a shorter path; Ctrl-C keeps the one that was found first."""
        end = np.inf if self.max_time is None else self._spent() + _SHORTENING * (self.max_time - self._spent())
        try:
            path = shortened(self.edges, path, self.rng, lambda: self._spent() < end)
        except KeyboardInterrupt:
            message = f"{_WHERE}: interrupted while the path was made shorter; the path found before is kept."
            warnings.warn(message, SimulationWarning, stacklevel=5)
        bar.update(1.0)
        return path

    def _why(self, rounds: int, nodes: tuple[int, int]) -> str:
        """Return why no path was found."""
        spent = f"{rounds} rounds, max_rounds" if rounds >= self.max_rounds else f"{self._spent():.3g} s, max_time"
        text = f"no path was found within {spent}: the tree of q0 has {nodes[0]} nodes, that of q1 {nodes[1]}."
        small = [name for name, n in zip(("q0", "q1"), nodes, strict=True) if n < 4 and rounds > 8]
        if small:
            text += f" {small[0]} may be enclosed: try a smaller clearance or resolution."
        return text
