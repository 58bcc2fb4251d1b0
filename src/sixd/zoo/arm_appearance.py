"""The shapes of the zoo's arms, with the proportions of the real ones.

Points are in the bodies' joint frames: z is the axis of a body's own joint; the position and axis of the next joint
follow from the arm's Denavit-Hartenberg parameters.
"""

from __future__ import annotations

from sixd.model import Model
from sixd.zoo.appearance import DARK, STEEL, WHITE, Appearance, Color

_ALUMINIUM: Color = (0.74, 0.76, 0.78, 1.0)
_BLUE: Color = (0.33, 0.56, 0.76, 1.0)
_CREAM: Color = (0.90, 0.88, 0.81, 1.0)
_GREY: Color = (0.62, 0.64, 0.67, 1.0)
_UR_STAND = 0.9  # height of the column below the UR's base [m]: the arm's reach
_PUMA_SHOULDER = 0.66  # height above the floor of the origin, where the Puma's first two axes meet [m]


def draw_ur(arm: Model) -> Model:
    """Return the arm with the shapes of a UR5: aluminium tubes next to the joints, drums with blue caps, a column."""
    shapes = Appearance(arm)
    rod = shapes.rod
    rod(0, (0, 0, -_UR_STAND), (0, 0, 0.02 - _UR_STAND), 0.17, STEEL)
    rod(0, (0, 0, 0.02 - _UR_STAND), (0, 0, -0.02), 0.065, STEEL)
    rod(0, (0, 0, -0.02), (0, 0, 0), 0.10, STEEL)
    rod(0, (0, 0, 0), (0, 0, 0.038), 0.075, _ALUMINIUM)

    def drum(body: int, start: tuple[float, ...], end: tuple[float, ...], radius: float) -> None:
        """Add a housing with a blue cap at its end."""
        away = [e - s for s, e in zip(start, end, strict=True)]
        length = sum(a * a for a in away) ** 0.5
        lid = tuple(e + a * 0.012 / length for e, a in zip(end, away, strict=True))
        rod(body, start, end, radius, _ALUMINIUM)
        rod(body, end, lid, 0.92 * radius, _BLUE)

    # shoulder: joint 2 rotates about -y; along this axis the upper arm is offset by 136 mm, the forearm by 17 mm
    rod(1, (0, 0, -0.051), (0, 0, 0.0), 0.06, _ALUMINIUM)
    drum(1, (0, -0.074, 0), (0, 0.058, 0), 0.06)
    drum(2, (0, 0, 0.074), (0, 0, 0.19), 0.06)
    rod(2, (0, 0, 0.136), (-0.425, 0, 0.136), 0.046, _ALUMINIUM)
    drum(2, (-0.425, 0, 0.074), (-0.425, 0, 0.186), 0.054)
    # elbow
    drum(3, (0, 0, 0.074), (0, 0, -0.036), 0.054)
    rod(3, (0, 0, 0.0165), (-0.39225, 0, 0.0165), 0.036, _ALUMINIUM)
    drum(3, (-0.39225, 0, 0.066), (-0.39225, 0, -0.024), 0.042)
    # three wrists
    drum(4, (0, 0, -0.043), (0, 0, 0.046), 0.042)
    rod(4, (0, 0, 0), (0, -0.0515, 0), 0.040, _ALUMINIUM)
    drum(5, (0, 0, -0.043), (0, 0, 0.046), 0.042)
    rod(5, (0, 0, 0), (0, 0.046, 0), 0.040, _ALUMINIUM)
    rod(6, (0, 0, -0.036), (0, 0, -0.012), 0.0375, _ALUMINIUM)
    rod(6, (0, 0, -0.012), (0, 0, 0), 0.0315, STEEL)
    return shapes.apply()


