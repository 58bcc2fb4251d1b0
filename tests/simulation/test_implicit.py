"""Linearly implicit steps (ROS2-W): second order with exact derivatives, L-stable, Heun's method where nothing is
stiff.
"""

import dataclasses
import warnings

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm

import robots
import samples
import sixd
from sixd.forces.elements import Applied
from sixd.simulation.problem import Problem
from sixd.simulation.stepping import implicit
from sixd.simulation.stepping.base_steps import HeldForces, base_step
from sixd.spatial import sin
from sixd.trace.stages import trace_stages

GAMMA = 1 - 1 / np.sqrt(2)
ARMS = ["two_link_arm", "pr_arm", "rp_arm", "point_arm", "craig_arm", "ur_arm", "panda_arm", "puma560"]


def quiet(system, q, qd, duration, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.SimulationWarning)
        return sixd.simulate(system, q, qd, duration, **options)


def cart(damping=0.0, stiffness=0.0, mass=1.0):
    """A mass on a line, without gravity."""
    builder = sixd.ModelBuilder("cart", gravity=(0, 0, 0))
    builder.add_body("cart", "world", sixd.Prismatic([1, 0, 0]), inertia=sixd.sphere(0.1, mass=mass))
    return dataclasses.replace(builder.build(), damping=np.array([damping]), stiffness=np.array([stiffness]))


def passive(model, rng, stiffness=5.0, damping=1.0):
    """The model with dampers and springs in all joints, and without friction."""
    return dataclasses.replace(
        model,
        damping=rng.uniform(0.5, 1, model.nv) * damping,
        stiffness=rng.uniform(0.5, 1, model.nv) * stiffness,
        rest=model.random_configuration(rng),
        friction=np.zeros(model.nv),
    )


def difference(system, a, b):
    """Return the largest difference of two states at the end."""
    return max(np.abs(system.difference(a.q[-1], b.q[-1])).max(), np.abs(a.qd[-1] - b.qd[-1]).max())


def orders(system, q, qd, duration, h, true=None, **options):
    """Return errors at the end with steps h, h/2 and h/4, and the orders between them."""
    if true is None:
        true = quiet(system, q, qd, duration, dt=h / 64, record_every=10**6, **options)
    found = [quiet(system, q, qd, duration, dt=h / 2**k, method="implicit", **options) for k in range(3)]
    errors = np.array([difference(system, x, true) for x in found])
    return errors, np.log2(errors[:-1] / errors[1:])


# one step -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("damping", "stiffness"), [(0.0, 0.0), (3.0, 0.0), (0.0, 50.0), (7.0, 400.0), (1e6, 1e9)])
def test_a_step_of_a_linear_oscillator_is_the_rational_function(damping, stiffness):
    """R(z) = (1 + (1 - 2γ) z) / (1 - γ z)² of the matrix z = h A."""
    h, x = 0.1, np.array([0.3, -2.0])
    z = h * np.array([[0.0, 1.0], [-stiffness, -damping]])
    one = np.eye(2)
    expected = np.linalg.solve((one - GAMMA * z) @ (one - GAMMA * z), (one + (1 - 2 * GAMMA) * z) @ x)
    q, qd = sixd.step(cart(damping, stiffness), x[:1], x[1:], h, method="implicit")
    # forces of 1e9 N cancel to 1e-5 of themselves
    assert_allclose([q[0], qd[0]], expected, rtol=1e-9, atol=1e-12 * max(1, stiffness * 1e-3))


