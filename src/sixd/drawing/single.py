"""Single bodies: an inertia as its solid, or a shape with its sizes and frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd.drawing import markings
from sixd.drawing.bodies import draw_solid
from sixd.drawing.canvas import Canvas
from sixd.drawing.drawing import Drawing
from sixd.drawing.labels import expression
from sixd.drawing.pen import Pen
from sixd.drawing.sample import with_numbers
from sixd.drawing.view import View, plain_view
from sixd.errors import ModelError, ShapeError
from sixd.geometry.inertias import equivalent_solid, principal
from sixd.geometry.pieces import DrawnPiece
from sixd.model.builder import ModelBuilder
from sixd.model.joints import Free
from sixd.model.model import Model
from sixd.model.parts import Shape
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, is_number
from sixd.spatial.transform import make_pose

_SIZE = 250.0  # px of the body with all frames


def draw_single(
    body: Inertia | Shape, *, view: Any, values: Any, frames: Any, dimensions: Any, arrows: Any, title: str | None
) -> Drawing:
    """Draw an inertia, as the solid of its moments at its centre of mass, or a shape; see ``sixd.draw``."""
    if isinstance(body, Shape):
        if body.kind == "mesh" and body.vertices is None:
            raise ModelError(
                f"draw: the shape is the mesh {str(body.file)!r}, which is not read, expected a shape with sizes or "
                f"vertices. Draw the model that has it, with links='shapes', or use sixd.view."
            )
        sizes, labels = _numbers(body.size, values), [expression(x) for x in body.size]
        solid, centre, name = (body.kind, tuple(sizes)), np.eye(4), body.kind
        points = None if body.vertices is None else np.asarray(body.vertices, dtype=float)
    else:
        solid, centre = _solid(body, values)
        labels, name, points = [], "body", None
    poses = _poses(frames)
    corners = np.array(list(np.ndindex(2, 2, 2))) * 2 - 1.0
    reach = _half(solid, points)
    spots = [(corners * reach) @ centre[:3, :3].T + centre[:3, 3], *(T[None, :3, 3] for T in poses.values())]
    seen = plain_view(view)
    extent = np.ptp(seen.page(np.concatenate([*spots, np.zeros((1, 3))])), axis=0).max()
    pen = Pen(Canvas(), View(seen.axes, False, _SIZE / max(float(extent), 1e-9)))
    draw_solid(pen, solid[0], solid[1], centre, points, depth=0.0)
    own = "" if not poses else "C" if np.allclose(centre[:3, 3], 0) else "A"
    if frames is not False:
        # the arrows of the body's own frame lead out of it [px]
        size = float(np.clip(reach.max() * pen.view.scale * 1.35, 46, 170)) if own in ("", "C") else 46
        markings.draw_frame(pen, np.eye(4), own, name=own, size=size)
    for text, T in poses.items():
        markings.draw_frame(pen, T, text, name=text, size=46)
        pen.line("marks", "d", [np.zeros(3), T[:3, 3]])
    if isinstance(body, Inertia):
        mass = "" if is_number(body.mass) else expression(body.mass)
        markings.draw_centre(pen, centre[:3, 3], mass)
    elif dimensions is not False:
        _sizes(pen, solid, labels)
    for text, (at, vector) in arrows.items():
        markings.draw_arrow(pen, at, vector, text)
    text = title if title is not None else name
    return Drawing(*pen.canvas.svg(text), text)


def _numbers(values: Any, given: Mapping[Any, Any] | None) -> list[float]:
    """Sizes as floats; symbols have the user's values, or sample values."""
    table = {str(k): float(v) for k, v in (given or {}).items()}
    samples, found = iter((0.5, 1.1) if len(values) == 2 else (1.0, 0.7, 0.45)), []
    for x in values:
        if is_number(x):
            found.append(float(x))
            continue
        names = sorted(map(str, x.free_symbols))
        numbers = {s: table.get(str(s)) for s in x.free_symbols}
        if len(names) == 1 and numbers[next(iter(numbers))] is None:
            numbers = dict.fromkeys(numbers, next(samples))
        found.append(float(x.subs({s: 1.0 if v is None else v for s, v in numbers.items()})))
    return found


