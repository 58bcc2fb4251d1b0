"""The same algorithms on SymPy symbols: the equations of motion of a two-link arm.

There is no second derivation. ``inverse_dynamics`` runs the recursive Newton-Euler algorithm line by line on symbols
instead of floats, and the result is the textbook's equations.
"""

import sympy as sp

import sixd

m1, m2, I1, I2, r1, r2, L1, g = sp.symbols("m1 m2 I1 I2 r1 r2 L1 g", positive=True)
q1, q2, u1, u2, a1, a2 = sp.symbols("q1 q2 u1 u2 a1 a2", real=True)

arm = sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1, g)
print(arm)

tau = sixd.inverse_dynamics(arm, [q1, q2], [u1, u2], [a1, a2])
for k, expression in enumerate(tau, start=1):
    print(f"\ntau{k} =", sp.collect(sp.trigsimp(sp.expand(expression)), [a1, a2, u1, u2, g]))

M = sp.Matrix(sixd.mass_matrix(arm, [q1, q2])).applyfunc(lambda x: sp.trigsimp(sp.expand(x)))
print("\nM =", M)
assert M.is_symmetric()

# numbers for the symbols, and it is an ordinary model again
numeric = arm.substitute({m1: 2.0, m2: 1.5, I1: 0.4, I2: 0.3, r1: 0.35, r2: 0.5, L1: 1.2, g: 9.81})
print("\nat a state:", sixd.inverse_dynamics(numeric, [0.6, 0.8], [1.1, -0.7], [0.5, 0.9]))
