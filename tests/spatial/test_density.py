"""Inertias from a density over a region: against the closed forms of shapes, exactly and to 1e-10."""

import math

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd import Inertia, ModelError, ScalarTypeError, Shape, ShapeError

rho, R, h, L, a, b, c = sp.symbols("rho R h L a b c", positive=True)
x, y, z = sp.symbols("x y z")
AROUND, BOX = (0, 2 * sp.pi), {"x": (0, 1), "y": (0, 1), "z": (0, 1)}
CLOSED = {
    "box": (Shape("box", (a, b, c)), sixd.box(a, b, c, density=rho)),
    "sphere": (Shape("sphere", (R,)), sixd.sphere(R, density=rho)),
    "ellipsoid": (Shape("ellipsoid", (a, b, c)), sixd.ellipsoid(a, b, c, density=rho)),
    "cylinder": (Shape("cylinder", (R, h)), sixd.cylinder(R, h, density=rho)),
    "cone": (Shape("cone", (R, h)), sixd.cone(R, h, density=rho)),
    "capsule": (Shape("capsule", (R, h)), sixd.capsule(R, h, density=rho)),
    "tube": ({"z": (-L / 2, L / 2), "r": (a, b), "phi": AROUND}, sixd.tube(a, b, L, density=rho)),
    "ball": ({"r": (0, R), "theta": (0, sp.pi), "phi": AROUND}, sixd.sphere(R, density=rho)),
    "any order": ({"phi": AROUND, "theta": (0, sp.pi), "r": (0, R)}, sixd.sphere(R, density=rho)),
}


@pytest.mark.many
@pytest.mark.parametrize(("region", "expected"), CLOSED.values(), ids=CLOSED)
def test_uniform_density_exactly(region, expected):
    found = Inertia.from_density(rho, region)
    assert all(sp.simplify(e) == 0 for e in found.parameters - expected.parameters)


@pytest.mark.parametrize(("region", "expected"), CLOSED.values(), ids=CLOSED)
def test_uniform_density_numerically(region, expected):
    values = {rho: 7850.0, R: 0.3, h: 0.7, L: 0.9, a: 0.2, b: 0.4, c: 0.5}

    def number(e):
        return float(sp.sympify(e).subs(values))

    if isinstance(region, Shape):
        region = Shape(region.kind, tuple(number(s) for s in region.size))
    else:
        region = {name: tuple(number(e) for e in pair) for name, pair in region.items()}
    found = Inertia.from_density(7850.0, region)
    exact = np.array([number(e) for e in expected.parameters])
    assert found.about_origin.dtype == float
    np.testing.assert_allclose(found.parameters, exact, rtol=1e-10, atol=1e-10 * exact[4:].max())


def test_limits_that_depend_on_outer_coordinates():
    """A tetrahedron, by expressions and by functions of the coordinates before."""
    by_expressions = {"x": (0, a), "y": (0, b * (1 - x / a)), "z": (0, c * (1 - x / a - y / b))}
    by_functions = {"x": (0, a), "y": (0, lambda x: b * (1 - x / a)), "z": (0, lambda x, y: c * (1 - x / a - y / b))}
    one, two = (Inertia.from_density(rho, region) for region in (by_expressions, by_functions))
    assert (one.parameters == two.parameters).all()
    assert one.mass == a * b * c * rho / 6
    assert list(one.com) == [a / 4, b / 4, c / 4]
    assert sp.simplify(one.about_origin[0, 1] + rho * a**2 * b**2 * c / 120) == 0


def test_roots_at_the_ends():
    """A cylinder in Cartesian coordinates, whose limits have vertical tangents."""
    half = {"x": (-1.0, 1.0), "y": (lambda x: -sp.sqrt(1 - x**2), lambda x: sp.sqrt(1 - x**2)), "z": (-0.5, 0.5)}
    expected = sixd.cylinder(1.0, 1.0, density=3.0).parameters
    np.testing.assert_allclose(Inertia.from_density(3.0, half).parameters, expected, rtol=0, atol=1e-10)


DENSITIES = {
    "expression": sp.exp(-(x**2)),
    "function of symbols": lambda x, y, z: sp.exp(-(x**2)),
    "function of arrays": lambda x, y, z: np.exp(-x * x),
    "function of floats": lambda x, y, z: math.exp(-x * x),
    "by name": lambda x: np.exp(-x * x),
    "other names": lambda u, v, w: np.exp(-u * u),
}


@pytest.mark.parametrize("density", DENSITIES.values(), ids=DENSITIES)
def test_any_density(density):
    """m = √π erf(1)/2, I_xx = 2m/3, I_yy = m/3 + ∫x²ρ."""
    found = Inertia.from_density(density, dict.fromkeys("xyz", (0, 1.0)))
    mass = math.sqrt(math.pi) * math.erf(1) / 2
    second = (mass - math.exp(-1)) / 2
    assert float(found.mass) == pytest.approx(mass, rel=1e-10)
    assert float(found.about_origin[0, 0]) == pytest.approx(2 * mass / 3, rel=1e-10)
    assert float(found.about_origin[1, 1]) == pytest.approx(mass / 3 + second, rel=1e-10)


