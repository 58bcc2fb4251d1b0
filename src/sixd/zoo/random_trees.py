"""Random trees with every joint type, for tests of properties that hold for any mechanism."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sixd.model import Joint, Model, ModelBuilder, joints
from sixd.spatial import Inertia, placement, quaternion_to_rotation, random_quaternion
from sixd.spatial.scalar import Array

# for each kind: a joint with the random axis and other random parameters
_MAKERS: dict[str, Callable[[Array, np.random.Generator], Joint]] = {
    "free": lambda axis, rng: joints.Free(),
    "revolute": lambda axis, rng: joints.Revolute(axis),
    "prismatic": lambda axis, rng: joints.Prismatic(axis),
    "helical": lambda axis, rng: joints.Helical(axis, rng.uniform(-0.3, 0.3)),
    "cylindrical": lambda axis, rng: joints.Cylindrical(axis),
    "universal": lambda axis, rng: joints.Universal(),
    "planar": lambda axis, rng: joints.Planar(axis),
    "spherical": lambda axis, rng: joints.Spherical(),
    "rack and pinion": lambda axis, rng: joints.RackAndPinion(rng.uniform(0.05, 0.4)),
    "revolute x": lambda axis, rng: joints.Revolute("x"),
}
JOINT_KINDS = tuple(_MAKERS)


def random_joint(kind: str, rng: np.random.Generator) -> Joint:
    """Return a joint of that kind with random parameters."""
    return _MAKERS[kind](rng.standard_normal(3), rng)


def random_pose(rng: np.random.Generator) -> Array:
    """Return a pose (4, 4) with uniform orientation and position within half a metre."""
    return placement(rng.uniform(-0.5, 0.5, 3), R=quaternion_to_rotation(random_quaternion(rng)))


def random_inertia(rng: np.random.Generator) -> Inertia:
    """Return the inertia of random point masses, so that it is physically consistent."""
    points = rng.normal(scale=0.2, size=(6, 3)) + rng.uniform(-0.2, 0.2, 3)
    masses = rng.uniform(0.05, 0.5, 6)
    return sum((Inertia(m, p) for m, p in zip(masses, points, strict=True)), Inertia(0.0))


def random_tree(seed: int = 0, *, passive: bool = True, kinds: tuple[str, ...] = JOINT_KINDS, rounds: int = 1) -> Model:
    """Return a tree with every joint kind ``rounds`` times, in random order, with random parents, frames and inertias.

    ``passive`` adds damping, friction, springs (not on the free joint) and armature.
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(f"random_tree{seed}", rng.normal(scale=6.0, size=3))
    order = rng.permutation([kind for _ in range(rounds) for kind in kinds])
    for k, kind in enumerate(order):
        parent = "world" if k == 0 else f"body{rng.integers(max(1, k - 3), k + 1)}"
        joint = random_joint(str(kind), rng)
        extras = {}
        if passive:
            extras = {name: rng.uniform(0, 0.5, joint.nv) for name in ("damping", "friction", "armature")}
            if not isinstance(joint, joints.Free):
                extras["stiffness"] = np.asarray(rng.uniform(0, 2.0))
        name, pose, inertia = f"body{k + 1}", random_pose(rng), random_inertia(rng)
        builder.add_body(name, parent, joint, placement=pose, inertia=inertia, joint_name=f"joint{k + 1}", **extras)
        builder.add_frame(f"frame{k + 1}", name, random_pose(rng))
    return builder.build()
