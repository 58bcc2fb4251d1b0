"""Shapes of mechanisms that stand or roll on something: a top on its post, a cone on a table, a pinion on its rack."""

from __future__ import annotations

import numpy as np

from sixd.model import Model, Shape
from sixd.spatial import axis_rotation, placement
from sixd.spatial.scalar import Array
from sixd.zoo.appearance import BLUE, DARK, GOLD, RED, STEEL, WHITE, Appearance, Color

_BRASS: Color = (0.86, 0.62, 0.24, 1.0)
_WOOD: Color = (0.72, 0.60, 0.46, 1.0)
TEETH = 20  # of a pinion


def draw_top(model: Model, radius: float, height: float) -> Model:
    """Return the top as a disc on a pointed axle, with marks that show its rotation, on a post."""
    shapes, size = Appearance(model), max(radius, height)
    thin = 0.05 * size
    shapes.rod(0, (0, 0, -0.9 * size), (0, 0, -0.06 * size), 0.09 * size, STEEL)
    shapes.rod(0, (0, 0, -0.9 * size), (0, 0, -0.84 * size), 0.5 * size, STEEL)
    shapes.ball(0, (0, 0, -0.05 * size), 0.1 * size, STEEL)
    shapes.rod("top", (0, 0, 0.02 * size), (0, 0, 2 * height), thin, DARK, "capsule")
    shapes.rod("top", (0, 0, height - 0.06 * size), (0, 0, height + 0.06 * size), radius, _BRASS)
    for k, color in enumerate((RED, BLUE)):
        along = axis_rotation((0, 0, 1), np.pi * k)
        mark = Shape("box", (0.75 * radius, 0.22 * radius, 0.14 * size))
        shapes.add("top", mark, placement(along @ np.array([0.55 * radius, 0, height]), R=along), color)
    shapes.ball("top", (0, 0, 2 * height), 1.6 * thin, RED)
    return shapes.apply()


def draw_cone(
    shapes: Appearance, apex: Array, along: Array, radius: float, height: float, pose: Array, slant: float
) -> None:
    """Add a cone with its apex at a point of body "cone", its axis the x axis of ``along`` (3, 3), with stripes."""
    shapes.add("cone", Shape("cone", (radius, height)), pose, GOLD)
    # stripes along the slant and bars on the base make the rotation visible
    thin, end = 0.012 * slant, apex + along[:, 0] * height
    for k in range(3):
        side = along @ axis_rotation((1, 0, 0), 2 * np.pi * k / 3 + np.pi / 2)
        rim = end + side[:, 1] * radius
        color = (RED, BLUE, BLUE)[k]
        shapes.rod("cone", apex + (rim - apex) * 0.06, rim - (rim - apex) * 0.01, thin, color, "capsule")
        shapes.rod("cone", end, rim - (rim - end) * 0.04, thin, color, "capsule")


def draw_table(shapes: Appearance, centre: Array, radius: float) -> None:
    """Add a round table whose top is at the height of its centre (3,), on a foot."""
    top, thick = np.asarray(centre, dtype=float), 0.04 * radius
    down = np.array([0, 0, 1.0])
    shapes.rod(0, top - down * thick, top - down * 1e-4 * radius, radius, _WOOD)
    shapes.rod(0, top - down * 0.45 * radius, top - down * thick, 0.1 * radius, STEEL)
    shapes.rod(0, top - down * 0.48 * radius, top - down * 0.45 * radius, 0.4 * radius, STEEL)
    shapes.ball(0, top, 0.012 * radius, DARK)


def draw_rack(model: Model, radius: float, width: float, offset: float) -> Model:
    """Return a pinion about x, with teeth and a bolt at its centre of mass, on a rack along y below it."""
    shapes = Appearance(model)
    pitch = 2 * np.pi * radius / TEETH
    deep = 0.45 * pitch
    shapes.add("pinion", _gear(radius, deep, width), np.eye(4), BLUE)
    for side in (-1, 1):
        shapes.rod("pinion", (side * 0.5 * width, 0, 0), (side * 0.62 * width, 0, 0), 0.16 * radius, DARK)
        # a mark shows the rotation, and a bolt the mass off the axle
        at, mark = np.array([side * 0.52 * width, 0, -0.55 * radius]), np.array([0.01, 0.03, 0.25]) * radius
        shapes.box("pinion", at - mark, at + mark, WHITE)
        if offset:
            shapes.rod("pinion", (side * 0.5 * width, 0, -offset), (side * 0.75 * width, 0, -offset), 0.2 * radius, RED)
    half = 2 * np.pi * radius
    shapes.add(0, _rack_teeth(radius, deep, width, half), np.eye(4), STEEL)
    shapes.box(0, (-0.5 * width, -half, -1.45 * radius), (0.5 * width, half, -radius - deep / 2), STEEL)
    for y in (-0.9 * half, 0.9 * half):
        shapes.box(0, (-width, y - width, -1.7 * radius), (width, y + width, -1.45 * radius), DARK)
    return shapes.apply()


def _gear(radius: float, deep: float, width: float) -> Shape:
    """Return a toothed wheel about x of pitch radius ``radius``; a tooth points along -z."""
    corners = []
    for k in range(TEETH):
        middle = 2 * np.pi * k / TEETH - np.pi / 2
        for away, at in ((-0.32, -0.5), (-0.16, 0.5), (0.16, 0.5), (0.32, -0.5)):
            angle, r = middle + away * 2 * np.pi / TEETH, radius + at * deep
            corners.append((r * np.cos(angle), r * np.sin(angle)))
    return _prism([np.array(corners)], width)


def _rack_teeth(radius: float, deep: float, width: float, half: float) -> Shape:
    """Return the teeth of a rack along y at z = -radius, with a gap at y = 0."""
    pitch = 2 * np.pi * radius / TEETH
    low, high = -radius - deep / 2, -radius + deep / 2
    count = int(half / pitch)
    corners = np.array([(-0.32 * pitch, low), (0.32 * pitch, low), (0.14 * pitch, high), (-0.14 * pitch, high)])
    return _prism([corners + np.array([(k + 0.5) * pitch, 0]) for k in range(-count, count)], width)


def _prism(polygons: list[Array], width: float) -> Shape:
    """Return polygons (n, 2) in the yz-plane, star-shaped about the mean of their corners, extruded by ``width``."""
    vertices: list[Array] = []
    triangles: list[tuple[int, int, int]] = []
    for polygon in polygons:
        n, first = len(polygon), len(vertices)
        ring = [polygon.mean(axis=0), *polygon]
        vertices += [np.array([x, *point]) for x in (-width / 2, width / 2) for point in ring]
        for k in range(n):
            a, b = first + 1 + k, first + 1 + (k + 1) % n
            c, d = a + n + 1, b + n + 1
            triangles += [(first, b, a), (first + n + 1, c, d), (a, b, d), (a, d, c)]
    return Shape("mesh", vertices=np.array(vertices), triangles=np.array(triangles))
