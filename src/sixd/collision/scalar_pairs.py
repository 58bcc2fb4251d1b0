"""Distances of pairs with closed forms on scalars of any class: symbols, and traced scalars of a user's function.

Traced distances have the derivative nᵀ(v_b - v_a) of their nearest points, which needs none of the points' own.
Symbolic ones are exact where no two centres and no two axes coincide, and no axes are parallel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from sixd.algorithms.derivatives.implicit import held, is_wanted
from sixd.algorithms.distance.closed_forms import Nearest, PairDistance
from sixd.algorithms.distance.pairs import CLOSED, swapped
from sixd.algorithms.kinematics import body_poses
from sixd.collision.expressions import SYMBOLIC, symbolic_nearest
from sixd.collision.pairs import CollisionPairs
from sixd.collision.solids import pair_names
from sixd.errors import ScalarTypeError, TraceError, unknown_name
from sixd.model.memo import remember
from sixd.model.model import Model, require_model
from sixd.model.parts import Collision
from sixd.runtime.batch import Argument, apply
from sixd.spatial.scalar import Array, is_number, is_sympy, minimum

_PLAIN = (list, tuple, np.ndarray)


def holds_scalars(model: Any, q: Any, placements: Any) -> bool:
    """Whether a distance depends on symbols or on traced scalars."""
    if not isinstance(model, Model):
        return False
    moved = placements.values() if isinstance(placements, Mapping) else ()
    try:
        arrays = [np.asarray(x) for x in (q, *moved) if isinstance(x, _PLAIN)]
    except ValueError:  # ragged, which is an error elsewhere
        return False
    objects = [x for array in arrays if array.dtype.kind == "O" for x in array.ravel()]
    return not all(map(is_number, objects)) or remember(model, "scalars of distances", lambda: _is_symbolic(model))


def _is_symbolic(model: Model) -> bool:
    """Whether a model, or a size of its collision shapes, holds symbols or traced scalars."""
    sizes = [x for c in model.collisions for x in c.shape.size]
    return bool(model.symbols) or model.is_traced or not all(map(is_number, sizes))


def scalar_distances(
    where: str, model: Model, q: Any, pairs: Any, placements: Mapping[str, Any] | None
) -> tuple[Array, Array, Array, Array, CollisionPairs]:
    """Return distances (…, n), nearest points and normals (…, n, 3) and the names, of objects."""
    require_model(where, model)
    names = pair_names(where, model, pairs)
    shapes = {c.name: c for c in model.collisions}
    pairs_of = [(_closed(where, shapes[a], shapes[b]), (a, b)) for a, b in names]
    poses = {name: np.asarray(shapes[name].pose) for pair in names for name in pair}
    for name, T in (placements or {}).items():
        if name not in shapes:
            raise unknown_name(f"{where}: placements", "collision shape", name, shapes)
        poses[name] = np.asarray(T)

    def one(q: Array) -> tuple[Array, ...]:
        bodies = [np.eye(4, dtype=int), *body_poses(model, q)]
        placed = {name: bodies[shapes[name].body] @ pose for name, pose in poses.items()}
        rows = [_nearest(where, f, shapes[a], placed[a], shapes[b], placed[b]) for f, (a, b) in pairs_of]
        shapes_of = [(len(rows),), *[(len(rows), 3)] * 3]
        return tuple(
            np.array([row[k] for row in rows], dtype=object).reshape(shape) for k, shape in enumerate(shapes_of)
        )

    own = [Argument("q", np.asarray(q, dtype=object), (model.nq,), f"nq of model {model.name!r}")]
    distance, point_a, point_b, normal = apply(where, one, own)
    return distance, point_a, point_b, normal, names


def scalar_min_distance(where: str, model: Model, q: Any, pairs: Any, placements: Mapping[str, Any] | None) -> Any:
    """Return the least distance (…)."""
    rows = scalar_distances(where, model, q, pairs, placements)[0]
    least = [_least(row) for row in rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])]
    return np.array(least, dtype=object).reshape(rows.shape[:-1])[()]


def _least(distances: Array) -> Any:
    """Return the least of scalars; long expressions are not compared, which takes minutes."""
    if any(map(is_sympy, distances)):
        import sympy

        return sympy.Min(*distances, evaluate=False)
    return reduce(minimum, distances, np.inf)


def _closed(where: str, a: Collision, b: Collision) -> PairDistance:
    """Return the closed form for a pair; raise if there is none."""
    kinds = a.shape.kind, b.shape.kind
    if kinds in CLOSED:
        return CLOSED[kinds]
    if kinds[::-1] in CLOSED:
        return swapped(CLOSED[kinds[::-1]])
    raise TraceError(
        f"{where}: the pair {a.name!r}, {b.name!r} is a {kinds[0]} and a {kinds[1]}, expected a pair with a closed "
        f"form for symbols and in code of functions of your own, such as those of spheres and planes. Leave it out by "
        f"pairs=, or use numbers: sixd.distance_derivatives, and jvp and vjp of sixd.{where}."
    )


def _nearest(where: str, function: PairDistance, a: Collision, T_a: Array, b: Collision, T_b: Array) -> Nearest:
    """Return the distance of a pair, with its own rule of derivatives in a trace that is to be differentiated."""
    (E_a, p_a), (E_b, p_b) = ((T[:3, :3], T[:3, 3]) for T in (T_a, T_b))
    arguments = _size(a), E_a, p_a, _size(b), E_b, p_b
    if any(is_sympy(x) for array in arguments for x in np.asarray(array, dtype=object).ravel()):
        for c in (a, b):
            if c.shape.kind not in SYMBOLIC:
                raise ScalarTypeError(
                    f"{where}: {c.name!r} is a {c.shape.kind}, expected a sphere, a capsule or a plane for symbols. "
                    f"Leave its pairs out by pairs=, or pass numbers."
                )
        return symbolic_nearest((a.shape.kind, b.shape.kind), arguments)
    found = function(*arguments)
    if not is_wanted(np.asarray(T_a), np.asarray(T_b)):
        return found
    x_a, x_b = (held(E.T @ (x - p)) for E, x, p in ((E_a, found.point_a, p_a), (E_b, found.point_b, p_b)))
    along = ((p_b + E_b @ x_b) - (p_a + E_a @ x_a)) @ held(found.normal)
    return found._replace(distance=held(found.distance, along)[()])


def _size(c: Collision) -> Any:
    return np.asarray(c.shape.vertices, dtype=float) if c.shape.kind == "hull" else c.shape.size
