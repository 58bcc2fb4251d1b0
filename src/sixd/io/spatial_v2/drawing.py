"""spatial_v2's drawing instructions as visual shapes.

``appearance.base`` and ``appearance.body`` are lists of instructions, each a name and its arguments: box, cyl, sphere,
line, triangles and tiles draw; colour, facets and vertices are settings for the instructions after them, until the end
of their list. A list within a list inherits the settings around it; its own do not affect those. Vertices are numbered
from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.errors import ModelError, unknown_name
from sixd.io.spatial_v2.facets import globe, prism, tiling
from sixd.io.spatial_v2.matlab import is_vector
from sixd.model.parts import Shape, Visual
from sixd.spatial.rotation import frame_along
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial.transform import make_pose

BASE_COLOR = (0.4, 0.3, 0.2)
_TILE_COLOR = (0.3, 0.3, 0.3, 1.0)
_ROUND = 16  # facets from which on a shape is drawn smooth


@dataclass(frozen=True)
class DrawingSettings:
    """The current colour, facets and vertices; without a colour the body's own is used."""

    body: int
    colors: Array | None = None  # (1, 3) or (2, 3)
    facets: int = 24
    vertices: Array | None = None  # (n, 3)

    @property
    def color(self) -> tuple[float, float, float, float] | None:
        """The first colour, opaque."""
        return None if self.colors is None else _rgba(self.colors[0])


class InstructionError(Exception):
    """A mistake in an instruction; the caller adds its location."""


def read_appearance(where: str, appearance: object, count: int) -> tuple[Visual, ...]:
    """Return the visuals of the field ``appearance`` of a model with ``count`` bodies; none if it is None or empty."""
    if appearance is None or (isinstance(appearance, (np.ndarray, list, tuple)) and np.size(appearance) == 0):
        return ()
    if not isinstance(appearance, Mapping):
        raise ModelError(f"{where}: appearance is {appearance!r}, expected a structure with the fields base and body.")
    lists = _instructions(appearance.get("body"))
    if lists and isinstance(lists[0], str):
        lists = [lists]  # a cell of one cell, as loadmat simplifies it
    if len(lists) != count:
        raise ModelError(f"{where}: appearance.body has {len(lists)} entries, expected a list for each of {count}.")
    base = _instructions(appearance.get("base"))
    visuals = list(_draw(where, base, DrawingSettings(0, np.array([BASE_COLOR])), ""))
    for k, items in enumerate(lists):
        visuals += _draw(where, _instructions(items), DrawingSettings(k + 1), "")
    return tuple(visuals)


def _instructions(items: object) -> list[Any]:
    if items is None or (isinstance(items, np.ndarray) and items.size == 0):
        return []
    if isinstance(items, np.ndarray) and items.dtype == object:
        return list(items.ravel())
    return list(items) if isinstance(items, (list, tuple)) else [items]


def _is_list(item: object) -> bool:
    return isinstance(item, (list, tuple)) or (isinstance(item, np.ndarray) and (item.dtype == object or not item.size))


def _draw(where: str, items: Sequence[Any], settings: DrawingSettings, path: str) -> Iterator[Visual]:
    """Yield the visuals of a list of instructions; ``path`` is the list's location, for messages."""
    k = 0
    while k < len(items):
        item, location = items[k], f"{path}{{{k + 1}}}"
        k += 1
        if _is_list(item):
            yield from _draw(where, _instructions(item), settings, location)
            continue
        try:
            if not isinstance(item, str):
                raise InstructionError(f"there is {item!r}, expected the name of an instruction or a list of them")
            if item not in _SETTERS and item not in _SHAPES:
                raise InstructionError(
                    str(unknown_name("it", "instruction", item, [*_SETTERS, *_SHAPES])).removeprefix("it: ")
                )
            arity = _ARITY.get(item, 1)
            arguments = items[k : k + arity]
            if len(arguments) < arity:
                raise InstructionError(f"{item!r} lacks an argument, expected {arity}")
            k += arity
            if item in _SETTERS:
                settings = _SETTERS[item](settings, *arguments)
            else:
                yield from _SHAPES[item](settings, *arguments)
        except InstructionError as error:
            text = str(error).removesuffix(".")
            raise ModelError(
                f"{where}: at location {location} in the drawing instructions of body number {settings.body}: {text}."
            ) from None


# settings -----------------------------------------------------------------------------------------


def _colour(settings: DrawingSettings, value: ArrayLike) -> DrawingSettings:
    rgb = np.atleast_2d(_numbers("'colour'", value))
    if rgb.shape not in ((1, 3), (2, 3)) or not ((rgb >= 0) & (rgb <= 1)).all():
        raise InstructionError(
            f"'colour' has {np.asarray(value).tolist()}, expected one or two rows of three numbers of 0 … 1"
        )
    return replace(settings, colors=rgb)


def _facets(settings: DrawingSettings, value: ArrayLike) -> DrawingSettings:
    n = _numbers("'facets'", value)
    if n.size != 1 or n.item() != round(n.item()) or n.item() < 3:
        raise InstructionError(f"'facets' has {value!r}, expected a whole number of at least 3")
    return replace(settings, facets=int(n.item()))


def _vertices(settings: DrawingSettings, value: ArrayLike) -> DrawingSettings:
    return replace(settings, vertices=_points("'vertices'", value, least=2))


# shapes -------------------------------------------------------------------------------------------


def _box(settings: DrawingSettings, corners: ArrayLike) -> Iterator[Visual]:
    p, q = _points("'box'", corners, exactly=2)
    x, y, z = (float(d) for d in np.abs(q - p))
    yield Visual(settings.body, Shape("box", (x, y, z)), make_pose(np.eye(3), (p + q) / 2), settings.color)


