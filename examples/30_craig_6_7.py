"""Craig's exercise 6.7: the planar two-link arm with point masses at the links' ends.

It is the 2R arm with all mass at the elbow and at the hand: centres of mass at the links' ends, and no moments of
inertia about them. Newton's and Euler's laws, link by link from the hand inwards, leave the famous pair of equations,
in which θ̈1 + θ̈2 is the angular acceleration of link 2, and θ1 + θ2 its angle against the horizontal.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical

l1, l2, m1, m2, g = parameters = sp.symbols("l1 l2 m1 m2 g", positive=True)
arm = sixd.equations(sixd.zoo.point_arm(*parameters))
print(arm.latex("tau"))

(q1, q2), (qd1, qd2), (qdd1, qdd2) = arm.q, arm.qd, arm.qdd
c1, c2, s2, c12 = sp.cos(q1), sp.cos(q2), sp.sin(q2), sp.cos(q1 + q2)
book = sp.Matrix([
    m2 * l2**2 * (qdd1 + qdd2) + m2 * l1 * l2 * c2 * (2 * qdd1 + qdd2) + (m1 + m2) * l1**2 * qdd1
    - m2 * l1 * l2 * s2 * (qd2**2 + 2 * qd1 * qd2) + m2 * l2 * g * c12 + (m1 + m2) * l1 * g * c1,
    m2 * l1 * l2 * c2 * qdd1 + m2 * l1 * l2 * s2 * qd1**2 + m2 * l2 * g * c12 + m2 * l2**2 * (qdd1 + qdd2),
])  # fmt: skip
assert all(canonical(x) == 0 for x in arm.tau - book)

# from energies: two points, one at the elbow and one at the hand
elbow = l1 * c1, l1 * sp.sin(q1)
hand = elbow[0] + l2 * c12, elbow[1] + l2 * sp.sin(q1 + q2)
T1, V1 = sixd.body_energy(m1, elbow, (q1, q2), gravity=(0, -g))
T2, V2 = sixd.body_energy(m2, hand, (q1, q2), gravity=(0, -g))
points = sixd.lagrange(T1 + T2, V1 + V2, (q1, q2))
assert all(canonical(x) == 0 for x in points.tau - book)

numeric = arm.substitute({l1: 0.7, l2: 0.5, m1: 2.0, m2: 1.3, g: 9.81})
tau = sixd.inverse_dynamics(numeric, [0.6, 0.8], [1.1, -0.7], [0.5, 0.9])
print("\ntau =", tau)
assert np.allclose(tau, [21.9953282124, 2.0922366589], rtol=0, atol=1e-10)  # the digits printed
