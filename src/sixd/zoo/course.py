"""The models of Featherstone's course on spatial vectors, and his scalable trees."""

from __future__ import annotations

import math

import numpy as np

from sixd.errors import ModelError
from sixd.model import Free, Mimic, Model, ModelBuilder, RackAndPinion, Revolute
from sixd.spatial import Inertia, axis_rotation, box, cone, cylinder, placement, rod, sphere
from sixd.spatial.scalar import Scalar, is_number
from sixd.zoo.appearance import RED, Appearance
from sixd.zoo.contact_appearance import draw_cone, draw_rack, draw_table

_NO_GRAVITY = (0.0, 0.0, 0.0)


def autotree(nb: int, branching: float = 1.0, skew: float = 0.0, taper: float = 1.0) -> Model:
    """Return a tree of nb thin cylinders on revolute joints about z, with a branching factor.

    Each link is ``taper`` times as long as the previous one; successive axes are skewed by ``skew`` [rad].
    """
    if nb < 1 or branching < 1:
        raise ModelError(f"autotree: nb is {nb}, branching {branching}; expected both at least 1.")
    builder = ModelBuilder(f"autotree{nb}")
    lengths = [1.0]
    for i in range(1, nb + 1):
        parent = math.floor((i - 2 + math.ceil(branching)) / branching)
        length = taper ** (i - 1)
        lengths.append(length)
        mass = taper ** (3 * (i - 1))
        inertia = Inertia(mass, (length / 2, 0, 0), mass * length**2 * np.array([0.0025, 1.015 / 12, 1.015 / 12]))
        where = placement((lengths[parent], 0, 0) if parent else (0, 0, 0), (skew, 0, 0) if parent else (0, 0, 0))
        name = f"link{parent}" if parent else "world"
        builder.add_body(f"link{i}", name, Revolute("z"), placement=where, inertia=inertia)
    return builder.build()


def vee(second: float = 1.0) -> Model:
    """Return two rods at 45° to the joint between them, floating without gravity.

    ``second`` is the length [m] and the mass [kg] of the second.
    """
    builder = ModelBuilder("vee", _NO_GRAVITY)
    first_rod = Inertia(1.0, (0.5, 0, 0), (5e-5, 1.0003 / 12, 1.0003 / 12))
    builder.add_body("first", "world", Free(), inertia=first_rod, joint_name="base")
    across = second * (second**2 + 0.0003) / 12
    along_y = Inertia(second, (0, second / 2, 0), (across, 5e-5 * second, across))
    inertia = along_y.rotated(axis_rotation((1, 0, 0), np.pi / 4))  # along (0, 1, 1)/√2
    # joint frame: rotated by 45° about z, then by 90° about y, so that its z axis is (1, 1, 0)/√2
    R = axis_rotation((0, 0, 1), np.pi / 4) @ axis_rotation((0, 1, 0), np.pi / 2)
    builder.add_body("second", "first", Revolute("z"), placement=placement(R=R), inertia=inertia, joint_name="hinge")
    return builder.build()


def single_body() -> Model:
    """Return a box 3×2×1 m of 1 kg, one corner at its frame's origin, floating without gravity."""
    builder = ModelBuilder("single_body", _NO_GRAVITY)
    builder.add_body("box", "world", Free(), inertia=box(3, 2, 1, mass=1.0).translated((1.5, 1.0, 0.5)))
    return builder.build()


def scissor() -> Model:
    """Return two plates 0.2×0.1×1 m of 1 kg joined about y, floating without gravity."""
    builder = ModelBuilder("scissor", _NO_GRAVITY)
    moments = np.array([1.01, 1.04, 0.05]) / 12
    builder.add_body("first", "world", Free(), inertia=Inertia(1.0, (0, -0.05, 0), moments), joint_name="base")
    builder.add_body("second", "first", Revolute("y"), inertia=Inertia(1.0, (0, 0.05, 0), moments), joint_name="hinge")
    return builder.build()


def double_elbow() -> Model:
    """Return two unit rods joined by a geared pair of elbows (q3 = q2) through a massless link, in the xy-plane."""
    builder = ModelBuilder("double_elbow", _NO_GRAVITY)
    unit = rod(1.0, mass=1.0, axis="x").translated((0.5, 0, 0))
    builder.add_body("upper", "world", Revolute("z"), inertia=unit, joint_name="shoulder")
    builder.add_body("middle", "upper", Revolute("z"), placement=placement((1, 0, 0)), joint_name="elbow1")
    builder.add_body(
        "lower", "middle", Revolute("z"), placement=placement((0.25, 0, 0)), inertia=unit, joint_name="elbow2"
    )
    builder.add_constraint(Mimic("elbow2", "elbow1"))
    return builder.build()


