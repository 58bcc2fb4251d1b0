"""The two-link arm (2R) of every textbook, in symbols and in numbers.

Two links in a vertical plane; L1 is the length of the first, r1 and r2 the distances of the centres of mass from their
joints, I1 and I2 the moments of inertia about the centres. One combination carries all velocity terms,

    h = m2 L1 r2 sin q2

the rate at which bending the elbow changes the inertia about the shoulder. It vanishes with the arm stretched (q2 = 0):
there, M has its largest value.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical

m1, m2, I1, I2, r1, r2, L1, a_g = parameters = sp.symbols("m1 m2 I1 I2 r1 r2 L1 a_g", positive=True)
arm = sixd.equations(sixd.zoo.two_link_arm(*parameters))
print(arm.latex())

# the textbook's equations
(q1, q2), (qd1, qd2) = arm.q, arm.qd
c1, c2, c12, h = sp.cos(q1), sp.cos(q2), sp.cos(q1 + q2), m2 * L1 * r2 * sp.sin(q2)
M12 = I2 + m2 * (r2**2 + L1 * r2 * c2)
M = sp.Matrix([[I1 + I2 + m1 * r1**2 + m2 * (L1**2 + r2**2 + 2 * L1 * r2 * c2), M12], [M12, I2 + m2 * r2**2]])
velocity_terms = sp.Matrix([-h * (2 * qd1 * qd2 + qd2**2), h * qd1**2])
g = a_g * sp.Matrix([(m1 * r1 + m2 * L1) * c1 + m2 * r2 * c12, m2 * r2 * c12])
for ours, book in ((arm.M, M), (arm.C * arm.qd, velocity_terms), (arm.g, g)):
    assert all(canonical(x) == 0 for x in ours - book)
assert all(canonical(x) == 0 for x in arm.tau - (M * arm.qdd + velocity_terms + g))

# Christoffel symbols: Γ¹₁₂ = Γ¹₂₁ = Γ¹₂₂ = -h, Γ²₁₁ = h
Gamma = {(0, 0, 1): -h, (0, 1, 0): -h, (0, 1, 1): -h, (1, 0, 0): h}
for index in np.ndindex(2, 2, 2):
    assert canonical(arm.Gamma[index] - Gamma.get(index, 0)) == 0

numeric = arm.substitute({m1: 2.0, m2: 1.5, I1: 0.4, I2: 0.3, r1: 0.35, r2: 0.5, L1: 1.2, a_g: 9.81})
tau = sixd.inverse_dynamics(numeric, [0.6, 0.8], [1.1, -0.7], [0.5, 0.9])
print("\nu =", tau)
assert np.allclose(tau, [25.708659188, 3.290252056], rtol=0, atol=1e-9)  # the digits printed

# the closed form and the recursive algorithm on bodies are two ways to the same force
assert np.allclose(tau, sixd.inverse_dynamics(sixd.zoo.two_link_arm(), [0.6, 0.8], [1.1, -0.7], [0.5, 0.9]), atol=1e-12)
