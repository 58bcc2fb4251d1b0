"""The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab (2007), as a nonlinear model.

Four bodies: rear frame with rider, rear wheel, front frame (fork and handlebars), front wheel; thin wheels that roll
without slipping on flat ground. The model is not linearised: lean, steer and pitch may be large.
"""

from __future__ import annotations

import numpy as np

from sixd.constraints.rolling import Rolling
from sixd.model import Free, Model, ModelBuilder, Revolute
from sixd.spatial import Inertia, cos, placement, sin
from sixd.spatial.scalar import Array, Scalar, is_number
from sixd.zoo.appearance import DARK, STEEL, Appearance, Color, torus

# from the published axes (x forward, y right, z down) to the model's (x forward, y left, z up): 180° about x
_TO_MODEL = np.diag([1, -1, -1])

_PAINT: Color = (0.75, 0.22, 0.20, 1.0)
_SILVER: Color = (0.72, 0.74, 0.77, 1.0)
_SHIRT: Color = (0.22, 0.45, 0.68, 1.0)
_TROUSERS: Color = (0.20, 0.23, 0.30, 1.0)
_SKIN: Color = (0.88, 0.68, 0.55, 1.0)
_TUBE = 0.017  # radius of the frame's tubes [m]


def _symmetric(mass: float, x: float, z: float, xx: float, yy: float, zz: float, xz: float) -> Inertia:
    """Return a body symmetric about the bicycle's plane; xz is the entry of the matrix, minus the integral of x z."""
    return Inertia(mass, (x, 0, z), ((xx, 0, xz), (0, yy, 0), (xz, 0, zz)))


# the values of the frames are in the published axes, from the rear contact point [kg, m, kg m²]
_REAR_FRAME = _symmetric(85.0, 0.3, -0.9, 9.2, 11.0, 2.8, 2.4)
_FRONT_FRAME = _symmetric(4.0, 0.9, -0.7, 0.05892, 0.06, 0.00708, -0.00756)
_REAR_WHEEL = Inertia(2.0, about_com=(0.0603, 0.12, 0.0603))
_FRONT_WHEEL = Inertia(3.0, about_com=(0.1405, 0.28, 0.1405))


def bicycle(
    wheelbase: Scalar = 1.02,
    trail: Scalar = 0.08,
    tilt: Scalar = np.pi / 10,
    rear_radius: Scalar = 0.3,
    front_radius: Scalar = 0.35,
    *,
    rear_frame: Inertia = _REAR_FRAME,
    front_frame: Inertia = _FRONT_FRAME,
    rear_wheel: Inertia = _REAR_WHEEL,
    front_wheel: Inertia = _FRONT_WHEEL,
    gravity: Scalar = 9.81,
) -> Model:
    """Return a bicycle with a rigid rider, hands off; the defaults are the published benchmark.

    World and bodies: x forward, y left, z up; ground z = 0. At the neutral configuration it is assembled, upright and
    straight, the rear wheel touches the ground at the origin, and all bodies have parallel axes.

    Parameters
    ----------
    wheelbase : between the contact points [m].
    trail : from the front contact point forward to where the steer axis meets the ground [m].
    tilt : of the steer axis, backward from the vertical [rad].
    rear_radius, front_radius : of the wheels [m].
    rear_frame, front_frame : inertias in the PUBLISHED axes, x forward, y right, z down, at the rear contact point.
    rear_wheel, front_wheel : inertias about the wheels' centres, axles along y.
    Shapes are added if all sizes are numbers.

    Returns
    -------
    nv = 9: the free joint ``base`` (the frame ``rear_frame`` has its origin at the rear contact point when upright),
    then ``rear_axle``, ``steer`` and ``front_axle``. Lean, the rotation of the base about x, and steer are positive to
    the right, as published; axles rotate forward. Two ``Rolling`` constraints (six equations) leave three degrees of
    freedom in velocity: lean, steer and forward speed.

    J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, "Linearized dynamics equations for the balance and steer
    of a bicycle: a benchmark and review", Proc. R. Soc. A 463 (2007).

    >>> import sixd
    >>> print(sixd.mobility(sixd.zoo.bicycle()))
    bicycle: 3 DoF = 9 of the joints - 6 independent of 6 equations
    """
    head = (wheelbase + trail, 0, 0)  # a point of the steer axis: where it meets the ground
    builder = ModelBuilder("bicycle", (0, 0, -gravity))
    builder.add_body("rear_frame", "world", Free(), inertia=rear_frame.rotated(_TO_MODEL), joint_name="base")
    builder.add_body(
        "rear_wheel", "rear_frame", Revolute("y"), placement=placement((0, 0, rear_radius)),
        inertia=rear_wheel.rotated(_TO_MODEL), joint_name="rear_axle",
    )  # fmt: skip
    builder.add_body(
        "front_frame", "rear_frame", Revolute((sin(tilt), 0, -cos(tilt))), placement=placement(head),
        inertia=front_frame.rotated(_TO_MODEL).translated((-head[0], 0, 0)), joint_name="steer",
    )  # fmt: skip
    builder.add_body(
        "front_wheel", "front_frame", Revolute("y"), placement=placement((-trail, 0, front_radius)),
        inertia=front_wheel.rotated(_TO_MODEL), joint_name="front_axle",
    )  # fmt: skip
    builder.add_constraint(Rolling("rear_wheel", rear_radius))
    builder.add_constraint(Rolling("front_wheel", front_radius))
    sizes = (wheelbase, trail, tilt, rear_radius, front_radius)
    return _draw(builder.build(), *(float(x) for x in sizes)) if all(map(is_number, sizes)) else builder.build()


