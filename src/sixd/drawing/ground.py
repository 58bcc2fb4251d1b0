"""The ground: hatched supports of the joints on the world, and what the constraints show."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.constraints.loop import Distance, Loop
from sixd.constraints.rolling import KnifeEdge, Rolling, RollingSphere
from sixd.drawing.joint_symbols import ball, pin
from sixd.drawing.labels import expression
from sixd.drawing.pen import RADIUS, Pen, circle
from sixd.model.model import Model
from sixd.spatial.scalar import Array

_SQUARE = ((1.2, 1.0), (-1.2, 1.0), (-1.2, -1.0), (1.2, -1.0))
_STRIDE, _HATCH = 6.0, 7.0  # px between the strokes of hatching, and their length


def hatched_line(pen: Pen, start: Any, end: Any, side: Any) -> None:
    """Draw a line between page points (2,) with hatching on the side (2,), a unit vector."""
    a, b, s = (np.asarray(x, dtype=float) for x in (start, end, side))
    pen.canvas.line("ground", "m", [a, b])
    length = float(np.hypot(*(b - a)))
    along = (b - a) / length
    for x in np.arange(_STRIDE, length + 0.1, _STRIDE):
        pen.canvas.line("ground", "h", [a + along * x, a + along * (x - _HATCH) + s * _HATCH])


def draw_support(pen: Pen, model: Model, i: int, poses: Array, towards: Array) -> None:
    """Draw what holds the joint of body i on the world; ``towards`` (2,) is where its link goes on the page."""
    joint = model.joints[i]
    if not joint.is_held or joint.symbol in ("pinion", "slide"):
        return  # the rail of a slide has the hatching
    foot = poses[0][:3, :3] @ model.placement[i][:3, 3]
    if pen.view.planar:
        _pivot(pen, pen.view.page(foot), towards)
        return
    # a joint above the world's origin is on a column
    up = _upwards(pen)
    height = float(up @ foot)
    upright = height * pen.view.scale > 30 and np.linalg.norm(foot - up * height) < 0.2 * height
    plate(pen, foot, pen.px(26), max(pen.px(22), height if upright else 0))


def _pivot(pen: Pen, p: Array, towards: Array) -> None:
    """A triangle on a hatched line, below the joint, or above if the link hangs from it."""
    down = np.array([0.0, -1.0 if towards[1] > 0.6 else 1.0])
    a, b = p + 24 * down + [-13, 0], p + 24 * down + [13, 0]
    pen.canvas.line("ground", "p", [p, a, b], closed=True)
    hatched_line(pen, p + 24 * down + [-22, 0], p + 24 * down + [22, 0], down)


def plate(pen: Pen, p: Array, half: float, height: float) -> None:
    """Draw a post on a hatched square in the plane of the world's axes that is nearest to horizontal on the page."""
    up = _upwards(pen)
    k = int(np.argmax(np.abs(up)))
    u, v = np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]
    foot = p - up * height
    square = [foot + u * (half * a) + v * (half * b) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    pen.canvas.line("ground", "p", pen.view.page(square), closed=True)
    for x in np.linspace(-0.75, 0.95, 8):  # strokes across the square
        a, b = (x, -1.0), (x + 0.5, 1.0)
        cut = (1 - a[0]) / (b[0] - a[0]) if b[0] > 1 else 1.0
        end = foot + u * (half * (a[0] + cut * 0.5)) + v * (half * (-1 + 2 * cut))
        pen.line("ground", "h", [foot + u * (half * a[0]) - v * half, end])
    pen.canvas.bar("ground", "p", pen.view.page(foot), pen.view.page(p), 9)


def _upwards(pen: Pen) -> Array:
    """The axis of the world that is nearest to the page's vertical."""
    k = int(np.argmax(np.abs(pen.view.axes[1])))
    return np.eye(3)[k] * np.sign(pen.view.axes[1][k])


def draw_constraint(pen: Pen, model: Model, constraint: Any, poses: Array, labelled: Any) -> None:
    """Draw a loop's closure, a rod of fixed length, a rolling contact or a knife edge; other constraints leave no mark.

    ``labelled`` is the same constraint with symbols, for labels.
    """
    at = [poses[model.frames[name].body] @ np.asarray(model.frames[name].pose, float) for name in constraint.frames]
    if isinstance(constraint, Loop):
        a, b = at[0], at[1]
        depth = pen.depth(b[:3, 3], 1100.0) + 4
        names = set(constraint.directions)
        if pen.view.planar or ({"rx", "ry"} <= names and "rz" not in names):
            pin(pen, b[:3, 3], a[:3, 2], depth)
        elif {"x", "y", "z"} <= names and not names & {"rx", "ry", "rz"}:
            ball(pen, b[:3, 3], depth)
        else:
            pen.disc("k", b[:3, 3], 5, depth=depth)
        grounded = [T for T, name in zip(at, constraint.frames, strict=True) if model.frames[name].body == 0]
        for T in grounded:
            if pen.view.planar:
                _pivot(pen, pen.view.page(T[:3, 3]), np.zeros(2))
            else:
                plate(pen, T[:3, 3], pen.px(26), pen.px(22))
    elif isinstance(constraint, Distance):
        pen.line("behind", "m", [at[0][:3, 3], at[1][:3, 3]])
        for T in at:
            pen.disc("p", T[:3, 3], 4, depth=pen.depth(T[:3, 3], 1100.0) + 4)
        pen.canvas.label(pen.view.page((at[0][:3, 3] + at[1][:3, 3]) / 2), expression(labelled.length))
    elif isinstance(constraint, (Rolling, RollingSphere)):
        _wheel(pen, constraint, *at)
    elif isinstance(constraint, KnifeEdge):
        _edge(pen, at[0])


def _wheel(pen: Pen, constraint: Rolling | RollingSphere, T: Array, ground: Array) -> None:
    """The rim, the point of contact and a piece of the ground."""
    radius, p, depth = float(constraint.radius), T[:3, 3], pen.depth(T[:3, 3], 900.0)
    up = ground[:3, 2]
    if isinstance(constraint, Rolling):
        axis = T[:3, :3] @ np.asarray(constraint.axis, dtype=float)
        rim = circle(p, axis, radius, n=48)
        pen.canvas.line("solid", "m", pen.view.page(rim), closed=True, depth=depth)
        down = axis * float(axis @ up) - up
        touch = p + down * (radius / (float(np.linalg.norm(down)) or 1.0))
        pen.line("behind", "d", [p, touch])
    else:
        pen.disc("b", p, radius * pen.view.scale, depth=depth)
        touch = p - up * radius
    pen.disc("k", touch, 3, depth=depth + 1)
    pen.canvas.label(pen.view.page((p + touch) / 2), "r", towards=(1, 0))
    if abs(pen.view.facing(up)) < 0.05:
        x, y = pen.view.page(touch)
        reach = max(60.0, 1.4 * radius * pen.view.scale)
        hatched_line(pen, (x - reach, y), (x + reach, y), (0.0, 1.0))
    else:
        side = [touch + radius * (a * ground[:3, 0] + b * ground[:3, 1]) for a, b in _SQUARE]
        pen.canvas.line("ground", "p", pen.view.page(side), closed=True)


def _edge(pen: Pen, T: Array) -> None:
    """A blade along x, and a barred arrow across it: no velocity in that direction."""
    p, x, y = T[:3, 3], T[:3, 0], T[:3, 1]
    half = pen.px(26)
    pen.canvas.bar("marks", "k", pen.view.page(p - x * half), pen.view.page(p + x * half), 5)
    pen.arrow("marks", "n", [p - y * pen.px(RADIUS), p - y * pen.px(40)])
    middle = pen.view.page(p - y * pen.px(24))
    pen.canvas.cross("marks", "m", middle, 6)
