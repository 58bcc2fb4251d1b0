"""A point on a sphere, twice: held there by a constraint force, and in latitude and longitude.

First it is a free particle p in space with the constraint ½(p·p - 1) = 0. The rate of that is p·ṗ = 0, so A = pᵀ, and
the sphere pushes along p with the multiplier λ. To stay on it, the path must be bent inwards by ‖ṗ‖², which gives λ:

    λ = -(p·u + m‖ṗ‖²)/‖p‖²,   p̈ = (1 - p pᵀ) u/m - ‖ṗ‖² p   where ‖p‖ = 1

P = 1 - p pᵀ removes from a force the part that the sphere supports. Then q1 is the latitude and q2 the longitude, and
no constraint is left. Circles of latitude shrink towards the poles: M = m diag(1, cos² q1), and a point that runs along
one is drawn to the equator by m sin q1 cos q1 q̇2², which is how a great circle leads it.
"""

import sympy as sp

import sixd
from sixd.symbolic import canonical

m = sp.Symbol("m", positive=True)
p, v, u = sp.Matrix(sp.symbols("x y z")), sp.Matrix(sp.symbols("xd yd zd")), sp.Matrix(sp.symbols("u1:4"))

# a particle with a constraint
particle = sixd.lagrange(m * v.dot(v) / 2, 0, p, constraints=[(p.dot(p) - 1) / 2], name="particle")
accelerations, lam = particle.constrained(u)
P, P_u = particle.projections()
print(particle.latex("M", "A"), "\n\n\\lambda =", particle.latex(lam[0]), "\nP =", particle.latex(P))

# ‖p‖ is 1 on the sphere; beside it, the same with p/‖p‖ instead of p
n = p / sp.sqrt(p.dot(p))
across = sp.eye(3) - n * n.T
assert particle.A == p.T
assert canonical(sp.together(lam[0] + (p.dot(u) + m * v.dot(v)) / p.dot(p))) == 0
assert all(canonical(sp.together(x)) == 0 for x in P - across)
assert P_u == P.T
assert all(canonical(sp.together(x)) == 0 for x in accelerations - across * u / m + v.dot(v) * p / p.dot(p))

# latitude and longitude
q1, q2 = sp.symbols("q1 q2")
sphere = dict(zip(p, (sp.cos(q1) * sp.cos(q2), sp.cos(q1) * sp.sin(q2), sp.sin(q1)), strict=True))
globe = particle.eliminate(sphere, new=[q1, q2])
print("\n" + globe.latex("M", "C", "tau"))
(qd1, qd2), (qdd1, qdd2), (s1, c1) = globe.qd, globe.qdd, (sp.sin(q1), sp.cos(q1))
book = [m * qdd1 + m * s1 * c1 * qd2**2, m * c1**2 * qdd2 - 2 * m * s1 * c1 * qd1 * qd2]
assert all(canonical(x) == 0 for x in globe.M - m * sp.diag(1, c1**2))
assert all(canonical(x) == 0 for x in globe.tau - sp.Matrix(book))
assert canonical(globe.Gamma[0, 1, 1] - m * s1 * c1) == 0  # Γ¹₂₂
assert canonical(globe.Gamma[1, 0, 1] + m * s1 * c1) == 0  # Γ²₁₂, and by symmetry Γ²₂₁
assert globe.Gamma[1, 0, 1] == globe.Gamma[1, 1, 0]

# both give the same motion: forces u in space act on the globe by Jᵀ, and its motion goes back by ṗ = J q̇
J = globe.input_matrix.T
J_dot = J.diff(q1) * qd1 + J.diff(q2) * qd2
there = J * globe.M.inv() * (J.T * u - globe.h) + J_dot * globe.qd
state = sphere | dict(zip(v, J * globe.qd, strict=True))
assert all(canonical(sp.together(x)) == 0 for x in accelerations.subs(state, simultaneous=True) - there)