def _solid(inertia: Inertia, values: Mapping[Any, Any] | None) -> tuple[tuple[str, tuple[float, ...]], Array]:
    """The solid of the inertia's moments, and its pose."""
    model = ModelBuilder("body")
    model.add_body("body", "world", Free(), inertia=inertia)
    numeric: Model = with_numbers(model.build(), values)
    body = principal(numeric, 1)
    if body is None:
        raise ModelError("draw: the inertia has no mass or no centre of mass, expected those of a body.")
    largest = float(np.sqrt(12 * body.spread.max())) or 0.1
    solid = equivalent_solid(body, 0.06 * largest)
    return (solid.kind, solid.size), make_pose(solid.axes, body.com)


def _half(solid: tuple[str, tuple[float, ...]], points: Array | None) -> Array:
    """Half the extents (3,) of a solid."""
    if points is not None:
        return np.asarray(np.abs(points).max(axis=0))
    box = DrawnPiece(0, *solid).half_box()
    return np.full(3, 0.5) if box is None else np.abs(box[0]) + box[1]


def _poses(frames: Any) -> dict[str, Array]:
    if frames is None or isinstance(frames, bool):
        return {}
    if not isinstance(frames, Mapping):
        raise ModelError(f"draw: frames is {frames!r}; of a single body expected a mapping from names to poses (4, 4).")
    return {str(name): read_pose(name, pose) for name, pose in frames.items()}


def read_pose(name: Any, pose: Any) -> Array:
    """Return a user's pose (4, 4) as floats; raise if it is not one."""
    try:
        T = np.asarray(pose, dtype=float)
    except (TypeError, ValueError):
        T = np.zeros(0)
    if T.shape != (4, 4) or not np.isfinite(T).all():
        raise ShapeError(f"draw: frames[{name!r}] is {pose!r}, expected a pose (4, 4). See sixd.placement.")
    return T


def _sizes(pen: Pen, solid: tuple[str, tuple[float, ...]], labels: list[str]) -> None:
    kind, s = solid
    x, y, z = np.eye(3)
    if kind == "box":
        near = np.where(pen.view.axes[2] >= 0, 1, -1) * np.array(s) / 2
        a, b, c = near[0], near[1], abs(near[2])
        middle = pen.view.page(np.zeros(3))
        edges = [((-a, b, -c), (a, b, -c)), ((a, -b, -c), (a, b, -c)), ((-a, b, -c), (-a, b, c))]
        for (start, end), text in zip(edges, labels, strict=True):
            out = pen.view.page((np.array(start) + np.array(end)) / 2) - middle
            markings.dimension(pen, start, end, text, offset=22, side=out)
    elif kind in ("cylinder", "capsule", "cone"):
        low, high = (-s[1] / 4, 0.75 * s[1]) if kind == "cone" else (-s[1] / 2, s[1] / 2)
        left = -pen.view.axes[0] * s[0]
        markings.dimension(pen, left + z * low, left + z * high, labels[1], offset=24)
        level = low if kind == "cone" else high
        right = pen.view.axes[0] * s[0]
        pen.arrow("dimensions", "n", [z * level, z * level + right], size=7)
        pen.canvas.label(pen.view.page(z * level + right / 2), labels[0], towards=(0, -1), gap=2)
    elif kind == "sphere":
        end = (pen.view.axes[0] + pen.view.axes[1]) * (s[0] / np.sqrt(2))
        pen.arrow("dimensions", "n", [np.zeros(3), end], size=7)
        pen.canvas.label(pen.view.page(end / 2), labels[0], towards=(-1, -1), gap=2)
    elif kind == "ellipsoid":
        for axis, text, r in zip((x, y, z), labels, s, strict=True):
            pen.canvas.label(pen.view.page(axis * (0.6 * r)), text, towards=(0, -1), gap=2)
