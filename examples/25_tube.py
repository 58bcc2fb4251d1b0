"""A tube between the diameters d1 and d2: subtract the hole.

Inertias add, so a hollow body is the full one minus the hole: ∫ over the tube = ∫ over the outer cylinder - ∫ over the
inner. With density ρ and length L,

    I_zz = ρ π L (d2⁴ - d1⁴)/32,   I_xx = I_yy = I_zz/2 + ρ π L³ (d2² - d1²)/48
"""

import sympy as sp

import sixd
from sixd.symbolic import canonical, latex

rho, L, d1, d2 = sp.symbols("rho L d1 d2", positive=True)
r, phi, z = sp.symbols("r phi z", real=True)

tube = sixd.tube(d1 / 2, d2 / 2, L, density=rho)
I_xx, _, I_zz = tube.about_com.diagonal()
print("I_zz =", latex(sp.factor_terms(canonical(I_zz))), "\nI_xx =", latex(sp.factor_terms(canonical(I_xx))))

book_zz = rho * sp.pi * L * (d2**4 - d1**4) / 32
assert canonical(I_zz - book_zz) == 0
assert canonical(I_xx - (book_zz / 2 + rho * sp.pi * L**3 * (d2**2 - d1**2) / 48)) == 0

# the outer cylinder minus the inner one
hollow = sixd.cylinder(d2 / 2, L, density=rho) - sixd.cylinder(d1 / 2, L, density=rho)
assert all(canonical(x) == 0 for x in tube.parameters - hollow.parameters)


# and by integrating the density, ρ r dr dφ dz
def integral(f):
    return sp.integrate(rho * f * r, (r, d1 / 2, d2 / 2), (phi, 0, 2 * sp.pi), (z, -L / 2, L / 2))


assert canonical(tube.mass - integral(1)) == 0
assert canonical(I_zz - integral(r**2)) == 0
assert canonical(I_xx - integral((r * sp.sin(phi)) ** 2 + z**2)) == 0
