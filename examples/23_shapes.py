"""Moments of inertia of simple shapes, by integration.

The matrix of inertia is ∫ (‖p‖² 1 - p pᵀ) dm over the points p of a body, with dm = ρ dV. 'Uniform density' means
ρ = m/V with the volume of that very body, in every integral: so the mass enters where only lengths are integrated.

    sphere      2 m R²/5 about every axis
    ellipsoid   m (b² + c²)/5, m (c² + a²)/5, m (a² + b²)/5
    cylinder    m (3R² + h²)/12 across, m R²/2 along its axis
    box         m (b² + c²)/12, m (c² + a²)/12, m (a² + b²)/12
"""

import sympy as sp

import sixd
from sixd.symbolic import canonical, latex

m, R, h, a, b, c = sp.symbols("m R h a b c", positive=True)
r, theta, phi, x, y, z = sp.symbols("r theta phi x y z", real=True)

# the points p of a body, as functions of three variables
ball = r * sp.Matrix([sp.sin(theta) * sp.cos(phi), sp.sin(theta) * sp.sin(phi), sp.cos(theta)])
ellipsoid = sp.diag(a, b, c) * ball  # a unit ball, stretched
cylinder = sp.Matrix([r * sp.cos(phi), r * sp.sin(phi), z])
box = sp.Matrix([x, y, z])
around, down = (phi, 0, 2 * sp.pi), (theta, 0, sp.pi)
cuboid = sp.diag(b**2 + c**2, c**2 + a**2, a**2 + b**2)
across = m * (3 * R**2 + h**2) / 12

# name: sixd's inertia, the points, limits of the variables, the book's matrix
bodies = {
    "sphere": (sixd.sphere(R, mass=m), ball, [(r, 0, R), down, around], 2 * m * R**2 * sp.eye(3) / 5),
    "ellipsoid": (sixd.ellipsoid(a, b, c, mass=m), ellipsoid, [(r, 0, 1), down, around], m * cuboid / 5),
    "cylinder": (
        sixd.cylinder(R, h, mass=m),
        cylinder,
        [(r, 0, R), around, (z, -h / 2, h / 2)],
        sp.diag(across, across, m * R**2 / 2),
    ),
    "box": (
        sixd.box(a, b, c, mass=m),
        box,
        [(x, -a / 2, a / 2), (y, -b / 2, b / 2), (z, -c / 2, c / 2)],
        m * cuboid / 12,
    ),
}

for name, (inertia, p, limits, book) in bodies.items():
    dV = canonical(p.jacobian([limit[0] for limit in limits]).det())  # the volume that small changes of them span
    density = m / sp.integrate(dV, *limits)
    second = sp.zeros(3, 3)  # ∫ p pᵀ dm, of which the inertia is made
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        second[i, j] = second[j, i] = density * sp.integrate(p[i] * p[j] * dV, *limits)
    integral = second.trace() * sp.eye(3) - second
    print(f"{name:10s}", latex(sp.Matrix([inertia.about_com.diagonal()])))
    assert all(canonical(x) == 0 for x in integral - book)
    assert all(canonical(x) == 0 for x in sp.Matrix(inertia.about_com) - book)