def test_stiff_dampers_and_springs_come_to_rest():
    """L-stability: at h λ = 1e6 and beyond, the rest of a motion vanishes in a few steps."""
    damped = quiet(cart(1e9), [1.0], [1.0], 0.01, method="implicit")
    assert np.all(np.abs(np.diff(np.log(np.abs(damped.qd[:4, 0])))) > 10)
    assert abs(damped.q[-1, 0] - 1) < 1e-8
    sprung = quiet(cart(0.0, 1e18), [1e-3], [0.0], 0.02, method="implicit")  # h ω = 1e6
    assert np.abs(sprung.q[-1]).max() < 1e-30
    slow = quiet(cart(1e12, 1e12), [1.0], [0.0], 0.5, method="implicit")  # the slow mode is exp(-t)
    assert_allclose(slow.q[:, 0], np.exp(-slow.t), atol=2e-7)  # of second order in h = 1 ms


@pytest.mark.parametrize("name", ["ur_arm", "spinning_top"])
def test_without_derivatives_it_is_heuns_method(name, rng):
    system = sixd.zoo.get(name)
    q, qd, h, tau = system.random_configuration(rng), rng.uniform(-1, 1, system.nv), 1e-2, rng.normal(size=system.nv)
    a = sixd.forward_dynamics(system, q, qd, tau)
    after = sixd.forward_dynamics(system, q + h * qd + GAMMA * h * h * a, qd + h * a, tau)
    found = sixd.step(system, q, qd, h, method="implicit", controller=tau)
    # Heun's in v; the second stage is at a configuration of second order, κ1 = v + γh a
    assert_allclose(found[1], qd + h / 2 * (a + after), rtol=0, atol=1e-12)


def test_order_against_an_exact_solution():
    """Two masses coupled by springs and dampers, one of them stiff."""
    builder = sixd.ModelBuilder("two", gravity=(0, 0, 0))
    builder.add_body("a", "world", sixd.Prismatic([1, 0, 0]), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_body("b", "a", sixd.Prismatic([1, 0, 0]), inertia=sixd.sphere(0.1, mass=0.01))
    model = builder.build()
    K, D = np.array([[30.0, -5.0], [-4.0, 2e3]]), np.array([[0.5, 0.1], [0.3, 1.0]])
    M = sixd.mass_matrix(model, [0.0, 0.0])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    x = expm(A * 0.5) @ [0.1, 0.02, 1.0, -1.0]
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        motion = quiet(
            model, [0.1, 0.02], [1.0, -1.0], 0.5, dt=h, method="implicit", controller=lambda t, q, qd: -K @ q - D @ qd
        )
        errors.append(np.abs(np.concatenate([motion.q[-1], motion.qd[-1]]) - x).max())
    assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2, atol=0.1)


# all joints and forces ----------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("kind", samples.KINDS)
def test_second_order_with_dampers_and_springs_in_every_joint(kind, rng):
    model = passive(samples.single_joint(kind), rng)
    _, found = orders(model, model.random_configuration(rng), rng.uniform(-1, 1, model.nv), 0.1, 4e-3)
    assert_allclose(found, 2, atol=0.1)


@pytest.mark.long
def test_second_order_of_a_tree_under_a_controller(rng):
    model = passive(samples.trees()[1], rng)
    law = sixd.controllers.PD(model.random_configuration(rng), 5.0, 1.0, model=model, gravity=True)
    _, found = orders(model, model.random_configuration(rng), rng.uniform(-1, 1, model.nv), 0.1, 4e-3, controller=law)
    assert_allclose(found, 2, atol=0.1)


@pytest.mark.long
def test_second_order_with_forces_on_bodies(rng):
    """f_ext as a function, a spring and damper between frames, and a state of an element."""
    builder = sixd.ModelBuilder("box")
    builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(0.2, 0.1, 0.1, mass=0.5))
    box = builder.build()

    def drag(t, q, qd):
        v = sixd.velocity(box, q, qd, "box", expressed_in="aligned")[3:]
        return sixd.external_force(box, q, "box", v * -(1 + sin(t)), point=[0.01, 0.02, 0.03], expressed_in="aligned")

    q, qd = [0.8, 0.6, 0, 0, 0, 0, 0.5], [1, 2, 3, 1, 1, 0]
    spring = sixd.SpringDamper("world", "box", 50.0, 1.0, 0.3)
    for options in ({"f_ext": drag}, {"forces": spring}, {"forces": [spring, Maxwell(1.0, 0.05)]}):
        _, found = orders(box, q, qd, 0.1, 4e-3, **options)
        assert_allclose(found, 2, atol=0.15)


