"""Sticks: the drawing of a mechanism without shapes, from its joints, frames and inertias.

Rods run from each body's origin to the joints and loop points on it, a body at the end of a chain has the solid of its
inertia, and joints show how they move: hinges are cylinders along their axes, slides boxes on rails, ball joints
spheres.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.constraints.loop import Distance, Loop
from sixd.geometry.inertias import PrincipalInertia, Solid, equivalent_solid, principal, solid_through
from sixd.geometry.pieces import AXLES, GROUND, METAL, DrawnPiece, along, axis_of, body_color, turned_to
from sixd.model.joints import Joint
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import make_pose

_MOST_FRAMES = 4  # added frames that rods lead to: more are points on a surface or of a sensor


def mechanism_size(model: Model, poses: Array) -> float:
    """Return a rough diameter [m] of the mechanism with its bodies at poses (nb + 1, 4, 4)."""
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


def _extent(body: PrincipalInertia) -> float:
    """The length [m] of a rod of the body's largest spread."""
    return float(np.sqrt(12 * body.spread.max()))


def _is_plausible(model: Model, body: PrincipalInertia, size: float) -> bool:
    """Whether a body may be so large in a mechanism of that size [m]; moments in files are often only guessed."""
    thin_as_air = body.mass < 5 * float(np.sqrt(np.prod(12 * body.spread)))  # [kg/m³] as a box
    return model.nb < 3 or size == 0 or not thin_as_air or _extent(body) < 0.4 * size


def rod_radius(model: Model, bodies: Collection[int], size: float) -> float:
    """Return the radius [m] of rods that are slender, yet visible in the whole mechanism."""
    lengths = []
    for i in bodies:
        body = principal(model, i) if i else None
        long = [float(np.linalg.norm(p)) for p in _carried(model, i) if i]
        long = [x for x in long if x > 1e-3 * size] or ([] if body is None else [2 * float(np.linalg.norm(body.com))])
        lengths += [x for x in long if x > 1e-3 * size]
    return float(np.clip(0.045 * np.median(lengths) if lengths else 0, 0.009 * size, 0.02 * size))


def _carried(model: Model, i: int) -> list[Array]:
    """Points (3,) of body i, in its frame, to which rods lead: joints, loop closures, added frames."""
    points = [model.placement[k][:3, 3] for k in model.bodies if model.parent[k] == i]
    bound = _closed_frames(model)
    here = {name: f.pose[:3, 3] for name, f in model.frames.items() if f.body == i}
    points += [p for name, p in here.items() if name in bound]
    own = {"world", *model.body_names, *bound}
    added = [p for name, p in here.items() if i and name not in own and not name.startswith("joint:")]
    if len(added) <= _MOST_FRAMES:
        points += added
    return [np.asarray(p, dtype=float) for p in points]


def _closed_frames(model: Model) -> list[str]:
    return list(dict.fromkeys(n for c in model.constraints if isinstance(c, (Loop, Distance)) for n in c.frames))


def _ball(i: int, centre: Array, radius: float, color: tuple[float, ...]) -> DrawnPiece:
    return DrawnPiece(i, "sphere", (radius,), make_pose(np.eye(3), np.asarray(centre, dtype=float)), color)


