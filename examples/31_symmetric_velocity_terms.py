"""Why Christoffel symbols are symmetric: of a quadratic form only the symmetric part counts.

Lagrange's equation number k has the velocity terms Σ_ij ∂m_kj/∂q_i q̇_i q̇_j - ½ Σ_ij ∂m_ij/∂q_k q̇_i q̇_j. In the first
sum i and j may exchange their names, and q̇_i q̇_j = q̇_j q̇_i, so

    Σ_ij ∂m_kj/∂q_i q̇_i q̇_j = ½ Σ_ij (∂m_kj/∂q_i + ∂m_ki/∂q_j) q̇_i q̇_j

The matrices of the two forms differ, the sums do not. The right one, less the second sum, has the Christoffel symbols
for coefficients: Γ^k_ij = ½ (∂m_kj/∂q_i + ∂m_ki/∂q_j - ∂m_ij/∂q_k).
"""

import sympy as sp

import sixd
from sixd.symbolic import canonical, latex

arms = {
    "2R": sixd.zoo.two_link_arm(*sp.symbols("m1 m2 I1 I2 r1 r2 L1 a_g", positive=True)),
    "Craig 6.5": sixd.zoo.craig_arm(*sp.symbols("L1 L2 M1 M2 V1 V2 g", positive=True)),
}
for name, model in arms.items():
    arm = sixd.equations(model)
    q, qd, M = arm.q, arm.qd, arm.M
    dots = {x: rf"\dot{{q}}_{i}" for i, x in enumerate(qd, start=1)}
    for k in range(2):
        plain = sp.Matrix([[M[k, j].diff(q[i]) for j in range(2)] for i in range(2)])
        symmetric = (plain + plain.T) / 2
        total = (qd.T * plain * qd)[0]
        print(f"{name}, k = {k + 1}:", latex(canonical(total), dots))
        assert canonical(total - (qd.T * symmetric * qd)[0]) == 0
        # less half the slope of M, it has the Christoffel symbols
        Gamma = symmetric - M.diff(q[k]) / 2
        assert all(canonical(Gamma[i, j] - arm.Gamma[k, i, j]) == 0 for i in range(2) for j in range(2))
        # the matrices do differ where the sum is not zero: M depends on q2 alone, so ∂m_kj/∂q_1 is an empty row
        assert (canonical(total) == 0) == (canonical(plain[1, 0]) == canonical(plain[0, 1]))
