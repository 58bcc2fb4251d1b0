"""What is written on a figure: dimension lines, coordinates, frames, centres of mass, gravity, arrows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.drawing.joint_symbols import turning
from sixd.drawing.labels import expression
from sixd.drawing.pen import Pen, arc
from sixd.geometry.pieces import axis_of
from sixd.model.model import Model
from sixd.spatial.scalar import Array

AXES = "XYZ"
_TRIAD = 42.0  # px of a frame's arrows


# dimensions ---------------------------------------------------------------------------------------


def dimension(
    pen: Pen, start: Any, end: Any, text: str, *, offset: float = 30.0, style: str = "n", side: Any = None
) -> None:
    """Draw a dimension line between two points (3,), on their less crowded side, with its label."""
    a, b = pen.view.page(start), pen.view.page(end)
    length = float(np.hypot(*(b - a)))
    if length < 14:
        return
    along = (b - a) / length
    wanted, side = side, np.array([-along[1], along[0]])
    steps = np.linspace(0.1, 0.9, 12)[:, None]
    crowds = [pen.canvas.crowding(a + (b - a) * steps + side * (s * offset), 9) for s in (1, -1)]
    if wanted is not None:
        side = side if float(side @ wanted) > 0 else -side
    elif crowds[1] < crowds[0] or (crowds[0] == crowds[1] and side[1] < 0):
        side = -side
    for p in (a, b):
        pen.canvas.line("dimensions", "h", [p + side * 8, p + side * (offset + 5)])
    middle = [a + side * offset, b + side * offset]
    if length > 26:
        pen.canvas.arrow("dimensions", style, middle, both=True, size=7)
    else:
        for p, s in zip(middle, (-1, 1), strict=True):
            pen.canvas.arrow("dimensions", style, [p + along * (s * 16), p], size=7)
    color = style if style in ("C", "A") else ""
    towards = (float(side[0]), float(side[1]))
    pen.canvas.label((middle[0] + middle[1]) / 2, text, towards=towards, gap=3, color=color, firm=True)


def radius_mark(pen: Pen, centre: Array, towards: Array, radius: float, text: str) -> None:
    """Draw a radius [m] as an arrow from the centre to the rim, in the direction (3,) ``towards``."""
    end = centre + towards * (radius / float(np.linalg.norm(towards)))
    pen.arrow("dimensions", "n", [centre, end], size=7)
    pen.canvas.label(pen.view.page((centre + 2 * end) / 3), text, towards=(-1, -1), gap=2)


def length_label(vector: Array, *, any_direction: bool = False) -> str | None:
    """Return the length of a vector (3,) for a label, as it is written: along one axis, or in ``any_direction``."""
    parts = [x for x in vector if not (_is_plain(x) and abs(float(x)) < 1e-12)]
    if len(parts) == 1:
        text = expression(parts[0])
        return text[1:] if text[:1] in "-−" and not any(c in text[1:] for c in "+-−") else text
    if not parts or not any_direction or not all(_is_plain(x) for x in parts):
        return None
    return expression(float(np.linalg.norm(np.asarray(parts, dtype=float))))


def _is_plain(x: Any) -> bool:
    return not getattr(x, "free_symbols", None)


# coordinates --------------------------------------------------------------------------------------


def draw_coordinates(
    pen: Pen, model: Model, i: int, q: Array, poses: Array, labels: list[str], along: Array | None, before: int = 0
) -> None:
    """Draw the coordinates of joint i: arcs of angles and arrows of distances.

    ``along`` (3,) is the direction of its link in the body's frame, None if it has none; ``before`` counts the joints
    at the same point that are drawn already.
    """
    joint: Any = model.joints[i]
    T, P = poses[i], poses[model.parent[i]] @ model.placement[i]
    if joint.symbol in ("hinge", "screw"):
        _angle(pen, T, P, axis_of(joint), float(q[0]), labels[0], along, before)
    elif joint.symbol == "slide":
        _distance(pen, P[:3, 3], T[:3, 3], P[:3, :3] @ axis_of(joint), labels[0])
    elif joint.symbol == "sleeve":
        axis = P[:3, :3] @ axis_of(joint)
        _turn(pen, T[:3, 3] + axis * pen.px(32), axis, labels[0], 14)
        _distance(pen, P[:3, 3], T[:3, 3], axis, labels[1])
    elif joint.symbol == "cross":
        _turn(pen, T[:3, 3] + P[:3, 0] * pen.px(26), P[:3, 0], labels[0], 11)
        _turn(pen, T[:3, 3] + T[:3, 1] * pen.px(26), T[:3, 1], labels[1], 11)
    elif joint.symbol == "pinion":
        radius = abs(float(joint.radius))
        for down in (P[:3, 2], T[:3, 2]):
            pen.line("marks", "d", [T[:3, 3], T[:3, 3] - down * radius])
        if abs(float(q[0])) > 0.2:
            _arc_from(pen, T[:3, 3], P[:3, 0], -P[:3, 2], float(q[0]), min(0.6 * radius, pen.px(64)), labels[0])
    elif joint.symbol == "plate":
        _planar(pen, T, P, joint.plane, q, labels)


def _planar(pen: Pen, T: Array, P: Array, plane: Array, q: Array, labels: list[str]) -> None:
    R = P[:3, :3] @ np.asarray(plane, dtype=float)
    o, p, x = P[:3, 3], T[:3, 3], R[:, 0]
    foot = o + x * float(q[1])
    pen.line("behind", "d", [o, foot, p])
    dimension(pen, o, foot, labels[1], offset=24, style="C", side=(0, 1))
    dimension(pen, foot, p, labels[2], offset=24, style="C", side=(1, 0))
    if abs(float(q[0])) > 0.15:
        pen.line("behind", "d", [p, p + x * pen.px(74)])
        _arc_from(pen, p, R[:, 2], x, float(q[0]), pen.px(58), labels[0])


def _angle(pen: Pen, T: Array, P: Array, axis: Array, q: float, text: str, along: Array | None, before: int) -> None:
    """The angle between where the link was and where it is, or a turning arrow about the axis."""
    p, world = T[:3, 3], P[:3, :3] @ axis
    across = None if along is None else along - axis * float(axis @ along)
    crowded = before and not pen.view.planar
    if across is None or np.linalg.norm(across) < 0.3 or abs(q) < 0.2 or abs(q) > 6 or crowded:
        end_on = pen.is_end_on(world)
        _turn(pen, p + world * (0 if end_on else pen.px(21 + 24 * before)), world, text, 19 if end_on else 13)
        return
    start = P[:3, :3] @ across / np.linalg.norm(across)
    pen.line("behind", "d", [p, p + start * pen.px(70)])
    _arc_from(pen, p, world, start, q, pen.px(40 if abs(q) > 0.45 else 56), text)


def _arc_from(pen: Pen, p: Array, axis: Array, start: Array, angle: float, radius: float, text: str) -> None:
    points = arc(p, axis, start, angle, radius)
    pen.arrow("coordinates", "C", points, size=8)
    middle = pen.view.page(points[len(points) // 2])
    away = middle - pen.view.page(p)
    pen.canvas.label(middle, text, towards=(float(away[0]), float(away[1])), gap=3, color="C")


def _turn(pen: Pen, p: Array, axis: Array, text: str, radius: float) -> None:
    """Three quarters of a turn about the axis, in the positive sense."""
    points = turning(pen, p, axis, pen.px(radius))
    pen.arrow("coordinates", "C", points, size=7)
    out = pen.view.direction(axis)
    towards = (float(out[0]), float(out[1])) if np.hypot(*out) > 0.4 else (1.0, -1.0)
    pen.canvas.label(pen.view.page(p), text, towards=towards, gap=radius * 0.7 + 2, color="C")


def _distance(pen: Pen, start: Array, end: Array, axis: Array, text: str) -> None:
    """The distance that a slide has moved, or the direction in which it moves."""
    if np.linalg.norm(end - start) * pen.view.scale > 24 and not pen.is_end_on(axis):
        dimension(pen, start, end, text, offset=34, style="C")
        return
    shift = pen.view.axes[1] * pen.px(26)
    pen.arrow("coordinates", "C", [end + shift - axis * pen.px(16), end + shift + axis * pen.px(22)], size=8)
    pen.canvas.label(pen.view.page(end + shift + axis * pen.px(26)), text, color="C")


# frames, masses, arrows ---------------------------------------------------------------------------


def draw_frame(
    pen: Pen, T: Array, subscript: str = "", *, name: str = "", size: float = _TRIAD, flat: bool = False
) -> None:
    """Draw a frame as three arrows x, y, z; an axis seen from its end is a circle, none if the frame is ``flat``."""
    p, o = T[:3, 3], pen.view.page(T[:3, 3])
    for k in range(3):
        axis, style = T[:3, k], AXES[k]
        text = "xyz"[k] + (f"_{subscript}" if subscript else "")
        facing = pen.view.facing(axis)
        if abs(facing) > 0.985:
            if flat:
                continue
            pen.canvas.circle("frames", style, o, 5)
            if facing > 0:
                pen.canvas.circle("frames", style + "f", o, 1.8)
            else:
                pen.canvas.cross("frames", style, o, 3.5)
            pen.canvas.label(o, text, towards=(-1, 1), gap=8, color=style)
            continue
        end = p + axis * pen.px(size)
        pen.arrow("frames", style, [p, end], size=8)
        d = pen.view.direction(axis)
        pen.canvas.label(pen.view.page(end), text, towards=(float(d[0]), float(d[1])), gap=3, color=style)
    if name:
        pen.canvas.label(o, name, towards=(-1, 1), gap=8)


def draw_centre(pen: Pen, p: Array, text: str) -> None:
    """Draw a centre of mass: a circle with two black quarters, and a label."""
    x, y = pen.view.page(p)
    r = 6.0
    pen.canvas.circle("marks", "p", (x, y), r)
    for start in (0.0, np.pi):
        phi = np.linspace(start, start + np.pi / 2, 7)
        quarter = np.stack([x + r * np.cos(phi), y + r * np.sin(phi)], axis=1)
        pen.canvas.line("marks", "k", np.concatenate([[(x, y)], quarter]), closed=True)
    if text:
        pen.canvas.label((x, y), text, towards=(-0.5, -1), gap=9)


def draw_gravity(pen: Pen, gravity: Array, text: str) -> None:
    """Draw the arrow of gravity at the upper right of all that is drawn so far."""
    low, high = pen.canvas.extent
    d = pen.view.direction(gravity / np.linalg.norm(gravity))
    start = np.array([high[0] + 30, low[1] + 22 if d[1] > 0 else low[1] + 66])
    if np.hypot(*d) < 0.2:
        pen.canvas.circle("arrows", "n", start, 6)
        pen.canvas.cross("arrows", "n", start, 4.2)
        pen.canvas.label(start, text, towards=(1, 0), gap=9)
        return
    end = start + d / np.hypot(*d) * 44
    pen.canvas.arrow("arrows", "m", [start, end], size=10)
    pen.canvas.label((start + end) / 2, text, towards=(1, 0), gap=4)


def draw_arrow(pen: Pen, at: Array, vector: Array, text: str) -> None:
    """Draw a user's arrow from a point (3,) along a vector (3,) [m], with its label at the end."""
    pen.arrow("arrows", "A", [at, at + vector], size=10)
    d = pen.view.direction(vector)
    pen.canvas.label(pen.view.page(at + vector), text, towards=(float(d[0]), float(d[1])), gap=3, color="A")
