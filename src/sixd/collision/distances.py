"""``sixd.distance`` and what stands on it: nearest points, contact points and collisions of a model's solids."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.algorithms.distance.clipping import UNUSED
from sixd.collision.pair_code import DISTANCE, GRADIENT, LEAST, NEAR, POINTS, WIDTHS, pair_code
from sixd.collision.pairs import CollisionPairs
from sixd.collision.solids import SolidPairs, flat_pose, solid_pairs
from sixd.engine.targets import cpu, cuda
from sixd.errors import ScalarTypeError, ShapeError, unknown_name
from sixd.model.manifold import require_unit_quaternions
from sixd.model.model import Model, require_model
from sixd.runtime.arrays.registry import native_library, read_array
from sixd.runtime.batch import Argument, common_batch, prepare
from sixd.runtime.cuda.device import device
from sixd.spatial.scalar import Array, require_scalars


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

    >>> import numpy as np, sixd
    >>> ball = sixd.Shape("sphere", (0.1,))
    >>> arm = sixd.zoo.planar(2).with_collision("world", ball, sixd.placement((0, 2, 0)), name="ball")
    >>> for link in arm.body_names:
    ...     arm = arm.with_collision(link, ball)
    >>> sixd.distance(arm, np.zeros(2), ("ball", "*")).distance.round(3)
    array([1.8  , 2.036])
    """
    run = _PairQuery("distance", model, q, pairs, placements)
    (rows,) = run.results(DISTANCE)
    return _distances(rows, run)


def _distances(rows: Any, run: _PairQuery) -> Distances:
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
    run = _PairQuery("distance_derivatives", model, q, pairs, placements)
    rows, gradients = run.results(GRADIENT)
    return _distances(rows, run), gradients


def contact_points(
    model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None
) -> ContactPoints:
    """Up to four points at which pairs of collision shapes touch, with depths; arguments as for ``distance``.

    Flat shapes touch in several points: faces of boxes where they overlap, the ends of a capsule or the rim of a
    cylinder on a plane. Others have one, between the nearest points.
    """
    run = _PairQuery("contact_points", model, q, pairs, placements)
    (rows,) = run.results(POINTS)
    points = rows[..., :12].reshape((*run.batch, len(run.solids.pairs), 4, 3))
    depths = rows[..., 12:16]
    return ContactPoints(
        points, run.library.choose(depths <= UNUSED, depths * 0 - np.inf, depths), rows[..., 16:], run.solids.names
    )


def min_distance(model: Model, q: Any, pairs: Any = None, *, placements: Mapping[str, Any] | None = None) -> Any:
    """The least signed distance (…) [m] of all pairs; arguments as for ``distance``.

    Pairs whose bounds are farther apart than another pair's centres are left out, for whole vectors of
    states. Infinite if there are no pairs.
    """
    run = _PairQuery("min_distance", model, q, pairs, placements)
    return run.results(LEAST, "least")[0][()]


def in_collision(
    model: Model, q: Any, pairs: Any = None, *, margin: float = 0.0, placements: Mapping[str, Any] | None = None
) -> Any:
    """Whether any pair is nearer than ``margin`` [m], (…) bool; arguments as for ``distance``.

    Pairs whose bounding spheres or boxes are farther apart than the margin are left out.
    """
    run = _PairQuery("in_collision", model, q, pairs, placements)
    require_scalars("in_collision: margin", margin)
    if not isinstance(margin, (int, float, np.integer, np.floating)) or not math.isfinite(margin):
        raise ScalarTypeError(f"in_collision: margin is {margin!r}, expected a finite number [m].")
    return (run.results(NEAR if margin >= 0 else LEAST, "margin", float(margin))[0] < margin)[()]


