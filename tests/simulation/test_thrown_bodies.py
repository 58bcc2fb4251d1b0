"""Bodies thrown onto rigid ground: no point sinks in, contact gains no energy, and nearly every problem is solved."""

import warnings

import numpy as np
import pytest
from benchmarks.robots import file_of
from benchmarks.thrown import body_of, throw
from benchmarks.thrown import thrown as thrown_states
from numpy.testing import assert_allclose

import nonsmooth
import robots
import sixd
from sixd.simulation.nonsmooth.contact.laws import row_impulse

SHAPES = {"box": (0.2, 0.1, 0.1), "rod": (0.6, 0.05, 0.05), "plate": (0.5, 0.5, 0.03)}
TETRAHEDRON = 0.15 / np.sqrt(3) * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


def thrown(shape, count, rng):
    """Return a body, its points, and initial states 0.5 to 1 m above the ground."""
    sides = np.array(SHAPES.get(shape, (0.2, 0.2, 0.2)))
    signs = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T
    points = TETRAHEDRON if shape == "tetrahedron" else signs * sides / 2
    body = nonsmooth.free_body(sixd.box(*sides, mass=1.0), "body")
    q = np.zeros((count, 7))
    q[:, :4] = rng.normal(size=(count, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    q[:, 6] = rng.uniform(0.5, 1.0, count)
    return body, points, q, np.concatenate([5 * rng.normal(size=(count, 3)), 2 * rng.normal(size=(count, 3))], axis=1)


def heights(model, q, points):
    """Return the heights (…, k) of the points."""
    T = sixd.pose(model, q, "body")
    return (np.einsum("...ij,kj->...ki", T[..., :3, :3], points) + T[..., None, :3, 3])[..., 2]


def gains(motion, model, h):
    """Return the energy (rows, steps) gained in each step, beyond what the method gains without contact, as a part of
    the initial energy."""
    rows, records = motion.energy.shape
    q, qd = (x[:, :-1].reshape(-1, x.shape[-1]) for x in (motion.q, motion.qd))
    free = np.sum(sixd.energy(model, *sixd.step(model, q, qd, h)), axis=0).reshape(rows, records - 1)
    before, after = motion.energy[:, :-1], motion.energy[:, 1:]
    return (after - before - np.maximum(free - before, 0)) / motion.energy[:, :1]


@pytest.mark.parametrize(
    ("friction", "restitution"),
    [(0.0, 0.0), (0.5, 0.5), *(pytest.param(*x, marks=pytest.mark.long) for x in ((0.0, 1.0), (0.5, 0.0), (1.0, 1.0)))],
)
@pytest.mark.parametrize("shape", [*SHAPES, "tetrahedron"])
def test_thrown_bodies(shape, friction, restitution, rng):
    model, points, q, qd = thrown(shape, 40, rng)
    ground = sixd.RigidGround({"body": points}, friction=friction, restitution=restitution)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.SimulationWarning)  # some problems of plates are not solved
        motion = sixd.simulate(model, q, qd, 1.0, forces=ground)
    assert np.isfinite(motion.q).all()
    assert heights(model, motion.q, points).min() > -1e-7
    # after an elastic impact within a step RK4's own error is that of another spin, up to 3e-9
    assert gains(motion, model, 1e-3).max() < (1e-6 if friction else 1e-8 if restitution else 1e-9)
    assert np.sum(motion.facts["unsolved"]) <= 40 * 1000 * 1e-4


ROBOTS = ["go2", "go2 with limits", "go2 with friction", "go2 with both", "talos", "talos with both"]


@pytest.mark.long
@pytest.mark.parametrize(("friction", "restitution"), [(0.5, 0.5), (1.0, 0.0)])
@pytest.mark.parametrize("name", ROBOTS)
def test_falling_robots(name, friction, restitution, rng):
    """They fall on trunk, knees, feet and hands; joints without friction reach 100 rad/s."""
    robots.require_file(file_of(name.split()[0]))
    body = body_of(name)
    count = 20 if name.startswith("go2") else 5
    worst = throw(body, *thrown_states(body, count, rng), friction, restitution, "rk4", 1e-3)
    assert worst.diverged == 0
    assert worst.depth < 1e-7
    assert worst.gain < 2e-5  # 1e-5 at most, where joints turn at 80 rad/s: RK4 under forces that change within a step
    # an impact that is not solved may count 16 times; with dry friction and limits 1 of 20 motions comes to rest in a
    # state in which many steps are not solved
    assert worst.unsolved <= count * 1000 * (0.1 if name.endswith("both") else 2e-3)


@pytest.mark.long
@pytest.mark.parametrize(("name", "h", "method", "friction", "most"), [
    ("go2", 5e-3, "rk4", 1.0, 5e-5),
    ("go2", 5e-3, "rk4", 1.5, 5e-5),
    ("go2", 1e-3, "implicit", 0.5, 1e-4),
])  # fmt: skip
def test_fast_legs_gain_no_energy(name, h, method, friction, most):
    """Held impulses of legs at 85 rad/s doubled the energy of a step of 5 ms; those that were predicted for points that
    then lifted off gained 0.3 J."""
    body = body_of(name)
    worst = throw(body, *thrown_states(body, 40, np.random.default_rng(5)), friction, 0.0, method, h)
    assert worst.diverged == 0
    assert worst.depth < 1e-7
    assert worst.gain < most


@pytest.mark.parametrize("method", ["euler", "implicit"])
def test_other_methods_gain_nothing_beyond_their_own_error(method, rng):
    body = body_of("box")
    worst = throw(body, *thrown_states(body, 20, rng), 0.5, 0.5, method, 1e-3)
    assert worst.depth < 1e-7
    assert worst.gain < 1e-9


@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (0.5, 2.0), (-2.0, -0.5)])
@pytest.mark.parametrize(("lo", "hi"), [(-0.3, 0.3), (0.0, 0.0)])
def test_a_joint_row_is_on_its_graph(lo, hi, low, high):
    """Also where it has to move: its limits leave it only speeds of one sign."""
    B, rest = 2.0, min(max(low, 0.0), high)
    for free in np.linspace(-4.0, 4.0, 41):
        x = float(row_impulse(B, free, 0.0, (lo, hi, low, high)))
        u = free + B * x
        assert low - 1e-12 <= u <= high + 1e-12
        assert x <= hi + 1e-12 or abs(u - low) < 1e-12
        assert x >= lo - 1e-12 or abs(u - high) < 1e-12
        assert u <= rest + 1e-12 or x <= lo + 1e-12
        assert u >= rest - 1e-12 or x >= hi - 1e-12


