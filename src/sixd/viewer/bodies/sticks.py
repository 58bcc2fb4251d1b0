"""Sticks: a mechanism that brings no shapes, drawn from its joints, frames and inertias.

Rods run from each body's origin to the joints and loop points that it carries, a body at the end of a chain has the
solid of its inertia, and joints show how they move: hinges by cylinders along their axes, slides by boxes on rails,
balls by spheres.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from sixd.constraints.loop import Distance, Loop
from sixd.model.joints import Cylindrical, Free, Helical, Planar, Prismatic, Revolute
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.viewer.bodies.hinges import joint_pieces
from sixd.viewer.bodies.inertias import Principal, Solid, equivalent_solid, principal, solid_through
from sixd.viewer.bodies.pieces import GROUND, METAL, Piece, along, body_color

_MOST_FRAMES = 4  # added frames that rods lead to: more are points on a surface, or of a sensor


def mechanism_size(model: Model, poses: Array) -> float:
    """A rough diameter [m] of the mechanism with its bodies at poses (nb + 1, 4, 4): origins, centres and extents."""
    points = [poses[i][:3, 3] for i in model.bodies]
    bodies = []
    for i in model.bodies:
        body = principal(model, i)
        points += [poses[i][:3, :3] @ p + poses[i][:3, 3] for p in _carried(model, i)]
        if body is not None:
            points.append(poses[i][:3, :3] @ body.com + poses[i][:3, 3])
            bodies.append(body)
    size = float(np.linalg.norm(np.ptp(np.array(points), axis=0))) if points else 0.0
    return max([size, *(_extent(b) for b in bodies if _is_plausible(model, b, size))]) or 1.0


def _extent(body: Principal) -> float:
    """The length [m] of a rod of the body's largest spread."""
    return float(np.sqrt(12 * body.spread.max()))


def _is_plausible(model: Model, body: Principal, size: float) -> bool:
    """Whether a body may be so large in a mechanism of that size [m]: files hold moments that were only guessed."""
    thin_as_air = body.mass < 5 * float(np.sqrt(np.prod(12 * body.spread)))  # [kg/m³] as a box
    return model.nb < 3 or size == 0 or not thin_as_air or _extent(body) < 0.4 * size


def draw(model: Model, bodies: Collection[int], size: float, touching: Mapping[int, Array]) -> list[Piece]:
    """Pieces for these bodies (0 is the world) of a mechanism of that size [m].

    ``touching``: body -> points (k, 4), places in its frame and radii [m], by which it meets the ground.
    """
    return Sticks(model, rod_radius(model, bodies, size), size, touching).draw(bodies)