@dataclass(frozen=True)
class Sticks:
    """Draws a mechanism of that size [m] with rods of one radius ``r`` [m].

    ``touching``: body -> points (k, 4) by which it meets the ground, positions in its frame and radii [m].
    """

    model: Model
    r: float
    size: float
    touching: Mapping[int, Array]

    def draw(self, bodies: Collection[int]) -> list[DrawnPiece]:
        """Return all pieces of these bodies; 0 is the world."""
        pieces: list[DrawnPiece] = []
        for i in sorted(bodies):
            pieces += joint_pieces(self.model, i, self.r, self.size) if i else []
            pieces += self.body(i) if i else self.ground()
        return pieces + self.closures(bodies)

    def body(self, i: int) -> list[DrawnPiece]:
        """Return rods to the points the body carries, and the solid of its inertia where rods do not represent it."""
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
        # rods represent a link between hinges, and a body that is not much larger than they are
        longest = max((float(np.linalg.norm(e)) for e in ends), default=0.0)
        hinged = self.model.joints[i].symbol == "hinge" and bool(self.model.tree.children(i))
        if hinged or (ends and _extent(body) < 4 * longest):
            return pieces + self._far_mass(i, body, ends, color)
        return pieces + self._solid(i, body, color, alone=not ends)

    def ground(self) -> list[DrawnPiece]:
        """Return the fixed link, with balls where joints and loops meet the world."""
        fixed = [k for k in self.model.bodies if self.model.parent[k] == 0]
        roots = [self.model.placement[k][:3, 3] for k in fixed if self.model.joints[k].is_held]
        bound = _closed_frames(self.model)
        closures = [f.pose[:3, 3] for name, f in self.model.frames.items() if f.body == 0 and name in bound]
        points = self._apart([np.asarray(p, dtype=float) for p in [*roots, *closures]], origin=False)
        color = (*GROUND, 1.0)
        balls = [_ball(0, p, 1.3 * self.r, color) for p in points]
        return balls + [self._rod(0, points[0], p, color) for p in points[1:]]

    def closures(self, bodies: Collection[int]) -> list[DrawnPiece]:
        """Return balls where loops are closed."""
        frames = [self.model.frames[name] for name in _closed_frames(self.model)]
        color = (*METAL, 1.0)
        return [_ball(f.body, f.pose[:3, 3], 1.6 * self.r, color) for f in frames if f.body in bodies and f.body]

    # parts of bodies ----------------------------------------------------------------------------------

    def _apart(self, points: list[Array], origin: bool = True) -> list[Array]:
        """The points that are not too near to the origin or to a point before them."""
        found = [np.zeros(3)] if origin else []
        for p in points:
            if all(np.linalg.norm(p - q) > 0.5 * self.r for q in found):
                found.append(p)
        return found[1:] if origin else found

    def _rod(self, i: int, start: Array, end: Array, color: tuple[float, ...]) -> DrawnPiece:
        T, length = along(start, end)
        return DrawnPiece(i, "capsule", (self.r, length), T, color)

    def _far_mass(
        self, i: int, body: PrincipalInertia, ends: list[Array], color: tuple[float, ...]
    ) -> list[DrawnPiece]:
        """A rod to the centre of mass with a ball, if it is far from all other rods."""
        c = body.com
        nearest = [e * float(np.clip(c @ e / (e @ e), 0, 1)) for e in ends] or [np.zeros(3)]
        if min(float(np.linalg.norm(c - p)) for p in nearest) < 0.15 * self.size:
            return []
        return [self._rod(i, np.zeros(3), c, color), _ball(i, c, 2.6 * self.r, color)]

    def _solid(self, i: int, body: PrincipalInertia, color: tuple[float, ...], *, alone: bool) -> list[DrawnPiece]:
        """The solid at the centre of mass, with a rod if it does not reach the origin."""
        solid = equivalent_solid(body, self.r, self._spin(i, body))
        if alone and self._is_flat_moment(i, body, solid):
            slides = self.model.joints[i].symbol == "slide"
            return [] if slides else [self._rod(i, np.zeros(3), 2 * body.com, color)]
        T = make_pose(solid.axes, body.com)
        thin = solid.size[0] <= 1.01 * self.r
        if solid.kind == "cylinder" and thin:  # a thin rod, with round ends as all rods have
            piece = DrawnPiece(i, "capsule", solid.size, T, color)
        elif solid.kind == "sphere" and thin:  # a point mass
            piece = DrawnPiece(i, "sphere", (2.6 * self.r,), T, color)
        else:
            piece = DrawnPiece(i, solid.kind, solid.size, T, color)
        box = piece.half_box()
        inside = box is not None and (np.abs(solid.axes.T @ body.com) <= box[1] + self.r).all()
        if inside or self.model.joints[i].symbol == "none":
            return [piece]
        return [piece, self._rod(i, np.zeros(3), body.com, color)]

    def _standing(
        self, i: int, body: PrincipalInertia | None, points: Array, color: tuple[float, ...]
    ) -> list[DrawnPiece]:
        """Pieces that meet the ground at these points: the solid of the inertia, a box around them, or feet on rods."""
        solid = None if body is None else solid_through(body, points, self.r, self._spin(i, body))
        if body is not None and solid is not None:
            return [DrawnPiece(i, solid.kind, solid.size, make_pose(solid.axes, body.com), color)]
        positions, radii = points[:, :3], np.maximum(points[:, 3], 1.3 * self.r)
        across = np.ptp(positions, axis=0)
        if len(points) > 7 and across.min() > 0.05 * across.max():
            T = make_pose(np.eye(3), (positions.min(axis=0) + positions.max(axis=0)) / 2)
            return [DrawnPiece(i, "box", (float(across[0]), float(across[1]), float(across[2])), T, color)]
        rods = [self._rod(i, np.zeros(3), p, color) for p in positions if np.linalg.norm(p) > 0.5 * self.r]
        return rods + [_ball(i, p, float(radius), color) for p, radius in zip(positions, radii, strict=True)]

    def _spin(self, i: int, body: PrincipalInertia) -> Array | None:
        """The axis (3,) of the body's hinge if the centre of mass lies on it, else None."""
        joint = self.model.joints[i]
        if joint.symbol not in AXLES:
            return None
        axis = axis_of(joint)
        return axis if np.linalg.norm(np.cross(axis, body.com)) < 0.05 * _extent(body) else None

    def _is_last_link(self, i: int, body: PrincipalInertia) -> bool:
        """Whether it is a slender link at the end of a chain, drawn like the links before it."""
        before = self.model.parent[i]
        if not before or not all(self.model.joints[k].symbol == "hinge" for k in (before, i)):
            return False
        far = float(np.linalg.norm(body.com))
        if far < 0.25 * _extent(body):
            return False
        along = float(body.spread @ (body.axes.T @ body.com / far) ** 2)
        return bool(along > 0.8 * body.spread.max() and np.sort(body.spread)[1] < 0.25 * body.spread.max())

    def _is_flat_moment(self, i: int, body: PrincipalInertia, solid: Solid) -> bool:
        """Whether the solid is a disc only because a planar link has a single moment, as in textbooks."""
        joint = self.model.joints[i]
        if solid.kind != "cylinder" or solid.size[1] > 2 * self.r or joint.symbol not in ("hinge", "slide"):
            return False
        axis = axis_of(joint)
        along = abs(axis @ solid.axes[:, 2])
        if joint.symbol == "slide":
            return bool(along < 0.01)
        return bool(along > 0.99 and np.linalg.norm(np.cross(axis, body.com)) > 0.3 * solid.size[0])


