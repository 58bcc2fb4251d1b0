"""Joints by their symbols in textbooks: hinges as cylinders or circles, slides as boxes on a rail, balls in sockets."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.drawing.pen import RADIUS, Pen, arc, circle
from sixd.geometry.pieces import AXLES, axis_of, turned_to
from sixd.model.joints import Joint
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import make_pose

_FRONT = 1000.0  # rank of joints in a planar figure: in front of links
_TOOTH = 12.0  # px of a rack's teeth
_NEAR = 4.0  # px by which joints are drawn nearer than the links that meet in them


def draw_joint(pen: Pen, model: Model, i: int, poses: Array) -> None:
    """Draw the symbol of the joint of body i; ``poses`` (nb + 1, 4, 4)."""
    joint: Any = model.joints[i]
    T, P = poses[i], poses[model.parent[i]] @ model.placement[i]
    p, depth = T[:3, 3], pen.depth(T[:3, 3], _FRONT + i) + (0 if pen.view.planar else _NEAR)
    if joint.symbol in AXLES:
        _hinge(pen, joint, P[:3, 3], p, T[:3, :3] @ axis_of(joint), depth)
    elif joint.symbol == "slide":
        _slide(pen, T, axis_of(joint), depth)
    elif joint.symbol == "cross":
        _cross(pen, T, P, depth)
    elif joint.symbol == "pinion":
        _rack(pen, T, P, abs(float(joint.radius)), depth)
    elif joint.symbol == "plate":
        if not pen.view.planar:
            plate = make_pose(P[:3, :3] @ np.asarray(joint.plane, dtype=float), p)
            pen.box("p", plate, (pen.px(34), pen.px(34), pen.px(5)), depth=depth - 8)
    elif joint.symbol == "ball":
        ball(pen, p, depth)
    elif joint.symbol != "none":
        pen.canvas.line("solid", "p", pen.view.page(p) + 8 * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]]), closed=True,
                        depth=depth)  # fmt: skip


def pin(pen: Pen, centre: Array, axis: Array, depth: float) -> None:
    """Draw a hinge: a circle if it is seen from its end, else a cylinder."""
    if pen.is_end_on(axis):
        pen.disc("p", centre, RADIUS, depth=depth)
        pen.disc("k", centre, 1.7, depth=depth)
        return
    pen.cylinder("p", centre, axis, pen.px(RADIUS), pen.px(24), depth=depth)


def ball(pen: Pen, centre: Array, depth: float) -> None:
    """Draw a ball in its socket."""
    x, y = pen.view.page(centre)
    phi = np.linspace(0.15 * np.pi, 1.25 * np.pi, 20)
    socket = np.stack([x + 11 * np.cos(phi), y + 11 * np.sin(phi)], axis=1)
    pen.canvas.line("solid", "m", socket, depth=depth)
    pen.disc("p", centre, RADIUS, depth=depth)


def _hinge(pen: Pen, joint: Joint, start: Array, p: Array, axis: Array, depth: float) -> None:
    """A hinge, or a sleeve on a shaft that leads to it from its predecessor frame's origin."""
    if joint.symbol == "hinge":
        pin(pen, p, axis, depth)
        return
    moved = float(axis @ (p - start))
    low, high = min(0.0, moved) - (0.0 if moved > pen.px(24) else pen.px(32)), max(0.0, moved) + pen.px(34)
    middle, shaft, sleeve = start + axis * ((low + high) / 2), high - low, pen.px(26)
    if pen.is_end_on(axis):
        pen.disc("p", p, RADIUS + 3, depth=depth)
        pen.disc("p", p, RADIUS - 2, depth=depth)
        return
    pen.cylinder("p", middle, axis, pen.px(4), shaft, depth=depth - 1)
    if joint.symbol == "screw":  # a thread on the shaft, in front of it
        phi = np.linspace(0, 2 * np.pi * round(shaft / pen.px(7)), 240)
        R = turned_to(axis)
        helix = np.stack([np.cos(phi) * pen.px(4), np.sin(phi) * pen.px(4), (phi / phi[-1] - 0.5) * shaft], axis=1)
        normal = np.stack([np.cos(phi), np.sin(phi), 0 * phi], axis=1) @ R.T @ pen.view.axes[2]
        for run in np.split(np.arange(240), np.nonzero(np.diff(normal > 0))[0] + 1):
            if normal[run[0]] > 0 and len(run) > 1:
                pen.canvas.line("solid", "n", pen.view.page(middle + helix[run] @ R.T), depth=depth - 0.5)
    pen.cylinder("p", p, axis, pen.px(RADIUS + 1), sleeve, depth=depth)


