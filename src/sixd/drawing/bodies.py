"""Bodies: links as bars, ends of chains as solids of their inertia, and shapes in outline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sixd.drawing.pen import BAR, Pen, circle
from sixd.geometry import sticks
from sixd.geometry.inertias import equivalent_solid, principal
from sixd.geometry.pieces import DrawnPiece, axis_of
from sixd.geometry.shapes import draw as draw_shapes
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial.transform import make_pose

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_MOST_VERTICES = 4000  # of a mesh, used for its outline


def body_pieces(model: Model, poses: Array, links: str) -> list[DrawnPiece]:
    """Return what shows the bodies: rods and solids, or the model's shapes; ``poses`` (nb + 1, 4, 4)."""
    if links == "shapes":
        return [p for p in draw_shapes(model, poses, [])[0] if p.kind != "plane"]
    # a body that floats is its shape; a link of a mechanism is a bar
    floating = {i for i in model.bodies if not model.joints[i].is_held}
    shaped = {v.body for v in model.visuals if v.shape.kind not in ("plane", "mesh")} & floating
    shapes = draw_shapes(model, poses, [])[0] if shaped else []
    size = sticks.mechanism_size(model, poses)
    maker = sticks.Sticks(model, sticks.rod_radius(model, set(model.bodies), size), size, {})
    bulky = [p for p in shapes if p.body in shaped and _is_bulky(p, shapes)]
    return bulky + _rods(model, maker, [i for i in model.bodies if i not in shaped])


def _rods(model: Model, maker: sticks.Sticks, bodies: list[int]) -> list[DrawnPiece]:
    """Bars and solids of bodies that their joints' symbols do not show, then wheels at the ends of chains."""
    bare = [i for i in bodies if not _is_slider(model, i) and not _is_rail(model, i)]
    rods = [piece for i in bare for piece in maker.body(i) if not _is_point(piece, maker.r)]
    solid = {p.body for p in rods if not is_rod(p)}
    wheels = [_wheel(model, maker, i) for i in bare if i not in solid]
    return rods + [p for p in wheels if p]


def _wheel(model: Model, maker: sticks.Sticks, i: int) -> DrawnPiece | None:
    """The disc of a body at the end of a chain that spins about its axis of symmetry, next to its rod."""
    body, joint = principal(model, i), model.joints[i]
    if body is None or model.tree.children(i) or joint.symbol not in ("hinge", "ball"):
        return None
    spin = axis_of(joint) if joint.symbol == "hinge" else body.com
    off = float(np.linalg.norm(np.cross(spin, body.com)))
    if off > 1e-9 * maker.size or not np.any(spin):
        return None
    solid = equivalent_solid(body, maker.r, spin / np.linalg.norm(spin))
    wide = solid.kind == "cylinder" and solid.size[0] > 3 * maker.r
    return DrawnPiece(i, solid.kind, solid.size, make_pose(solid.axes, body.com)) if wide else None


def _is_slider(model: Model, i: int) -> bool:
    """Whether the joint's own symbol shows the body: a mass at the middle of a slide or of a pinion."""
    body, alone = principal(model, i), not model.tree.children(i)
    centred = body is None or float(np.linalg.norm(body.com)) < 1e-9
    symbol = model.joints[i].symbol
    return alone and (symbol == "pinion" or (centred and symbol == "slide"))


def _is_rail(model: Model, i: int) -> bool:
    """Whether the rail of the only slide on the body shows it: its centre of mass is on the rail."""
    body, on = principal(model, i), model.tree.children(i)
    joint = model.joints[on[0]] if len(on) == 1 else None
    if body is None or joint is None or joint.symbol != "slide":
        return False
    away = body.com - model.placement[on[0]][:3, 3]
    axis = model.placement[on[0]][:3, :3] @ axis_of(joint)
    return float(np.linalg.norm(np.cross(axis, away))) < 1e-9


def _is_point(piece: DrawnPiece, r: float) -> bool:
    """Whether a piece is the ball of a point mass: its centre is marked anyway."""
    return piece.kind == "sphere" and abs(piece.size[0] - 2.6 * r) < 1e-9 * r


def _is_bulky(piece: DrawnPiece, pieces: list[DrawnPiece]) -> bool:
    """Whether a shape is the body itself rather than a decoration on it."""
    boxes = [box for p in pieces if p.body == piece.body and (box := p.half_box()) is not None]
    largest = max((float(np.prod(box[1])) for box in boxes), default=0.0)
    box = piece.half_box()
    return box is not None and float(np.prod(box[1])) > 0.1 * largest