@dataclasses.dataclass(frozen=True)
class Maxwell(sixd.Force):
    """A spring in series with a damper on every DoF: rate u' = qd - u/T, force -k u."""

    k: float
    T: float

    def size(self, model):
        return model.nv

    def apply(self, model, t, q, qd, u):
        return Applied(u * -self.k, rate=qd - u / self.T)


@pytest.mark.parametrize("T", [1e-6, 1.0])
def test_stiff_states_of_elements_are_linearised_too(T):
    """A relaxation in 1 µs is a damper k T; one in 1 s with a stiff spring holds the mass."""
    model = cart()
    motion = quiet(model, [0.0], [1.0], 0.1, dt=1e-3, method="implicit", forces=Maxwell(1e7, T))
    assert np.isfinite(motion.q).all()
    if T == 1e-6:
        assert_allclose(motion.qd[:, 0], np.exp(-10 * motion.t), atol=1e-5)  # k T = 10, of second order
    else:
        assert np.abs(motion.q).max() < 2e-3
    coarse = quiet(model, [0.0], [1.0], 0.1, dt=1e-3, forces=Maxwell(1e7, T))
    assert not np.abs(coarse.q[-1, 0]) < 1e6


@pytest.mark.long
def test_a_box_rests_on_compliant_ground_with_long_steps():
    """Points that do not touch have zero derivatives, and no NaN from the root of their depth."""
    builder = sixd.ModelBuilder("box")
    builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(0.2, 0.1, 0.1, mass=0.5))
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
    ground = sixd.Ground({"box": corners}, friction=0.5)
    slid = quiet(
        builder.build(), [1, 0, 0, 0, 0, 0, 0.05], [0, 0, 0, 1.0, 0, 0], 0.5, dt=5e-3, method="implicit", forces=ground
    )
    assert slid.facts["unsolved"] == 0
    assert_allclose(slid.q[-1, 4], 1 / (2 * 0.5 * 9.81), atol=1e-3)  # v²/2μg, with steps of 5 mm
    assert np.abs(slid.qd[-1]).max() < 1e-6  # the rest of its rocking


# other systems ------------------------------------------------------------------------------------


def linkage():
    model = dataclasses.replace(
        sixd.zoo.four_bar(), damping=np.array([2.0, 1.0, 3.0]), stiffness=np.array([1.0, 10.0, 0.0])
    )
    return model, sixd.assemble(model, [np.pi / 3, -0.5, 1.6], fixed=["crank"])


@pytest.mark.parametrize("constraints", ["projected", "stabilised"])
def test_second_order_on_loops(constraints):
    model, q = linkage()

    def law(t, q, qd):
        return np.array([sin(3 * t) - 2 * qd[1], -4 * q[0], 0 * t])

    _, found = orders(model, q, None, 0.1, 4e-3, controller=law, constraints=constraints)
    assert_allclose(found, 2, atol=0.1)


def test_stiff_dampers_on_loops():
    """A mechanism of light bodies under gains that make h λ = 2e4 stays on its loops, and moves as with short steps.

    Its configuration is of second order; its velocity of first, because the forces of loops are not linearised.
    """
    model = sixd.zoo.andrews()
    q = sixd.assemble(model, sixd.zoo.ANDREWS_START)
    law = sixd.controllers.PD(model.neutral(), 100.0, 20.0, model=model)
    found = [quiet(model, q, None, 0.1, dt=dt, method="implicit", controller=law) for dt in (1e-3, 5e-4, 1e-4)]
    assert found[0].constraint_error.max() < 1e-12
    long, half, short = (motion.q[-1] for motion in found)
    assert np.abs(long - short).max() < 1e-7
    assert np.abs(long - short).max() > 3.5 * np.abs(half - short).max()


