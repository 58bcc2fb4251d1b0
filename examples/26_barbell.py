"""A steel barbell: join bodies by adding their inertias about one point.

Two spheres of radius 0.1 m at ±0.2 m on a bar of length 0.2 m and radius 0.02 m; steel weighs 7850 kg/m³. The bar ends
where the spheres begin. Each part's inertia is moved to the common centre (parallel axes), then they add:

    about the axis   2 · ⅖ M R² + ½ m r²
    across           2 · (⅖ M R² + M d²) + m (3 r² + l²)/12
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical, latex

# in symbols: M of a sphere, m of the bar
M, m, R, r, l, d = sp.symbols("M m R r l d", positive=True)
sphere, bar = sixd.sphere(R, mass=M), sixd.cylinder(r, l, mass=m)
barbell = bar + sphere.translated((0, 0, d)) + sphere.translated((0, 0, -d))
across, _, along = barbell.about_com.diagonal()
print("I_zz =", latex(canonical(along)), "\nI_xx =", latex(canonical(across)))
assert canonical(along - (4 * M * R**2 / 5 + m * r**2 / 2)) == 0
assert canonical(across - (2 * (2 * M * R**2 / 5 + M * d**2) + m * (3 * r**2 + l**2) / 12)) == 0
assert list(barbell.com) == [0, 0, 0]

# in numbers
steel = 7850
sphere, bar = sixd.sphere(0.1, density=steel), sixd.cylinder(0.02, 0.2, density=steel)
barbell = bar + sphere.translated((0, 0, 0.2)) + sphere.translated((0, 0, -0.2))
print(f"\nmasses {sphere.mass:.7f} and {bar.mass:.8f} kg, moments {barbell.about_com.diagonal()} kg m²")
# to the digits printed
assert np.allclose([sphere.mass, bar.mass], [32.8820031, 1.97292019], rtol=0, atol=5e-8)
assert np.allclose(barbell.about_com.diagonal(), [2.900389966, 2.900389966, 0.263450609], rtol=0, atol=5e-10)
