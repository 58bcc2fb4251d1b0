"""``sixd.raycast``: where rays meet a model's collision shapes, as range sensors measure it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sixd.algorithms.distance.height_field import raycast_height_field
from sixd.algorithms.distance.raycast import raycast as ray_on_solid
from sixd.collision.pair_code import placed
from sixd.collision.selection import Selection
from sixd.collision.solids import Kind, PairSolid, convex_solids, flat_pose, remembered, size_of
from sixd.engine.artifact import make_rollout, recipe_key
from sixd.errors import ModelError, ScalarTypeError
from sixd.geometry.hulls import hull_planes
from sixd.model.manifold import require_unit_quaternions
from sixd.model.memo import known_of
from sixd.model.model import Model, require_model
from sixd.runtime.batch import Argument, prepare
from sixd.slow_work import watched
from sixd.spatial.scalar import Array, where
from sixd.trace.program import trace
from sixd.trace.recipe import Recipe
from sixd.trace.stages import Into, Rows, Stages

_PLANES = (8, 16, 32, 64, 128)  # numbers of faces of hulls that share code
_LEAST = 1e-12  # lengths of directions below which a ray has none


@dataclass(frozen=True, eq=False)
class RayHits:
    """Where rays meet collision shapes first; the leading dimensions … are those of the batch.

    distance : (…, r) [m] along each ray; infinite where it meets nothing, NaN where q or the ray is.
    normal : (…, r, 3), the outward unit normal of the surface there, in the world; zeros where the ray meets nothing.
    shape : (…, r), the index in ``names`` of the shape that is met; -1 for none.
    names : of the shapes.
    """

    distance: Array
    normal: Array
    shape: Array
    names: tuple[str, ...]


def raycast(model: Model, q: Any, origins: Any, directions: Any, *, among: Any = None, frame: str = "world") -> RayHits:
    """Distances at which rays meet collision shapes.

    Parameters
    ----------
    q : (…, nq) configurations.
    origins, directions : (…, r, 3), or (r, 3) for all configurations: where the rays begin [m], and where they lead, of
        any length.
    among : names or patterns of shapes, links or bodies, or a list of these; None for all shapes.
    frame : the frame in whose axes the rays are given: that of a sensor. Shapes that a ray begins in are met from
        inside, where it leaves them; leave out those of the sensor's own housing by ``among``.

    Returns
    -------
    ``RayHits``: ``distance`` (…, r), ``normal`` (…, r, 3), ``shape`` (…, r), ``names``.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.planar(2).with_collision("world", sixd.Shape("box", (0.2, 2, 2)), sixd.placement((3, 0, 0)))
    >>> sixd.raycast(arm, [0.0, 0.0], [[0, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 0]], frame="link2").distance
    array([1.9, inf])
    """
    where_ = "raycast"
    require_model(where_, model)
    model.require_numeric(where_)
    sensor = model.frame(frame, where_)
    solids = remembered(model, "solids of rays", among, lambda: _solids(where_, model, among))
    rays = np.shape(origins)[-2] if np.ndim(origins) >= 2 else 0
    arguments = [
        Argument("q", q, (model.nq,), f"nq of model {model.name!r}"),
        Argument("origins", origins, (rays, 3), "rays, and their coordinates"),
        Argument("directions", directions, (rays, 3), "as many as origins"),
    ]
    arrays, batch, kind = prepare(where_, arguments)
    if kind is object:
        raise ScalarTypeError(f"{where_}: an argument holds symbols, expected numbers.")
    require_unit_quaternions(where_, model, "q", np.broadcast_to(arrays[0], (*batch, model.nq)))
    length = np.linalg.norm(arrays[2], axis=-1)
    if (length < _LEAST).any():
        raise ScalarTypeError(f"{where_}: directions: one is {length.min():.3g} long, expected vectors that are not 0.")
    dtype, count = np.dtype(kind).name, math.prod(batch)
    shape = (*batch, rays)
    names = tuple(solid.name for solid in solids)
    if not count or not rays:
        return RayHits(np.zeros(shape, dtype), np.zeros((*shape, 3), dtype), np.zeros(shape, int), names)
    lines = np.concatenate([arrays[1], arrays[2] / length[..., None]], axis=-1)
    flat = [
        np.ascontiguousarray(np.broadcast_to(x, (*batch, *core)), dtype).reshape(count, *core)
        for x, core in ((arrays[0], (model.nq,)), (lines, (rays, 6)))
    ]
    placements = [flat_pose(np.asarray(sensor.pose, float)), *(flat_pose(solid.pose) for solid in solids)]
    shared = [np.array(placements), *(np.array([s.size for s in solids if s.kind == k]) for k in _kinds(solids))]
    code = _code(model, (sensor.body, *(s.body for s in solids)), tuple(s.kind for s in solids), rays, dtype)
    (rows,) = code(np.ones(1), [*flat, *(np.asarray(x, dtype)[None] for x in shared)])
    rows = rows.reshape(*shape, 5)
    missed = rows[..., 4] < -0.5
    known = np.isfinite(flat[0]).all(axis=-1)[:, None] & np.isfinite(flat[1]).all(axis=-1)
    rows = np.where(known.reshape(*shape, 1), rows, [np.nan, 0, 0, 0, -1]).astype(dtype)
    missed = missed & known.reshape(shape)
    return RayHits(np.where(missed, np.inf, rows[..., 0]), rows[..., 1:4], rows[..., 4].astype(int), names)


def _solids(where_: str, model: Model, among: Any) -> list[PairSolid]:
    """Return the selected shapes as arrays; the size of a hull are the planes of its faces (n, 4)."""
    if not model.collisions:
        raise ModelError(
            f"{where_}: model {model.name!r} has no collision shapes, expected some. Add them by model.with_collision."
        )
    names = [c.name for c in model.collisions]
    if among is not None:
        selection = Selection(model, where_)
        terms = [among] if isinstance(among, str) else among
        if not isinstance(terms, Iterable):
            raise ScalarTypeError(f"{where_}: among is {among!r}, expected names or patterns of shapes.")
        chosen = {i for term in terms for i in selection.of(term)}
        names = [name for i, name in enumerate(names) if i in chosen]
    return [_with_planes(solid) for solid in convex_solids(model, names)]


def _with_planes(solid: PairSolid) -> PairSolid:
    if solid.kind[0] != "hull":
        return solid
    planes = hull_planes(solid.size)
    count = next((n for n in _PLANES if n >= len(planes)), len(planes))
    planes = np.concatenate([planes, np.repeat(planes[-1:], count - len(planes), axis=0)])
    return PairSolid(solid.name, solid.body, ("hull", planes.shape), planes, solid.pose, solid.bounds)


def _kinds(solids: Iterable[PairSolid]) -> tuple[Kind, ...]:
    return tuple(dict.fromkeys(solid.kind for solid in solids))


def _code(model: Model, bodies: tuple[int, ...], kinds: tuple[Kind, ...], rays: int, dtype: str) -> Any:
    """Return the code for shapes on these bodies, after the body of the sensor; made at the first call."""
    memo, key = known_of(model), ("ray code", bodies, kinds, rays, dtype)
    code = memo.get(key)
    if code is None:
        with watched(f"compiling raycast for {model.name!r}"):
            recipe = _recipe(model, bodies, kinds, rays, dtype)
            made = make_rollout(recipe, recipe_key(recipe, dtype), "raycast", "", model.name, dtype)
            code = memo.setdefault(key, made)
    return code


def _recipe(model: Model, bodies: tuple[int, ...], kinds: tuple[Kind, ...], rays: int, dtype: str) -> Recipe:
    """Return the recipe (q, rays (r, 6), placements (n, 12), sizes …) -> rows (r, 5): distance, normal and shape."""
    each = {kind: [k for k, other in enumerate(kinds) if other == kind] for kind in dict.fromkeys(kinds)}
    inputs = {"q": (model.nq,), "rays": (rays, 6), "placements": (len(bodies), 12)}
    inputs |= {f"sizes {k}": (len(own), *kind[1]) for k, (kind, own) in enumerate(each.items())}
    stages = Stages(dtype)
    q, lines, placements, *sizes = (stages.input(name, shape) for name, shape in inputs.items())
    frames = placed(stages, model, q, bodies, placements)
    sensor = stages.part(lambda frames: frames[0], frames)

    def turned(line: Array, sensor: Array) -> Array:
        E = sensor[:9].reshape(3, 3)
        return np.concatenate([sensor[9:] + E @ line[:3], E @ line[3:]])

    lines = stages.each_of(rays, turned, [lines], sensor, into=[Into(rays, range(rays))])

    def one(line: Any) -> tuple[Any]:
        best: Any = np.array([np.inf, 0, 0, 0, -1.0])
        for (kind, own), size in zip(each.items(), sizes, strict=True):
            n = len(own)
            hits = stages.each(
                trace(partial(_hit, kind[0]), {"size": kind[1], "frame": (12,), "line": (6,)}, dtype),
                Rows(size, range(n)), Rows(frames, [k + 1 for k in own]), line, into=[Into(n, range(n))],
            )  # fmt: skip
            best = stages.part(partial(_nearer, own), best, hits)
        return (best,)

    (result,) = stages.each_row(one, Rows(lines, range(rays)), into=[(np.zeros((rays, 5)), range(rays))])
    names = stages.store({"rays": result})
    return Recipe(stages.memory, (), tuple(inputs), tuple(stages.works), (), recorded=names)


def _hit(kind: str, size: Array, frame: Array, line: Array) -> Array:
    """The distance along a ray at which it meets a solid, and the normal there (4,)."""
    arguments = frame[:9].reshape(3, 3), frame[9:], line[:3], line[3:]
    if kind == "height_field":
        hit = raycast_height_field(size_of(kind, size), *arguments)
    else:
        hit = ray_on_solid(kind, size, *arguments)
    return np.array([hit.distance, *hit.normal])


def _nearer(numbers: list[int], best: Array, hits: Array) -> Array:
    """The nearest of what is known (5,) and of the hits (n, 4) of shapes with these numbers."""
    for number, hit in zip(numbers, hits, strict=True):
        nearer = hit[0] < best[0]
        best = np.array([where(nearer, x, y) for x, y in zip([*hit, number], best, strict=True)])
    return best