def test_second_order_in_reduced_coordinates():
    builder = sixd.ModelBuilder("mimic")
    arm = sixd.box(0.3, 0.1, 0.1, mass=1.0)
    for name, parent, axis in (("a", "world", [0, 0, 1]), ("b", "a", [0, 1, 0]), ("c", "b", [1, 0, 0])):
        pose = sixd.spatial.placement([0.3, 0, 0])
        builder.add_body(name, parent, sixd.Revolute(axis), placement=pose, inertia=arm)
    model = samples.constrained(builder.build(), sixd.Mimic("c", "a", 2.0, 0.1))
    model = dataclasses.replace(model, damping=np.array([1.0, 0.5, 2.0]), stiffness=np.array([1.0, 5.0, 20.0]))
    reduced = model.reduce()
    spring = sixd.SpringDamper("world", "c", 50.0, 1.0, 0.3)
    _, found = orders(reduced, [0.3, 0.2], [1.0, -1.0], 0.1, 4e-3, forces=spring)
    assert_allclose(found, 2, atol=0.1)
    hard = dataclasses.replace(model, damping=np.array([0.0, 0.0, 1e6])).reduce()
    held = quiet(hard, [0.3, 0.2], [0.0, -1.0], 0.1, method="implicit")
    assert np.abs(held.qd[-1, 0]) < 1e-4  # the damper of the dependent joint holds its leader


def test_springs_and_dampers_of_lagrangian_systems():
    x, y, k, d = sympy.symbols("x y k d")
    xd, yd = sympy.symbols("xd yd")
    system = sixd.lagrange(
        (xd**2 + yd**2 * (1 + x**2)) / 2, k * (x - y) ** 2 / 2 + x**2, [x, y], qd=[xd, yd], dissipation=d * xd**2 / 2
    )
    soft = system.substitute({k: 10.0, d: 2.0})
    _, found = orders(soft, [0.3, 0.1], [1.0, 0.0], 0.2, 8e-3)
    assert_allclose(found, 2, atol=0.1)
    hard = quiet(system.substitute({k: 1e10, d: 1.0}), [0.3, 0.3], [0.0, 0.0], 1.0, method="implicit")
    assert np.abs(hard.q[-1, 0] - hard.q[-1, 1]) < 1e-8
    equations = sixd.equations(cart(1e9))
    assert_array_equal(quiet(equations, [1.0], [1.0], 0.01, method="implicit").failed, 0)


# derivatives, and parts of steps ------------------------------------------------------------------


@pytest.mark.long
def test_force_derivatives_agree_with_differences(rng):
    """Central differences in the tangent space; structural zeros are the int 0."""
    model = passive(samples.trees()[0], rng)
    law = sixd.controllers.PD(model.random_configuration(rng), 3.0, 2.0, model=model)
    problem = Problem("test", model, law=law)
    shapes = {"t": (), "q": (model.nq,), "qd": (model.nv,), "u": (0,)}
    program = problem.traced(lambda *state: implicit.slopes(problem, *state), shapes)
    q, qd = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    M, D, K = program.evaluate(0.0, q, qd, np.zeros(0))
    assert_allclose(M, sixd.mass_matrix(model, q), atol=1e-12)
    bare = model.without_passive()

    def force(q, qd):
        bias = sixd.bias_force(model, q, qd) - sixd.bias_force(bare, q, qd)
        return np.asarray(law(0.0, q, qd), dtype=float) - bias

    small = 1e-6
    for k, e in enumerate(np.eye(model.nv) * small):
        by_qd = (force(q, qd + e) - force(q, qd - e)) / (2 * small)
        by_q = (force(model.integrate(q, e), qd) - force(model.integrate(q, -e), qd)) / (2 * small)
        assert_allclose(D[:, k], -by_qd, atol=1e-7)  # differences of 1e-6
        assert_allclose(K[:, k], -by_q, atol=1e-7)