# its shapes: wheels with spokes, a diamond frame, fork and handlebars, a rider -------------------------


def _draw(model: Model, wheelbase: float, trail: float, tilt: float, rear: float, front: float) -> Model:
    """Return the bicycle with shapes; sizes as in ``bicycle`` [m, rad], the wheelbase scales frame and rider."""
    shapes, scale = Appearance(model), wheelbase / 1.02

    def steer_axis(height: float) -> Array:
        """Return a point of the steer axis, in the rear frame."""
        return np.array([wheelbase + trail - height * np.tan(tilt), 0, height])

    top = max(2.35 * front, 0.80 * scale)  # of the head tube
    low = min(max(1.12 * (2 * front), front + 0.30 * scale), top - 0.08 * scale)
    _wheel(shapes, "rear_wheel", rear, scale)
    _wheel(shapes, "front_wheel", front, scale)
    _frame(shapes, np.array([0, 0, rear]), steer_axis(low), steer_axis(top), scale)
    # the front frame's origin is where the steer axis meets the ground
    foot = steer_axis(0)
    _fork(shapes, np.array([wheelbase, 0, front]) - foot, steer_axis(low) - foot, steer_axis(top) - foot, scale)
    return shapes.apply()


def _wheel(shapes: Appearance, body: str, radius: float, scale: float) -> None:
    shapes.add(body, torus(radius, 0.034 * scale), np.eye(4), DARK)
    shapes.add(body, torus(radius - 0.026 * scale, 0.018 * scale), np.eye(4), _SILVER)
    shapes.rod(body, (0, -0.045 * scale, 0), (0, 0.045 * scale, 0), 0.02 * scale, _SILVER)
    rim = radius - 0.035 * scale
    for k in range(9):
        a = np.pi * k / 9
        across = np.array([np.sin(a), 0, np.cos(a)]) * rim
        shapes.rod(body, -across, across, 0.002 * scale, _SILVER)


def _frame(shapes: Appearance, axle: Array, low: Array, high: Array, scale: float) -> None:
    """Add the diamond frame between the rear axle and the head tube's ends, and the rider on it."""
    crank = np.array([0.43, 0, 0.28]) * scale
    seat = np.array([0.27, 0, 0.80]) * scale
    tube, aside = _TUBE * scale, np.array([0, 0.055, 0]) * scale

    def tubes(start: Array, end: Array, radius: float = tube, color: Color = _PAINT) -> None:
        shapes.rod("rear_frame", start, end, radius, color, "capsule")

    tubes(crank, low + (high - low) * 0.15)
    tubes(seat, high - (high - low) * 0.2)
    tubes(crank, seat)
    shapes.rod("rear_frame", low, high, 1.3 * tube, _PAINT)
    for side in (-1, 1):
        tubes(axle + aside * side, crank + aside * (0.4 * side), 0.6 * tube)
        tubes(axle + aside * side, seat + aside * (0.2 * side), 0.6 * tube)
    post = (seat - crank) / np.linalg.norm(seat - crank)
    saddle = seat + post * (0.10 * scale)
    tubes(seat, saddle, 0.75 * tube, STEEL)
    shapes.box("rear_frame", saddle + _m(-0.15, -0.06, 0, scale), saddle + _m(0.10, 0.06, 0.035, scale), DARK)
    # cranks and pedals are fixed: the published bicycle has no drive
    for side in (-1, 1):
        end = crank + _m(0.12 * side, 0.11 * side, -0.12 * side, scale)
        start = crank + _m(0, 0.08 * side, 0, scale)
        tubes(start, end, 0.5 * tube, STEEL)
        shapes.box("rear_frame", end + _m(-0.05, -0.04, -0.01, scale), end + _m(0.05, 0.04, 0.01, scale), DARK)
    shapes.rod("rear_frame", crank + _m(0, -0.085, 0, scale), crank + _m(0, 0.085, 0, scale), 1.2 * tube, STEEL)
    shapes.rod("rear_frame", crank + _m(0, -0.062, 0, scale), crank + _m(0, -0.056, 0, scale), 0.085 * scale, STEEL)
    _rider(shapes, saddle, crank, scale)


