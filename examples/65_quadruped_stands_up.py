"""A quadruped lies on its belly and stands up: rigid contact, PD control, and stable steps.

The example builds the machine: a trunk of 10 kg and four legs of three joints each, with shanks of 150 g. Its feet are
balls and its belly has four corners: eight points that may touch a rigid plane, with Coulomb's friction. A PD
controller with kp = 200, kd = 8 N m s/rad moves the legs from folded to standing within 0.8 s.

Two things are stiff here. The contacts are not springs; each step solves for their impulses. The gains are stiff, too:
on the light legs a damper of 8 N m s/rad causes modes that decay at 7,300/s, for which rk4 would need steps of 0.38 ms.
``method="implicit"`` includes the derivatives of the controller in the step, and is stable at 1 ms.

    python 65_quadruped_stands_up.py             # prints
    python 65_quadruped_stands_up.py dog.html    # writes a page with the motion, arrows at the feet
"""

import sys

import numpy as np

import sixd
from sixd.spatial import maximum, minimum

THIGH, SHANK, FOOT, G = 0.22, 0.22, 0.02, 9.81
TRUNK = np.array([0.5, 0.2, 0.16])


def build():
    """The trunk on a free joint, and four legs: hip about x, thigh and knee about y."""
    builder = sixd.ModelBuilder("quadruped")
    builder.add_body("trunk", "world", sixd.Free(), inertia=sixd.box(*TRUNK, mass=10.0))
    thigh = sixd.cylinder(0.03, THIGH, mass=0.8).translated((0, 0, -THIGH / 2))
    shank = sixd.cylinder(0.01, SHANK, mass=0.15).translated((0, 0, -SHANK / 2))
    for x, front in ((0.2, "front"), (-0.2, "rear")):
        for y, side in ((0.1, "left"), (-0.1, "right")):
            leg, out = f"{front} {side}", np.sign(y)
            hip, knee = sixd.placement((x, y, 0)), sixd.placement((0, 0.05 * out, 0))
            motor = sixd.sphere(0.04, mass=0.6)
            builder.add_body(f"{leg} hip", "trunk", sixd.Revolute("x"), placement=hip, inertia=motor)
            builder.add_body(f"{leg} thigh", f"{leg} hip", sixd.Revolute("y"), placement=knee, inertia=thigh)
            below = sixd.placement((0, 0, -THIGH))
            builder.add_body(f"{leg} shank", f"{leg} thigh", sixd.Revolute("y"), placement=below, inertia=shank)
    return builder.build()


dog = build()
legs = [name.removesuffix(" hip") for name in dog.body_names if name.endswith("hip")]
feet = {f"{leg} shank": (0, 0, -SHANK, FOOT) for leg in legs}
belly = [(x, y, -TRUNK[2] / 2) for x in (-0.25, 0.25) for y in (-0.1, 0.1)]
ground = sixd.RigidGround({**feet, "trunk": belly}, friction=0.8)


def stance(thigh, knee, height):
    """A configuration with all legs alike, the trunk level at a height."""
    q = dog.neutral()
    q[6], q[7:] = height, np.tile([0.0, thigh, knee], 4)
    return q


folded = stance(1.55, -2.9, TRUNK[2] / 2)
tall = THIGH * np.cos(0.7) + SHANK * np.cos(0.7) + FOOT
standing = stance(0.7, -1.4, tall)
# folded legs must not reach below the belly
lowest = min(sixd.pose(dog, folded, leg)[:3, :] @ [0, 0, -SHANK, 1] @ [0, 0, 1] for leg in feet) - FOOT
print(f"folded: the feet are {1e3 * lowest:.1f} mm over the ground, the trunk lies on its belly")
assert lowest >= 0


def target(t):
    """From folded to standing between 0.2 s and 1 s, along a cubic that begins and ends at rest."""
    s = maximum(0.0, minimum(1.0, (t - 0.2) / 0.8))
    return folded + (standing - folded) * (s * s * (3 - 2 * s))


on_legs = np.arange(dog.nv) >= 6
pd = sixd.controllers.PD(target, 200.0 * on_legs, 8.0 * on_legs, model=dog)
motion = sixd.simulate(dog, folded, None, 2.0, method="implicit", controller=pd, forces=ground)
[(_, points, forces)] = motion.contacts()
height = motion.q[:, 6]
print("   t [s]   trunk [m]   belly [N]   feet [N]")
for k in range(0, 2001, 250):
    print(f"{motion.t[k]:8.2f} {height[k]:11.4f} {forces[k, 4:, 2].sum():11.2f} {forces[k, :4, 2].sum():10.2f}")
weight = dog.mass * G
print(f"it weighs {weight:.2f} N")
assert abs(forces[-1, :4, 2].sum() - weight) < 0.01 * weight
assert (forces[1500:, 4:] == 0).all()
assert height[-1] > 0.9 * tall

# feet that carry do not slip, and nothing sinks in
slip = np.abs(np.diff(points[1200:, :4, :2], axis=0)).max()
print(f"from 1.2 s on feet move by at most {slip:.0e} m a step; lowest point of all: {points[..., 2].min():.0e} m")
assert slip < 1e-6
assert points[..., 2].min() > -1e-6

if len(sys.argv) > 1:
    print("written:", sixd.view(dog, motion[::10], open_browser=False).save_html(sys.argv[1]))