@pytest.mark.long
def test_forces_held_and_a_known_start(rng):
    """A held force acts like a constant one, and a start whose acceleration is known gives the same step."""
    model = passive(samples.trees()[1], rng)
    problem = Problem("test", model)
    hold = HeldForces(model.nv, lambda system, q, force: Applied(force))
    take = base_step(problem, "implicit", "float64", hold)
    state = {"q": (model.nq,), "qd": (model.nv,)}
    no_state = np.zeros(0, dtype=int)

    def step(stages, q, qd, force, qdd):
        return take(stages, 0.0, 1e-3, q, qd, no_state, (), force)[:2]

    def known_step(stages, q, qd, force, qdd):
        return take(stages, 0.0, 1e-3, q, qd, no_state, (), force, (qdd, no_state))[:2]

    q, qd, force = model.random_configuration(rng), rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nv)
    qdd = sixd.forward_dynamics(model, q, qd, force)
    expected = sixd.step(model, q, qd, 1e-3, method="implicit", controller=force)
    for one in (step, known_step):
        recipe = trace_stages(one, state, {"force": (model.nv,), "qdd": (model.nv,)})
        for found, true in zip(recipe.evaluate(q, qd, force, qdd), expected, strict=True):
            assert_allclose(found, true, atol=1e-12)


# runs ---------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("name", ARMS)
def test_arms_under_high_gains(name):
    """kp = 100, kd = 20 at 1 ms, where RK4 diverges on most: within 5e-6 of the stiff method, of second order."""
    rng = np.random.default_rng(0)
    model = sixd.zoo.get(name)
    model = dataclasses.replace(model, friction=np.zeros(model.nv))
    low, high = np.where(np.isfinite(model.lower), model.lower, -2), np.where(np.isfinite(model.upper), model.upper, 2)
    q = np.clip(rng.uniform(low, high) / 2, low, high)
    options = {"controller": sixd.controllers.PD(np.clip(q + 0.3, low, high), 100.0, 20.0)}
    true = quiet(model, q, None, 3.0, dt=0.05, method="stiff", rtol=1e-9, **options)
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        motion = quiet(model, q, None, 3.0, dt=h, method="implicit", record_every=round(0.05 / h), **options)
        assert motion.facts["unsolved"] == 0
        errors.append(np.abs(motion.q - true.q).max())
    assert errors[0] < 5e-6
    assert np.log2(errors[0] / errors[2]) > 3.5  # twice the order; arms with stiff wrists gain more at first


@pytest.mark.long
@pytest.mark.parametrize("name", ["ur5", "talos"])
def test_robots_under_high_gains_stay_finite(name):
    model = robots.quiet_load(robots.FIVE[name])
    model = dataclasses.replace(model, friction=np.zeros(model.nv))
    q = model.random_configuration(np.random.default_rng(0))
    law = sixd.controllers.PD(q + 0.3, 100.0, 20.0)
    motion = quiet(model, q, None, 3.0, method="implicit", controller=law, record_every=100)
    assert np.isfinite(motion.q).all()
    assert np.abs(motion.qd[-1]).max() < 0.1


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sample_does_not_depend_on_its_neighbours(dtype, rng):
    arm = sixd.zoo.ur_arm()
    q = rng.uniform(-1, 1, (5, 6)).astype(dtype)
    qd = np.zeros_like(q)
    q[2, 3] = np.nan
    law = sixd.controllers.PD(np.zeros(6), 100.0, 20.0)
    many = quiet(arm, q, qd, 0.02, method="implicit", controller=law)
    assert many.q.dtype == dtype
    assert many.failed == 1
    assert many.facts["unsolved"] == [0] * 5
    for k in (0, 1, 3, 4):
        alone = quiet(arm, q[k], qd[k], 0.02, method="implicit", controller=law)
        assert_array_equal(many.q[k], alone.q)
        assert_array_equal(many.qd[k], alone.qd)
    first = sixd.step(arm, q[0], qd[0], 1e-3, method="implicit", controller=law)
    assert_array_equal(first[0], many.q[0, 1])
    together = sixd.step(arm, q, qd, 1e-3, method="implicit", controller=law)
    assert_array_equal(together[1][[0, 1, 3, 4]], many.qd[[0, 1, 3, 4], 1])
    assert quiet(arm, q[:0], None, 0.02, method="implicit", controller=law).q.shape == (0, 21, 6)


