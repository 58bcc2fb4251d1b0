"""A floating base: an arm on a satellite, let go in zero gravity; watch what is conserved.

A free joint's q is [qw qx qy qz, x y z]. Start from ``model.neutral()``, whose quaternion is (1, 0, 0, 0), never from
zeros. ``model.integrate(q, dq)`` moves along the group, so quaternions stay unit.
"""

import numpy as np

import sixd

builder = sixd.ModelBuilder("satellite", gravity=(0, 0, 0))
builder.add_body("hull", "world", sixd.Free(), inertia=sixd.box(1.0, 1.0, 0.6, mass=40.0))
model = builder.build().attach(sixd.zoo.panda_arm(), "hull", placement=sixd.placement((0, 0, 0.3)))
print(model)


def step(q, qd, dt):
    """One step of the classical Runge-Kutta method; increments of q live in the tangent space at its start."""

    def rate(dq, qd):
        at = model.integrate(q, dq)
        return qd, sixd.forward_dynamics(model, at, qd, np.zeros(model.nv))

    zero = np.zeros(model.nv)
    v1, a1 = rate(zero, qd)
    v2, a2 = rate(dt / 2 * v1, qd + dt / 2 * a1)
    v3, a3 = rate(dt / 2 * v2, qd + dt / 2 * a2)
    v4, a4 = rate(dt * v3, qd + dt * a3)
    # on a curved configuration space this is of second order in q; good enough to watch conserved quantities
    return model.integrate(q, dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4)), qd + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


q, qd = model.neutral(), np.zeros(model.nv)
q[model.q_slice("joint4")] = -1.5
qd[model.v_slice("joint2")], qd[model.v_slice("joint4")] = 1.0, -2.0
h0, energy0 = sixd.momentum(model, q, qd), sum(sixd.energy(model, q, qd))

dt, steps = 2e-3, 250
for _ in range(steps):
    q, qd = step(q, qd, dt)

h, energy = sixd.momentum(model, q, qd), sum(sixd.energy(model, q, qd))
print(f"\nafter {dt * steps:.1f} s: the base has turned by {np.degrees(2 * np.arccos(abs(q[0]))):.1f}°")
print(f"momentum changed by {np.abs(h - h0).max():.1e}, energy by {abs(energy - energy0):.1e} of {energy0:.3f} J")
assert np.abs(h - h0).max() < 1e-4
assert abs(energy - energy0) < 1e-4