def _rider(shapes: Appearance, saddle: Array, crank: Array, scale: float) -> None:
    """Add a figure on the saddle: legs to the pedals, arms at its sides since the published rider is hands off."""
    hip, neck = saddle + _m(-0.02, 0, 0.12, scale), saddle + _m(0.14, 0, 0.58, scale)
    shapes.rod("rear_frame", hip, hip + (neck - hip) * 0.92, 0.125 * scale, _SHIRT, "capsule")
    shapes.rod("rear_frame", neck, neck + _m(0.04, 0, 0.14, scale), 0.05 * scale, _SKIN, "capsule")
    shapes.ball("rear_frame", neck + _m(0.06, 0, 0.24, scale), 0.105 * scale, _SKIN)
    for side in (-1, 1):
        pedal = crank + _m(0.12 * side, 0.11 * side, -0.12 * side, scale)
        ankle = pedal + _m(-0.04, 0, 0.09, scale)
        joint, thigh, shin = hip + _m(0, 0.09 * side, -0.02, scale), 0.44 * scale, 0.46 * scale
        knee = _knee(joint, ankle, thigh, shin)
        shapes.rod("rear_frame", joint, knee, 0.068 * scale, _TROUSERS, "capsule")
        shapes.rod("rear_frame", knee, ankle, 0.048 * scale, _TROUSERS, "capsule")
        heel, toe = ankle + _m(-0.02, 0, -0.05, scale), ankle + _m(0.14, 0, -0.06, scale)
        shapes.rod("rear_frame", heel, toe, 0.035 * scale, DARK, "capsule")
        shoulder = neck + _m(-0.02, 0.17 * side, -0.06, scale)
        elbow, hand = shoulder + _m(-0.03, 0.05 * side, -0.28, scale), shoulder + _m(0.12, 0.05 * side, -0.48, scale)
        shapes.rod("rear_frame", shoulder, elbow, 0.048 * scale, _SHIRT, "capsule")
        shapes.rod("rear_frame", elbow, hand, 0.038 * scale, _SKIN, "capsule")


def _knee(hip: Array, ankle: Array, thigh: float, shin: float) -> Array:
    """Return the position of the knee of a bent leg, in front of the line from hip to ankle."""
    line = ankle - hip
    length = float(np.linalg.norm(line))
    thigh, shin = (x * max(1.0, 1.001 * length / (thigh + shin)) for x in (thigh, shin))
    along = (length**2 + thigh**2 - shin**2) / (2 * length)
    forward = np.cross(line / length, [0.0, 1.0, 0.0])
    forward = forward if forward[0] > 0 else -forward
    return hip + line * (along / length) + forward * float(np.sqrt(max(thigh**2 - along**2, 0.0)))


def _fork(shapes: Appearance, axle: Array, low: Array, high: Array, scale: float) -> None:
    """Add blades from the crown to the axle, the stem, and handlebars."""
    up, tube = (high - low) / np.linalg.norm(high - low), _TUBE * scale
    crown, stem = low - up * (0.02 * scale), high + up * (0.10 * scale)
    side = np.array([0, 0.058, 0]) * scale
    shapes.rod("front_frame", crown - side, crown + side, 0.9 * tube, _SILVER, "capsule")
    for k in (-1, 1):
        shapes.rod("front_frame", crown + side * k, axle + side * k, 0.8 * tube, _SILVER, "capsule")
    shapes.rod("front_frame", crown, stem, 0.85 * tube, _SILVER, "capsule")
    bar = stem + _m(0.05, 0, 0.01, scale)
    shapes.rod("front_frame", stem, bar, 0.85 * tube, STEEL, "capsule")
    for k in (-1, 1):
        bend, grip = bar + _m(-0.01, 0.17 * k, 0.03, scale), bar + _m(-0.13, 0.27 * k, 0.02, scale)
        shapes.path("front_frame", [bar, bend, bend + (grip - bend) * 0.4], 0.75 * tube, STEEL)
        shapes.rod("front_frame", bend + (grip - bend) * 0.4, grip, 0.95 * tube, DARK, "capsule")


def _m(x: float, y: float, z: float, scale: float) -> Array:
    return np.array([x, y, z]) * scale
