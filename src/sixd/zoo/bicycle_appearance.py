"""The looks of the bicycle: wheels with spokes, a diamond frame, fork and handlebars, and its rider, hands off."""

from __future__ import annotations

import numpy as np

from sixd.model import Model
from sixd.spatial.scalar import Array
from sixd.zoo.appearance import DARK, STEEL, Color, Looks, torus

_PAINT: Color = (0.75, 0.22, 0.20, 1.0)
_SILVER: Color = (0.72, 0.74, 0.77, 1.0)
_SHIRT: Color = (0.22, 0.45, 0.68, 1.0)
_TROUSERS: Color = (0.20, 0.23, 0.30, 1.0)
_SKIN: Color = (0.88, 0.68, 0.55, 1.0)
_TUBE = 0.017  # radius of the frame's tubes [m]


def bicycle_looks(model: Model, wheelbase: float, trail: float, tilt: float, rear: float, front: float) -> Model:
    """The bicycle with its shapes; sizes as those of ``bicycle`` [m, rad], frame and rider follow the wheelbase."""
    looks, scale = Looks(model), wheelbase / 1.02

    def steer_axis(height: float) -> Array:
        """A point of the steer axis, in the rear frame."""
        return np.array([wheelbase + trail - height * np.tan(tilt), 0, height])

    top = max(2.35 * front, 0.80 * scale)  # of the head tube
    low = 1.12 * (2 * front)
    low = min(max(low, front + 0.30 * scale), top - 0.08 * scale)
    _wheel(looks, "rear_wheel", rear, scale)
    _wheel(looks, "front_wheel", front, scale)
    _frame(looks, np.array([0, 0, rear]), steer_axis(low), steer_axis(top), scale)
    # the front frame's origin is where the steer axis meets the ground
    foot = steer_axis(0)
    _fork(looks, np.array([wheelbase, 0, front]) - foot, steer_axis(low) - foot, steer_axis(top) - foot, scale)
    return looks.worn()


def _wheel(looks: Looks, body: str, radius: float, scale: float) -> None:
    looks.add(body, torus(radius, 0.034 * scale), np.eye(4), DARK)
    looks.add(body, torus(radius - 0.026 * scale, 0.018 * scale), np.eye(4), _SILVER)
    looks.rod(body, (0, -0.045 * scale, 0), (0, 0.045 * scale, 0), 0.02 * scale, _SILVER)
    rim = radius - 0.035 * scale
    for k in range(9):
        a = np.pi * k / 9
        across = np.array([np.sin(a), 0, np.cos(a)]) * rim
        looks.rod(body, -across, across, 0.002 * scale, _SILVER)


def _frame(looks: Looks, axle: Array, low: Array, high: Array, scale: float) -> None:
    """The diamond frame between the rear axle and the head tube's ends, and the rider on it."""
    crank = np.array([0.43, 0, 0.28]) * scale
    seat = np.array([0.27, 0, 0.80]) * scale
    tube, aside = _TUBE * scale, np.array([0, 0.055, 0]) * scale

    def tubes(start: Array, end: Array, radius: float = tube, color: Color = _PAINT) -> None:
        looks.rod("rear_frame", start, end, radius, color, "capsule")

    tubes(crank, low + (high - low) * 0.15)
    tubes(seat, high - (high - low) * 0.2)
    tubes(crank, seat)
    looks.rod("rear_frame", low, high, 1.3 * tube, _PAINT)
    for side in (-1, 1):
        tubes(axle + aside * side, crank + aside * (0.4 * side), 0.6 * tube)
        tubes(axle + aside * side, seat + aside * (0.2 * side), 0.6 * tube)
    post = (seat - crank) / np.linalg.norm(seat - crank)
    saddle = seat + post * (0.10 * scale)
    tubes(seat, saddle, 0.75 * tube, STEEL)
    looks.box("rear_frame", saddle + _m(-0.15, -0.06, 0, scale), saddle + _m(0.10, 0.06, 0.035, scale), DARK)
    # cranks and pedals stand still: the published bicycle has no drive
    for side in (-1, 1):
        end = crank + _m(0.12 * side, 0.11 * side, -0.12 * side, scale)
        start = crank + _m(0, 0.08 * side, 0, scale)
        tubes(start, end, 0.5 * tube, STEEL)
        looks.box("rear_frame", end + _m(-0.05, -0.04, -0.01, scale), end + _m(0.05, 0.04, 0.01, scale), DARK)
    looks.rod("rear_frame", crank + _m(0, -0.085, 0, scale), crank + _m(0, 0.085, 0, scale), 1.2 * tube, STEEL)
    looks.rod("rear_frame", crank + _m(0, -0.062, 0, scale), crank + _m(0, -0.056, 0, scale), 0.085 * scale, STEEL)
    _rider(looks, saddle, crank, scale)