def _cyl(settings: DrawingSettings, ends: ArrayLike, radius: ArrayLike) -> Iterator[Visual]:
    p, q = _points("'cyl'", ends, exactly=2)
    r, length = _radius("'cyl'", radius), float(np.linalg.norm(q - p))
    if length == 0:
        raise InstructionError("'cyl' has two equal end points, expected some distance between them")
    pose = make_pose(frame_along((q - p) / length), (p + q) / 2)
    n = settings.facets
    shape = Shape("cylinder", (r, length)) if n >= _ROUND else prism(n, r, length)
    yield Visual(settings.body, shape, pose, settings.color)


def _sphere(settings: DrawingSettings, centre: ArrayLike, radius: ArrayLike) -> Iterator[Visual]:
    c, r = _numbers("'sphere'", centre).ravel(), _radius("'sphere'", radius)
    if c.shape != (3,):
        raise InstructionError(f"'sphere' has the centre {np.asarray(centre).tolist()}, expected three numbers")
    pose = make_pose(np.eye(3), c)
    n = -(-settings.facets // 4) * 4
    if settings.colors is None or len(settings.colors) == 1:
        whole = Shape("sphere", (r,)) if n >= _ROUND else globe(n, r, None)
        yield Visual(settings.body, whole, pose, settings.color)
        return
    for k, color in enumerate(settings.colors):
        yield Visual(settings.body, globe(n, r, k), pose, _rgba(color))


def _line(settings: DrawingSettings, value: ArrayLike) -> Iterator[Visual]:
    points = _numbers("'line'", value)
    if is_vector(points) and points.size >= 2:
        if settings.vertices is None:
            raise InstructionError("'line' has numbers of vertices, but there are no vertices. Give 'vertices' first")
        points = settings.vertices[_indices("'line'", points.ravel(), settings.vertices)]
    else:
        points = _points("'line'", points, least=2)
    yield Visual(settings.body, Shape("line", vertices=points), color=settings.color)


def _triangles(settings: DrawingSettings, value: ArrayLike) -> Iterator[Visual]:
    if settings.vertices is None or len(settings.vertices) < 3:
        raise InstructionError("'triangles' needs at least three vertices. Give 'vertices' first")
    corners = np.atleast_2d(_numbers("'triangles'", value))
    if corners.ndim != 2 or corners.shape[1] != 3:
        raise InstructionError(f"'triangles' has the shape {corners.shape}, expected n×3 numbers of vertices")
    index = _indices("'triangles'", corners, settings.vertices)
    yield Visual(settings.body, Shape("mesh", vertices=settings.vertices, triangles=index), color=settings.color)


def _tiles(settings: DrawingSettings, ranges: ArrayLike, size: ArrayLike) -> Iterator[Visual]:
    if settings.body:
        raise InstructionError("'tiles' is among the instructions of a body, expected it only among those of the base")
    r, side = _numbers("'tiles'", ranges), _radius("'tiles'", size)
    if r.shape != (3, 2) or sum(r[:, 1] > r[:, 0]) != 2:
        raise InstructionError(
            f"'tiles' has the ranges {r.tolist()}, expected [x; y; z] with exactly two ranges of positive length"
        )
    normal = int(np.argmin(r[:, 1] > r[:, 0]))
    across, up = (normal + 1) % 3, (normal + 2) % 3  # right-handed with the normal
    if min(np.ptp(r[across]), np.ptp(r[up])) < 1.5 * side * (1 - 1e-9):
        raise InstructionError(
            f"'tiles' of size {side:g} do not fit the ranges {r.tolist()}, expected at least 1.5 each way"
        )
    shape = tiling(r[across], r[up], side, (across, up, normal), r[normal, 0], away=r[normal, 1] < r[normal, 0])
    yield Visual(0, shape, color=_TILE_COLOR)


_SETTERS: dict[str, Callable[..., DrawingSettings]] = {"colour": _colour, "facets": _facets, "vertices": _vertices}
_SHAPES: dict[str, Callable[..., Iterator[Visual]]] = {
    "box": _box, "cyl": _cyl, "sphere": _sphere, "line": _line, "triangles": _triangles, "tiles": _tiles,
}  # fmt: skip
_ARITY = {"cyl": 2, "sphere": 2, "tiles": 2}


# arguments ----------------------------------------------------------------------------------------


def _numbers(name: str, value: ArrayLike) -> Array:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InstructionError(f"{name} has {value!r}, expected numbers") from None
    if not np.isfinite(array).all():
        raise InstructionError(f"{name} has {array.tolist()}, expected finite numbers")
    return array


def _points(name: str, value: ArrayLike, *, exactly: int = 0, least: int = 0) -> Array:
    points = _numbers(name, value)
    if points.ndim != 2 or points.shape[1] != 3 or (exactly and len(points) != exactly) or len(points) < least:
        raise InstructionError(f"{name} has the shape {points.shape}, expected {exactly or 'n'}×3 coordinates")
    return points


def _radius(name: str, value: ArrayLike) -> float:
    r = _numbers(name, value)
    if r.size != 1 or not r.item() > 0:
        raise InstructionError(f"{name} has the size {np.asarray(value).tolist()}, expected one positive number")
    return float(r.item())


def _indices(name: str, numbers: Array, vertices: Array) -> Array:
    n = len(vertices)
    if (numbers != np.rint(numbers)).any() or (numbers < 1).any() or (numbers > n).any():
        raise InstructionError(f"{name} has {numbers.tolist()}, expected numbers of vertices, 1 … {n}")
    return numbers.astype(int) - 1


def _rgba(rgb: Array) -> tuple[float, float, float, float]:
    red, green, blue = (float(x) for x in rgb)
    return red, green, blue, 1.0