def rail_ends(pen: Pen, model: Model, i: int, poses: Array) -> tuple[Array, Array]:
    """Return the ends (3,) in the world of the rail of slide i: what is between its frames, and something more."""
    P, T = poses[model.parent[i]] @ model.placement[i], poses[i]
    axis = P[:3, :3] @ axis_of(model.joints[i])
    q = float(axis @ (T[:3, 3] - P[:3, 3]))
    more = pen.px(48)
    start = min(0.0, q) - (more if model.parent[i] == 0 or q < pen.px(20) else 0)
    return P[:3, 3] + axis * start, P[:3, 3] + axis * (max(0.0, q) + more)


def _slide(pen: Pen, T: Array, axis: Array, depth: float) -> None:
    """A box on its rail."""
    along = turned_to(axis)
    if pen.view.planar:
        a, p = pen.view.direction(T[:3, :3] @ axis), pen.view.page(T[:3, 3])
        side = np.array([-a[1], a[0]])
        corners = [p + a * (20 * s) + side * (11 * t) for s, t in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
        pen.canvas.line("solid", "b", corners, closed=True, depth=depth)
        return
    box = T @ make_pose(along, np.zeros(3))
    pen.box("b", box, (pen.px(22), pen.px(22), pen.px(36)), depth=depth)


def _cross(pen: Pen, T: Array, P: Array, depth: float) -> None:
    """The cross of a universal joint: pins along the first axis on the predecessor, along the second on the body."""
    p, pins = T[:3, 3], ((P[:3, 0], 15), (T[:3, 1], 15))
    for axis, half in pins:
        for sign in (-1, 1):
            end = p + axis * (sign * pen.px(half))
            pen.line("solid", "m", [p, end], depth=depth)
            if not pen.is_end_on(axis):
                pen.cylinder("p", end, axis, pen.px(4), pen.px(7), depth=depth + 0.1)
    pen.disc("p", p, 3.5, depth=depth + 0.2)


def _rack(pen: Pen, T: Array, P: Array, radius: float, depth: float) -> None:
    """A toothed wheel about x, and the rack on which it rolls: along y, below the pinion's path."""
    p, axis = T[:3, 3], T[:3, 0]
    # a multiple of four, so that a gap is at the bottom at q = 0, where the rack has a tooth
    count = 4 * int(np.clip(round(2 * np.pi * radius / pen.px(_TOOTH) / 4), 4, 7))
    tooth = 2 * np.pi * radius / count
    addendum = 0.28 * tooth
    profile, height = np.array([-0.19, 0.19, 0.33, 0.67]), np.array([-addendum, -addendum, addendum, addendum])
    phi = ((np.arange(count)[:, None] + profile) * (2 * np.pi / count)).ravel()
    r = radius + np.tile(height, count)
    wheel = p + np.outer(r * np.cos(phi), T[:3, 1]) + np.outer(r * np.sin(phi), T[:3, 2])
    pen.canvas.line("solid", "b", pen.view.page(wheel), closed=True, depth=depth)
    if not pen.is_end_on(axis):
        pen.canvas.line("solid", "n", pen.view.page(circle(p, axis, 0.8 * radius)), closed=True, depth=depth)
    pen.disc("p", p, 4.5, depth=depth)
    # the rack, on the side where the pinion's rim is at rest: y' = -r q, so the contact is below, at -z
    shift = float((p - P[:3, 3]) @ P[:3, 1])
    first, last = (round((x + s * 1.3 * radius) / tooth) for x, s in ((min(0.0, shift), -1), (max(0.0, shift), 1)))
    marks = ((np.arange(first, last)[:, None] + profile) * tooth).ravel()
    heights = -radius - np.tile(height, last - first)
    top = P[:3, 3] + np.outer(marks, P[:3, 1]) + np.outer(heights, P[:3, 2])
    below = P[:3, 3] - P[:3, 2] * (radius + addendum + pen.px(11))
    bottom = [below + P[:3, 1] * marks[-1], below + P[:3, 1] * marks[0]]
    pen.canvas.line("solid", "s", pen.view.page(np.concatenate([top, bottom])), closed=True, depth=depth - 2)


def turning(pen: Pen, centre: Array, axis: Array, radius: float) -> Array:
    """Return the points (n, 3) of three quarters of a turn about an axis, its gap away from the reader's right."""
    right = pen.view.axes[0] - axis * float(axis @ pen.view.axes[0])
    start = right if np.linalg.norm(right) > 0.2 else pen.view.axes[1]
    return arc(centre, axis, start, 1.5 * np.pi, radius)
