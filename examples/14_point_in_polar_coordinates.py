"""A point in the plane, in polar coordinates: forces that appear only because the coordinates are curved.

A free point moves straight, and in x and y nothing couples: u = m (ẍ, ÿ). In r and θ, the mass matrix diag(m, m r²)
depends on r, and the Christoffel symbols Γ¹₂₂ = -m r and Γ²₁₂ = Γ²₂₁ = m r describe how the axes turn with the point:

    u = (m r̈ - m r θ̇², m r² θ̈ + 2 m r ṙ θ̇)

u1 is a force along r, u2 a moment. Without forces, m r² θ̇ is conserved: Kepler's law of areas.
"""

import sympy as sp

import sixd
from sixd.symbolic import canonical

m = sp.Symbol("m", positive=True)
r, theta, rd, thetad = sp.symbols("r theta rd thetad")

# kinetic energy from the position: p = r (cos θ, sin θ), ṗ = ∂p/∂q q̇
p = sp.Matrix([r * sp.cos(theta), r * sp.sin(theta)])
v = p.jacobian([r, theta]) * sp.Matrix([rd, thetad])
point = sixd.lagrange(m * v.dot(v) / 2, 0, [r, theta], name="point")
print(point.latex("M", "C", "tau"))

rdd, thetadd = point.qdd
book = sp.Matrix([m * rdd - m * r * thetad**2, m * r**2 * thetadd + 2 * m * r * rd * thetad])
assert all(canonical(x) == 0 for x in point.tau - book)
Gamma = {(0, 1, 1): -m * r, (1, 0, 1): m * r, (1, 1, 0): m * r}
for index in sp.utilities.iterables.variations(range(2), 3, repetition=True):
    assert canonical(point.Gamma[index] - Gamma.get(index, 0)) == 0

# θ occurs in no energy, so its momentum stays
print("\nconserved:", point.conserved[theta])
assert canonical(point.conserved[theta] - m * r**2 * thetad) == 0

# the same point as an RP arm with a massless first link: its coordinates are (θ, r)
arm = sixd.zoo.rp_arm(0, m, 0, 0, 0, 0)
tau = sixd.inverse_dynamics(arm, [theta, r], [thetad, rd], [thetadd, rdd])
assert [canonical(x - y) for x, y in zip(tau, [book[1], book[0]], strict=True)] == [0, 0]
