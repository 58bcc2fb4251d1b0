"""Mechanisms with closed loops: a four-bar linkage, Bricard's mechanism, Andrews' squeezer.

Each is a tree whose loops are closed by constraints; ``sixd.assemble`` finds consistent configurations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sixd.algorithms.external_forces import external_force
from sixd.algorithms.kinematics import pose
from sixd.constraints.loop import Loop
from sixd.errors import ShapeError
from sixd.model import Model, ModelBuilder, Revolute
from sixd.spatial import Inertia, placement, rod, sqrt
from sixd.spatial.scalar import Array, ArrayLike, Scalar, is_number
from sixd.zoo.appearance import BLUE, DARK, GOLD, RED, STEEL, Appearance

ANDREWS_START = (
    -0.0617138900142764, 0.0, 0.455279819163070, 0.222668390165886, 0.487364979543843, -0.222668390165886,
    1.23054744454982,
)  # fmt: skip
"""The squeezer's consistent start in the published order of coordinates: β, Θ, γ, Φ, δ, Ω, ε."""
_PUBLISHED = ("K1", "K2", "K3", "K4", "K5", "K6", "K7")


def four_bar(
    ground: Scalar = 2.0,
    crank: Scalar = 0.5,
    coupler: Scalar = 2.0,
    rocker: Scalar = 1.5,
    *,
    density: Scalar = 1.0,
    gravity: Scalar = 9.81,
    closed_by: str | Iterable[str] = "planar",
) -> Model:
    """Return a four-bar linkage in the xy-plane, gravity along -y: pivots at (0, 0) and (ground, 0), uniform thin rods.

    q: crank, coupler relative to the crank, rocker. Lengths in m, density in kg/m. ``closed_by``: the directions of the
    ``Loop`` between the ends of coupler and rocker. "planar" has two independent equations; "axis", a hinge in space,
    has five, three of them redundant.
    """
    builder = ModelBuilder("four_bar", (0, -gravity, 0))

    def bar(name: str, parent: str, at: Scalar, length: Scalar) -> None:
        inertia = rod(length, mass=density * length, axis="x").translated((length / 2, 0, 0))
        builder.add_body(name, parent, Revolute("z"), placement=placement((at, 0, 0)), inertia=inertia)
        builder.add_frame(f"{name}_end", name, placement((length, 0, 0)))

    bar("crank", "world", 0, crank)
    bar("coupler", "crank", crank, coupler)
    bar("rocker", "world", ground, rocker)
    builder.add_constraint(Loop("coupler_end", "rocker_end", closed_by))
    sizes = (ground, crank, coupler, rocker)
    return _draw_bars(builder.build(), *(float(x) for x in sizes)) if all(map(is_number, sizes)) else builder.build()


def _draw_bars(model: Model, ground: float, crank: float, coupler: float, rocker: float) -> Model:
    """Return the model with flat bars on pins, offset so that they do not collide, in front of two posts."""
    shapes, longest = Appearance(model), max(ground, crank, coupler, rocker)
    w = 0.035 * longest  # half the width of a bar; twice its thickness
    floor, t = -1.12 * max(crank, rocker), 0.5 * w
    # bar, length, offset along z: the coupler is in front of the others
    for name, length, z in (("crank", crank, 0.0), ("coupler", coupler, 1.2 * t), ("rocker", rocker, 0.0)):
        color = {"crank": RED, "coupler": GOLD, "rocker": BLUE}[name]
        shapes.box(name, (0, -w, z - t / 2), (length, w, z + t / 2), color)
        for end in (0.0, length):
            shapes.rod(name, (end, 0, z - t / 2), (end, 0, z + t / 2), w, color)
    for name, end in (("crank", crank), ("rocker", rocker)):
        shapes.rod(name, (end, 0, -t), (end, 0, 2.4 * t), 0.45 * w, DARK)
        shapes.rod(name, (0, 0, -3 * t), (0, 0, 1.2 * t), 0.45 * w, DARK)
    # the fixed link: bearings on two posts, joined by a beam and a plate on the floor
    for x in (0.0, ground):
        shapes.rod(0, (x, 0, -3.6 * t), (x, 0, -0.8 * t), 1.1 * w, STEEL)
        shapes.box(0, (x - 0.7 * w, floor, -3.4 * t), (x + 0.7 * w, 0, -1.4 * t), STEEL)
        shapes.box(0, (x - 3 * w, floor, -8 * t), (x + 3 * w, floor + 0.4 * w, 4 * t), STEEL)
    shapes.box(0, (0, -0.5 * w, -3 * t), (ground, 0.5 * w, -1.8 * t), STEEL)
    return shapes.apply()


