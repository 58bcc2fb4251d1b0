"""The parallel-axis theorem: the inertia of a body about a point that is not its centre of mass.

Seen from a point from which the centre of mass lies at r = (x, y, z), the matrix of inertia is larger by that of the
whole mass gathered at r:

    I' = I + m (‖r‖² 1 - r rᵀ)

Turned axes come after: R I' Rᵀ. Beware of the products of inertia. Some books define I_xy = +∫ x y dm and write -I_xy
into the matrix; others, and sixd, call the entry of the matrix itself I_xy = -∫ x y dm. By the second it changes by
-m x y, by the first by +m x y.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical, latex

m, a, b, c = sp.symbols("m a b c", positive=True)
x, y, z = r = sp.symbols("x y z", real=True)

# a body with principal moments a, b, c and its centre at r
moved = sp.Matrix(sixd.Inertia(m, r, (a, b, c)).about_origin).applyfunc(canonical)
print("I' =", latex(moved))
rr = sp.Matrix(r)
book = sp.diag(a, b, c) + m * (rr.dot(rr) * sp.eye(3) - rr * rr.T)
assert all(canonical(e) == 0 for e in moved - book)
assert canonical(moved[0, 1] + m * x * y) == 0

# the same by moving an inertia that is given about its centre, with its axes turned about z by an angle
angle = sp.Symbol("alpha", real=True)
R = np.array(sp.rot_axis3(-angle))
turned = sixd.Inertia(m, about_com=(a, b, c)).translated(r).rotated(R)
assert all(canonical(e) == 0 for e in sp.Matrix(turned.about_origin) - sp.Matrix(R) * book * sp.Matrix(R).T)

# and from scratch: four points of mass m/4 that have the moments (2, 2, 4) m/4 about their common centre
corners = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)]
cross = sum(sixd.point(m / 4, (x + i, y + j, z + k)) for i, j, k in corners)
theorem = sixd.Inertia(m, r, (m / 2, m / 2, m))
assert all(canonical(e) == 0 for e in (cross.about_origin - theorem.about_origin).ravel())
