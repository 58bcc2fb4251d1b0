"""A rigid body free in a vertical plane: the simplest equations of motion, by energies and by bodies.

Place the body by its centre of mass (q1, q2) and its angle q3. Gravity a_g pulls along -y, so the potential energy is
m a_g q2, and Lagrange's equations d/dt ∂L/∂q̇ - ∂L/∂q = u give the forces u that a motion takes:

    u = (m q̈1, m q̈2 + m a_g, I q̈3)

The book prints -m a_g in the second. That cannot be: to stay at rest, a body must be held UP, by u2 = +m a_g. Since M
is constant, its derivatives, the Christoffel symbols, are all zero: no Coriolis or centrifugal force here.
"""

import sympy as sp

import sixd
from sixd.symbolic.ring import canonical

m, I, a_g = sp.symbols("m I a_g", positive=True)
q1, q2, q3, qd1, qd2, qd3 = sp.symbols("q1:4 qd1:4")

# by energies, in coordinates of our choice
body = sixd.lagrange(m * (qd1**2 + qd2**2) / 2 + I * qd3**2 / 2, m * a_g * q2, [q1, q2, q3], name="planar body")
print(body.latex("T", "V", "M", "tau"))

qdd1, qdd2, qdd3 = body.qdd
right = sp.Matrix([m * qdd1, m * qdd2 + m * a_g, I * qdd3])
assert all(canonical(x) == 0 for x in body.tau - right)
assert all(symbol == 0 for symbol in sp.flatten(body.Gamma))

# the printed sign is refuted: a body at rest would be pressed down to keep it from falling
printed = sp.Matrix([m * qdd1, m * qdd2 - m * a_g, I * qdd3])
assert canonical((body.tau - printed)[1] - 2 * m * a_g) == 0
print("\nto hold it still takes u =", list(sixd.gravity_force(body, [q1, q2, q3])))

# by bodies: a planar joint has the angle first, q = (θ, x, y)
model = sixd.zoo.planar_body(m, I, a_g)
tau = sixd.inverse_dynamics(model, [q3, q1, q2], [qd3, qd1, qd2], [qdd3, qdd1, qdd2])
assert [canonical(x - y) for x, y in zip(tau, [right[2], right[0], right[1]], strict=True)] == [0, 0, 0]

numeric = body.substitute({m: 2.0, I: 0.5, a_g: 9.81})
print("2 kg, accelerated by 1 m/s² to the right: u =", sixd.inverse_dynamics(numeric, [0, 0, 0], [0, 0, 0], [1, 0, 0]))
