"""The scene of ``sixd demo``: a six-axis arm under a gantry and a spinning top on a pedestal, with their shapes."""

from __future__ import annotations

import dataclasses

import numpy as np

import sixd
from sixd.model import Model, ModelBuilder, Shape
from sixd.spatial import placement
from sixd.zoo.appearance import STEEL, Appearance, Color

GANTRY = 1.55  # height of the arm's base [m]
PEDESTAL = (0.85, 0.0, 0.45)  # position of the top's tip [m]
RADIUS, HEIGHT = 0.22, 0.16  # of the top's disc, and of its centre above the tip [m]
CAMERA = {"position": (2.0, -3.0, 1.75), "target": (0.25, 0.0, 0.8), "up": (0, 0, 1)}
# reflected inertia of geared motors [kg m²]: without it the light wrist of a falling arm spins very fast
MOTORS = (0.6, 0.6, 0.6, 0.12, 0.12, 0.12)

_BRASS: Color = (0.86, 0.62, 0.24, 1.0)
_MARK: Color = (0.78, 0.27, 0.20, 1.0)


def hung_arm() -> Model:
    """Return the arm of the zoo, upside down under the gantry, with its motors' inertia."""
    arm = sixd.zoo.ur_arm()
    arm = dataclasses.replace(arm, armature=np.array(MOTORS))
    under = placement((0, 0, GANTRY), (np.pi, 0, 0))
    arm = ModelBuilder("arm").build().attach(arm, placement=under)
    shapes = Appearance(dataclasses.replace(arm, visuals=()))
    shapes.add(0, Shape("box", (0.5, 0.3, 0.04)), placement((0, 0, GANTRY + 0.02)), STEEL)
    shapes.rod(0, (0, 0, GANTRY), (0, 0, GANTRY - 0.038), 0.075, STEEL)
    # the arm's own column is left out: it would stand on the gantry
    shapes.visuals += [v for v in arm.visuals if v.body]
    return shapes.apply()


def standing_top() -> Model:
    """Return the spinning top of the zoo, flat and wide enough to precess slowly, on its pedestal."""
    top = sixd.zoo.spinning_top(radius=RADIUS, height=HEIGHT)
    top = ModelBuilder("top").build().attach(top, placement=placement(PEDESTAL), prefix="top_")
    shapes = Appearance(dataclasses.replace(top, visuals=()))
    x, y, z = PEDESTAL
    shapes.rod(0, (x, y, 0), (x, y, z - 0.015), 0.035, STEEL)
    shapes.rod(0, (x, y, 0), (x, y, 0.03), 0.14, STEEL)
    shapes.ball(0, (x, y, z - 0.01), 0.02, STEEL)
    shapes.rod(top.nb, (0, 0, 0), (0, 0, 2.1 * HEIGHT), 0.012, STEEL)
    shapes.rod(top.nb, (0, 0, HEIGHT - 0.018), (0, 0, HEIGHT + 0.018), RADIUS, _BRASS)
    # a mark shows the rotation of the round disc
    shapes.add(top.nb, Shape("box", (0.9 * RADIUS, 0.03, 0.04)), placement((RADIUS / 2, 0, HEIGHT)), _MARK)
    return shapes.apply()


def both(arm: Model, top: Model) -> Model:
    """Return both in one world, the arm's coordinates first."""
    return dataclasses.replace(arm.attach(top), name="an arm and a top")
