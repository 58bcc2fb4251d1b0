"""Euler angles: from their rates to the angular velocity, and where that breaks down.

Turn a body by q1 about z, then by q3 about the new x, then by q2 about the newest z: R = Rz(q1) Rx(q3) Rz(q2). The angular velocity
is the sum of the three rates, each about its own axis. In the body's axes:

    ω_x =  q̇3 cos q2 + q̇1 sin q2 sin q3
    ω_y = -q̇3 sin q2 + q̇1 cos q2 sin q3
    ω_z =  q̇2 + q̇1 cos q3

At sin q3 = 0 the first and the last axis are one line: their rates do the same, and no rates give ω about the third
direction. Every set of three angles has such a place; quaternions have none.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic.printing import latex
from sixd.symbolic.ring import canonical

# three revolute joints, two of them without a body; the coordinates in the chain's order are (q1, q3, q2)
builder = sixd.ModelBuilder("gimbals", gravity=(0, 0, 0))
builder.add_body("outer", "world", sixd.Revolute("z"))
builder.add_body("inner", "outer", sixd.Revolute("x"))
builder.add_body("body", "inner", sixd.Revolute("z"), inertia=sixd.box(0.3, 0.2, 0.1, mass=1.0))
model = builder.build()

q1, q2, q3, qd1, qd2, qd3 = sp.symbols("q1:4 qd1:4", real=True)
angles, rates = [q1, q3, q2], [qd1, qd3, qd2]
omega = sixd.velocity(model, angles, rates, "body")[:3]
print("omega =", latex(sp.Matrix(omega)))

s2, c2, s3, c3 = sp.sin(q2), sp.cos(q2), sp.sin(q3), sp.cos(q3)
book = [qd3 * c2 + qd1 * s2 * s3, -qd3 * s2 + qd1 * c2 * s3, qd2 + qd1 * c3]
assert all(canonical(x) == 0 for x in omega - np.array(book))

# the same from the rotation matrix: R' dR/dt is the cross-product matrix of ω
R = sp.Matrix(sixd.pose(model, angles, "body")[:3, :3])
R_dot = sum((R.diff(x) * v for x, v in zip(angles, rates, strict=True)), sp.zeros(3, 3))
hat = R.T * R_dot
for x, y in zip((hat[2, 1], hat[0, 2], hat[1, 0]), book, strict=True):
    assert canonical(x - y) == 0

# ω = E q̇; its determinant is sin q3 up to a sign
E = sp.Matrix(omega).jacobian([qd1, qd2, qd3])
print("det E =", latex(canonical(E.det())))
assert canonical(E.det() ** 2 - s3**2) == 0
assert E.subs(q3, 0).rank() == 2
