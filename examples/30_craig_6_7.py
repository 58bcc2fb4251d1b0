"""Craig's exercise 6.7: the planar two-link arm with point masses at the links' ends.

The 2R arm with all mass at the elbow and at the hand: centres of mass at the ends (r = l) and no moments of inertia about them.
Written out, Newton-Euler's inward pass leaves the famous pair of equations, in which θ̈1 + θ̈2 is the angular acceleration
of link 2, and c12 the cosine of its angle against the horizontal.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic.ring import canonical

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

# from Lagrange: two points, their places and velocities, and their heights
elbow = l1 * sp.Matrix([c1, sp.sin(q1)])
hand = elbow + l2 * sp.Matrix([c12, sp.sin(q1 + q2)])
speeds = [p.jacobian(arm.q) * arm.qd for p in (elbow, hand)]
T = sum(m * v.dot(v) / 2 for m, v in zip((m1, m2), speeds, strict=True))
V = g * (m1 * elbow[1] + m2 * hand[1])
points = sixd.lagrange(T, V, list(arm.q), qd=list(arm.qd))
assert all(canonical(x) == 0 for x in points.tau - book)

numeric = arm.substitute({l1: 0.7, l2: 0.5, m1: 2.0, m2: 1.3, g: 9.81})
tau = sixd.inverse_dynamics(numeric, [0.6, 0.8], [1.1, -0.7], [0.5, 0.9])
print("\ntau =", tau)
assert np.allclose(tau, [21.9953282124, 2.0922366589], rtol=0, atol=1e-10)  # the digits printed
