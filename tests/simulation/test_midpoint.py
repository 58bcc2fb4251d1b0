"""The implicit midpoint rule: symplectic, conserves momenta, reversible, and reports iterations that do not converge."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import samples
import sixd
from sixd.model.joints.base import Joint
from sixd.simulation.problem import Problem
from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.compiled_steps import make_recipe


class Axes(sixd.Joint):
    """Planar motion with velocities in the moving body's axes: q = (angle, x, y), a group without quaternions."""

    nq = nv = 3

    def transform(self, q):
        return sixd.spatial.rotz(q[0]) @ sixd.spatial.xlt([q[1], q[2], 0])

    def subspace(self, q):
        return np.array([[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]).T

    def configuration_rate(self, q, qd):
        s, c = sixd.spatial.sin(q[0]), sixd.spatial.cos(q[0])
        return np.array([qd[0], c * qd[1] - s * qd[2], s * qd[1] + c * qd[2]])

    def integrate(self, q, dq):
        # arc of a constant velocity in moving axes: V maps it to a displacement
        V = _arc(dq[0])
        s, c = sixd.spatial.sin(q[0]), sixd.spatial.cos(q[0])
        x, y = V @ dq[1:]
        return np.array([q[0] + dq[0], q[1] + c * x - s * y, q[2] + s * x + c * y])

    def difference(self, q0, q1):
        V = _arc(q1[0] - q0[0])
        s, c = sixd.spatial.sin(q0[0]), sixd.spatial.cos(q0[0])
        dx, dy = q1[1] - q0[1], q1[2] - q0[2]
        x, y = c * dx + s * dy, c * dy - s * dx
        det = V[0, 0] * V[0, 0] + V[1, 0] * V[1, 0]
        return np.array([q1[0] - q0[0], (V[0, 0] * x + V[1, 0] * y) / det, (V[0, 0] * y - V[1, 0] * x) / det])


def _arc(a):
    """Return ∫₀¹ of the rotation by s a, from a series that is exact to rounding for |a| < 0.5."""
    terms = [1.0]
    for k in range(1, 14):
        terms.append(terms[-1] * a / (k + 1))
    even = sum(x * (-1) ** k for k, x in enumerate(terms[::2]))
    odd = sum(x * (-1) ** k for k, x in enumerate(terms[1::2]))
    return np.array([[even, -odd], [odd, even]])


def free_tree(rng, gravity=(0, 0, 0)):
    """A free body that carries a revolute, a universal and a spherical joint."""
    builder = sixd.ModelBuilder("free tree", gravity)
    joints = {"a": sixd.Free(), "b": sixd.Revolute([1, 2, 3]), "c": sixd.Spherical(), "d": sixd.Universal()}
    for name, parent in zip(joints, ("world", "a", "b", "a"), strict=True):
        points = [
            sixd.Inertia(m, p) for m, p in zip(rng.uniform(0.2, 1, 4), rng.uniform(-0.4, 0.4, (4, 3)), strict=True)
        ]
        pose = sixd.spatial.placement(rng.uniform(-0.3, 0.3, 3))
        builder.add_body(name, parent, joints[name], placement=pose, inertia=sum(points, sixd.Inertia(0.0)))
    return builder.build()


# coadjoint ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", [sixd.Spherical(), sixd.Free()], ids=repr)
def test_coadjoint_is_that_of_the_joints_brackets(joint, rng):
    """The closed forms of SO(3) and SE(3) against derivatives of the joint's own motions."""
    for _ in range(3):
        q = joint.random(rng, np.full(joint.nq, -1.0), np.full(joint.nq, 1.0))
        v, p = rng.standard_normal((2, joint.nv))
        assert_allclose(joint.coadjoint(q, v, p), Joint.coadjoint(joint, q, v, p), atol=1e-13)
        assert abs(joint.coadjoint(q, v, p) @ v) < 1e-13  # [v, v] = 0


def test_coadjoint_of_coordinates_on_lines_is_zero(rng):
    for kind in samples.KINDS:
        joint = samples.single_joint(kind).joints[2 if kind != "revolute" else 1]
        if joint.nq == joint.nv:
            q, v, p = rng.standard_normal((3, joint.nv))
            assert not joint.coadjoint(q, v, p).any()


def test_coadjoint_of_a_users_group(rng):
    """se(2): [v, w] = (0, w0 v2 - v0 w2 …), derived by hand."""
    q, v, p = rng.uniform(-0.4, 0.4, 3), *rng.standard_normal((2, 3))
    w = np.eye(3)
    brackets = [np.array([0, w[k, 0] * v[2] - v[0] * w[k, 2], v[0] * w[k, 1] - w[k, 0] * v[1]]) for k in range(3)]
    assert_allclose(Axes().coadjoint(q, v, p), [b @ p for b in brackets], atol=1e-13)


# conserved quantities -------------------------------------------------------------------------------


def step_in_momenta(model, h):
    """Return one step as a function (q, p) -> (q, p), from the reference, iterated to rounding."""
    recipe = make_recipe(Problem("test", model), "midpoint")

    def step(z):
        q, p = z[..., : model.nv], z[..., model.nv :]
        v = np.linalg.solve(sixd.mass_matrix(model, q), p[..., None])[..., 0]
        _, q, p, _, _ = recipe.evaluate(np.zeros(z.shape[:-1]), q, p, v, np.zeros((*z.shape[:-1], 0)), h, 0.0)
        return np.concatenate([q, p], axis=-1)

    return step


@pytest.mark.parametrize("z", [[1.2, 0.8, 0.0, 0.0], [0.3, -2.0, 1.5, 0.7]])
def test_a_step_of_the_double_pendulum_is_symplectic(z):
    """JᵀΩJ = Ω for the Jacobian J in (q, p), by central differences of order 8."""
    model, n = sixd.zoo.pendulum(2), 4
    step = step_in_momenta(model, 0.02)
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    e = 1e-2  # the ninth power is at rounding, rounding over it below 1e-12
    J = sum(
        w / e * (step(np.array(z) + k * e * np.eye(n)) - step(np.array(z) - k * e * np.eye(n)))
        for k, w in weights.items()
    ).T
    omega = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    assert_allclose(J.T @ omega @ J, omega, atol=1e-9)
    assert np.abs(J - np.eye(4)).max() > 1e-2


@pytest.mark.long
def test_spatial_momentum_of_a_free_tree_is_conserved(rng):
    """Linear and angular momentum about the world's origin over 3000 steps, some turns of each body."""
    model = free_tree(rng)
    q, qd = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    motion = sixd.simulate(model, q, qd, 15.0, dt=5e-3, method="midpoint", record_every=100)
    momentum = sixd.momentum(model, motion.q, motion.qd)
    assert np.abs(momentum[0]).max() > 0.5
    assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-10)
    assert np.ptp(motion.energy) < 1e-3 * motion.energy[0]
    quaternions = np.concatenate([motion.q[:, :4], motion.q[:, 8:12]])
    assert_allclose(np.linalg.norm(quaternions, axis=1), 1, atol=1e-12)


