"""Which joint forces do thrusters make? A force f on the end of an RP arm, through the Jacobian: u = Jᵀf.

Two thrusters on link 2 push with f1 along the world's x axis and f2 along its y axis. The power they give, f·v, must be the
power the joints see, u·q̇; since v = J q̇ for every motion, u = Jᵀf. With the arm at angle q1 and reach q2,

    Jᵀ = [-q2 sin q1   q2 cos q1]
         [    cos q1       sin q1]

det Jᵀ = -q2: with the slide drawn in to the axis (q2 = 0) no thrust turns the arm, and two forces no longer make every u.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic.printing import latex
from sixd.symbolic.ring import canonical

m1, m2, I1, I2, r1, a_g = parameters = sp.symbols("m1 m2 I1 I2 r1 a_g", positive=True)
model = sixd.zoo.rp_arm(*parameters)
arm = sixd.equations(model)
q1, q2 = arm.q

# rows x and y of the linear part of the Jacobian of link 2, in the world's axes
J = arm.jacobian("link2", expressed_in="aligned")[3:5, :]
print("J^T =", latex(J.T, arm.q), "\ndet =", latex(canonical(J.det())))
book = sp.Matrix([[-q2 * sp.sin(q1), q2 * sp.cos(q1)], [sp.cos(q1), sp.sin(q1)]])
assert all(canonical(x) == 0 for x in J.T - book)
assert canonical(J.det() + q2) == 0
