"""A link on a slide (PR): push a pendulum along a rail.

Joint 1 slides horizontally by q1 and carries m1; on it turns a link with its centre of mass at r2. The equations do not
depend on q1: the rail is the same everywhere. So the momentum along it is conserved when nothing pushes, which is
how a crane's load swings its trolley, and why this arm, like the cart with a pole, is a favourite of control courses.
"""

import sympy as sp

import sixd
from sixd.symbolic import canonical

m1, m2, I2, r2, a_g = parameters = sp.symbols("m1 m2 I2 r2 a_g", positive=True)
arm = sixd.equations(sixd.zoo.pr_arm(*parameters))
print(arm.latex())

# the textbook's equations
(q1, q2), (qd1, qd2) = arm.q, arm.qd
s2, c2 = sp.sin(q2), sp.cos(q2)
M = sp.Matrix([[m1 + m2, -m2 * r2 * s2], [-m2 * r2 * s2, I2 + m2 * r2**2]])
velocity_terms = sp.Matrix([-m2 * r2 * c2 * qd2**2, 0])
g = sp.Matrix([0, m2 * a_g * r2 * c2])
for ours, book in ((arm.M, M), (arm.C * arm.qd, velocity_terms), (arm.g, g)):
    assert all(canonical(x) == 0 for x in ours - book)
assert all(canonical(x) == 0 for x in arm.tau - (M * arm.qdd + velocity_terms + g))

# the slide's momentum is conserved, and it is the total momentum of the two bodies along x
momentum = arm.conserved[q1]
print("\nconserved:", momentum)
assert canonical(momentum - ((m1 + m2) * qd1 - m2 * r2 * s2 * qd2)) == 0
assert canonical(momentum - sixd.momentum(sixd.zoo.pr_arm(*parameters), list(arm.q), list(arm.qd))[3]) == 0
