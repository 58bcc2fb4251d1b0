"""Craig's exercise 6.5: two joints with crossed axes, from Denavit-Hartenberg parameters.

Joint 1 turns about the vertical, joint 2 about a horizontal axis at the end of link 1. Each link's mass is a point at
its end. In Craig's modified convention a row (α, a, d, θ) leads from one joint's frame to the next: turn by α about x,
go a along x, then turn by θ about z and go d along it. The third row is only the tip.

    i   α     a    d   θ
    1   0     0    0   θ1
    2   90°   L1   0   θ2
    3   0     L2   0   0

Several intermediate steps of the printed solution are wrong, but its final equations are right, with V1 and V2 the
viscous friction in the joints. M2 is L1 + L2 cos θ2 from the vertical axis: raising the arm draws it in, and the turn
speeds up.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical

L1, L2, M1, M2, V1, V2, g = parameters = sp.symbols("L1 L2 M1 M2 V1 V2 g", positive=True)
rows = [
    {"alpha": 0, "a": 0, "d": 0, "mass": M1, "com": (L1, 0, 0), "damping": V1},
    {"alpha": sp.pi / 2, "a": L1, "d": 0, "mass": M2, "com": (L2, 0, 0), "damping": V2},
]
model = sixd.from_dh(rows, gravity=(0, 0, -g), tool=(L2, 0, 0), name="craig 6.5")
arm = sixd.equations(model)
print(arm.latex("M", "C", "g", "b"))

# the printed equations
(q1, q2), (qd1, qd2), (qdd1, qdd2) = arm.q, arm.qd, arm.qdd
s2, c2 = sp.sin(q2), sp.cos(q2)
reach = L1 + L2 * c2
book = sp.Matrix([
    (M1 * L1**2 + M2 * reach**2) * qdd1 - 2 * reach * M2 * L2 * s2 * qd1 * qd2 + V1 * qd1,
    M2 * L2**2 * qdd2 + reach * M2 * L2 * s2 * qd1**2 + M2 * g * L2 * c2 + V2 * qd2,
])  # fmt: skip
assert all(canonical(x) == 0 for x in arm.tau - book)

# the tip is where M2 is
tip = arm.pose("tool")[:3, 3]
assert all(canonical(x) == 0 for x in tip - sp.Matrix([reach * sp.cos(q1), reach * sp.sin(q1), L2 * s2]))

# the same arm, built body by body
other = sixd.equations(sixd.zoo.craig_arm(*parameters))
assert all(canonical(x) == 0 for x in arm.tau - other.tau)

numeric = model.substitute({L1: 0.7, L2: 0.5, M1: 2.0, M2: 1.3, V1: 0, V2: 0, g: 9.81})
tau = sixd.inverse_dynamics(numeric, [0.6, 0.8], [1.1, -0.7], [0.5, 0.9])
print("\ntau =", tau)
assert np.allclose(tau, [1.9571737986, 5.3265318877], rtol=0, atol=1e-10)  # the digits printed
