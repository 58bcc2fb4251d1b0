"""A floating base: an arm on a satellite, let go in zero gravity; watch what is conserved.

A free joint's q is [qw qx qy qz, x y z]. Start from ``model.neutral()``, whose quaternion is (1, 0, 0, 0), never from
zeros. ``sixd.simulate`` steps along the group, so quaternions stay unit; ``model.integrate(q, dq)`` is one such move.
"""

import numpy as np

import sixd

builder = sixd.ModelBuilder("satellite", gravity=(0, 0, 0))
builder.add_body("hull", "world", sixd.Free(), inertia=sixd.box(1.0, 1.0, 0.6, mass=40.0))
model = builder.build().attach(sixd.zoo.panda_arm(), "hull", placement=sixd.placement((0, 0, 0.3)))
print(model)

q, qd = model.neutral(), np.zeros(model.nv)
q[model.q_slice("joint4")] = -1.5
qd[model.v_slice("joint2")], qd[model.v_slice("joint4")] = 1.0, -2.0

motion = sixd.simulate(model, q, qd, 0.5, dt=1e-3)

# nothing acts from outside: the whole momentum and, without friction, the energy stay what they were
h = sixd.momentum(model, motion.q, motion.qd)
turned = np.degrees(2 * np.arccos(abs(motion.q[-1, 0])))
print(f"\nafter {motion.t[-1]:.1f} s: the base has turned by {turned:.1f}°")
change, lost = np.abs(h - h[0]).max(), np.ptp(motion.energy)
print(f"momentum changed by {change:.1e}, energy by {lost:.1e} of {motion.energy[0]:.3f} J")
assert turned > 1
assert change < 1e-10
assert lost < 1e-10
