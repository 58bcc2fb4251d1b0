"""Pen: draws points, lines and convex solids of space on a canvas, seen from a view.

Symbols have sizes in px that do not depend on the mechanism's; ``px`` converts them to metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.drawing.canvas import Canvas
from sixd.drawing.view import View
from sixd.spatial.rotation import frame_along
from sixd.spatial.scalar import Array

BAR, RADIUS = 11.0, 7.5  # px: width of links, radius of joints
_ALONG = 0.97  # cosine beyond which an axis counts as seen from its end


@dataclass(frozen=True, eq=False)
class Pen:
    """A canvas, and the view from which space is drawn on it."""

    canvas: Canvas
    view: View

    def px(self, n: float) -> float:
        """Return n px in metres."""
        return n / self.view.scale

    def depth(self, point: Any, planar: float = 0.0) -> float:
        """Return a mark's depth: in space that of a point, in a planar figure its rank."""
        return planar if self.view.planar else self.view.depth(point)

    # lines --------------------------------------------------------------------------------------

    def line(self, layer: str, style: str, points: Any, **options: Any) -> None:
        """Draw a line through points (n, 3)."""
        self.canvas.line(layer, style, self.view.page(points), **options)

    def arrow(self, layer: str, style: str, points: Any, **options: Any) -> None:
        """Draw an arrow through points (n, 3); none if it is seen from its end."""
        p = self.view.page(points)
        if np.hypot(*np.ptp(p, axis=0)) > 5:
            self.canvas.arrow(layer, style, p, **options)

    def is_end_on(self, axis: Any) -> bool:
        """Return whether an axis is seen from its end."""
        return abs(self.view.facing(axis)) > _ALONG

    # solids -------------------------------------------------------------------------------------

    def prism(self, style: str, faces: list[Array], *, depth: float) -> None:
        """Draw the visible ones of a convex solid's faces, each (n, 3) counter-clockwise from outside."""
        for face in faces:
            p = self.view.page(face)
            edges = np.roll(p, -1, axis=0)
            area = float((p[:, 0] * edges[:, 1] - p[:, 1] * edges[:, 0]).sum())
            if area < -1e-6:  # y is down, so a face towards the reader is clockwise
                self.canvas.line("solid", style, p, closed=True, depth=depth)

    def box(self, style: str, pose: Array, size: Any, *, depth: float) -> None:
        """Draw a box of that size (3,) [m] about the origin of a pose (4, 4)."""
        self.prism(style, box_faces(pose, size), depth=depth)

    def cylinder(self, style: str, centre: Any, axis: Any, radius: float, length: float, *, depth: float) -> None:
        """Draw a cylinder; sizes in m."""
        a = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
        near = a if self.view.facing(a) >= 0 else -a
        n = 18 if radius * self.view.scale < 12 else 36  # corners of a circle
        front = circle(np.asarray(centre) + near * (length / 2), a, radius, n=n)
        back = circle(np.asarray(centre) - near * (length / 2), a, radius, n=n)
        self.outline(style, np.concatenate([front, back]), depth=depth)
        if abs(self.view.facing(a)) > 0.05:
            self.canvas.line("solid", style, self.view.page(front), closed=True, depth=depth)

    def outline(self, style: str, points: Array, *, depth: float) -> None:
        """Draw the outline of the convex hull of points (n, 3)."""
        self.canvas.line("solid", style, hull(self.view.page(points)), closed=True, depth=depth)

    def disc(self, style: str, centre: Any, radius: float, *, depth: float, layer: str = "solid") -> None:
        """Draw a circle of that radius [px], as a ball appears."""
        self.canvas.circle(layer, style, self.view.page(centre), radius, depth=depth)


def circle(
    centre: Any, axis: Any, radius: float, *, turns: tuple[float, float] = (0.0, 2 * np.pi), n: int = 36
) -> Array:
    """Return points (n, 3) of a circle about an axis, or of an arc of it."""
    R = frame_along(np.asarray(axis, dtype=float) / np.linalg.norm(axis))
    full = turns[1] - turns[0] > 6.28
    phi = np.linspace(*turns, n, endpoint=not full)
    return np.asarray(centre) + radius * (np.outer(np.cos(phi), R[:, 0]) + np.outer(np.sin(phi), R[:, 1]))


def arc(centre: Any, axis: Any, start: Any, angle: float, radius: float) -> Array:
    """Return points (n, 3) of the arc that begins in the direction ``start`` and turns by ``angle`` about the axis."""
    a = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    u = np.asarray(start, dtype=float) - a * float(a @ start)
    u = u / np.linalg.norm(u)
    phi = np.linspace(0, angle, max(6, int(abs(angle) * 12)))
    return np.asarray(centre) + radius * (np.outer(np.cos(phi), u) + np.outer(np.sin(phi), np.cross(a, u)))


def box_faces(pose: Array, size: Any) -> list[Array]:
    """Return the faces (4, 3) of a box, each counter-clockwise from outside."""
    half, faces = np.asarray(size, dtype=float) / 2, []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for sign in (1, -1):
            corners = np.zeros((4, 3))
            corners[:, k] = sign * half[k]
            corners[:, i] = np.array([-1, 1, 1, -1]) * half[i]
            corners[:, j] = np.array([-1, -1, 1, 1]) * half[j] * sign
            faces.append(corners @ pose[:3, :3].T + pose[:3, 3])
    return faces


def hull(points: Array) -> Array:
    """Return the convex hull of points (n, 2), in order."""
    p = np.unique(np.round(points, 3), axis=0)
    if len(p) < 3:
        return p

    def half(ordered: Any) -> list[Array]:
        found: list[Array] = []
        for q in ordered:
            while len(found) > 1 and _turn(found[-2], found[-1], q) <= 0:
                found.pop()
            found.append(q)
        return found[:-1]

    return np.array(half(p) + half(p[::-1]))


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
