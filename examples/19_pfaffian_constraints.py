"""Constraints on velocities, A(q) q̇ = 0: the multipliers and two projections, in general and for a sleigh on a slope.

The constraint force is Aᵀλ: it does no work on any velocity that A allows. With M q̈ + C q̇ + g = u + Aᵀλ and the rate of
the constraint, A q̈ + Ȧ q̇ = 0,

    λ = (A M⁻¹ Aᵀ)⁻¹ (-Ȧ q̇ + A M⁻¹ (C q̇ + g - u))

and what of a force is left to move the system is P_u u, with P_u = 1 - Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹. Its transpose P does the
like to velocities. It is a projection of rank n - k, for k equations on n velocities, and it splits the energy: what is
allowed, P q̇, and the rest (1 - P) q̇ are orthogonal in the metric of M, (P q̇)ᵀM(1 - P) q̇ = 0, so their energies add.

The example has all of these terms. Chaplygin's sleigh stands on a blade at (q1, q2), heading q3, its centre of mass a
distance a ahead, on a slope that pulls it along -y.
"""

import sympy as sp

import sixd
from sixd.symbolic import canonical

m, I, a, a_g = sp.symbols("m I a a_g", positive=True)
q1, q2, q3 = q = sp.Matrix(sp.symbols("q1:4"))
qd, u = sp.Matrix(sp.symbols("qd1:4")), sp.Matrix(sp.symbols("u1:4"))
s, c = sp.sin(q3), sp.cos(q3)

center = sp.Matrix([q1 + a * c, q2 + a * s])
v = center.jacobian(q) * qd
sleigh = sixd.lagrange(
    m * v.dot(v) / 2 + I * qd[2] ** 2 / 2, m * a_g * center[1], q, constraints=[s * qd[0] - c * qd[1]], name="sleigh"
)
print(sleigh.latex("M", "C", "g", "A"))

# the general formulas
A, M_inverse = sleigh.A, sleigh.M.adjugate() / canonical(sleigh.M.det())
A_dot = A.diff(q3) * qd[2]
apart = (A * M_inverse * A.T).applyfunc(canonical).inv()
lam = apart * (-A_dot * qd + A * M_inverse * (sleigh.C * qd + sleigh.g - u))
P_u = sp.eye(3) - A.T * apart * A * M_inverse
P = P_u.T


def is_zero(matrix):
    return all(canonical(sp.together(x)) == 0 for x in matrix)


# sixd's, on symbols
our_qdd, our_lam = sleigh.constrained(u)
our_P, our_P_u = sleigh.projections()
print("\n\\lambda =", sleigh.latex(our_lam[0]), "\nP_u =", sleigh.latex(our_P_u))
assert is_zero(our_lam - lam)
assert is_zero(our_P_u - P_u)
assert is_zero(our_P - P)
assert is_zero(our_qdd - M_inverse * (u + A.T * lam - sleigh.C * qd - sleigh.g))

# what the projections are: idempotent, of rank n - k (the trace of a projection), allowed, and orthogonal by M
assert is_zero(P * P - P)
assert canonical(sp.together(P.trace() - (3 - 1))) == 0
assert is_zero(A * P * qd)
assert is_zero((P * qd).T * sleigh.M * (sp.eye(3) - P) * qd)
