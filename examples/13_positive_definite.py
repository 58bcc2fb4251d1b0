"""Is a matrix positive definite? Its determinant and trace do not decide.

Kinetic energy ½ q̇ᵀM q̇ is positive for every motion, so a mass matrix is positive definite. For 2×2 matrices, det > 0
and trace > 0 prove it. A book says so for any size, but from 3×3 on two negative eigenvalues multiply to something
positive: diag(-1, -1, 3) has determinant 3 and trace 1, yet a motion along the first axis would have energy -½.

What does tell: all leading minors are positive (Sylvester), or all pivots of a factorisation M = LᵀD L are: then
q̇ᵀM q̇ = Σ D_k y_k² with y = L q̇. The second also solves M q̈ = τ, and is how forward dynamics works.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.model.sparsity import ltdl
from sixd.symbolic import canonical

impostor = sp.diag(-1, -1, 3)
minors = [impostor[:k, :k].det() for k in (1, 2, 3)]
print(f"diag(-1, -1, 3): det {impostor.det()}, trace {impostor.trace()}, leading minors {minors}")
assert impostor.det() > 0
assert impostor.trace() > 0
assert not all(minor > 0 for minor in minors)
assert not impostor.is_positive_definite
assert min(ltdl(np.diag([-1, -1, 3]), (-1, 0, 1))[1]) < 0

m1, m2, I1, I2, r1, r2, L1, a_g = sp.symbols("m1 m2 I1 I2 r1 r2 L1 a_g", positive=True)
arms = {
    "RP": sixd.zoo.rp_arm(m1, m2, I1, I2, r1, a_g),
    "2R": sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1, a_g),
    "PR": sixd.zoo.pr_arm(m1, m2, I2, r2, a_g),
}
q2 = sp.Symbol("q2", real=True)
for name, model in arms.items():
    M = np.array(sixd.equations(model).M.subs("q2", q2))
    L, D = ltdl(M, (-1, 0))
    assert all(canonical(x) == 0 for x in (L.T @ np.diag(D) @ L - M).ravel())
    # D2 is a sum of positive terms; D1 = det M / D2, and det M lies between its values at cos² q2 = 0 and 1
    det = sp.expand(canonical(D[0] * D[1]))
    ends = [det.subs(sp.cos(q2) ** 2, x) for x in (0, 1)]
    print(f"\n{name} arm\n  D2 = {D[1]}\n  D1 = ({det}) / D2")
    assert D[1].is_positive
    assert all(end.is_positive and not end.has(sp.cos, sp.sin) for end in ends)
