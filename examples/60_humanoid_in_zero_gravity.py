"""An astronaut tumbles: muscles change the spin, but not the momentum.

A human figure (13 bodies, 30 degrees of freedom, balls and hinges) floats without gravity. It starts stretched, with a
somersault of 3 rad/s that is not quite about a principal axis. Every 4 s it draws knees and arms to the body, as a
diver does, and stretches again. PD control drives its joints towards a target that moves between the two postures. The
gains match the inertia at each joint. The torques act between neighbouring bodies, and none acts from outside. So

- all six numbers of the spatial momentum are constant;
- the spin is not: J ω is constant, so a smaller J means a faster ω;
- the energy is not: the energy that the figure gains is the work of its muscles, ΔE = ∫ τᵀ q̇ dt.

A stretched somersault is about the middle of the three principal axes, so it is unstable: the figure begins to twist
and tumble.

    python 60_humanoid_in_zero_gravity.py                 # prints
    python 60_humanoid_in_zero_gravity.py humanoid.html   # also writes a page with the motion
"""

import sys

import numpy as np

import sixd
from sixd.spatial import cos, quaternion_from_vector

figure = sixd.zoo.humanoid(gravity=0)
print(figure)

# the tucked posture: rotation vectors of balls [rad], angles of hinges
TUCKED = {"chest": (0, 0.5, 0), "head": (0, 0.4, 0)}
for side in ("left", "right"):
    TUCKED |= {f"{side}_upper_arm": (0, -1.0, 0), f"{side}_forearm": 1.3}
    TUCKED |= {f"{side}_thigh": (0, -2.0, 0), f"{side}_shin": 2.1}


def posture(t):
    """Where the joints should be: stretched at t = 0, tucked at t = 2, and so on. Base and feet are left alone."""
    amount = (1 - cos(np.pi / 2 * t)) / 2
    parts = []
    for name in figure.joint_names:
        bend = np.atleast_1d(TUCKED.get(name, 0)) * amount
        parts.append(quaternion_from_vector(bend) if len(bend) == 3 else bend)
    return np.concatenate([figure.neutral()[:7], *parts[1:]])


# the inertia at each joint while all others are free; the base has no motor
M = sixd.mass_matrix(figure, figure.neutral())
felt = 1 / np.diag(np.linalg.inv(M))
felt[:6] = 0
muscles = sixd.controllers.PD(posture, kp=2500 * felt, kd=100 * felt, model=figure)

# a somersault about the centre of mass: the pelvis moves so that the sum of m v is zero
start = np.zeros(figure.nv)
start[:3] = [0.05, 3.0, 0.1]
start[3:6] = -np.linalg.solve(M[3:6, 3:6], M[3:6, :3] @ start[:3])
motion = sixd.simulate(figure, None, start, 8.0, controller=muscles, dt=1e-3)

momentum = sixd.momentum(figure, motion.q, motion.qd)
drift = np.abs(momentum - momentum[0]).max() / np.linalg.norm(momentum[0])
print(f"\nover 8 s momentum changes by {drift:.0e} of itself; RK4 at 1 ms")
assert np.abs(momentum[0, 3:]).max() < 1e-12
assert drift < 1e-9

work = np.sum(motion.tau * motion.qd, axis=1)
done = np.concatenate([[0], np.cumsum((work[1:] + work[:-1]) / 2 * np.diff(motion.t))])
print(f"energy goes from {motion.energy.min():.1f} to {motion.energy.max():.1f} J; ", end="")
print(f"less the muscles' work it changes by {np.ptp(motion.energy - done):.0e} J")
assert np.ptp(motion.energy - done) < 1e-3  # the sum over records 1 ms apart

print("\n  t [s]   J about the momentum [kg m²]   spin about it [rad/s]   |momentum| [kg m²/s]")
direction = momentum[0, :3] / np.linalg.norm(momentum[0, :3])
for k in range(0, len(motion), 1000):
    J = sixd.Inertia.from_matrix(sixd.composite_inertia(figure, motion.q[k])).about_com
    spin = direction @ np.linalg.solve(J, momentum[k, :3])  # of a rigid body with this momentum
    size = np.linalg.norm(momentum[k, :3])
    print(f"{motion.t[k]:6.1f} {direction @ J @ direction:22.2f} {spin:24.2f} {size:24.9f}")
quaternions = np.array([np.linalg.norm(motion.q[:, s], axis=1) for s in (slice(0, 4), slice(7, 11))])
assert np.abs(quaternions - 1).max() < 1e-12

if len(sys.argv) > 1:
    print("written:", sixd.view(figure, motion[::20], open_browser=False).save_html(sys.argv[1]))
