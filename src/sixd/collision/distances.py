"""``sixd.distance`` and what stands on it: nearest points, contact points and collisions of a model's solids."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.algorithms.distance.clipping import UNUSED
from sixd.collision.pair_code import DISTANCE, GRADIENT, LEAST, NEAR, POINTS
from sixd.collision.pair_query import PairQuery
from sixd.collision.pairs import CollisionPairs
from sixd.collision.rates import differentiable
from sixd.collision.scalar_pairs import holds_scalars, scalar_distances, scalar_min_distance
from sixd.errors import ScalarTypeError
from sixd.model.model import Model, require_model
from sixd.spatial.scalar import Array, require_scalars

SAMPLES = 1000
_ROWS = 4_000_000  # numbers of distances at once: 32 MB


@dataclass(frozen=True, eq=False)
class Distances:
    """Signed distances of pairs of collision shapes; the leading dimensions … are those of the batch.

    distance : (…, n) [m], negative where two shapes overlap: minus the depth, the shortest way out.
    point_a, point_b : (…, n, 3), the nearest points of the two surfaces, in the world [m].
    normal : (…, n, 3), the unit vector from the first shape to the second.
    pairs : the n pairs of names.
    """

    distance: Array
    point_a: Array
    point_b: Array
    normal: Array
    pairs: CollisionPairs

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Return distances, nearest points and normals, in this order, as compiled functions return them."""
        return self.distance, self.point_a, self.point_b, self.normal

    def nearest(self) -> tuple[str, str]:
        """Return the names of the pair with the least distance, of all states."""
        return self.pairs[int(np.argmin(self.distance.reshape(-1, len(self.pairs)).min(axis=0)))]


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """Points at which pairs of collision shapes touch or overlap, up to four of a pair.

    points : (…, n, 4, 3), in the middle between the two surfaces, in the world [m].
    depths : (…, n, 4) [m], positive where the shapes overlap, negative where they are apart; -inf in unused slots.
    normal : (…, n, 3), the unit vector from the first shape to the second.
    pairs : the n pairs of names.
    """

    points: Array
    depths: Array
    normal: Array
    pairs: CollisionPairs


@differentiable()
def distance(model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None) -> Distances:
    """Signed distances, nearest points and normals of pairs of collision shapes.

    Parameters
    ----------
    q : (…, nq) configurations.
    pairs : the result of ``collision_pairs``, or what that accepts as ``among``; None for all of its pairs.
    placements : {shape: pose (…, 4, 4)}: placements of shapes that differ from the model's, in the frame of their body,
        such as those of obstacles in the world. They are data: the code stays the same.

    Returns
    -------
    ``Distances``: ``distance`` (…, n), ``point_a``, ``point_b``, ``normal`` (…, n, 3), ``pairs``.

    Notes
    -----
    Spheres, capsules and planes with one another and with most other shapes have closed forms, exact to rounding. Other
    pairs take GJK's algorithm while apart, to 1e-10 m, and a descent over directions where they overlap, whose result
    is a local minimum of the depth in rare cases. Meshes are replaced by their hulls, see ``convex_collisions``.

    ``sixd.jvp`` and ``sixd.vjp`` of this function differentiate the distances with respect to q, and so do PyTorch and
    JAX by ``sixd.torch.distance`` and ``sixd.jax.distance``. Pairs with closed forms can be part of functions of your
    own for ``sixd.compile``, ``sixd.export_c``, ``sixd.jvp`` and ``sixd.hessian``, points and normals included;
    ``sixd.compile(sixd.distance, model)`` returns the four arrays. q and the model may hold SymPy's symbols: distances
    of spheres, capsules and planes are then expressions, valid where no axes are parallel and no centres coincide.

    >>> import numpy as np, sixd
    >>> ball = sixd.Shape("sphere", (0.1,))
    >>> arm = sixd.zoo.planar(2).with_collision("world", ball, sixd.placement((0, 2, 0)), name="ball")
    >>> for link in arm.body_names:
    ...     arm = arm.with_collision(link, ball)
    >>> sixd.distance(arm, np.zeros(2), ("ball", "*")).distance.round(3)
    array([1.8  , 2.036])
    """
    if holds_scalars(model, q, placements):
        return Distances(*scalar_distances("distance", model, q, pairs, placements))
    run = PairQuery("distance", model, q, pairs, placements)
    (rows,) = run.results(DISTANCE)
    return _distances(rows, run)


def _distances(rows: Any, run: PairQuery) -> Distances:
    return Distances(rows[..., 0], rows[..., 1:4], rows[..., 4:7], rows[..., 7:10], run.solids.names)


def distance_derivatives(
    model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None
) -> tuple[Distances, Any]:
    """Distances and their derivatives with respect to q, in the tangent space; arguments as for ``distance``.

    Returns
    -------
    ``Distances``, and ∂distance/∂q (…, n, nv) [m/rad or 1]: the rate of a distance is this times qd.

    Notes
    -----
    The derivative is nᵀ(J_b - J_a), with the Jacobians of the bodies' points that are nearest. It is exact where the
    nearest points are unique; at edges of boxes in parallel, say, it is that of one of several. Where centres or axes
    coincide the distance has no derivative, and the result is that along the normal of the result.

    >>> import numpy as np, sixd
    >>> ball = sixd.Shape("sphere", (0.1,))
    >>> arm = sixd.zoo.planar(2).with_collision("link2", ball).with_collision("world", ball, sixd.placement((0, 2, 0)))
    >>> sixd.distance_derivatives(arm, np.zeros(2))[1].round(3) + 0.0
    array([[-0.894,  0.   ]])
    """
    run = PairQuery("distance_derivatives", model, q, pairs, placements)
    rows, gradients = run.results(GRADIENT)
    return _distances(rows, run), gradients