def rod_radius(model: Model, bodies: Collection[int], size: float) -> float:
    """Slender beside the rods, yet visible in the whole."""
    lengths = []
    for i in bodies:
        body = principal(model, i) if i else None
        long = [float(np.linalg.norm(p)) for p in _carried(model, i) if i]
        long = [x for x in long if x > 1e-3 * size] or ([] if body is None else [2 * float(np.linalg.norm(body.com))])
        lengths += [x for x in long if x > 1e-3 * size]
    return float(np.clip(0.045 * np.median(lengths) if lengths else 0, 0.009 * size, 0.02 * size))


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
    touching: Mapping[int, Array] = field(default_factory=dict)

    def draw(self, bodies: Collection[int]) -> list[Piece]:
        """All pieces of these bodies."""
        pieces: list[Piece] = []
        for i in sorted(bodies):
            pieces += joint_pieces(self.model, i, self.r, self.size) if i else []
            pieces += self.body(i) if i else self.ground()
        return pieces + self.closures(bodies)

    def body(self, i: int) -> list[Piece]:
        """Rods to what the body carries, and the solid of its inertia where rods do not stand for it."""
        color, origin = (*body_color(i), 1.0), np.zeros(3)
        ends = self._apart(_carried(self.model, i))
        pieces = [self._rod(i, origin, end, color) for end in ends]
        body = principal(self.model, i)
        if i in self.touching:
            return pieces + self._standing(i, body, self.touching[i], color)
        if body is None or not _is_plausible(self.model, body, self.size):
            return pieces
        if not ends and self._is_last_link(i, body):
            return [self._rod(i, origin, 2 * body.com, color)]
        # rods stand for a link between hinges, and for what is not much larger than they are
        longest = max((float(np.linalg.norm(e)) for e in ends), default=0.0)
        hinged = isinstance(self.model.joints[i], Revolute) and bool(self.model.tree.children(i))
        if hinged or (ends and _extent(body) < 4 * longest):
            return pieces + self._far_mass(i, body, ends, color)
        return pieces + self._solid(i, body, color, alone=not ends)

    def ground(self) -> list[Piece]:
        """The fixed link, with feet where joints and loops meet the world."""
        fixed = [k for k in self.model.bodies if self.model.parent[k] == 0]
        roots = [self.model.placement[k][:3, 3] for k in fixed if not isinstance(self.model.joints[k], (Free, Planar))]
        closures = [f.pose[:3, 3] for name, f in self.model.frames.items() if f.body == 0 and self._is_closed(name)]
        points = self._apart([np.asarray(p, dtype=float) for p in [*roots, *closures]], origin=False)
        pieces = []
        for point in points:
            T = np.eye(4)
            T[:3, 3] = point
            pieces.append(Piece(0, "sphere", (1.3 * self.r,), T, (*GROUND, 1.0)))
        # the link that is fixed
        pieces += [self._rod(0, points[0], p, (*GROUND, 1.0)) for p in points[1:]]
        return pieces

    def closures(self, bodies: Collection[int]) -> list[Piece]:
        """Balls where loops are closed."""
        pieces = []
        for name in dict.fromkeys(
            n for c in self.model.constraints if isinstance(c, (Loop, Distance)) for n in c.frames
        ):
            frame = self.model.frames[name]
            if frame.body in bodies and frame.body:
                T = np.eye(4)
                T[:3, 3] = frame.pose[:3, 3]
                pieces.append(Piece(frame.body, "sphere", (1.6 * self.r,), T, (*METAL, 1.0)))
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

    def _far_mass(self, i: int, body: Principal, ends: list[Array], color: tuple[float, ...]) -> list[Piece]:
        """A rod to the centre of mass, and a ball, if it is far from all other rods."""
        c = body.com
        nearest = [e * float(np.clip(c @ e / (e @ e), 0, 1)) for e in ends] or [np.zeros(3)]
        if min(float(np.linalg.norm(c - p)) for p in nearest) < 0.15 * self.size:
            return []
        T = np.eye(4)
        T[:3, 3] = c
        return [self._rod(i, np.zeros(3), c, color), Piece(i, "sphere", (2.6 * self.r,), T, color)]

    def _solid(self, i: int, body: Principal, color: tuple[float, ...], *, alone: bool) -> list[Piece]:
        """The solid at the centre of mass, and a rod to it if it does not reach the origin."""
        solid = equivalent_solid(body, self.r, self._spin(i, body))
        if alone and self._is_flat_moment(i, body, solid):
            slides = isinstance(self.model.joints[i], Prismatic)
            return [] if slides else [self._rod(i, np.zeros(3), 2 * body.com, color)]
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = solid.axes, body.com
        thin = solid.size[0] <= 1.01 * self.r
        if solid.kind == "cylinder" and thin:  # a thin rod, with round ends as all rods have
            piece = Piece(i, "capsule", solid.size, T, color)
        elif solid.kind == "sphere" and thin:  # a point mass
            piece = Piece(i, "sphere", (2.6 * self.r,), T, color)
        else:
            piece = Piece(i, solid.kind, solid.size, T, color)
        box = piece.half_box()
        inside = box is not None and (np.abs(solid.axes.T @ body.com) <= box[1] + self.r).all()
        if inside or isinstance(self.model.joints[i], Free):
            return [piece]
        return [piece, self._rod(i, np.zeros(3), body.com, color)]

    def _standing(self, i: int, body: Principal | None, points: Array, color: tuple[float, ...]) -> list[Piece]:
        """What meets the ground at these points: the solid of its inertia, a box around them, or feet on rods."""
        T = np.eye(4)
        solid = None if body is None else solid_through(body, points, self.r, self._spin(i, body))
        if body is not None and solid is not None:
            T[:3, :3], T[:3, 3] = solid.axes, body.com
            return [Piece(i, solid.kind, solid.size, T, color)]
        places, radii = points[:, :3], np.maximum(points[:, 3], 1.3 * self.r)
        across = np.ptp(places, axis=0)
        if len(points) > 7 and across.min() > 0.05 * across.max():
            T[:3, 3] = (places.min(axis=0) + places.max(axis=0)) / 2
            return [Piece(i, "box", (float(across[0]), float(across[1]), float(across[2])), T, color)]
        pieces = [self._rod(i, np.zeros(3), p, color) for p in places if np.linalg.norm(p) > 0.5 * self.r]
        for place, radius in zip(places, radii, strict=True):
            T = np.eye(4)
            T[:3, 3] = place
            pieces.append(Piece(i, "sphere", (float(radius),), T, color))
        return pieces

    def _spin(self, i: int, body: Principal) -> Array | None:
        """The axis (3,) of a hinge on which the centre of mass lies."""
        joint = self.model.joints[i]
        if not isinstance(joint, (Revolute, Helical, Cylindrical)):
            return None
        axis = np.asarray(joint.axis, dtype=float)
        return axis if np.linalg.norm(np.cross(axis, body.com)) < 0.05 * _extent(body) else None

    def _is_last_link(self, i: int, body: Principal) -> bool:
        """Whether it is a slender link that ends a chain of links, and so looks like those before it."""
        before = self.model.parent[i]
        if not before or not all(isinstance(self.model.joints[k], Revolute) for k in (before, i)):
            return False
        far = float(np.linalg.norm(body.com))
        if far < 0.25 * _extent(body):
            return False
        along = float(body.spread @ (body.axes.T @ body.com / far) ** 2)
        return bool(along > 0.8 * body.spread.max() and np.sort(body.spread)[1] < 0.25 * body.spread.max())

    def _is_flat_moment(self, i: int, body: Principal, solid: Solid) -> bool:
        """Whether a disc only stands for the moment of a link that moves in its own plane, as textbooks give it."""
        joint = self.model.joints[i]
        if solid.kind != "cylinder" or solid.size[1] > 2 * self.r or not isinstance(joint, (Revolute, Prismatic)):
            return False
        axis = np.asarray(joint.axis, dtype=float)
        along = abs(axis @ solid.axes[:, 2])
        if isinstance(joint, Prismatic):
            return bool(along < 0.01)
        return bool(along > 0.99 and np.linalg.norm(np.cross(axis, body.com)) > 0.3 * solid.size[0])