def draw_panda(arm: Model) -> Model:
    """Return the arm with the shapes of a Panda: rounded white links, dark joint rings, elbow and wrist offset."""
    shapes = Appearance(arm)
    rod, path = shapes.rod, shapes.path
    # base: a foot that extends backward, and the first drum
    shapes.box(0, (-0.16, -0.085, 0), (0.0, 0.085, 0.018), _GREY)
    rod(0, (0, 0, 0), (0, 0, 0.018), 0.095, _GREY)
    shapes.box(0, (-0.135, -0.06, 0.018), (0.0, 0.06, 0.085), WHITE)
    rod(0, (0, 0, 0.018), (0, 0, 0.135), 0.075, WHITE)
    rod(0, (0, 0, 0.135), (0, 0, 0.145), 0.064, DARK)

    def hinge(body: int, at: tuple[float, float, float], radius: float, half: float) -> None:
        """Add the housing of a hinge along y, with dark lids."""
        x, y, z = at
        rod(body, (x, y - half, z), (x, y + half, z), radius, WHITE)
        rod(body, (x, y - half - 0.008, z), (x, y + half + 0.008, z), 0.82 * radius, DARK)

    rod(1, (0, 0, -0.188), (0, 0, 0), 0.062, WHITE)
    hinge(1, (0, 0, 0), 0.066, 0.066)
    path(2, [(0, 0, 0), (0, -0.10, 0)], 0.062, WHITE)
    rod(2, (0, -0.10, 0), (0, -0.178, 0), 0.062, WHITE)
    rod(2, (0, -0.178, 0), (0, -0.188, 0), 0.056, DARK)
    # the elbow is 82.5 mm in front of the upper arm, and the forearm as far behind the elbow
    rod(3, (0, 0, -0.128), (0, 0, -0.075), 0.060, WHITE)
    path(3, [(0, 0, -0.075), (0.03, 0, -0.02), (0.0825, 0, 0)], 0.056, WHITE)
    hinge(3, (0.0825, 0, 0), 0.058, 0.060)
    path(4, [(0, 0, 0), (-0.05, 0.02, 0), (-0.0825, 0.075, 0)], 0.056, WHITE)
    rod(4, (-0.0825, 0.075, 0), (-0.0825, 0.122, 0), 0.060, WHITE)
    rod(4, (-0.0825, 0.122, 0), (-0.0825, 0.132, 0), 0.054, DARK)
    path(5, [(0, 0, -0.19), (0, 0.035, -0.10), (0, 0, 0)], 0.048, WHITE)
    rod(5, (0, 0, -0.252), (0, 0, -0.19), 0.058, WHITE)
    hinge(5, (0, 0, 0), 0.050, 0.052)
    # the last axis is 88 mm in front of the wrist
    path(6, [(0, 0, 0), (0.088, 0, 0)], 0.044, WHITE)
    rod(6, (0.088, 0.044, 0), (0.088, -0.050, 0), 0.046, WHITE)
    rod(6, (0.088, 0.044, 0), (0.088, 0.052, 0), 0.038, DARK)
    rod(7, (0, 0, 0.050), (0, 0, 0.058), 0.040, DARK)
    rod(7, (0, 0, 0.058), (0, 0, 0.094), 0.044, WHITE)
    rod(7, (0, 0, 0.094), (0, 0, 0.107), 0.0315, STEEL)
    return shapes.apply()


def draw_puma(arm: Model) -> Model:
    """Return the arm with the shapes of a Puma 560: column, shoulder drum, broad upper arm outside, forearm inside."""
    shapes = Appearance(arm)
    rod, box = shapes.rod, shapes.box
    rod(0, (0, 0, -_PUMA_SHOULDER), (0, 0, 0.025 - _PUMA_SHOULDER), 0.17, DARK)
    rod(0, (0, 0, 0.025 - _PUMA_SHOULDER), (0, 0, -0.13), 0.085, _CREAM)
    box(0, (-0.19, -0.07, 0.025 - _PUMA_SHOULDER), (0, 0.07, 0.26 - _PUMA_SHOULDER), _CREAM)
    rod(0, (0, 0, -0.15), (0, 0, -0.115), 0.094, DARK)
    # shoulder: joint 2 rotates about -y; along this axis the upper arm's middle is offset by 225 mm
    rod(1, (0, 0, -0.115), (0, 0, -0.02), 0.085, _CREAM)
    rod(1, (0, 0.115, 0), (0, -0.160, 0), 0.098, _CREAM)
    rod(1, (0, 0.115, 0), (0, 0.125, 0), 0.085, DARK)
    rod(1, (0, -0.160, 0), (0, -0.175, 0), 0.085, DARK)
    # upper arm: balanced by its motors behind the shoulder
    rod(2, (0, 0, 0.175), (0, 0, 0.275), 0.108, _CREAM)
    box(2, (-0.17, -0.085, 0.180), (0, 0.085, 0.270), _CREAM)
    box(2, (-0.178, -0.07, 0.190), (-0.17, 0.07, 0.260), DARK)
    box(2, (0, -0.092, 0.180), (0.22, 0.092, 0.270), _CREAM)
    box(2, (0.20, -0.078, 0.180), (0.4318, 0.078, 0.270), _CREAM)
    rod(2, (0.4318, 0, 0.180), (0.4318, 0, 0.270), 0.078, _CREAM)
    rod(2, (0.4318, 0, 0.270), (0.4318, 0, 0.276), 0.055, DARK)
    rod(2, (0, 0, 0.275), (0, 0, 0.281), 0.08, DARK)
    # forearm, along y of its joint, inside the upper arm
    rod(3, (0, 0, -0.045), (0, 0, 0.03), 0.072, _CREAM)
    box(3, (-0.052, -0.105, -0.042), (0.088, 0.10, 0.042), _CREAM)
    box(3, (-0.030, 0.08, -0.040), (0.070, 0.33, 0.040), _CREAM)
    rod(3, (0.0203, 0.33, 0), (0.0203, 0.362, 0), 0.042, DARK)
    # wrist: all axes meet
    rod(4, (0, 0, -0.0695), (0, 0, -0.03), 0.036, _GREY)
    box(4, (-0.030, -0.040, -0.045), (0.030, -0.026, 0.030), _GREY)
    box(4, (-0.030, 0.026, -0.045), (0.030, 0.040, 0.030), _GREY)
    rod(4, (0, -0.044, 0), (0, 0.044, 0), 0.024, DARK)
    rod(5, (0, 0, -0.025), (0, 0, 0.025), 0.028, _GREY)
    rod(5, (0, 0, 0), (0, 0.038, 0), 0.024, _GREY)
    rod(6, (0, 0, 0.038), (0, 0, 0.056), 0.031, DARK)
    return shapes.apply()