def test_density_of_the_radius():
    """A ball that gets lighter outwards: m = π ρ R³/3."""
    ball = {"r": (0, R), "theta": (0, sp.pi), "phi": AROUND}
    found = Inertia.from_density(lambda r: rho * (1 - r / R), ball)
    assert sp.simplify(found.mass - sp.pi * rho * R**3 / 3) == 0
    assert sp.simplify(found.about_origin[2, 2] - 4 * sp.pi * rho * R**5 / 45) == 0


def test_no_closed_form():
    """Without parameters the integrals are numbers; with them the error says what to do."""
    found = Inertia.from_density(sp.cos(sp.sin(x)) + 1, BOX)
    mass = sp.Integral(sp.cos(sp.sin(x)) + 1, (x, 0, 1)).evalf(15)
    assert float(found.mass) == pytest.approx(float(mass), rel=1e-12)
    with pytest.raises(ModelError, match="no closed form of the integrals over a, expected numbers"):
        Inertia.from_density(sp.cos(a * sp.sin(x)) + 1, BOX)


def test_a_pose():
    pose = sixd.placement((1, 2, 3), rpy=(0.1, 0.2, 0.3))
    shape = Shape("box", (1.0, 2.0, 3.0))
    expected = sixd.box(1, 2, 3, density=2.0).moved(pose).parameters
    visual = sixd.model.parts.Visual(1, shape, pose)
    for found in (Inertia.from_density(2.0, shape, pose=pose), Inertia.from_density(2.0, visual)):
        np.testing.assert_allclose(found.parameters, expected, rtol=0, atol=1e-9)  # of numbers near 200


BAD = {
    "a word": (ScalarTypeError, "density is 'steel', expected a number", "steel", BOX),
    "nothing": (ScalarTypeError, "density is None", None, BOX),
    "two coordinates": (ModelError, "region has limits of x, y, expected of x, y, z", 1, {"x": (0, 1), "y": (0, 1)}),
    "a number": (ScalarTypeError, "region is 3, expected limits", 1, 3),
    "inner in outer": (ModelError, "limits of x depend on y, .*there are none.*outermost", 1, {**BOX, "x": (0, y)}),
    "reversed": (ModelError, "limits of x are 1 and 0, expected lower ≤ upper", 1, {**BOX, "x": (1, 0)}),
    "infinite": (ModelError, "limit of x is oo, expected a finite number", 1, {**BOX, "x": (0, sp.oo)}),
    "one limit": (ShapeError, "limits of x are 1, expected", 1, {**BOX, "x": 1}),
    "a text as limit": (ScalarTypeError, "a limit of x is 'a'", 1, {**BOX, "x": (0, "a")}),
    "negative radius": (ModelError, "limit of r is -1, expected 0 ≤ r", 1, {"r": (-1, 1), "phi": (0, 1), "z": (0, 1)}),
    "a plane": (ModelError, "region is a plane, expected a solid", 1, Shape("plane")),
    "a kink": (ModelError, "do not converge to 1e-10.*Cut the region", lambda x: abs(x - 0.3), {**BOX, "x": (0, 1.0)}),
    "a pole": (ModelError, "density is not finite", lambda x: x * 0 + np.nan, BOX),
    "unknown coordinate": (ScalarTypeError, "density is a function of s, expected of x, y, z", lambda s: s, BOX),
}


@pytest.mark.parametrize(("error", "message", "density", "region"), BAD.values(), ids=BAD)
def test_errors(error, message, density, region):
    with pytest.raises(error, match=f"Inertia.from_density: .*{message}"):
        Inertia.from_density(density, region)


@pytest.mark.parametrize("root", [np.sqrt, math.sqrt, sp.sqrt], ids=["numpy", "math", "sympy"])
def test_limits_by_functions_of_any_library(root):
    """A cap of the unit sphere above z = 0.6: V = π h² (3 - h)/3 with h = 0.4."""
    cap = {"z": (0.6, 1.0), "phi": (0, 2 * np.pi), "r": (0, lambda z: root(1 - z * z))}
    np.testing.assert_allclose(float(Inertia.from_density(2.0, cap).mass), 2 * np.pi * 0.16 * 2.6 / 3, rtol=1e-10)


@pytest.mark.long
def test_density_that_jumps():
    """A function that takes no arrays, with a jump: an error within seconds, not minutes of points."""
    with pytest.raises(ModelError, match="Cut the region there"):
        Inertia.from_density(lambda x, y, z: 1.0 if x > 0.3 else 2.0, BOX)


def test_hostile_regions():
    with pytest.raises(ModelError, match="at most one turn"):
        Inertia.from_density(1.0, {"r": (0, 1), "theta": (0, np.pi), "phi": (0, 4 * np.pi)})
    with pytest.raises(ScalarTypeError, match="no coordinate stands before it"):
        Inertia.from_density(1.0, {"x": (0, lambda y: y), "y": (0, 1), "z": (0, 1)})
    with pytest.raises(ShapeError, match="expected one number for each point"):
        Inertia.from_density(lambda x, y, z: np.ones(7) + 0 * math.floor(np.max(x)), BOX)
    with pytest.raises(ModelError, match="a limit is not finite"):
        Inertia.from_density(1.0, {"z": (0, 2), "phi": (0, 1), "r": (0, lambda z: np.sqrt(1 - z * z))})
