"""Sticks: a mechanism that brings no shapes, drawn from its joints, frames and inertias.

Rods run from each body's origin to the joints and loop points that it carries, a body at the end of a chain has the
solid of its inertia, and joints show how they move: hinges by cylinders along their axes, slides by boxes on rails,
balls by spheres.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from sixd.constraints.loop import Distance, Loop
from sixd.model.joints import (
    Cylindrical,
    Free,
    Helical,
    Planar,
    Prismatic,
    RackAndPinion,
    Revolute,
    Spherical,
    Universal,
)
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.view.inertias import Principal, Solid, equivalent_solid, principal
from sixd.view.pieces import GROUND, METAL, Piece, along, body_color, turned_to

_MOST_FRAMES = 4  # added frames that rods lead to: more are points on a surface, or of a sensor


def mechanism_size(model: Model, poses: Array) -> float:
    """A rough diameter [m] of the mechanism with its bodies at poses (nb + 1, 4, 4): origins, centres and extents."""
    points = [poses[i][:3, 3] for i in model.bodies]
    reach = 0.0
    for i in model.bodies:
        body = principal(model, i)
        points += [poses[i][:3, :3] @ p + poses[i][:3, 3] for p in _carried(model, i)]
        if body is not None:
            points.append(poses[i][:3, :3] @ body.com + poses[i][:3, 3])
            reach = max(reach, 4 * float(np.sqrt(body.spread.max())))
    size = float(np.linalg.norm(np.ptp(np.array(points), axis=0))) if points else 0.0
    return max(size, reach) or 1.0


def draw(model: Model, bodies: Collection[int], size: float) -> list[Piece]:
    """Pieces for these bodies (0 is the world) of a mechanism of that size [m]."""
    return Sticks(model, _rod_radius(model, bodies, size), size).draw(bodies)


def _rod_radius(model: Model, bodies: Collection[int], size: float) -> float:
    """Slender beside the rods, yet visible in the whole."""
    lengths = [float(np.linalg.norm(p)) for i in bodies if i for p in _carried(model, i)]
    centers = [p.com for p in (principal(model, i) for i in bodies if i) if p is not None]
    lengths = [x for x in lengths or [2 * float(np.linalg.norm(c)) for c in centers] if x > 1e-3 * size]
    return float(np.clip(0.03 * np.median(lengths) if lengths else 0, 0.006 * size, 0.016 * size))


def _carried(model: Model, i: int) -> list[Array]:
    """Points (3,) of body i, in its frame, that something hangs on: joints, closures, frames that were added."""
    points = [model.placement[k][:3, 3] for k in model.bodies if model.parent[k] == i]
    bound = {name for c in model.constraints if isinstance(c, (Loop, Distance)) for name in c.frames}
    here = {name: f.pose[:3, 3] for name, f in model.frames.items() if f.body == i}
    points += [p for name, p in here.items() if name in bound]
    own = {"world", *model.body_names, *bound}
    added = [p for name, p in here.items() if i and name not in own and not name.startswith("joint:")]
    if len(added) <= _MOST_FRAMES:
        points += added
    return [np.asarray(p, dtype=float) for p in points]


@dataclass(frozen=True)
class Sticks:
    """Draws with rods of one radius ``r`` [m] in a mechanism of that size [m]."""

    model: Model
    r: float
    size: float

    def draw(self, bodies: Collection[int]) -> list[Piece]:
        pieces: list[Piece] = []
        for i in sorted(bodies):
            pieces += self.joint(i) if i else []
            pieces += self.body(i) if i else self.ground()
        return pieces

    def body(self, i: int) -> list[Piece]:
        """Rods to what the body carries, and the solid of its inertia where rods do not stand for it."""
        color, origin = (*body_color(i), 1.0), np.zeros(3)
        ends = self._apart(_carried(self.model, i))
        pieces = [self._rod(i, origin, end, color) for end in ends]
        body = principal(self.model, i)
        if body is None:
            return pieces
        solid = equivalent_solid(body, self.r)
        longest = max((float(np.linalg.norm(e)) for e in ends), default=0.0)
        floats = isinstance(self.model.joints[i], Free)
        if ends and not floats and 4 * np.sqrt(body.spread.max()) < 2 * longest:
            return pieces
        return pieces + self._solid(i, body, solid, color, alone=not ends)

    def ground(self) -> list[Piece]:
        """Feet where joints and loops meet the world."""
        fixed = [k for k in self.model.bodies if self.model.parent[k] == 0]
        roots = [self.model.placement[k][:3, 3] for k in fixed if not isinstance(self.model.joints[k], (Free, Planar))]
        closures = [f.pose[:3, 3] for name, f in self.model.frames.items() if f.body == 0 and self._is_closed(name)]
        points = self._apart([np.asarray(p, dtype=float) for p in [*roots, *closures]], origin=False)
        pieces = []
        for point in points:
            T = np.eye(4)
            T[:3, 3] = point
            pieces.append(Piece(0, "sphere", (1.3 * self.r,), T, (*GROUND, 1.0)))
        if closures:  # the link that is fixed
            pieces += [self._rod(0, points[0], p, (*GROUND, 1.0)) for p in points[1:]]
        return pieces

    def _is_closed(self, frame: str) -> bool:
        return any(frame in c.frames for c in self.model.constraints if isinstance(c, (Loop, Distance)))

    # parts of bodies ----------------------------------------------------------------------------------

    def _apart(self, points: list[Array], origin: bool = True) -> list[Array]:
        """The points that are not drawn by another one, or by the origin, already."""
        found = [np.zeros(3)] if origin else []
        for p in points:
            if all(np.linalg.norm(p - q) > 0.5 * self.r for q in found):
                found.append(p)
        return found[1:] if origin else found

    def _rod(self, i: int, start: Array, end: Array, color: tuple[float, ...]) -> Piece:
        T, length = along(start, end)
        return Piece(i, "capsule", (self.r, length), T, color)

    def _solid(self, i: int, body: Principal, solid: Solid, color: tuple[float, ...], *, alone: bool) -> list[Piece]:
        """The solid at the centre of mass, and a rod to it if it does not reach the origin."""
        out = float(np.linalg.norm(body.com))
        if alone and solid.kind == "cylinder" and self._is_flat_link(i, body, solid):
            return [self._rod(i, np.zeros(3), 2 * body.com, color)]
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = solid.axes, body.com
        if solid.kind == "cylinder" and solid.size[0] <= 1.01 * self.r:  # a thin rod, with round ends as all rods have
            pieces = [Piece(i, "capsule", solid.size, T, color)]
        elif solid.kind == "sphere" and solid.size[0] <= 1.01 * self.r:  # a point mass
            pieces = [Piece(i, "sphere", (2.6 * self.r,), T, color)]
        else:
            pieces = [Piece(i, solid.kind, solid.size, T, color)]
        center = pieces[0].half_box()
        inside = center is not None and (np.abs(solid.axes.T @ body.com) <= center[1] + self.r).all()
        if out > self.r and not inside and not isinstance(self.model.joints[i], Free):
            pieces.append(self._rod(i, np.zeros(3), body.com, color))
        return pieces

    def _is_flat_link(self, i: int, body: Principal, solid: Solid) -> bool:
        """Whether a disc only stands for the moment of a link that moves in its own plane, as textbooks give it."""
        joint = self.model.joints[i]
        flat = solid.size[1] <= 2 * self.r
        across = isinstance(joint, Revolute) and abs(np.asarray(joint.axis, dtype=float) @ solid.axes[:, 2]) > 0.99
        return flat and across and float(np.linalg.norm(body.com)) > 0.3 * solid.size[0]

    # joints -------------------------------------------------------------------------------------------

    def joint(self, i: int) -> list[Piece]:
        """What shows how the joint of body i moves."""
        joint, r, color = self.model.joints[i], self.r, (*METAL, 1.0)
        T = np.eye(4)
        if isinstance(joint, (Revolute, Helical, Cylindrical)):
            T[:3, :3] = turned_to(joint.axis)
            length = 4.5 * r if isinstance(joint, Revolute) else 8 * r
            return [Piece(i, "cylinder", (1.7 * r, length), T, color)]
        if isinstance(joint, Prismatic):
            T[:3, :3] = turned_to(joint.axis)
            return [Piece(i, "box", (4 * r, 4 * r, 6 * r), T, color), self._rail(i, joint)]
        if isinstance(joint, (Spherical, Universal)):
            return [Piece(i, "sphere", (2 * r,), T, color)]
        if isinstance(joint, RackAndPinion):
            T[:3, :3] = turned_to((1, 0, 0))
            return [Piece(i, "cylinder", (max(abs(float(joint.radius)), r), 2 * r), T, color)]
        if isinstance(joint, Planar):
            T[:3, :3] = joint.plane
            return [Piece(i, "box", (5 * r, 5 * r, 1.2 * r), T, color)]
        return []

    def _rail(self, i: int, joint: Prismatic) -> Piece:
        """The rail of a slide, on the body that carries it: as long as the limits, or the mechanism."""
        low, high = (float(x[self.model.iq[i]][0]) for x in (self.model.lower, self.model.upper))
        half = max(self.size, 10 * self.r)
        low, high = low if np.isfinite(low) else -half, high if np.isfinite(high) else half
        axis, T = np.asarray(joint.axis, dtype=float), np.asarray(self.model.placement[i], dtype=float)
        rod, length = along(low * axis, high * axis)
        parent = self.model.parent[i]
        return Piece(parent, "cylinder", (0.5 * self.r, length), T @ rod, (*GROUND, 1.0))
