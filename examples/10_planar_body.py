"""A rigid body free in a vertical plane: the simplest equations of motion, by energies and by bodies.

Place the body by its centre of mass (q1, q2) and its angle q3. Gravity a_g pulls along -y, so the potential energy is
m a_g q2, and Lagrange's equations d/dt ∂L/∂q̇ - ∂L/∂q = u give the forces u that a motion takes:

    u = (m q̈1, m q̈2 + m a_g, I q̈3)

The book prints -m a_g in the second. That cannot be: to stay at rest, a body must be held up, by u2 = +m a_g. Since M
is constant, its derivatives, the Christoffel symbols, are all zero: no Coriolis or centrifugal force here.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical

m, I, a_g = sp.symbols("m I a_g", positive=True)
q1, q2, q3 = q = sp.symbols("q1:4")

# by energies, in coordinates of our choice
T, V = sixd.body_energy(m, (q1, q2), q, angle=q3, inertia=I, gravity=(0, -a_g))
body = sixd.lagrange(T, V, q, name="planar body")
print(body.latex("T", "V", "M", "tau"))

qdd1, qdd2, qdd3 = body.qdd
right = sp.Matrix([m * qdd1, m * qdd2 + m * a_g, I * qdd3])
assert all(canonical(x) == 0 for x in body.tau - right)
assert all(symbol == 0 for symbol in sp.flatten(body.Gamma))

# with the printed sign, a body at rest would be pressed down to keep it from falling
printed = sp.Matrix([m * qdd1, m * qdd2 - m * a_g, I * qdd3])
assert canonical((body.tau - printed)[1]) != 0
print("\nto hold it still takes u =", list(sixd.gravity_force(body, q)))

# by bodies: a planar joint has the angle first, q = (θ, x, y)
other = sixd.equations(sixd.zoo.planar_body(m, I, a_g))
order = dict(zip(other.qdd, (qdd3, qdd1, qdd2), strict=True))
assert [canonical(x) for x in other.tau.subs(order, simultaneous=True)] == [canonical(right[k]) for k in (2, 0, 1)]

numeric = body.substitute({m: 2.0, I: 0.5, a_g: 9.81})
u = sixd.inverse_dynamics(numeric, [0, 0, 0], [0, 0, 0], [1, 0, 0])
print("2 kg, pushed to the right by 1 m/s²: u =", u)
assert np.allclose(u, [2, 19.62, 0], atol=1e-12)
