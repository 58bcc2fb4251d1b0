"""Why Christoffel symbols may be symmetric: only the symmetric part of a quadratic form counts.

Lagrange's equations produce the velocity terms Σ_ij ∂m_kj/∂q_i q̇_i q̇_j - ½ Σ_ij ∂m_ij/∂q_k q̇_i q̇_j. In the first sum the names of i and j
can be exchanged, and q̇_i q̇_j = q̇_j q̇_i, so

    Σ_ij ∂m_kj/∂q_i q̇_i q̇_j = ½ Σ_ij (∂m_kj/∂q_i + ∂m_ki/∂q_j) q̇_i q̇_j

The matrices of the two forms differ, the sums do not. The right side, with the second sum, has the Christoffel
symbols as coefficients: Γ^k_ij = ½ (∂m_kj/∂q_i + ∂m_ki/∂q_j - ∂m_ij/∂q_k).
"""

import sympy as sp

import sixd
from sixd.symbolic.printing import latex
from sixd.symbolic.ring import canonical

arms = {
    "2R": sixd.zoo.two_link_arm(*sp.symbols("m1 m2 I1 I2 r1 r2 L1 a_g", positive=True)),
    "Craig 6.5": sixd.zoo.craig_arm(*sp.symbols("L1 L2 M1 M2 V1 V2 g", positive=True)),
}
for name, model in arms.items():
    arm = sixd.equations(model)
    q, qd, M, n = arm.q, arm.qd, arm.M, range(arm.nv)
    for k in n:
        plain = sp.Matrix(2, 2, lambda i, j, k=k: M[k, j].diff(q[i]))
        symmetric = (plain + plain.T) / 2
        total = canonical((qd.T * plain * qd)[0])
        print(f"{name}, k = {k + 1}:", latex(total, q))
        assert canonical(total - (qd.T * symmetric * qd)[0]) == 0
        # less half the slope of M, these are the Christoffel symbols
        for i in n:
            for j in n:
                assert canonical(symmetric[i, j] - M[i, j].diff(q[k]) / 2 - arm.Gamma[k, i, j]) == 0
    # the matrices do differ: the first row of M depends on q2 alone, so ∂m_1j/∂q_i has no row for q1
    plain = sp.Matrix(2, 2, lambda i, j: M[0, j].diff(q[i]))
    assert any(canonical(x) != 0 for x in plain - plain.T)
