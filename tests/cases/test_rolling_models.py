"""Models of the zoo that roll: the points of contact do not slip, and the motion is that of the closed form."""

import numpy as np
import pytest
import sympy

import sixd

pytestmark = pytest.mark.targets("compiled", "plain")


def point_velocity(model, q, qd, body, point):
    """Return the velocity (3,) of the point of a body that is now at ``point`` (3,) of the world."""
    v = sixd.velocity(model, q, qd, body, expressed_in="world")
    return v[3:] + np.cross(v[:3], point)


@pytest.mark.parametrize("half_angle", [np.pi / 6, 0.9])
def test_the_cone_does_not_slip_on_its_table(half_angle, rng):
    """Along the line of contact all points are at rest; this line rotates by φ about the apex, and is on the table."""
    cone = sixd.zoo.rolling_cone(half_angle, 0.8, rolls=True)
    phi = rng.uniform(-3, 3)
    q = sixd.assemble(cone, [phi, 0.0], fixed=["turn"])
    assert q == pytest.approx([phi, -phi / np.sin(half_angle)], abs=1e-12)
    qd = np.array([1.0, -1 / np.sin(half_angle)])
    for s in (0.2, 0.8):
        touching = np.array([0, 1, 0]) + s * np.array([np.cos(phi), np.sin(phi), 0])
        assert np.abs(point_velocity(cone, q, qd, "cone", touching)).max() < 1e-14
    assert sixd.pose(cone, q, "apex")[:3, 3] == pytest.approx([0, 1, 0], abs=1e-15)
    # the rim is on the table whenever it is at its initial place
    assert sixd.pose(cone, np.zeros(2), "rim")[:3, 3] == pytest.approx([0.8, 1, 0], abs=1e-15)


def test_the_geared_rolling_cone_moves_like_the_free_one():
    """Both have the same poses, and the same energy, when they rotate about the line of contact."""
    rolling, free = sixd.zoo.rolling_cone(rolls=True), sixd.zoo.rolling_cone()
    base = sixd.pose(rolling, np.zeros(2), "base"), sixd.pose(free, free.neutral(), "base")
    np.testing.assert_allclose(*base, atol=1e-15)
    omega = np.array([-2 * np.sqrt(3) * np.pi, 0, 0])  # one round per second
    kinetic = sixd.energy(free, free.neutral(), np.concatenate([omega, np.cross([0, 1, 0], omega)]))[0]
    assert sixd.energy(rolling, np.zeros(2), [2 * np.pi, -4 * np.pi])[0] == pytest.approx(kinetic, rel=1e-14)


def test_the_pinion_does_not_slip_on_its_rack(rng):
    pinion = sixd.zoo.rack_and_pinion(0.2, offset=0.05)
    q, qd = rng.uniform(-3, 3, 1), np.array([1.5])
    touching = np.array([0, -0.2 * q[0], -0.2])
    assert np.abs(point_velocity(pinion, q, qd, "pinion", touching)).max() < 1e-14
    assert sixd.pose(pinion, q, "pinion")[:3, 3] == pytest.approx([0, -0.2 * q[0], 0], abs=1e-15)


@pytest.mark.one_target
def test_equations_of_the_pinion():
    """M = I + m (r² + d² - 2 r d cos q), a wheel whose mass is off its axle; the weight turns it back."""
    r, m, d, g = sympy.symbols("r m d g", positive=True)
    model = sixd.zoo.rack_and_pinion(r, m, d, g)
    q = sympy.Symbol("q1")
    found = sixd.mass_matrix(model, [q])[0, 0]
    assert sympy.simplify(found - (m * r**2 / 2 + m * (r**2 + d**2 - 2 * r * d * sympy.cos(q)))) == 0
    assert sympy.simplify(sixd.gravity_force(model, [q])[0] - m * g * d * sympy.sin(q)) == 0


def test_the_top_has_a_tip():
    top = sixd.zoo.spinning_top(height=0.1)
    assert sixd.pose(top, [0, np.pi / 2, 0.3], "tip")[:3, 3] == pytest.approx([0.2, 0, 0], abs=1e-15)
    assert not sixd.zoo.spinning_top(sympy.Symbol("R"), sympy.Symbol("h"), sympy.Symbol("m")).visuals