# joints -------------------------------------------------------------------------------------------


def joint_pieces(model: Model, i: int, r: float, size: float) -> list[DrawnPiece]:
    """Return pieces that show how the joint of body i moves; r and ``size`` [m] as in ``Sticks``."""
    joint: Any = model.joints[i]
    color, own = (*METAL, 1.0), (*body_color(i), 1.0)
    if joint.symbol in AXLES:
        length = 4.5 * r if joint.symbol == "hinge" else 8 * r
        return [DrawnPiece(i, "cylinder", (1.7 * r, length), _rotated(turned_to(joint.axis)), color)]
    if joint.symbol == "slide":
        slide = DrawnPiece(i, "box", (5 * r, 5 * r, 9 * r), _rotated(turned_to(joint.axis)), own)
        return [slide, _rail(model, i, joint, r, size)]
    if joint.symbol in ("ball", "cross"):
        return [_ball(i, np.zeros(3), 2 * r, color)]
    if joint.symbol == "pinion":
        radius = max(abs(float(joint.radius)), r)
        pinion = DrawnPiece(i, "cylinder", (radius, 2 * r), _rotated(turned_to((1, 0, 0))), color)
        # a bar across the disc, thicker than it, shows its turn
        spoke = DrawnPiece(i, "box", (2.4 * r, 0.3 * radius, 1.7 * radius), np.eye(4), own)
        # the rack, on the parent body, below the pinion; its upper side is the pitch line
        low = make_pose(np.eye(3), np.array([0, 0, -float(joint.radius) - r]))
        length = 2 * max(0.6 * size, 4 * radius)
        T = np.asarray(model.placement[i], dtype=float) @ low
        return [pinion, spoke, DrawnPiece(model.parent[i], "box", (2 * r, length, 2 * r), T, (*GROUND, 1.0))]
    if joint.symbol == "plate":
        return [DrawnPiece(i, "box", (5 * r, 5 * r, 1.2 * r), _rotated(joint.plane), color)]
    return []


def _rotated(R: Array) -> Array:
    return make_pose(np.asarray(R, dtype=float), np.zeros(3))


def _rail(model: Model, i: int, joint: Joint, r: float, size: float) -> DrawnPiece:
    """The rail of a slide, on the parent body."""
    rod, length = along(*rail_ends(model, i, joint, r, size))
    T = np.asarray(model.placement[i], dtype=float)
    return DrawnPiece(model.parent[i], "cylinder", (0.5 * r, length), T @ rod, (*GROUND, 1.0))


def rail_ends(model: Model, i: int, joint: Joint, r: float, size: float) -> tuple[Array, Array]:
    """Return the ends (3,) of the rail of slide i in its predecessor frame: its limits, or a part of ``size`` [m]."""
    low, high = (float(x[model.iq[i]][0]) for x in (model.lower, model.upper))
    half = max((0.25 if model.parent[i] else 0.6) * size, 10 * r)
    low, high = low if np.isfinite(low) else -half, high if np.isfinite(high) else half
    axis = axis_of(joint)
    return axis * low, axis * high
