"""A knife edge, or an ice skate: it slides along its blade and turns, but not sideways.

The body is at (q1, q2), its blade at the angle q3. No sideways velocity means q̇1 sin q3 - q̇2 cos q3 = 0, one row of
A(q) q̇ = 0. The blade answers with a sideways force λ Aᵀ, just enough to turn the velocity along with the blade. What
remains of a force u without the part that the blade supports is P_u u, and for a mass matrix diag(m, m, I)

    P = P_u = [cos² q3         sin q3 cos q3   0]
              [sin q3 cos q3   sin² q3         0]
              [0               0               1]

the projection onto the blade's direction. Three velocities are bound by one equation, yet any position and heading can
be reached: the constraint is not holonomic (see 21_holonomic_or_not.py).
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical

m, I = sp.symbols("m I", positive=True)
q1, q2, q3, qd1, qd2, qd3 = sp.symbols("q1:4 qd1:4")
s, c = sp.sin(q3), sp.cos(q3)
T = m * (qd1**2 + qd2**2) / 2 + I * qd3**2 / 2
knife = sixd.lagrange(T, 0, [q1, q2, q3], constraints=[qd1 * s - qd2 * c], name="knife edge")
P, P_u = knife.projections()
print(knife.latex("M", "A"), "\n\nP =", knife.latex(P))
assert list(knife.A) == [s, -c, 0]
assert all(canonical(x) == 0 for x in P - sp.Matrix([[c**2, s * c, 0], [s * c, s**2, 0], [0, 0, 1]]))
assert P_u == P

# along the blade and turning, a force moves it as if it were free; across, the blade turns the velocity
u = sp.Matrix(sp.symbols("u1:4"))
qdd, lam = knife.constrained(u)
print("\\lambda =", knife.latex(lam[0]))
v = c * qd1 + s * qd2  # speed along the blade
assert canonical(lam[0] - (c * u[1] - s * u[0] - m * v * qd3)) == 0
assert canonical(c * qdd[0] + s * qdd[1] - (c * u[0] + s * u[1]) / m) == 0
assert canonical(c * qdd[1] - s * qdd[0] - v * qd3) == 0

# numbers: 2 kg gliding at 1.5 m/s, turning at 0.9 rad/s
state = [0, 0, 0.7], [1.5 * np.cos(0.7), 1.5 * np.sin(0.7), 0.9]
force = [1, -0.4, 0.3]
qdd, lam = sixd.constrained_dynamics(knife.substitute({m: 2.0, I: 0.5}), *state, force)
print("\nqdd =", qdd, " lambda =", lam)
# to the digits printed
assert np.allclose([*qdd, *lam], [-0.675747065, 1.195896100, 0.6, -3.650154562], rtol=0, atol=1e-9)

# as bodies: a planar joint has q = (θ, x, y), and sixd.KnifeEdge counts λ along the frame's y axis, to the left
builder = sixd.ModelBuilder("skate", gravity=(0, 0, 0))
builder.add_body("skate", "world", sixd.Planar(), inertia=sixd.Inertia(2.0, about_com=(0.25, 0.25, 0.5)))
builder.add_constraint(sixd.KnifeEdge("skate"))
turned, push = sixd.constrained_dynamics(builder.build(), *(np.roll(x, 1) for x in state), np.roll(force, 1))
assert np.allclose(turned, np.roll(qdd, 1), atol=1e-12)
assert np.allclose(push, -lam, atol=1e-12)
