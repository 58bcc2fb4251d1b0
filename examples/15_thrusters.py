"""Which joint forces do thrusters make? Two of them on the end of an RP arm, through the Jacobian: u = Jᵀf.

They push link 2 with f1 along the world's x axis and f2 along its y axis. The power that they give, f·v, is the power
that the joints see, u·q̇; and since v = J q̇ for every motion, u = Jᵀf. With the arm at the angle q1 and the reach q2,

    Jᵀ = [-q2 sin q1   q2 cos q1]
         [    cos q1       sin q1]

det Jᵀ = -q2: with the slide drawn in to the axis (q2 = 0) no thrust turns the arm, and f can no longer be chosen
for every u. Elsewhere it can: thrusters instead of motors.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical, latex

model = sixd.zoo.rp_arm(*sp.symbols("m1 m2 I1 I2 r1 a_g", positive=True))
q1, q2 = q = sp.symbols("q1 q2", real=True)
book = sp.Matrix([[-q2 * sp.sin(q1), q2 * sp.cos(q1)], [sp.cos(q1), sp.sin(q1)]])

# on bodies: thrusters are given by a frame and a direction
x_axis, y_axis = (sixd.Thruster("link2", axis, expressed_in="aligned") for axis in ((1, 0, 0), (0, 1, 0)))
jets = sixd.Actuation(model, [x_axis, y_axis])
T = sp.Matrix(jets.matrix(q)).applyfunc(canonical)
print("J^T =", latex(T, q), "\ndet =", latex(canonical(T.det())))
assert all(canonical(x) == 0 for x in T - book)
assert canonical(T.det() + q2) == 0
assert T.subs(q2, 0).rank() == 1

# by hand: the position of the thrusters, differentiated
assert all(canonical(x) == 0 for x in sixd.point_forces((q2 * sp.cos(q1), q2 * sp.sin(q1)), q) - book)

# numbers: hold the arm against gravity without motors, but not with the slide drawn in
jets = sixd.Actuation(sixd.zoo.rp_arm(), [x_axis, y_axis])
rest = np.zeros(2)
f = jets.feedback([0.6, 0.8], rest, rest)
print("\nthrusts that hold it:", f)
assert np.allclose(jets.generalized([0.6, 0.8], f), sixd.gravity_force(sixd.zoo.rp_arm(), [0.6, 0.8]), atol=1e-12)
try:
    jets.feedback([0.6, 0.0], rest, rest)
except sixd.SingularError as error:
    print("at q2 = 0:", error)
else:
    raise AssertionError("a singular place went unnoticed")