def is_rod(piece: DrawnPiece) -> bool:
    """Whether a piece is a link's bar."""
    return piece.kind == "capsule"


def rod_ends(piece: DrawnPiece, poses: Array) -> tuple[Array, Array]:
    """Return the ends (3,) of a rod in the world."""
    T = poses[piece.body] @ piece.pose
    half = T[:3, 2] * (piece.size[1] / 2)
    return T[:3, 3] - half, T[:3, 3] + half


def draw_bodies(pen: Pen, pieces: list[DrawnPiece], poses: Array, links: str) -> None:
    """Draw all pieces."""
    for piece in pieces:
        T = poses[piece.body] @ piece.pose
        if is_rod(piece) and links == "bars":
            a, b = rod_ends(piece, poses)
            # a bar is behind the joints at both of its ends
            depth = min(pen.depth(p, piece.body - 1000.0) for p in (a, b))
            pen.canvas.bar("solid", "b", pen.view.page(a), pen.view.page(b), BAR, depth=depth)
        else:
            depth = pen.depth(T[:3, 3], piece.body - 1000) + 2
            draw_solid(pen, piece.kind, piece.size, T, points_of(piece), depth=depth)


def points_of(piece: DrawnPiece) -> Array | None:
    """Return the points (n, 3) of a line or a mesh, in the piece's axes; None for other shapes."""
    if piece.mesh is not None:
        vertices = piece.mesh.vertices
        return vertices[:: max(1, len(vertices) // _MOST_VERTICES)]
    return piece.points


def draw_solid(
    pen: Pen, kind: str, size: tuple[float, ...], T: Array, points: ArrayLike | None = None, *, depth: float
) -> None:
    """Draw a shape at the pose T (4, 4) in the world; kinds and sizes as in ``sixd.Shape``."""
    p, R = T[:3, 3], T[:3, :3]
    if kind == "box":
        pen.box("b", T, size, depth=depth)
    elif kind == "cylinder":
        pen.cylinder("b", p, R[:, 2], size[0], size[1], depth=depth)
    elif kind == "cone":
        base = circle(p - R[:, 2] * (size[1] / 4), R[:, 2], size[0])
        pen.outline("b", np.concatenate([base, [p + R[:, 2] * (0.75 * size[1])]]), depth=depth)
        if pen.view.facing(R[:, 2]) < -0.02:
            pen.canvas.line("solid", "b", pen.view.page(base), closed=True, depth=depth)
    elif kind == "line":
        pen.canvas.line("solid", "n", pen.view.page(np.asarray(points) @ R.T + p), depth=depth)
    elif kind != "plane":
        small = max((float(x) for x in size), default=1.0) * pen.view.scale < 20
        surface = _surface(kind, size, 16 if small else 48) if points is None else np.asarray(points)
        pen.outline("b", surface @ R.T + p, depth=depth)
        if kind in ("sphere", "ellipsoid") and not pen.view.planar:
            _equators(pen, np.broadcast_to(np.asarray(size, dtype=float), (3,)), T, depth)


def _surface(kind: str, size: tuple[float, ...], n: int) -> Array:
    """Points (…, 3) of the surface of a sphere, ellipsoid or capsule, n of them around it."""
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, n, endpoint=False), np.linspace(0, np.pi, n // 2 + 1))
    ball = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1).reshape(-1, 3)
    if kind != "capsule":
        return ball * np.broadcast_to(np.asarray(size, dtype=float), (3,))
    shift = np.where(ball[:, 2:] > 0, size[1] / 2, -size[1] / 2) * [0, 0, 1]
    return ball * size[0] + shift


def _equators(pen: Pen, radii: Array, T: Array, depth: float) -> None:
    """The nearer half of an ellipsoid's circle around its z axis, so that it looks round."""
    phi = np.linspace(0, 2 * np.pi, 73)
    ring = np.stack([np.cos(phi), np.sin(phi), 0 * phi], axis=1)
    normal = (ring / radii) @ T[:3, :3].T
    start = int(np.argmin(normal @ pen.view.axes[2]))
    points, normal = (np.roll(a[:-1], -start, axis=0) for a in ((ring * radii) @ T[:3, :3].T + T[:3, 3], normal))
    near = points[normal @ pen.view.axes[2] > 0]
    if len(near) > 1:
        pen.canvas.line("solid", "h", pen.view.page(near), depth=depth)