def test_single_precision_agrees_with_double(rng):
    arm = sixd.zoo.panda_arm()
    q = rng.uniform(-0.5, 0.5, arm.nq).astype("float32")
    law = sixd.controllers.PD(np.zeros(arm.nq), 100.0, 20.0)
    single = quiet(arm, q, np.zeros_like(q), 0.5, method="implicit", controller=law)
    double = quiet(arm, q.astype(float), None, 0.5, method="implicit", controller=law)
    assert_allclose(single.q[-1], double.q[-1], atol=1e-4)  # 500 steps of single precision


def test_ensembles(rng):
    arm = sixd.zoo.ur_arm()
    starts = rng.uniform(-1, 1, (6, 6))
    law = sixd.controllers.PD(np.zeros(6), 100.0, 20.0)
    found = sixd.ensemble(arm, starts, None, 0.02, method="implicit", controller=law)
    assert_array_equal(found.q, quiet(arm, starts, None, 0.02, method="implicit", controller=law).q)


def test_parameters_of_samples():
    """Damping as a parameter is linearised, sample by sample."""
    model = cart()
    motion = quiet(model, [0.0], [1.0], 0.01, method="implicit", parameters={"damping": [[1e9], [1.0]]})
    assert abs(motion.qd[0, -1, 0]) < 1e-12
    assert_allclose(motion.qd[1, -1, 0], np.exp(-0.01), rtol=1e-8)


# extreme forces -------------------------------------------------------------------------------------


def test_forces_that_drive_are_counted():
    """If a step cannot follow them, the matrix is not positive definite: counted, warned of, and the sample continues."""
    with pytest.warns(sixd.SimulationWarning, match="in 10 steps the matrix"):
        motion = sixd.simulate(cart(), [1.0], [1.0], 0.01, method="implicit", controller=lambda t, q, qd: qd * 1e12)
    assert motion.facts["unsolved"] == 10
    assert np.isfinite(motion.q).all()
    mild = quiet(cart(), [1.0], [1.0], 0.01, method="implicit", controller=lambda t, q, qd: qd * 10)
    assert mild.facts["unsolved"] == 0
    assert_allclose(mild.qd[-1, 0], np.exp(0.1), rtol=1e-6)  # of second order


def test_huge_gains():
    arm = sixd.zoo.ur_arm()
    law = sixd.controllers.PD(np.zeros(6), 1e12, 1e9)
    motion = quiet(arm, np.full(6, 0.1), None, 0.1, method="implicit", controller=law)
    assert np.abs(motion.q[-1]).max() < 1e-9


def test_sampled_forces_are_not_linearised():
    """Held between samples they are explicit; the message about the divergence says what helps."""
    arm, law = sixd.zoo.ur_arm(), sixd.controllers.PD(np.zeros(6), 100.0, 20.0)
    with pytest.warns(sixd.SimulationWarning, match="forces held between samples") as caught:
        motion = sixd.simulate(
            arm, np.full(6, 0.1), None, 0.1, method="implicit", controller=lambda *x: law(*x), sample_time=1e-3
        )
    assert motion.failed == 1
    assert any('method="implicit"' in str(w.message) for w in caught)


def test_no_step_is_too_long():
    with warnings.catch_warnings():
        warnings.simplefilter("error", sixd.SimulationWarning)
        sixd.simulate(cart(1e6, 1e9), [0.1], [1.0], 0.01, method="implicit")
