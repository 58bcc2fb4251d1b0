"""Your own joint in a few lines: a bead on a parabola, and its small oscillations.

A joint defines its transform X (from the predecessor's to the successor's frame) and its motion subspace S. This S
depends on q, so the joint also defines S°. The builder checks that the three describe the same motion.
"""

import numpy as np

import sixd
from sixd.spatial import xlt


class Parabola(sixd.Joint):
    """A point at (q, 0, q²), without rotation."""

    nq = nv = 1

    def transform(self, q):
        return xlt([q[0], 0, q[0] * q[0]])

    def subspace(self, q):
        return np.array([[0, 0, 0, 1, 0, 2 * q[0]]]).T

    def subspace_rate(self, q, qd):
        return np.array([[0, 0, 0, 0, 0, 2 * qd[0]]]).T


builder = sixd.ModelBuilder("bead")
builder.add_body("bead", "world", Parabola(), inertia=sixd.point(0.5))
model = builder.build()

q, qd = np.array([0.3]), np.array([1.2])
qdd = sixd.forward_dynamics(model, q, qd, [0.0])

# by hand, from Lagrange: (1 + 4q²) qdd + 4 q qd² + 2 g q = 0
by_hand = -(4 * q * qd**2 + 2 * 9.81 * q) / (1 + 4 * q**2)
print("acceleration of the bead:", qdd, " by hand:", by_hand)
assert abs(qdd - by_hand) < 1e-12

# semi-implicit Euler from rest near the bottom: the period of small swings is 2π/√(2g)
q, qd, dt, crossings = np.array([0.01]), np.zeros(1), 1e-4, []
for step in range(40_000):
    before = q
    qd = qd + dt * sixd.forward_dynamics(model, q, qd, [0.0])
    q = q + dt * qd
    if before[0] > 0 >= q[0]:
        crossings.append(step * dt)
    if len(crossings) == 2:
        break
period = crossings[1] - crossings[0]
print(f"period {period:.4f} s, small swings {2 * np.pi / np.sqrt(2 * 9.81):.4f} s")
assert abs(period - 2 * np.pi / np.sqrt(2 * 9.81)) < 1e-3


# a joint with contradicting parts raises an error
class Wrong(Parabola):
    def subspace_rate(self, q, qd):
        return np.zeros((6, 1))


try:
    builder.add_body("other", "world", Wrong())
except sixd.ModelError as error:
    print("\nrefused:", error)