def rolling_disc(points: int = 16) -> Model:
    """Return a free disc (R = 5 cm, 1 cm thick, 3000 kg/m³) with its axis along y; contact points are frames."""
    radius, thickness = 0.05, 0.01
    builder = ModelBuilder("rolling_disc")
    builder.add_body("disc", "world", Free(), inertia=cylinder(radius, thickness, density=3000.0, axis="y"))
    for side in (-1, 1):
        for k in range(points):
            phi = 2 * np.pi * k / points
            at = (radius * np.sin(phi), side * thickness / 2, radius * np.cos(phi))
            builder.add_frame(f"contact{(side > 0) * points + k}", "disc", placement(at))
    return builder.build()


def rolling_cone(half_angle: float = np.pi / 6, slant: float = 1.0, mass: float = 1.0, *, rolls: bool = False) -> Model:
    """Return a solid cone on a table, without gravity; at neutral q it touches the table z = 0 along x.

    Its apex is at (0, 1, 0); its axis rises by the ``half_angle`` [rad], in the body's frame along (cos, 0, sin).
    ``slant`` is the length [m] from the apex to the rim. Frames: ``apex``; ``base``, the base's centre with x along the
    axis, away from the apex; ``rim``, the point of the rim that touches the table at neutral q.

    The cone is on a free joint, and rolling is a force: docs/course/motion/sim3_its_acceleration.md. With ``rolls`` it
    can only roll about its apex: q = (φ, ψ) are the rotations of the line of contact about the vertical and of the cone
    about its axis; a gear sets ψ = -φ/sin(half_angle).
    """
    if not 0 < half_angle < np.pi / 2 or not slant > 0:
        raise ModelError(f"rolling_cone: half_angle is {half_angle}, slant {slant}; expected 0 … π/2 and a length.")
    radius, height = slant * math.sin(half_angle), slant * math.cos(half_angle)
    apex = np.array([0.0, 0.0, 0.0] if rolls else [0.0, 1.0, 0.0])  # in the frame of the cone
    along = axis_rotation((0, 1, 0), -half_angle)  # its x is the cone's axis
    # a shape's tip is towards its z, against the axis; its origin is the centre of mass
    solid = placement(apex + along[:, 0] * (0.75 * height), R=along @ axis_rotation((0, 1, 0), -np.pi / 2))
    inertia = cone(radius, height, mass=mass).moved(solid)
    builder = ModelBuilder("rolling_cone", _NO_GRAVITY)
    if rolls:
        builder.add_body("line", "world", Revolute("z"), placement=placement((0, 1, 0)), joint_name="turn")
        builder.add_body("cone", "line", Revolute(tuple(along[:, 0])), inertia=inertia, joint_name="spin")
        builder.add_constraint(Mimic("spin", "turn", -1 / math.sin(half_angle)))
    else:
        builder.add_body("cone", "world", Free(), inertia=inertia)
    builder.add_frame("apex", "cone", placement(apex))
    builder.add_frame("base", "cone", placement(apex + along[:, 0] * height, R=along))
    builder.add_frame("rim", "cone", placement(apex + np.array([slant, 0.0, 0.0])))
    shapes = Appearance(builder.build())
    draw_cone(shapes, apex, along, radius, height, solid, slant)
    draw_table(shapes, np.array([0.0, 1.0, 0.0]), 1.25 * slant)
    if rolls:
        shapes.rod("line", (0, 0, 0), (1.2 * slant, 0, 0), 0.008 * slant, RED, "capsule")
    return shapes.apply()


def rack_and_pinion(radius: Scalar = 0.1, mass: Scalar = 1.0, offset: Scalar = 0.04, gravity: Scalar = 9.81) -> Model:
    """Return a pinion of ``radius`` [m] about x that rolls along y on a rack below it.

    Its centre of mass is ``offset`` [m] below the axle at q = 0, so that it rocks about q = 0; its moments are those of
    a disc around that centre, a quarter of the radius wide.
    """
    width = radius / 4
    builder = ModelBuilder("rack_and_pinion", (0, 0, -gravity))
    disc = cylinder(radius, width, mass=mass, axis="x").translated((0, 0, -offset))
    builder.add_body("pinion", "world", RackAndPinion(radius), inertia=disc, joint_name="roll")
    model = builder.build()
    if not all(map(is_number, (radius, offset))):
        return model
    return draw_rack(model, float(radius), float(width), float(offset))


def falling_sphere(mass: float = 0.2, radius: float = 0.05, gravity: float = 9.8066) -> Model:
    """Return a free sphere, centre at its frame's origin."""
    builder = ModelBuilder("falling_sphere", (0, 0, -gravity))
    builder.add_body("sphere", "world", Free(), inertia=sphere(radius, mass=mass))
    return builder.build()
