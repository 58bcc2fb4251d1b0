"""Euler angles: from their rates to the angular velocity, and where that breaks down.

Turn a body by q1 about z, then by q3 about the new x, then by q2 about the newest z: R = Rz(q1) Rx(q3) Rz(q2). The
angular velocity is the sum of the three rates, each about its own axis. In the body's axes:

    ω_x =  q̇3 cos q2 + q̇1 sin q2 sin q3
    ω_y = -q̇3 sin q2 + q̇1 cos q2 sin q3
    ω_z =  q̇2 + q̇1 cos q3

At sin q3 = 0 the first and the last axis are one line: two rates do the same, and none turns the body about the
direction that is left. Every set of three angles has such places; quaternions have none.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.spatial import rotation_from_euler
from sixd.symbolic import canonical, latex

q1, q2, q3 = q = sp.symbols("q1:4")
qd1, qd2, qd3 = qd = sp.symbols(r"\dot{q}_1:4")
s2, c2, s3, c3 = sp.sin(q2), sp.cos(q2), sp.sin(q3), sp.cos(q3)
book = sp.Matrix([qd3 * c2 + qd1 * s2 * s3, -qd3 * s2 + qd1 * c2 * s3, qd2 + qd1 * c3])

# from the rotation matrix: RᵀṘ is the cross-product matrix of ω
R = sp.Matrix(rotation_from_euler("ZXZ", np.array([q1, q3, q2])))
omega = sixd.angular_velocity(R, q, qd)
print("\\omega =", latex(omega, q))
assert all(canonical(x) == 0 for x in omega - book)

# as a mechanism: three gimbals, in whose order the coordinates are (q1, q3, q2)
builder = sixd.ModelBuilder("gimbals", gravity=(0, 0, 0))
builder.add_body("outer", "world", sixd.Revolute("z"))
builder.add_body("inner", "outer", sixd.Revolute("x"))
builder.add_body("body", "inner", sixd.Revolute("z"), inertia=sixd.box(0.3, 0.2, 0.1, mass=1.0))
turning = sixd.velocity(builder.build(), [q1, q3, q2], [qd1, qd3, qd2], "body")[:3]
assert all(canonical(x) == 0 for x in sp.Matrix(turning) - book)

# ω = E q̇, and E cannot be inverted at sin q3 = 0
E = omega.jacobian(qd)
print("\\det E =", latex(canonical(E.det()), q))
assert canonical(E.det() - sp.sin(q3)) == 0
assert E.subs(q3, 0).rank() == 2

# half a turn about z is not lost with it: many angles give it there, q1 + q2 = π
half = R.subs(q3, 0).subs(q2, sp.pi - q1).applyfunc(canonical)
assert half == sp.diag(-1, -1, 1)
