"""A box and a quadruped fall on the ground, in a browser: pages that simulate rigid contact while the reader pulls.

Each page is one file that runs offline. It contains the step of ``sixd.simulate`` as JavaScript, with Coulomb's law and
impacts. Drag a body with the mouse: tip the box onto an edge, lift the quadruped by a foot, push it over. The sliders
change friction, restitution, gravity and damping while it moves. Red arrows are the forces of the ground.

The quadruped has springs and dampers in its twelve joints. Sixteen points may touch the ground: feet, knees and the
corners of the trunk, so that it can fall on its side.

    python 67_live_contact.py                          # builds both pages, and prints their sizes
    python 67_live_contact.py box.html quadruped.html  # also writes them
"""

import sys

import numpy as np

import sixd

SIZE = np.array([0.4, 0.3, 0.2])  # of the box [m]
TRUNK = np.array([0.5, 0.22, 0.12])
LEG, FOOT = 0.22, 0.025  # length of a thigh and of a shank, radius of a foot and of a knee [m]
STEP = {"box": 1e-3, "quadruped": 2e-3}  # [s]
ORANGE, BLUE, DARK, STEEL = (0.90, 0.49, 0.16), (0.25, 0.45, 0.72), (0.20, 0.22, 0.26), (0.62, 0.66, 0.71)


def corners(size):
    """The corners of a box about its centre."""
    return np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size


def make_box():
    """A box on a free joint."""
    builder = sixd.ModelBuilder("box")
    builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(*SIZE, mass=2.0))
    builder.add_visual("box", sixd.Shape("box", tuple(SIZE)), color=ORANGE)
    return builder.build()


def make_quadruped():
    """A trunk on a free joint, and four legs: hip about x, thigh and knee about y, with springs and dampers."""
    builder = sixd.ModelBuilder("quadruped")
    builder.add_body("trunk", "world", sixd.Free(), inertia=sixd.box(*TRUNK, mass=10.0))
    builder.add_visual("trunk", sixd.Shape("box", tuple(TRUNK)), color=BLUE)
    builder.add_visual("trunk", sixd.Shape("box", (0.06, 0.14, 0.07)), sixd.placement((0.28, 0, 0.02)), color=DARK)
    limb = sixd.cylinder(0.02, LEG, mass=0.5).translated((0, 0, -LEG / 2))
    middle, below = sixd.placement((0, 0, -LEG / 2)), sixd.placement((0, 0, -LEG))
    spring = {"stiffness": 150.0, "damping": 4.0, "armature": 0.01}
    for x, front in ((0.19, "front"), (-0.19, "rear")):
        for y, side in ((0.11, "left"), (-0.11, "right")):
            leg, hip = f"{front} {side}", sixd.placement((x, y, 0))
            out = sixd.placement((0, 0.04 * np.sign(y), 0))
            motor = sixd.sphere(0.04, mass=0.6)
            builder.add_body(f"{leg} hip", "trunk", sixd.Revolute("x"), placement=hip, inertia=motor, **spring)
            builder.add_body(
                f"{leg} thigh", f"{leg} hip", sixd.Revolute("y"), placement=out, inertia=limb, rest=0.7, **spring
            )
            builder.add_body(
                f"{leg} shank", f"{leg} thigh", sixd.Revolute("y"), placement=below, inertia=limb, rest=-1.4, **spring
            )
            builder.add_visual(f"{leg} hip", sixd.Shape("sphere", (0.045,)), color=DARK)
            builder.add_visual(f"{leg} thigh", sixd.Shape("capsule", (FOOT, LEG)), middle, color=STEEL)
            builder.add_visual(f"{leg} shank", sixd.Shape("capsule", (0.7 * FOOT, LEG)), middle, color=DARK)
            builder.add_visual(f"{leg} shank", sixd.Shape("sphere", (FOOT,)), below, color=ORANGE)
    return builder.build()


def standing(dog, height):
    """The legs as their springs hold them, the trunk level at a height."""
    q = dog.neutral()
    q[6], q[7:] = height, np.tile([0.0, 0.7, -1.4], 4)
    return q


def tilted(angle, axis, height):
    """A free body rotated by an angle about an axis (3,), at a height."""
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * np.asarray(axis)), 0, 0, height])


box, dog = make_box(), make_quadruped()
feet = {name: [(0, 0, -LEG, FOOT), (0, 0, 0, FOOT)] for name in dog.body_names if name.endswith("shank")}
start = {
    "box": tilted(0.5, (0.6, 0.8, 0.0), 0.7),
    "quadruped": np.concatenate([tilted(0.2, (0.6, 0.8, 0.0), 0.6), standing(dog, 0.0)[7:]]),
}
ground = {
    "box": sixd.RigidGround({"box": corners(SIZE)}, friction=0.5, restitution=0.3),
    "quadruped": sixd.RigidGround({**feet, "trunk": corners(TRUNK)}, friction=0.7),
}
for model in (box, dog):
    name = model.name
    motion = sixd.simulate(model, start[name], None, 4.0, forces=ground[name], dt=STEP[name])
    [(_, points, forces)] = motion.contacts()
    weight = np.linalg.norm(model.gravity) * model.mass
    print(f"{name}: after 4 s the ground carries {forces[-1, :, 2].sum():.3f} N, its weight is {weight:.3f} N")
    print(f"   lowest point of the whole motion: {points[..., 2].min():.0e} m; unsolved: {motion.facts['unsolved']}")
    assert points[..., 2].min() > -1e-6
    assert abs(forces[-1, :, 2].sum() - weight) < 0.02 * weight

for path, model in zip(sys.argv[1:], (box, dog), strict=False):
    name = model.name
    page = sixd.view(model, live=True, q=start[name], forces=ground[name], dt=STEP[name], open_browser=False)
    print("written:", page.save_html(path))