def test_a_plate_does_not_sink_in():
    """It hits the ground with one corner after the other, within milliseconds."""
    model, points, _, _ = thrown("plate", 1, np.random.default_rng(0))
    q = [-0.5904265787905975, 0.4042621343749983, 0.5568526032259008, 0.42176268214333373, 0, 0, 0.2538490054932976]
    v = [0, 0, 0, -3.9108329232957493, 0.9733774103486653, 0.564086499891918]
    motion = sixd.simulate(model, q, v, 0.05, forces=sixd.RigidGround({"body": points}, friction=0.0))
    assert heights(model, motion.q, points).min() > -2e-9
    assert np.diff(motion.energy).max() < 1e-9


def test_an_elastic_rod_gains_no_energy():
    """One end hits the ground while another edge touches it."""
    model, points, _, _ = thrown("rod", 1, np.random.default_rng(0))
    q = [-0.7198090285514179, -0.13651830968313566, -0.6386753291654264, 0.23522656621342325]
    q += [0.8312200525401355, 0.7387713355834539, 1.210841727625931]
    v = [0.513053058822926, 5.007823889482711, 7.880174412420083]
    v += [0.9614681080022027, -2.23626224377427, -0.9470964083866551]
    ground = sixd.RigidGround({"body": points}, friction=0.0, restitution=1.0)
    motion = sixd.simulate(model, q, v, 1.0, forces=ground)
    assert np.diff(motion.energy).max() < 1e-9  # RK4's own error
    assert motion.facts["unsolved"] == 0


@pytest.mark.parametrize("speed", [1e-4, 1e-2, 1.0])
def test_slow_impacts_rebound_without_gravity(speed):
    model = sixd.ModelBuilder("ball", gravity=(0, 0, 0))
    model.add_body("body", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    ground = sixd.RigidGround({"body": (0, 0, 0, 0.1)}, restitution=0.5)
    start = [1, 0, 0, 0, 0, 0, 0.1 + 0.0105 * speed]
    motion = sixd.simulate(model.build(), start, [0, 0, 0, 0, 0, -speed], 0.02, forces=ground)
    assert_allclose(motion.qd[-1, 5], 0.5 * speed, rtol=0, atol=1e-10)  # what the solver leaves
