"""Rigid contact of bad and extreme input: a clear error or a warning, never a wrong number without one."""

import numpy as np
import pytest

import nonsmooth
import sixd
from sixd.errors import ModelError, ShapeError, SimulationWarning, SingularError

BOX, CORNERS, FLAT = nonsmooth.lying_box()
GROUND = sixd.RigidGround({"box": CORNERS}, friction=0.5)
TILTED = np.array([0.9, 0.1, 0.3, 0.3, 0, 0, 0.3])  # of length 1: 0.81 + 0.01 + 0.09 + 0.09


def lifted(by):
    """Return the box's configuration at this height above the ground [m]."""
    q = FLAT.copy()
    q[6] += by
    return q


@pytest.mark.parametrize(("at", "value"), [("q", np.nan), ("qd", np.nan), ("qd", np.inf)])
def test_starts_that_are_not_finite(at, value):
    """The motion is counted as failed, and its neighbours in the batch are as without it."""
    q, qd = np.tile(FLAT, (3, 1)), np.zeros((3, 6))
    {"q": q, "qd": qd}[at][1, -1] = value
    with pytest.warns(SimulationWarning, match="1 of 3 rollouts is not finite from t = 0 s on"):
        motion = sixd.simulate(BOX, q, qd, 0.01, forces=GROUND)
    alone = sixd.simulate(BOX, FLAT, None, 0.01, forces=GROUND)
    assert motion.failed == 1
    for row in (0, 2):
        np.testing.assert_array_equal(motion.q[row], alone.q)


def test_motions_that_diverge_are_not_counted_as_unsolved():
    """Their problems have no solution: iterations on them would take ten times as long as the rest of the batch."""
    builder = sixd.ModelBuilder("chain")
    rod = sixd.Inertia(0.5, (0, 0, -0.15), (4e-3, 4e-3, 1e-4))
    for name, parent, z in (("a", "world", 0.5), ("b", "a", -0.3)):
        at = sixd.placement((0, 0, z))
        builder.add_body(name, parent, sixd.Spherical(), placement=at, inertia=rod, friction=0.05)
    chain = builder.build()
    ground = sixd.RigidGround(dict.fromkeys(("a", "b"), (0, 0, -0.3, 0.02)), friction=0.6)
    q, qd = np.tile([0.7, 0.714, 0, 0, 1, 0, 0, 0], (4, 1)), np.random.default_rng(0).normal(size=(4, 6))
    q[:, :4] /= np.linalg.norm(q[0, :4])
    qd[1] *= 1e4
    with pytest.warns(SimulationWarning, match="1 of 4 rollouts is not finite"):
        motion = sixd.simulate(chain, q, qd, 0.2, forces=ground)
    unsolved = np.array(motion.facts["unsolved"])
    assert unsolved[1] < 30
    assert unsolved[[0, 2, 3]].sum() == 0


@pytest.mark.parametrize("on_world", [True, False])
def test_bodies_without_mass(on_world):
    builder = sixd.ModelBuilder("light")
    if not on_world:
        builder.add_body("trunk", "world", sixd.Free(), inertia=sixd.box(0.2, 0.2, 0.1, mass=1.0))
    joint, parent = (sixd.Free(), "world") if on_world else (sixd.Revolute("y"), "trunk")
    builder.add_body("foot", parent, joint, inertia=sixd.Inertia(0.0))
    model = builder.build()
    with pytest.raises(SingularError, match=r"joints \['foot'\] move no inertia of their own"):
        sixd.simulate(model, model.neutral(), None, 0.01, forces=sixd.RigidGround({"foot": (0, 0, -0.1)}))


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        ({}, ModelError, "points is empty, expected {frame: points"),
        ({"box": np.zeros((0, 3))}, ShapeError, "points of 'box' have shape \\(0, 3\\), expected \\(k, 3\\)"),
        ({"box": (0, np.nan, 0)}, ModelError, "points of 'box' are \\(0, nan, 0\\), expected finite numbers"),
    ],
)
def test_no_points(points, error, message):
    with pytest.raises(error, match=message):
        sixd.simulate(BOX, FLAT, None, 0.01, forces=sixd.RigidGround(points))


@pytest.mark.parametrize("speed", [1e3, 1e6])
@pytest.mark.parametrize("direction", [(0, 0, -1), (1, 0, 0), (1, 0, -1)])
def test_fast_bodies(speed, direction):
    """A box that falls 1000 m a step stops on the ground, and one that slides is braked by μ g."""
    qd = np.array([0, 0, 0, *direction]) * speed
    q = lifted(0.2 if direction == (0, 0, -1) else 0)
    motion = sixd.simulate(BOX, q, qd, 0.02, forces=GROUND)
    assert motion.facts["unsolved"] == 0
    assert motion.failed == 0
    assert abs(motion.q[-1, 6] - FLAT[6]) < 1e-9
    assert motion.qd[-1, 3] <= speed * direction[0]
    assert np.diff(motion.energy).max() <= 1e-12 * motion.energy[0]  # rounding


@pytest.mark.filterwarnings("ignore:.*did not converge:sixd.SimulationWarning")
def test_a_spin_that_no_step_resolves():
    """RK4 diverges at 10^3 rad a step, with a warning that says so."""
    with pytest.warns(SimulationWarning, match="the motion is not finite from t = "):
        motion = sixd.simulate(BOX, lifted(0.3), [1e6, 5e5, 0, 0, 0, 0], 0.05, forces=GROUND)
    assert motion.failed == 1


@pytest.mark.parametrize("mass", [1e-30, 1e-12, 1e12])
def test_light_and_heavy_bodies(mass):
    """Motions do not depend on the mass, until an edge lands that misses the ground by less than the solver leaves."""
    model = nonsmooth.free_body(sixd.box(0.2, 0.2, 0.1, mass=mass), "box")
    found, true = (sixd.simulate(m, TILTED, [0, 0, 0, 1.0, 0, 0], 0.24, forces=GROUND) for m in (model, BOX))
    assert found.facts["unsolved"] == 0
    # residuals of 1e-10 m/s differ, and grow from impact to impact
    np.testing.assert_allclose(found.q, true.q, rtol=0, atol=1e-7)


def test_friction_without_bounds():
    """With μ = 10^6 a box sticks where it lands."""
    ground = sixd.RigidGround({"box": CORNERS}, friction=1e6)
    motion = sixd.simulate(BOX, FLAT, [0, 0, 0, 1.0, 0, -1.0], 0.05, forces=ground)
    assert motion.facts["unsolved"] == 0
    assert np.abs(motion.qd[-1]).max() < 1e-8  # what the solver leaves


@pytest.mark.long
def test_many_points_on_one_body(rng):
    """300 points on the underside of a box are like its corners, if it falls flat."""
    inside = np.column_stack([rng.uniform(-0.1, 0.1, (296, 2)), np.full(296, -0.05)])
    ground = sixd.RigidGround({"box": np.concatenate([CORNERS, inside])}, friction=0.5)
    start = lifted(0.01)
    motion = sixd.simulate(BOX, start, [0, 0, 0, 0.3, 0, 0], 0.2, forces=ground)
    true = sixd.simulate(BOX, start, [0, 0, 0, 0.3, 0, 0], 0.2, forces=GROUND)
    assert motion.facts["unsolved"] == 0
    # where it stops depends on when friction begins within a step, to a h²/8 = 6e-7 m
    np.testing.assert_allclose(motion.q, true.q, rtol=0, atol=1e-6)
