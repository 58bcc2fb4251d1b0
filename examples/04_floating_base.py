"""A floating base: an arm on a satellite, released in zero gravity. Some quantities are conserved.

A free joint's q is [qw qx qy qz, x y z]. Start from ``model.neutral()``, whose quaternion is (1, 0, 0, 0), never from
zeros. ``sixd.simulate`` steps on the group, so quaternions stay unit. ``model.integrate(q, dq)`` is one such step.
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

# no external force: the whole momentum is constant and, without friction, so is the energy
h = sixd.momentum(model, motion.q, motion.qd)
rotated_by = np.degrees(2 * np.arccos(abs(motion.q[-1, 0])))
print(f"\nafter {motion.t[-1]:.1f} s: the base has rotated by {rotated_by:.1f}°")
change, lost = np.abs(h - h[0]).max(), np.ptp(motion.energy)
print(f"momentum changed by {change:.1e}, energy by {lost:.1e} of {motion.energy[0]:.3f} J")
assert rotated_by > 1
assert change < 1e-10
assert lost < 1e-10
