"""The Coriolis matrix: which index of the Christoffel symbols is summed, and how to notice that it was the wrong one.

The velocity terms of the equations of motion are Σ_jk Γ^i_jk q̇_j q̇_k. To write them as a matrix times q̇, one of the
lower indices is contracted:

    C_ij = Σ_k Γ^i_jk q̇_k

A book prints it with the indices permuted. Γ is symmetric in its two lower indices, so swapping those does no harm, but
the upper one must stay the row. Two laws tell: C q̇ must be the velocity terms, and Ṁ - 2C must be skew, which says
that these forces do no work beyond what the change of M takes. With row and column swapped, C passes the second but
fails the first; summed over the upper index it fails both.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical

m1, m2, I1, I2, r1, a_g = parameters = sp.symbols("m1 m2 I1 I2 r1 a_g", positive=True)
arm = sixd.equations(sixd.zoo.rp_arm(*parameters))
(q1, q2), (qd1, qd2) = arm.q, arm.qd
print(arm.latex("C"))
assert all(canonical(x) == 0 for x in arm.C - m2 * q2 * sp.Matrix([[qd2, qd1], [-qd1, 0]]))

# dM/dt = Σ ∂M/∂q_k q̇_k, and the velocity terms from the equations of motion themselves: what is left of u at q̈ = g = 0
M_dot = sum((arm.M.diff(q) * qd for q, qd in zip(arm.q, arm.qd, strict=True)), sp.zeros(2, 2))
velocity_terms = arm.tau.subs({a_g: 0, **dict.fromkeys(arm.qdd, 0)})

Gamma, qd = np.array(arm.Gamma.tolist(), dtype=object), np.array(arm.qd).ravel()
print("\nsum            C q̇ right   dM/dt - 2C skew")
for sum_over in ("ijk,k->ij", "ikj,k->ij", "jik,k->ij", "kij,k->ij"):
    C = sp.Matrix(np.einsum(sum_over, Gamma, qd))
    skew = M_dot - 2 * C
    right = all(canonical(x) == 0 for x in C * arm.qd - velocity_terms)
    is_skew = all(canonical(x) == 0 for x in skew + skew.T)
    print(f"{sum_over:14s} {right!s:11s} {is_skew}")
    assert (right and is_skew) == sum_over.startswith("i")

# the skew part does no work: q̇ᵀ(dM/dt - 2C)q̇ = 0, so the power of u is the rate of the energy
power = (arm.qd.T * arm.tau)[0]
energy = arm.T + arm.V
state, rate = [*arm.q, *arm.qd], [*arm.qd, *arm.qdd]
assert canonical(power - sum(energy.diff(x) * v for x, v in zip(state, rate, strict=True))) == 0