def contact_points(
    model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None
) -> ContactPoints:
    """Up to four points at which pairs of collision shapes touch, with depths; arguments as for ``distance``.

    Flat shapes touch in several points: faces of boxes where they overlap, the ends of a capsule or the rim of a
    cylinder on a plane. Others have one, between the nearest points.
    """
    run = PairQuery("contact_points", model, q, pairs, placements)
    (rows,) = run.results(POINTS)
    points = rows[..., :12].reshape((*run.batch, len(run.solids.pairs), 4, 3))
    depths = rows[..., 12:16]
    unused = run.library.full(run.like, tuple(depths.shape), -np.inf)
    return ContactPoints(points, run.library.choose(depths <= UNUSED, unused, depths), rows[..., 16:], run.solids.names)


@differentiable(least=True)
def min_distance(model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None) -> Any:
    """The least signed distance (…) [m] of all pairs; arguments as for ``distance``.

    Pairs whose bounds are farther apart than another pair's centres are left out, for whole vectors of
    states. Infinite if there are no pairs.
    """
    if holds_scalars(model, q, placements):
        return scalar_min_distance("min_distance", model, q, pairs, placements)
    run = PairQuery("min_distance", model, q, pairs, placements)
    return run.results(LEAST, "least")[0][()]


def in_collision(
    model: Model, q: Any, pairs: Any = None, *, margin: float = 0.0, placements: Mapping[str, Any] | None = None
) -> Any:
    """Whether any pair is nearer than ``margin`` [m], (…) bool; arguments as for ``distance``.

    Where q is NaN the result is True. Pairs with GJK's algorithm count as touching when they are nearer than about 1e-6
    of their size; ``distance`` is more accurate there.

    Pairs whose bounding spheres or boxes are farther apart than the margin are left out.
    """
    run = PairQuery("in_collision", model, q, pairs, placements)
    require_scalars("in_collision: margin", margin)
    if not isinstance(margin, (int, float, np.integer, np.floating)) or not math.isfinite(margin):
        raise ScalarTypeError(f"in_collision: margin is {margin!r}, expected a finite number [m].")
    least = run.results(NEAR if margin >= 0 else LEAST, "margin", float(margin))[0]
    return (~(least >= margin))[()]


# sampled pairs -----------------------------------------------------------------------------------


def overlaps_of(model: Model, pairs: Any, q: Array) -> tuple[CollisionPairs, Array]:
    """Return pairs, and in how many of the configurations q (n, nq) each overlaps."""
    found = distance(model, q[:1], pairs).pairs
    count, each = np.zeros(len(found), dtype=int), max(1, _ROWS // (10 * max(len(found), 1)))
    for first in range(0, len(q), each):
        count += (distance(model, q[first : first + each], found).distance < 0).sum(axis=0)
    return found, count


def sample_pairs(model: Model, pairs: Any = None, *, samples: int = SAMPLES, seed: Any = 0) -> CollisionPairs:
    """Return the pairs of collision shapes that overlap in some random configurations, but not in all.

    Pairs that always overlap, as shapes around one joint do, tell nothing; those that never do cost time. The
    configurations are drawn within the limits of the joints, and mimic joints follow; obstacles are where the model
    has them.

    Parameters
    ----------
    pairs : the result of ``collision_pairs``, or what that accepts as ``among``; None for all of its pairs.
    samples : the number of configurations. A pair that overlaps in a part p of all configurations is missed with the
        probability (1 - p)^samples: 5e-5 for p = 0.01 and 1,000 of them.
    seed : a number, or a NumPy generator. Equal seeds give equal results.

    >>> import sixd
    >>> ball = sixd.Shape("sphere", (0.1,))
    >>> arm = sixd.zoo.planar(3)
    >>> for link in arm.body_names:
    ...     arm = arm.with_collision(link, ball)
    >>> arm = arm.with_collision("world", ball, sixd.placement((0, 0, 5)), name="lamp")
    >>> sixd.collision_pairs(arm, ("lamp", "*")), sixd.sample_pairs(arm, ("lamp", "*"))
    (<CollisionPairs: 3>, <CollisionPairs: 0>)
    """
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 1:
        raise ScalarTypeError(f"sample_pairs: samples is {samples!r}, expected a whole number of at least 1.")
    require_model("sample_pairs", model)
    independent: Any = model.reduce()  # joints that follow others are where these put them
    q = np.asarray(independent.random_configuration(seed, size=int(samples)), dtype=float)
    if independent is not model:
        q = np.array([independent.coordinates(row) for row in q])
    found, count = overlaps_of(model, pairs, q)
    return CollisionPairs(pair for pair, n in zip(found, count, strict=True) if 0 < n < samples)
