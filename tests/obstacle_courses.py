"""Mechanisms with collision shapes among obstacles, whose placements are data: one compilation serves many scenes."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

import sixd

LINK = sixd.Shape("capsule", (0.04, 0.3))
OBSTACLES = {
    "ball": sixd.Shape("sphere", (0.12,)), "box": sixd.Shape("box", (0.2, 0.3, 0.1)), "pole": sixd.Shape("capsule", (0.06, 0.5)),
}  # fmt: skip
# between which the arms have to reach through
TIGHT = {
    "ball": sixd.placement((0.35, 0.1, 0.9)), "box": sixd.placement((-0.35, 0.1, 0.8)), "pole": sixd.placement((0.1, -0.4, 0.8)),
}  # fmt: skip
AWAY = sixd.placement((0, 0, 50.0))


def _with_obstacles(model):
    for name, shape in OBSTACLES.items():
        model = model.with_collision("world", shape, AWAY, name=name)
    return model


def _chain(name, joints, limits=2.5):
    """Links of 0.3 m along z; their capsules are in the middle."""
    builder, parent = sixd.ModelBuilder(name), "world"
    for k, joint in enumerate(joints):
        builder.add_body(
            f"link{k}", parent, joint, placement=sixd.placement((0, 0, 0.3)), inertia=sixd.sphere(0.1, mass=1.0),
            collisions=[(LINK, sixd.placement((0, 0, 0.17)))],
        )  # fmt: skip
        parent = f"link{k}"
    model = builder.build()
    boxed = [joint for joint in model.joint_names if model.joint(joint).joint.nq == 1]
    return model.with_joints({joint: {"limits": (-limits, limits)} for joint in boxed})


@cache
def course(name):
    """A mechanism by its name, with three obstacles far away."""
    y, z, x = sixd.Revolute("y"), sixd.Revolute("z"), sixd.Revolute("x")
    if name == "arm":
        model = _chain("arm", [z, y, x, y])
    elif name == "lift":
        model = _chain("lift", [sixd.Prismatic("z"), y, sixd.Helical("z", pitch=0.05), x], limits=1.2)
    elif name == "base":
        model = _chain("base", [sixd.Planar(), y, x])
    elif name == "ball joints":
        model = _chain("ball joints", [sixd.Spherical(), y, sixd.Universal()])
    elif name == "flyer":
        model = _chain("flyer", [sixd.Free(), x])
    else:
        model = _gripper()
    return _with_obstacles(model)


COURSES = ("arm", "lift", "base", "ball joints", "flyer", "gripper")


def _gripper():
    """An arm with two fingers, of which one mimics the other."""
    builder = sixd.ModelBuilder("gripper")
    ball = sixd.sphere(0.1, mass=1.0)
    builder.add_body(
        "upper", "world", sixd.Revolute("y"), inertia=ball, collisions=[(LINK, sixd.placement((0, 0, 0.2)))]
    )
    builder.add_body(
        "lower", "upper", sixd.Revolute("x"), placement=sixd.placement((0, 0, 0.4)), inertia=ball,
        collisions=[(LINK, sixd.placement((0, 0, 0.2)))],
    )  # fmt: skip
    for side, sign in (("left", 1), ("right", -1)):
        builder.add_body(
            side, "lower", sixd.Prismatic("y"), placement=sixd.placement((0, sign * 0.06, 0.45)), inertia=ball,
            collisions=[(sixd.Shape("box", (0.03, 0.03, 0.1)), sixd.placement((0, 0, 0.05)))],
        )  # fmt: skip
    builder.add_constraint(sixd.Mimic("right", "left", multiplier=-1.0))
    model = builder.build()
    return model.with_joints(limits={"upper": (-2, 2), "lower": (-2, 2), "left": (-0.03, 0.1), "right": (-0.1, 0.03)})


def scene(rng, reach=0.8):
    """Placements of the three obstacles, not at the base."""
    found = {}
    for name in OBSTACLES:
        angle, radius = rng.uniform(-np.pi, np.pi), rng.uniform(0.35, reach)
        p = (radius * np.cos(angle), radius * np.sin(angle), rng.uniform(-0.2, 1.4))
        found[name] = sixd.placement(p, rng.uniform(-3, 3, 3))
    return found


def clear_ends(model, rng, placements, least, count=40):
    """Two configurations that keep a distance, the second one 0.2 rad or more away; None if there are none."""
    q = (
        model.reduce().random_configuration(rng, size=count)
        if model.constraints
        else model.random_configuration(rng, size=count)
    )
    if model.constraints:
        q = np.array([model.configuration(dict(zip(model.reduce().joint_names, row, strict=True))) for row in q])
    free = q[sixd.min_distance(model, q, placements=placements) > least]
    return (free[0], free[1]) if len(free) > 1 else None


def dense(model, q, count):
    """Configurations of geodesics between waypoints, ``count`` on each, computed joint by joint."""
    parts = [q[:1]]
    for a, b in pairwise(q):
        dq = model.difference(a, b)
        s = np.linspace(0, 1, count + 1)[1:, None]
        parts.append(model.integrate(np.repeat(a[None], count, axis=0), s * dq))
    return np.concatenate(parts)
