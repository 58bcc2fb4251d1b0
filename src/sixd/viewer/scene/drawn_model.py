"""The model whose bodies a scene draws: that behind a system, or floating bodies for a system defined by energies.

Its shapes may be those for collisions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from sixd.algorithms.kinematics import body_poses
from sixd.collision.convex import convex_collisions
from sixd.errors import ModelError, ModelWarning
from sixd.model.builder import ModelBuilder
from sixd.model.joints import Free
from sixd.model.model import Model
from sixd.model.parts import Shape, Visual
from sixd.model.system import System, require_system
from sixd.trajectory.labels import tree_behind

_SMALL = 0.04  # radius of the sphere that shows a body without shapes, relative to the system's size


def drawn_model(system: Any) -> Model:
    """Return the model that is drawn for a system; raise if it has no bodies, or symbols without values.

    Of a system defined by energies the model has only the shapes and names: the system itself computes the poses.
    """
    require_system("view", system)
    model, bodies = tree_behind(system), getattr(system, "drawn", ())
    if model is None and not bodies:
        raise ModelError(
            f"view: {system.name!r} is a system without bodies, expected a sixd.Model. Say where its bodies are by "
            f"lagrange(…, bodies=…), or draw its motion with trajectory.plot()."
        )
    system.require_numeric("view")
    return _floating(system, bodies) if model is None else model


def by_collisions(model: Model, notes: list[str]) -> Model:
    """Return the model with its collision shapes to draw, meshes as their hulls; ``notes`` gains what is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        convex = convex_collisions(model)
    notes += [f"{n.where}: {n.message}" for n in convex.notes if n.code == "lost-mesh" and n not in model.notes]
    if not model.collisions:
        notes.append("The model has no collision shapes.")
    return replace(model, visuals=tuple(Visual(c.body, c.shape, c.pose, name=c.name) for c in convex.collisions))


def _floating(system: System, bodies: Iterable[Any]) -> Model:
    radius = _SMALL * _size(system)
    builder = ModelBuilder(system.name)
    for body in bodies:
        builder.add_body(body.name, "world", Free())
        for shape in body.shapes or (Shape("sphere", (radius,)),):
            builder.add_visual(body.name, replace(shape, size=tuple(float(x) for x in shape.size)))
    return builder.build()


def _size(system: System) -> float:
    """Half the extent [m] of its bodies and the world's origin over some random configurations; 1 if they coincide."""
    rng = np.random.default_rng(0)
    some = rng.uniform(-1, 1, (20, system.nq))
    poses = [np.asarray(system.apply("body_poses", body_poses, q), dtype=float) for q in some]
    points = np.concatenate([np.zeros((1, 3)), *(T[:, :3, 3] for T in poses)])
    points = points[np.isfinite(points).all(axis=1)]
    return float(np.linalg.norm(np.ptp(points, axis=0))) / 2 or 1.0
