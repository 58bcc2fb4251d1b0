"""The stage of the tour: a six-axis arm hung from a gantry and a top on a pedestal, with shapes to look at."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import sixd
from sixd.model import Model, ModelBuilder, Shape
from sixd.model.parts import Visual
from sixd.spatial import placement
from sixd.spatial.scalar import Array

Color = tuple[float, float, float, float]
GANTRY = 1.55  # height of the arm's base [m]
PEDESTAL = (0.85, 0.0, 0.45)  # where the top's tip rests [m]
RADIUS, HEIGHT = 0.22, 0.16  # of the top's disc, and of its centre above the tip [m]
CAMERA = {"position": (2.0, -3.0, 1.75), "target": (0.25, 0.0, 0.8), "up": (0, 0, 1)}
# reflected inertia of geared motors [kg m²], without which the light wrist of a falling arm would whirl
MOTORS = (0.6, 0.6, 0.6, 0.12, 0.12, 0.12)

_SHELL: Color = (0.80, 0.82, 0.85, 1.0)
_JOINT: Color = (0.24, 0.42, 0.66, 1.0)
_STEEL: Color = (0.42, 0.45, 0.50, 1.0)
_BRASS: Color = (0.86, 0.62, 0.24, 1.0)
_MARK: Color = (0.78, 0.27, 0.20, 1.0)


def hung_arm() -> Model:
    """The arm of the zoo, upside down under the gantry, with its motors' inertia."""
    arm = sixd.zoo.ur_arm()
    arm = dataclasses.replace(arm, armature=np.array(MOTORS))
    under = placement((0, 0, GANTRY), (np.pi, 0, 0))
    arm = ModelBuilder("arm").build().attach(arm, placement=under)
    return dataclasses.replace(arm, visuals=tuple(_arm_shapes(arm)))


def standing_top() -> Model:
    """The spinning top of the zoo, flat and wide enough to precess calmly, on its pedestal."""
    top = sixd.zoo.spinning_top(radius=RADIUS, height=HEIGHT)
    top = ModelBuilder("top").build().attach(top, placement=placement(PEDESTAL), prefix="top_")
    return dataclasses.replace(top, visuals=tuple(_top_shapes(top.nb)))


def both(arm: Model, top: Model) -> Model:
    """Both in one world, the arm's coordinates first."""
    return dataclasses.replace(arm.attach(top), name="an arm and a top")


def _arm_shapes(arm: Model) -> list[Visual]:
    found = [
        _visual(0, Shape("box", (0.5, 0.3, 0.04)), placement((0, 0, GANTRY + 0.02)), _STEEL),
        _rod(0, (0, 0, GANTRY), (0, 0, GANTRY - 0.06), 0.075, _STEEL),
    ]
    for i in arm.bodies:
        thick = 0.062 if i <= 3 else 0.044
        below = arm.tree.children(i)
        end = arm.placement[below[0]][:3, 3] if below else np.array([0, 0, 0.04])
        # the tube of a long link runs beside its joints, where the centre of mass is
        aside = np.array([0, 0, arm.body_inertia(arm.body_names[i - 1]).com[2]])
        if np.linalg.norm(end) < 0.2:
            aside = np.zeros(3)
        half = np.array([0, 0, 1.1 * thick])
        found.append(_rod(i, aside - half, aside + half, thick, _JOINT))
        if np.linalg.norm(end) > 0.05:
            found.append(_rod(i, aside, end * [1, 1, 0] + aside if aside.any() else end, 0.72 * thick, _SHELL))
        if aside.any():
            found.append(_rod(i, (0, 0, 0), aside, thick, _JOINT))
            found.append(_rod(i, end * [1, 1, 0] + aside * 1.4, end, 0.9 * thick, _JOINT))
    found.append(_rod(arm.nb, (0, 0, 0.02), (0, 0, 0.06), 0.03, _STEEL))
    return found


def _top_shapes(body: int) -> list[Visual]:
    x, y, z = PEDESTAL
    return [
        _rod(0, (x, y, 0), (x, y, z - 0.015), 0.035, _STEEL),
        _rod(0, (x, y, 0), (x, y, 0.03), 0.14, _STEEL),
        _visual(0, Shape("sphere", (0.02,)), placement((x, y, z - 0.01)), _STEEL),
        _rod(body, (0, 0, 0), (0, 0, 2.1 * HEIGHT), 0.012, _STEEL),
        _rod(body, (0, 0, HEIGHT - 0.018), (0, 0, HEIGHT + 0.018), RADIUS, _BRASS),
        # what is round does not show that it turns
        _visual(body, Shape("box", (0.9 * RADIUS, 0.03, 0.04)), placement((RADIUS / 2, 0, HEIGHT)), _MARK),
    ]


def _visual(body: int, shape: Shape, pose: Array, color: Color) -> Visual:
    return Visual(body, shape, pose, color)


def _rod(body: int, start: Any, end: Any, radius: float, color: Color) -> Visual:
    """A cylinder from a point to another, in the body's frame."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(end - start))
    z = (end - start) / length
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    pose = placement((start + end) / 2, R=np.column_stack([x, np.cross(z, x), z]))
    return _visual(body, Shape("cylinder", (radius, length)), pose, color)
