"""Holonomic or not: does a constraint on velocities hide one on positions?

x ẋ + y ẏ = 0 is half the rate of x² + y², so it integrates to x² + y² = R²: the point stays on a circle, and one of
its two coordinates can be removed. (A book prints R on the right. It cannot be: the left is a length squared.)

The knife edge ẋ sin θ - ẏ cos θ = 0 does not integrate: by turning and gliding, every position and heading can be
reached, as one parks a car into a gap beside it. So three coordinates stay, though only two velocities are free.

Frobenius' test distinguishes the two. The allowed velocities are spanned by vector fields. Go along one, then another,
back along the first and back along the second: if that (their Lie bracket) leads out of what they span, the constraint
is not holonomic. For one row a on three coordinates this is a · curl a ≠ 0.
"""

import sympy as sp

import sixd
from sixd.symbolic import canonical

x, y, theta, phi = sp.symbols("x y theta phi")
m, R = sp.symbols("m R", positive=True)

# the circle
circle = sixd.is_holonomic([[x, y]], [x, y])
print("circle:", circle.reason, circle.integrals)
assert circle.holonomic
assert circle.degree == 1
assert canonical(circle.integrals[0].diff(x) * y - circle.integrals[0].diff(y) * x) == 0  # its slope is along (x, y)
on_circle = {x: R * sp.cos(phi), y: R * sp.sin(phi)}
assert canonical((x**2 + y**2 - R**2).subs(on_circle)) == 0
assert canonical((x**2 + y**2 - R).subs(on_circle)) != 0  # as printed

# so a coordinate can be removed: an angle is left
xd, yd = sp.symbols("xd yd")
point = sixd.lagrange(m * (xd**2 + yd**2) / 2, 0, [x, y], constraints=[x**2 + y**2 - R**2], name="point on a circle")
reduced = point.eliminate(on_circle, new=[phi])
print(reduced.latex("M", "tau"))
assert canonical(reduced.M[0, 0] - m * R**2) == 0

# the knife edge
a = sp.Matrix([sp.sin(theta), -sp.cos(theta), 0])
knife = sixd.is_holonomic([list(a)], [x, y, theta])
print("\nknife edge:", knife.reason)
assert not knife.holonomic
assert knife.degree == 3  # all configurations can be reached
assert knife.integrals == (None,)


# by hand
def twist(a, q):
    """a · curl a, zero if and only if a(q)·q̇ = 0 integrates."""
    curl = sp.Matrix([a[k].diff(q[j]) - a[j].diff(q[k]) for j, k in ((1, 2), (2, 0), (0, 1))])
    return canonical(a.dot(curl))


print("a · curl a =", twist(a, (x, y, theta)))
assert twist(sp.Matrix([x, y, 0]), (x, y, theta)) == 0
assert abs(twist(a, (x, y, theta))) == 1