def test_no_trend_of_energy():
    """Over 1e5 steps of 10 ms the energy error is as large at the end as at the beginning; rk4's energy falls all the
    time.
    """
    model = sixd.zoo.pendulum(2)
    trend = {}
    for method in ("midpoint", "rk4"):
        energy = sixd.simulate(model, [1.2, 0.8], None, 1000.0, dt=0.01, method=method, record_every=7).energy
        halves = np.array_split(energy - energy[0], 2)
        trend[method] = abs(halves[1].mean() - halves[0].mean())
        if method == "midpoint":
            assert np.abs(halves[1]).max() < 1.3 * np.abs(halves[0]).max() < 0.2
    assert trend["midpoint"] < 1e-3 < 0.05 < trend["rk4"]


@pytest.mark.long
def test_time_is_reversible(rng):
    """With the velocity reversed, the steps lead back, up to the error of the iterations."""
    for model in (free_tree(rng, (0, 0, -9.81)), sixd.zoo.pendulum(2)):
        q, qd = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
        there = sixd.simulate(model, q, qd, 0.5, dt=0.01, method="midpoint")[-1]
        back = sixd.simulate(model, there.q, -there.qd, 0.5, dt=0.01, method="midpoint")[-1]
        assert_allclose(model.difference(q, back.q), 0, atol=1e-9)
        assert_allclose(back.qd, -qd, atol=1e-9)


def test_a_users_group_and_the_same_joint_in_plain_coordinates(rng):
    """Velocities in moving axes or along the coordinates: two steps of second order to one motion."""
    ends = {}
    for joint in (Axes(), sixd.Planar()):
        builder = sixd.ModelBuilder("body", (0, -9.81, 0))
        builder.add_body("a", "world", joint, inertia=sixd.Inertia(2.0, [0.1, 0.2, 0], np.diag([1.0, 2.0, 0.3])))
        builder.add_body("b", "a", sixd.Revolute("z"), inertia=sixd.Inertia(1.0, [0.3, 0, 0], np.diag([1.0, 2.0, 0.1])))
        model = builder.build()
        start = [0.0, 0.1, 0.2, 0.5]
        ends[type(joint)] = [
            sixd.simulate(model, start, [1.0, 0.3, -0.2, 2.0], 0.5, dt=0.5 / n, method="midpoint")[-1].q
            for n in (50, 100, 200)
        ]
    errors = [np.abs(a - b).max() for a, b in zip(*ends.values(), strict=True)]
    assert errors[0] < 1e-3
    for coarse, fine in itertools.pairwise(errors):
        assert 3.5 < coarse / fine < 4.5


