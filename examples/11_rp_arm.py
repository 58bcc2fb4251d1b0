"""An arm that turns and reaches: one revolute joint, then a sliding link (RP), in a vertical plane.

Joint 1 turns link 1 by q1; its centre of mass is r1 from the axis. Joint 2 pushes link 2 out, its centre at q2 along
link 1. The farther out it is, the more there is to turn (m2 q2² in M11). Two forces appear that no single joint has:

- 2 m2 q2 q̇1 q̇2, Coriolis: reaching out while turning slows the turn, as it does for a skater who spreads the arms;
- -m2 q2 q̇1², centrifugal: turning throws link 2 outwards, so the slide must pull it in.

Both come from one Christoffel symbol m2 q2, by which M11 grows with q2.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical

m1, m2, I1, I2, r1, a_g = parameters = sp.symbols("m1 m2 I1 I2 r1 a_g", positive=True)
arm = sixd.equations(sixd.zoo.rp_arm(*parameters))
print(arm.latex("M", "C", "g"), arm.latex("tau"), sep="\n\n")

# the textbook's equations
(q1, q2), (qd1, qd2), (qdd1, qdd2) = arm.q, arm.qd, arm.qdd
book = sp.Matrix([
    (I1 + I2 + m1 * r1**2 + m2 * q2**2) * qdd1 + 2 * m2 * q2 * qd1 * qd2 + a_g * (m1 * r1 + m2 * q2) * sp.cos(q1),
    m2 * qdd2 - m2 * q2 * qd1**2 + a_g * m2 * sp.sin(q1),
])  # fmt: skip
assert all(canonical(x) == 0 for x in arm.tau - book)

# Γ¹₁₂ = Γ¹₂₁ = m2 q2 and Γ²₁₁ = -m2 q2, no other
Gamma = sp.MutableDenseNDimArray.zeros(2, 2, 2)
Gamma[0, 0, 1] = Gamma[0, 1, 0] = m2 * q2
Gamma[1, 0, 0] = -m2 * q2
assert all(canonical(x) == 0 for x in sp.flatten(arm.Gamma - Gamma))

# with numbers for the symbols, the closed form is evaluated like any model
numeric = arm.substitute({m1: 2.0, m2: 1.5, I1: 0.4, I2: 0.3, r1: 0.35, a_g: 9.81})
tau = sixd.inverse_dynamics(numeric, [0.6, 0.8], [1.1, -0.7], [0.5, 0.9])
print("\nu =", tau)
assert np.allclose(tau, [14.4879305263, 8.206713996], rtol=0, atol=1e-9)  # the digits printed
