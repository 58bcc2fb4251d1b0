"""A turning body: kinetic energy, the rate of a rotation matrix, and Euler's equations in two frames.

R maps components from the body's axes to fixed ones. Its rate is a product with the angular velocity, on the left with
components in fixed axes, on the right with those in the body's: Ṙ = ω̂_s R = R ω̂, where ω̂ x = ω × x. In the body's
axes the inertia I is constant; in fixed axes it turns along, I_s = R I Rᵀ, at the rate ω̂_s I_s - I_s ω̂_s. Yet the law
reads the same in both, since ω × ω = 0 makes ω̇ the same vector, seen from either:

    K = ½ ωᵀI ω,    τ = I ω̇ + ω × I ω

In principal axes it falls apart into Euler's three equations, I1 ω̇1 + (I3 - I2) ω2 ω3 = τ1 and so on.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.spatial import skew
from sixd.symbolic import canonical, latex

a, b, c, d, e, f = sp.symbols("a b c d e f", real=True)
I = np.array([[a, d, e], [d, b, f], [e, f, c]])
q = np.array(sp.symbols("qw qx qy qz", real=True))  # orientation: a quaternion of any length
w, wd = np.array(sp.symbols("omega1:4", real=True)), np.array(sp.symbols("alpha1:4", real=True))  # ω and ω̇


def is_zero(array):
    return all(canonical(x) == 0 for x in np.ravel(array))


# a body on a ball joint about its centre of mass; its qd is ω in the body's axes
builder = sixd.ModelBuilder("body", gravity=(0, 0, 0))
builder.add_body("body", "world", sixd.Spherical(), inertia=sixd.Inertia(1, about_com=I))
model = builder.build()
kinetic, _ = sixd.energy(model, q, w)
tau = sixd.inverse_dynamics(model, q, w, wd)
assert is_zero(kinetic - w @ I @ w / 2)
assert is_zero(tau - (I @ wd + skew(w) @ I @ w))

# the rate of R as the quaternion moves
R = sixd.pose(model, q, "body")[:3, :3]
qd = model.configuration_rate(q, w)
R_dot = np.array(sum((sp.Matrix(R).diff(x) * v for x, v in zip(q, qd, strict=True)), sp.zeros(3, 3)))
w_s = R @ w
assert is_zero(R_dot - R @ skew(w))
assert is_zero(R_dot - skew(w_s) @ R)

# the law in fixed axes, and the inertia turning along
I_s = R @ I @ R.T
I_s_dot = R_dot @ I @ R.T + R @ I @ R_dot.T
assert is_zero(R @ tau - (I_s @ (R @ wd) + skew(w_s) @ I_s @ w_s))
assert is_zero(I_s_dot - (skew(w_s) @ I_s - I_s @ skew(w_s)))

# principal axes
euler = sp.Matrix([sp.collect(canonical(x.subs({d: 0, e: 0, f: 0})), [x * y for x in w for y in w]) for x in tau])
print("\\tau =", latex(euler))
book = [a * wd[0] + (c - b) * w[1] * w[2], b * wd[1] + (a - c) * w[2] * w[0], c * wd[2] + (b - a) * w[0] * w[1]]
assert is_zero(np.array(euler).ravel() - book)