class _PairQuery:
    """Arguments that are checked, and their results."""

    def __init__(self, where: str, model: Model, q: Any, pairs: Any, placements: Mapping[str, Any] | None) -> None:
        require_model(where, model)
        model.require_numeric(where)
        self.where, self.model = where, model
        self.solids: SolidPairs = solid_pairs(where, model, pairs)
        self.library = native_library(where, ["q"], [q])
        moved = {name: np.asarray(T) for name, T in self._moved(placements).items()}
        whole = [Argument("q", q, (model.nq,), f"nq of model {model.name!r}")]
        (configurations,), batch, kind = prepare(where, whole, self.library)
        poses = [Argument(f"the placement of {name!r}", T, (4, 4)) for name, T in moved.items()]
        arrays, own, other = prepare(where, poses) if poses else ([], (), np.float64)
        if object in (kind, other):
            raise ScalarTypeError(f"{where}: an argument holds symbols, expected numbers.")
        names = ["q", *(a.name for a in poses)]
        self.batch = common_batch(where, names, [batch, *([own] * len(poses))])
        self.dtype, self.count = np.dtype(kind).name, math.prod(self.batch)
        if not self.library.on_gpu:
            require_unit_quaternions(where, model, "q", np.broadcast_to(configurations, (*self.batch, model.nq)))
            configurations = configurations.astype(self.dtype, copy=False)
        self.like = configurations
        rows = self.library.rows(configurations, (*self.batch, model.nq))
        self.q = rows.reshape((self.count, model.nq))
        self.placed = self.solids.placements()[None].astype(self.dtype)
        if moved:
            self._place(dict(zip(moved, arrays, strict=True)))

    def _moved(self, placements: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return the placements that were passed, of shapes of the model."""
        if placements is None:
            return {}
        if not isinstance(placements, Mapping):
            raise ScalarTypeError(f"{self.where}: placements is {placements!r}, expected {{shape: pose (…, 4, 4)}}.")
        known = [c.name for c in self.model.collisions]
        for name in placements:
            if name not in known:
                raise unknown_name(f"{self.where}: placements", "collision shape", name, known)
        return placements

    def _place(self, moved: Mapping[str, Array]) -> None:
        """Set placements of shapes for each state, or for all."""
        same = all(T.ndim == 2 for T in moved.values())
        self.placed = np.repeat(self.placed, 1 if same else self.count, axis=0)
        index = {solid.name: k for k, solid in enumerate(self.solids.solids)}
        for name, T in moved.items():
            _require_poses(self.where, name, T)
            if name in index:
                own = flat_pose(T @ self._own(name, self.solids.solids[index[name]].pose))
                batch = () if same else self.batch
                self.placed[:, index[name]] = np.broadcast_to(own, (*batch, 12)).reshape(-1, 12)

    def _own(self, name: str, solid: Array) -> Array:
        """Return the pose of a solid in the frame of its shape: the middle of a hull's vertices is its origin."""
        shape = next(c for c in self.model.collisions if c.name == name)
        own: Array = np.linalg.inv(np.asarray(shape.pose, dtype=float)) @ solid
        return own

    def results(self, what: str, guard: str = "", margin: float = np.inf) -> list[Any]:
        """Return what is computed, (…, pairs, width) of each pair or (…) of all."""
        library, solids, like = self.library, self.solids, self.like
        if not solids.pairs or not self.count:
            shape = () if what in (LEAST, NEAR) else (len(solids.pairs), WIDTHS[what])
            empty = [library.full(like, (*self.batch, *shape), np.inf)]
            more = (*self.batch, len(solids.pairs), self.model.nv)
            return [*empty, library.full(like, more, 0.0)] if what == GRADIENT else empty
        target, number = cpu, -1
        if library.on_gpu:
            number = read_array(self.where, "q", like).device
            target = cuda(device(self.where, number).architecture)
        code = pair_code(self.where, self.model, solids, what, guard, self.dtype, target)
        shared: list[Any] = code.shared
        own = [self.placed, *([np.full(1, min(margin, 1e15), self.dtype)] if guard else [])]
        if library.on_gpu:
            key = type(library), number
            if key not in code.uploaded:
                code.uploaded[key] = [library.upload(like, x) for x in code.shared]
            shared, own = code.uploaded[key], [library.upload(like, x) for x in own]
        results = code.run(np.ones(1), [self.q, *own, *shared])
        return [x.reshape((*self.batch, *x.shape[2:])) for x in results]


def _require_poses(where: str, name: str, T: Array) -> None:
    """Raise unless these are poses (…, 4, 4)."""
    R = np.asarray(T, dtype=float)[..., :3, :3]
    good = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0) < 1e-5 and (np.linalg.det(R) > 0).all()
    if not good or np.abs(np.asarray(T, dtype=float)[..., 3, :] - [0, 0, 0, 1]).max(initial=0.0) > 0:
        raise ShapeError(
            f"{where}: the placement of {name!r} is no pose, expected (…, 4, 4) with a rotation matrix and the last "
            f"row [0, 0, 0, 1]. See sixd.placement."
        )