def bricard() -> Model:
    """Return Bricard's overconstrained loop (IFToMM benchmark A04): five rods of 1 kg, 1 m, six hinges, one DoF.

    A chain of five hinges from P0 = (0, 0, 0), closed by the sixth at P5 = (0, 0, 1); gravity along -y. Assembled at
    q = 0. The closing hinge adds five equations of rank four.
    """
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)])
    builder = ModelBuilder("bricard", (0.0, -9.81, 0.0))
    for k, axis in enumerate("yzxyz"):
        along = points[k + 1] - points[k]
        inertia = Inertia(1.0, along / 2, np.where(along != 0, 0.02, 1.01) / 12)  # cross-section 0.1 × 0.1
        at = points[k] - points[k - 1] if k else points[0]
        parent = f"rod{k}" if k else "world"
        builder.add_body(f"rod{k + 1}", parent, Revolute(axis), placement=placement(at), inertia=inertia)
    # the sixth hinge rotates about x, which is z of these frames
    R = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    builder.add_frame("P3", "rod3", placement(points[3] - points[2]))
    builder.add_frame("P5", "rod5", placement(points[5] - points[4], R=R))
    builder.add_frame("ground_P5", "world", placement(points[5], R=R))
    builder.add_constraint(Loop("ground_P5", "P5", "axis"))
    return builder.build()


def andrews() -> Model:
    """Return Andrews' squeezer: seven bodies in the xy-plane, three loops, one DoF, no gravity.

    A torque of 0.033 N m on K1 and a spring on K3 drive it. The spring is not part of the model: ``andrews_force``
    returns its force. Joints have the names of the bodies, K1 … K7; ``andrews_order`` reorders published coordinates.
    """
    d, da, e, ea, rr, ra, ss, sa, sb = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092, 0.035, 0.01874, 0.01043
    sc, sd, ta, tb, u, ua, ub, zf, zt, fa = 0.018, 0.02, 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
    A, B = (-0.06934, -0.00227), (-0.03635, 0.03273)
    table: list[tuple[Any, ...]] = [
        # body, parent, joint's position in it, mass, moment about the centre of mass, that centre, point of the loop
        ("K1", "world", (0, 0), 0.04325, 2.194e-6, (ra, 0), None),
        ("K2", "K1", (rr, 0), 0.00365, 4.410e-7, (-da, 0), (-d, 0)),
        ("K3", "world", B, 0.02373, 5.255e-6, (sb, -sa), (0, -ss)),
        ("K5", "world", A, 0.07050, 1.169e-5, (tb, -ta), None),
        ("K4", "K5", (zt, 0), 0.00706, 5.667e-7, (0, ea - e), (0, -e)),
        ("K7", "world", A, 0.05498, 1.912e-5, (ua, -ub), None),
        ("K6", "K7", (0, -u), 0.00706, 5.667e-7, (zf - fa, 0), (zf, 0)),
    ]
    builder = ModelBuilder("andrews", (0.0, 0.0, 0.0))
    for name, parent, at, mass, moment, center, loop in table:
        inertia = Inertia(mass, (*center, 0), (moment / 2, moment / 2, moment))
        builder.add_body(name, parent, Revolute("z"), placement=placement((*at, 0)), inertia=inertia)
        if loop is not None:
            builder.add_frame(f"{name}_loop", name, placement((*loop, 0)))
    builder.add_frame("spring", "K3", placement((sd, -sc, 0)))
    for other in ("K3", "K4", "K6"):
        builder.add_constraint(Loop(f"{other}_loop", "K2_loop", "planar"))
    return builder.build()


def andrews_order(model: Model, published: ArrayLike) -> Array:
    """Return coordinates (…, 7) from the published order β, Θ, γ, Φ, δ, Ω, ε (K1 … K7) in the model's order."""
    values = np.asarray(published)
    if values.shape[-1:] != (7,):
        raise ShapeError(f"andrews_order: got shape {values.shape}, expected (..., 7).")
    return values[..., [_PUBLISHED.index(name) for name in model.joint_names]]


def andrews_force(model: Model, q: ArrayLike) -> Array:
    """Return f_ext (7, 6) of the squeezer's spring at q (7,), any scalar: stiffness 4530 N/m, free length 0.07785 m.

    It connects the point C = (0.014, 0.072) of the ground to the frame "spring" of K3.
    """
    q = np.asarray(q)
    stretch = np.array([0.014, 0.072, 0.0]) - pose(model, q, "spring")[:3, 3]
    length = sqrt(stretch @ stretch)
    force = stretch * (4530.0 * (length - 0.07785) / length)
    return external_force(model, q, np.concatenate([stretch * 0, force]), frame="spring", expressed_in="aligned")
