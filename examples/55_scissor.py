"""Scissors that spin in space: they open.

Two plates of 1 kg lie side by side (their centres 5 cm to either side of the hinge's plane) on one hinge about y;
they float without gravity. Opened by q = 0.1, at rest in the hinge, and turned so that the world's z axis halves the
angle between them, they spin at 3 rad/s about z. Each plate's long axis is near the spin, which throws its ends
outward, so the angle grows: q̈ = 0.8293853075. By symmetry one plate turns by half of that one way, the other as much
the other way: the base's spatial acceleration in the world is [0 -0.4146926538 0 0 0 0].

The whole motion has this symmetry, and with momentum and energy kept it can be done by hand: with J(q) the moment
about the spin and I the plates' about the hinge, h = J(q) Ω stays, so

    ½ h²/J(q) + ¼ I q̇² = E.

    python 55_scissor.py                # prints
    python 55_scissor.py scissor.html   # writes a page with the motion as well
"""

import sys

import numpy as np

import sixd
from sixd.spatial import quaternion_to_rotation

scissor = sixd.zoo.scissor()
q = 0.1
start = np.array([np.cos(q / 4), 0, -np.sin(q / 4), 0, 0, 0, 0, q])
# [0 0 3 0 0 0] in the world: the free joint's velocity is in the axes of the body
velocity = np.concatenate([quaternion_to_rotation(start[:4]).T @ [0, 0, 3], np.zeros(4)])

qdd = sixd.forward_dynamics(scissor, start, velocity, np.zeros(7))
base = sixd.acceleration(scissor, start, velocity, qdd, "first", expressed_in="world")
print(f"the hinge accelerates at {qdd[-1]:.10f}, book: 0.8293853075")
print("the base at", base.round(10) + 0.0, " book: [0 -.4146926538 0 0 0 0]")
assert abs(qdd[-1] - 0.8293853075) < 1e-10
assert np.abs(base - [0, -0.4146926538, 0, 0, 0, 0]).max() < 1e-10

motion = sixd.simulate(scissor, start, velocity, 10.0, dt=1e-3)
angle, rate = motion.q[:, -1], motion.qd[:, -1]
momentum = sixd.momentum(scissor, motion.q, motion.qd)
drift = np.abs(momentum - momentum[0]).max()
print(f"\nover 10 s momentum changes by {drift:.0e}, energy by {np.ptp(motion.energy):.0e}")
assert drift < 1e-10
assert np.ptp(motion.energy) < 1e-11

# by hand: moments of a plate about its long axis, across it, and about the hinge; its centre is 0.05 from the spin
across, hinge, along = np.array([1.01, 1.04, 0.05]) / 12
J = 2 * (along * np.cos(angle / 2) ** 2 + across * np.sin(angle / 2) ** 2 + 0.05**2)
by_hand = (J[0] * 3) ** 2 / (2 * J) + hinge * rate**2 / 4
print(f"½ h²/J + ¼ I q̇² is {by_hand[0]:.9f} J, changes by {np.ptp(by_hand):.0e}; energy {motion.energy[0]:.9f} J")
assert np.abs(by_hand - motion.energy[0]).max() < 1e-11
print(f"the angle goes from {angle.min():.4f} to {angle.max():.4f} rad and back: 2π - 0.1 = {2 * np.pi - 0.1:.4f}")
assert angle.max() < 2 * np.pi - 0.1 + 1e-9
if len(sys.argv) > 1:
    print("written:", sixd.view(scissor, motion[::10], open_browser=False).save_html(sys.argv[1]))
