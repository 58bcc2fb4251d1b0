"""The solids of a model's collision shapes as arrays: kinds, sizes, placements and bodies.

Sizes are data, not part of compiled code: solids of one kind differ by their numbers alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sixd.algorithms.distance.pairs import PAIRS
from sixd.algorithms.distance.supports import bounding_radius
from sixd.collision.convex import convex_collisions
from sixd.collision.pairs import CollisionPairs, collision_pairs
from sixd.errors import ModelError, ModelWarning, user_level
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.model.parts import Collision
from sixd.spatial.scalar import Array

T = TypeVar("T")

# numbers of vertices of hulls that share code: a hull with fewer repeats its last vertex
_VERTICES = (8, 16, 32, 64)
MOST_CELLS = 400  # of height fields: 170 operations each
_ENDLESS = ("plane", "height_field")  # kinds without a bounding sphere

Kind = tuple[str, tuple[int, ...]]  # of a solid, and the shape of its array of sizes


@dataclass(frozen=True, eq=False)
class PairSolid:
    """A collision shape as arrays: ``size`` as ``algorithms/distance`` has it, in one array; ``pose`` (4, 4) in the
    frame of its body; ``bounds`` (4,) [m]: half the sides of a box, and the radius of a ball, about its origin that
    contain it, infinite for half spaces."""

    name: str
    body: int
    kind: Kind
    size: Array
    pose: Array
    bounds: Array


@dataclass(frozen=True, eq=False)
class SolidPairs:
    """Solids, and pairs of their indices with their names."""

    solids: tuple[PairSolid, ...]
    pairs: tuple[tuple[int, int], ...]
    names: CollisionPairs

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the solids, each once."""
        return tuple(dict.fromkeys(solid.kind for solid in self.solids))

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What compiled code and its data depend on besides the model: kinds, pairs, and names, for the sizes."""
        return tuple((s.name, s.kind) for s in self.solids), self.pairs

    def of_kind(self, kind: Kind) -> list[int]:
        """Return the indices of the solids of a kind."""
        return [k for k, solid in enumerate(self.solids) if solid.kind == kind]

    def sizes(self, kind: Kind) -> Array:
        """Return the sizes (n, …) of the solids of a kind."""
        return np.array([self.solids[k].size for k in self.of_kind(kind)])

    def placements(self) -> Array:
        """Return rotations, by rows, and positions (n, 12) of the solids in the frames of their bodies."""
        return np.array([flat_pose(solid.pose) for solid in self.solids]).reshape(-1, 12)

    def bounds(self) -> Array:
        """Return the bounds (n, 4) of the solids."""
        return np.array([solid.bounds for solid in self.solids]).reshape(-1, 4)


def flat_pose(T: Array) -> Array:
    """Return the rotation, by rows, and the position (…, 12) of poses (…, 4, 4)."""
    return np.concatenate([T[..., :3, :3].reshape(*T.shape[:-2], 9), T[..., :3, 3]], axis=-1)


def solid_pairs(where: str, model: Model, pairs: Any) -> SolidPairs:
    """Return the solids of pairs: ``collision_pairs`` of a model, or what that accepts as ``among``.

    Meshes are replaced by their hulls, with a warning if that changes much. Shapes whose meshes are missing are left
    out, with a warning.
    """
    return remembered(model, "solid pairs", pairs, lambda: _solid_pairs(where, model, pairs))


def remembered(model: Model, what: str, among: Any, make: Callable[[], T]) -> T:
    """Return the value for a selection of shapes or pairs, made once; made anew for objects that cannot be keys."""
    try:
        key = what, _key(among)
        hash(key)
    except TypeError:
        return make()
    return remember(model, key, make)


def _key(among: Any) -> Any:
    """Return a selection with tuples for its lists, and types: a tuple has another meaning than ``CollisionPairs``."""
    return (list, *map(_key, among)) if isinstance(among, list) else (type(among), among)


def pair_names(where: str, model: Model, pairs: Any) -> CollisionPairs:
    """Return the names of pairs; raise if the model has no collision shapes, or not one of these."""
    if not model.collisions:
        raise ModelError(
            f"{where}: model {model.name!r} has no collision shapes, expected some. Add them by "
            f"model.with_collision(body, sixd.Shape('sphere', (0.1,))), or load a file that has them."
        )
    names = pairs if isinstance(pairs, CollisionPairs) else collision_pairs(model, pairs)
    known = {c.name for c in model.collisions}
    missing = [name for pair in names for name in pair if name not in known]
    if missing:
        raise ModelError(f"collision: {missing[0]!r} is no collision shape of model {model.name!r}.")
    return names


def _solid_pairs(where: str, model: Model, pairs: Any) -> SolidPairs:
    names = pair_names(where, model, pairs)
    wanted = dict.fromkeys(name for pair in names for name in pair)
    convex = _convex(model, wanted)
    found = [pair for pair in names if pair[0] in convex and pair[1] in convex]
    kept = CollisionPairs(pair for pair in found if pairs is not None or _is_known(convex, pair))
    if len(kept) < len(found):
        text = f"{len(found) - len(kept)} pairs of height fields with other shapes than spheres are left out."
        warnings.warn(f"{where}: {text}", ModelWarning, stacklevel=user_level())
    solids = tuple(_solid(convex[name]) for name in wanted if name in convex)
    index = {solid.name: k for k, solid in enumerate(solids)}
    return SolidPairs(solids, tuple((index[a], index[b]) for a, b in kept), kept)


def _is_known(shapes: Mapping[str, Collision], pair: tuple[str, str]) -> bool:
    """Whether the distance of two shapes is known."""
    a, b = (shapes[name].shape.kind for name in pair)
    return (a, b) in PAIRS


def convex_solids(model: Model, names: Iterable[str]) -> list[PairSolid]:
    """Return the collision shapes of these names as arrays, without those whose meshes are missing."""
    return [_solid(c) for c in _convex(model, [*names]).values()]


def _convex(model: Model, names: Iterable[str]) -> Mapping[str, Collision]:
    """Return the collision shapes of these names, meshes replaced by hulls; without those that cannot be read."""
    wanted = set(names)
    some = replace(model, collisions=tuple(c for c in model.collisions if c.name in wanted))
    if any(c.shape.kind == "mesh" for c in some.collisions):
        some = convex_collisions(some)
    return {c.name: c for c in some.collisions}


def _solid(c: Collision) -> PairSolid:
    """Return a shape as arrays."""
    shape, pose = c.shape, np.array(c.pose, dtype=float)
    if shape.kind == "hull":
        vertices = np.asarray(shape.vertices, dtype=float) * shape.scale
        if len(vertices) > _VERTICES[-1]:
            from sixd.geometry.hulls import convex_hull

            hull = convex_hull(shape)
            message = f"{c.name} has {len(vertices)} vertices, {len(hull.vertices)} are used: it is up to"
            warnings.warn(f"{message} {1e3 * hull.deviation:.3g} mm larger.", ModelWarning, stacklevel=user_level())
            vertices = hull.vertices
        middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2  # bounding spheres are about the origin
        count = next(n for n in _VERTICES if n >= len(vertices))
        size = np.concatenate([vertices, np.repeat(vertices[-1:], count - len(vertices), axis=0)]) - middle
        pose[:3, 3] = pose[:3, 3] + pose[:3, :3] @ middle
    elif shape.kind == "height_field":
        heights = np.asarray(shape.heights, dtype=float)
        cells = (heights.shape[0] - 1) * (heights.shape[1] - 1)
        if cells > MOST_CELLS:
            raise ModelError(
                f"collision: {c.name!r} is a height field of {cells} cells, expected at most {MOST_CELLS}, since each "
                f"is written into the code. Make it coarser, or leave it out."
            )
        size = np.concatenate([heights, np.zeros((1, heights.shape[1]))])
        size[-1, :2] = shape.size[:2]
    else:
        size = np.array(shape.size, dtype=float)
    return PairSolid(c.name, c.body, (shape.kind, size.shape), size, pose, _bounds(shape.kind, size))


def _bounds(kind: str, size: Array) -> Array:
    """Return the bounds of a solid: see :class:`PairSolid`."""
    if kind in _ENDLESS:
        return np.full(4, np.inf)
    if kind == "hull":
        half = np.abs(size).max(axis=0)
    elif kind == "sphere":
        half = np.repeat(size, 3)
    elif kind in ("capsule", "cylinder", "cone"):
        radius, length = size
        ends = {"capsule": length / 2 + radius, "cylinder": length / 2, "cone": length * 3 / 4}
        half = np.array([radius, radius, ends[kind]])
    else:
        half = size / 2 if kind == "box" else size
    return np.append(half, float(bounding_radius(kind, size)))


def size_of(kind: str, size: Array) -> Any:
    """Return the size of a solid as its functions have it, from the array: of a height field the heights, x and y."""
    return (size[:-1], size[-1][0], size[-1][1]) if kind == "height_field" else size


@dataclass(frozen=True)
class PairGroup:
    """Pairs of the same two kinds: the indices of their first and second solids, and their numbers. ``swapped``: the
    pair of users has the second solid first."""

    kinds: tuple[Kind, Kind]
    first: tuple[int, ...]
    second: tuple[int, ...]
    numbers: tuple[int, ...]
    swapped: bool


def pair_groups(solids: SolidPairs, table: Collection[tuple[str, str]]) -> list[PairGroup]:
    """Return the pairs by their kinds, in the order in which a table has these; raise ModelError for others."""
    members: dict[tuple[tuple[Kind, Kind], bool], list[int]] = {}
    for number, (i, j) in enumerate(solids.pairs):
        a, b = solids.solids[i].kind, solids.solids[j].kind
        if (a[0], b[0]) not in table and (b[0], a[0]) not in table:
            one, two = solids.names[number]
            raise ModelError(
                f"collision: the distance of {one!r}, a {a[0]}, from {two!r}, a {b[0]}, is not known. Leave the pair "
                f"out by pairs=, or use other shapes; height fields have distances from spheres alone."
            )
        swapped = (a[0], b[0]) not in table or (a[0] == b[0] and b[1] < a[1])
        members.setdefault(((b, a) if swapped else (a, b), swapped), []).append(number)
    groups = []
    for (kinds, swapped), numbers in members.items():
        columns = tuple(tuple(solids.pairs[n][side] for n in numbers) for side in (0, 1))
        first, second = columns[::-1] if swapped else columns
        groups.append(PairGroup(kinds, first, second, tuple(numbers), swapped))
    return groups