@pytest.mark.long
def test_passive_forces_and_a_controller(rng):
    """Damping, springs, armature and a controller: the same motion as rk4's."""
    model = sixd.zoo.random_tree(3, kinds=("revolute", "spherical"))
    model = model.without_passive() if not model.damping.any() else model
    q, qd = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)

    def law(t, q, qd):
        return qd * -0.5 + sixd.spatial.sin(t * 3)

    options = {"controller": law, "parameters": {"friction": np.zeros(model.nv)}}
    best = sixd.simulate(model, q, qd, 0.4, dt=1e-3, **options)[-1]
    ends = [sixd.simulate(model, q, qd, 0.4, dt=0.4 / n, method="midpoint", **options)[-1] for n in (40, 80)]
    errors = [np.abs(np.append(model.difference(best.q, x.q), x.qd - best.qd)).max() for x in ends]
    assert errors[0] < 1e-2
    assert 3.5 < errors[0] / errors[1] < 4.5


# bits, precision, failure -----------------------------------------------------------------------------


def test_a_sample_has_the_same_bits_alone_and_in_a_batch(rng):
    model = samples.single_joint("spherical", passive=False)
    q = np.array([model.random_configuration(rng) for _ in range(19)])
    qd = rng.uniform(-2, 2, (19, model.nv))
    options = {"method": "midpoint", "dt": 0.01}
    whole = sixd.simulate(model, q, qd, 0.1, **options)
    for k in (0, 7, 8, 18):
        alone = sixd.simulate(model, q[k], qd[k], 0.1, **options)
        assert_array_equal(alone.q, whole.q[k])
        assert_array_equal(alone.qd, whole.qd[k])


def test_single_precision(rng):
    model = sixd.zoo.pendulum(2)
    q, qd = rng.uniform(-1, 1, (2, 9, 2)).astype(np.float32)
    motion = sixd.simulate(model, q, qd, 0.5, method="midpoint", dt=0.005)
    assert motion.q.dtype == motion.qd.dtype == np.float32
    assert not motion.failed
    exact = sixd.simulate(model, q.astype(float), qd.astype(float), 0.5, method="midpoint", dt=0.005)
    assert_allclose(motion.q, exact.q, atol=1e-4)  # some thousand roundings of 6e-8


def test_samples_that_do_not_converge_are_nan_and_counted():
    """A stiff spring for which the iterations do not converge: 1e6 N/m on 1 kg, steps of 10 ms."""
    builder = sixd.ModelBuilder("spring", (0, 0, 0))
    builder.add_body("mass", "world", sixd.Prismatic("z"), inertia=sixd.Inertia(1.0), stiffness=1e6)
    model = builder.build()
    message = r"2 of 3 rows are not finite from t = 0.01 s on, joint 'mass' first: the step is too long for method 'mid"
    with pytest.warns(sixd.SimulationWarning, match=message):
        motion = sixd.simulate(model, [[0.1], [0.0], [0.2]], None, 0.05, dt=0.01, method="midpoint")
    assert motion.failed == 2
    assert_array_equal(np.isnan(motion.q[:, -1, 0]), [True, False, True])
    assert_array_equal(motion.q[1], np.zeros((6, 1)))  # at rest it stays at rest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sixd.simulate(model, [0.1], None, 0.01, dt=1e-4, method="midpoint").failed == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_guesses_that_lose_most_of_their_speed(dtype):
    """Damping that removes more than half of the speed in a step, by the known factor; and the reversals of a stiff
    spring, where the energy of a guess may shrink faster than its error.
    """
    builder = sixd.ModelBuilder("damped", (0, 0, 0))
    builder.add_body("mass", "world", sixd.Prismatic("z"), inertia=sixd.Inertia(2.0), damping=200.0)
    q, qd, h = np.array([0.1], dtype), np.array([1.0], dtype), 1e-2
    motion = sixd.simulate(builder.build(), q, qd, 5 * h, dt=h, method="midpoint")
    half = h * 200.0 / 2.0 / 2
    factor = ((1 - half) / (1 + half)) ** np.arange(6)
    assert_allclose(motion.qd[:, 0], factor, atol=1e-12 if dtype is np.float64 else 1e-6)
    builder = sixd.ModelBuilder("hard", (0, 0, 0))
    builder.add_body("mass", "world", sixd.Prismatic("z"), inertia=sixd.Inertia(1.0), stiffness=1e6)
    swing = sixd.simulate(builder.build(), q, None, 0.3, dt=6e-4, method="midpoint")
    assert swing.failed == 0
    if dtype is np.float64:  # linear, so the rule conserves the energy to rounding
        assert_allclose(swing.energy, swing.energy[0], rtol=1e-9)  # iterations end at 1e-10 of the speed


def test_constraints_are_rejected():
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, [1.0, -0.5, 1.6], fixed=["crank"])
    with pytest.raises(sixd.ScalarTypeError, match=r"'midpoint' does not take constraints, and 'four_bar' has 1"):
        sixd.simulate(model, q, None, 0.1, method="midpoint")


def test_momentum_and_velocity_are_inverse(rng):
    for model in samples.trees()[:1]:
        q, qd = model.random_configuration(rng), rng.standard_normal(model.nv)
        p = midpoint.momentum(model, q, qd)
        assert_allclose(p, sixd.mass_matrix(model, q) @ qd, atol=1e-12)
        assert_allclose(midpoint.velocity(model, q, p), qd, atol=1e-10)
