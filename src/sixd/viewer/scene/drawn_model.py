"""A system given by energies, with bodies to be looked at, as a model that the scene can draw: bodies that float.

Only their shapes and names are the model's; where they are the system itself tells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sixd.algorithms.kinematics import body_poses
from sixd.model.builder import ModelBuilder
from sixd.model.joints import Free
from sixd.model.model import Model
from sixd.model.parts import Shape
from sixd.model.system import System

_SMALL = 0.04  # of the system's size: radius of the sphere that a body without shapes is drawn as


def drawn_model(system: System) -> Model | None:
    """The model, or None if the system has nothing to be looked at."""
    bodies: tuple[Any, ...] = getattr(system, "drawn", ())
    if not bodies:
        return None
    system.require_numeric("view")
    radius = _SMALL * _size(system)
    builder = ModelBuilder(system.name)
    for body in bodies:
        builder.add_body(body.name, "world", Free())
        for shape in body.shapes or (Shape("sphere", (radius,)),):
            builder.add_visual(body.name, replace(shape, size=tuple(float(x) for x in shape.size)))
    return builder.build()


def _size(system: System) -> float:
    """How far apart its bodies get [m], the world's origin among them, in some configurations; 1 if they do not."""
    rng = np.random.default_rng(0)
    places = [np.zeros((1, 3))]
    for q in rng.uniform(-1, 1, (20, system.nq)):
        poses = np.asarray(system.apply("body_poses", body_poses, q), dtype=float)
        places.append(poses[:, :3, 3])
    points = np.concatenate(places)
    points = points[np.isfinite(points).all(axis=1)]
    return float(np.linalg.norm(np.ptp(points, axis=0))) / 2 or 1.0