def _rider(looks: Looks, saddle: Array, crank: Array, scale: float) -> None:
    """A figure on the saddle: legs to the pedals, arms held at its sides, as the published one rides hands off."""
    hip, neck = saddle + _m(-0.02, 0, 0.12, scale), saddle + _m(0.14, 0, 0.58, scale)
    looks.rod("rear_frame", hip, hip + (neck - hip) * 0.92, 0.125 * scale, _SHIRT, "capsule")
    looks.rod("rear_frame", neck, neck + _m(0.04, 0, 0.14, scale), 0.05 * scale, _SKIN, "capsule")
    looks.ball("rear_frame", neck + _m(0.06, 0, 0.24, scale), 0.105 * scale, _SKIN)
    for side in (-1, 1):
        pedal = crank + _m(0.12 * side, 0.11 * side, -0.12 * side, scale)
        ankle = pedal + _m(-0.04, 0, 0.09, scale)
        joint, thigh, shin = hip + _m(0, 0.09 * side, -0.02, scale), 0.44 * scale, 0.46 * scale
        knee = _knee(joint, ankle, thigh, shin)
        looks.rod("rear_frame", joint, knee, 0.068 * scale, _TROUSERS, "capsule")
        looks.rod("rear_frame", knee, ankle, 0.048 * scale, _TROUSERS, "capsule")
        heel, toe = ankle + _m(-0.02, 0, -0.05, scale), ankle + _m(0.14, 0, -0.06, scale)
        looks.rod("rear_frame", heel, toe, 0.035 * scale, DARK, "capsule")
        shoulder = neck + _m(-0.02, 0.17 * side, -0.06, scale)
        elbow, hand = shoulder + _m(-0.03, 0.05 * side, -0.28, scale), shoulder + _m(0.12, 0.05 * side, -0.48, scale)
        looks.rod("rear_frame", shoulder, elbow, 0.048 * scale, _SHIRT, "capsule")
        looks.rod("rear_frame", elbow, hand, 0.038 * scale, _SKIN, "capsule")


def _knee(hip: Array, ankle: Array, thigh: float, shin: float) -> Array:
    """Where the knee of a bent leg lies, before the line from hip to ankle."""
    line = ankle - hip
    length = float(np.linalg.norm(line))
    thigh, shin = (x * max(1.0, 1.001 * length / (thigh + shin)) for x in (thigh, shin))
    along = (length**2 + thigh**2 - shin**2) / (2 * length)
    before = np.cross(line / length, [0.0, 1.0, 0.0])
    before = before if before[0] > 0 else -before
    return hip + line * (along / length) + before * float(np.sqrt(max(thigh**2 - along**2, 0.0)))


def _fork(looks: Looks, axle: Array, low: Array, high: Array, scale: float) -> None:
    """Blades from the crown to the axle, the stem, and handlebars."""
    up, tube = (high - low) / np.linalg.norm(high - low), _TUBE * scale
    crown, stem = low - up * (0.02 * scale), high + up * (0.10 * scale)
    side = np.array([0, 0.058, 0]) * scale
    looks.rod("front_frame", crown - side, crown + side, 0.9 * tube, _SILVER, "capsule")
    for k in (-1, 1):
        looks.rod("front_frame", crown + side * k, axle + side * k, 0.8 * tube, _SILVER, "capsule")
    looks.rod("front_frame", crown, stem, 0.85 * tube, _SILVER, "capsule")
    bar = stem + _m(0.05, 0, 0.01, scale)
    looks.rod("front_frame", stem, bar, 0.85 * tube, STEEL, "capsule")
    for k in (-1, 1):
        bend, grip = bar + _m(-0.01, 0.17 * k, 0.03, scale), bar + _m(-0.13, 0.27 * k, 0.02, scale)
        looks.path("front_frame", [bar, bend, bend + (grip - bend) * 0.4], 0.75 * tube, STEEL)
        looks.rod("front_frame", bend + (grip - bend) * 0.4, grip, 0.95 * tube, DARK, "capsule")


def _m(x: float, y: float, z: float, scale: float) -> Array:
    return np.array([x, y, z]) * scale
