"""Linear equations near a motion: closed forms, differences of the nonlinear motion, and every joint type."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from samples import KINDS, single_joint
from sixd.algorithms.aba import aba
from sixd.algorithms.constrained.dynamics import constrained_dynamics
from sixd.algorithms.constrained.rows import constraint_error, constraint_velocity
from sixd.spatial import crm

G = 9.81
FIRST, _, LAST = np.eye(3)


def central(function, h=1e-5):
    """The derivative at 0, to the order of h⁴: errors of 1e-20/h and rounding of 1e-16/h."""
    return (8 * (function(h) - function(-h)) - (function(2 * h) - function(-2 * h))) / (12 * h)


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
def test_trees_by_differences(kind, rng):
    """Without constraints, for every joint type: A x and B u are the derivatives of neighbouring motions."""
    model = single_joint(kind)
    nv = model.nv
    q, qd, tau = model.random_configuration(rng), rng.uniform(-1, 1, nv), rng.uniform(-1, 1, nv)
    linear = sixd.linearize(model, q, qd, tau)
    assert linear.positions == linear.speeds == tuple(range(nv))
    a, b, u = rng.uniform(-1, 1, (3, nv))
    rate = linear.A @ np.concatenate([a, b]) + linear.B @ u

    def moved(size):
        return np.asarray(model.integrate_row(q, a * size), dtype=float)

    def apart(dt):
        """The change between the two motions a moment later, for a small one at first."""
        here = np.asarray(model.integrate_row(q, qd * dt), dtype=float)
        return central(lambda s: model.difference_row(here, model.integrate_row(moved(s), (qd + b * s) * dt)), 1e-3)

    # differences of differences lose half of the digits
    assert_allclose(rate[:nv], central(apart, 1e-3), atol=1e-6 * max(1, np.abs(rate).max()))
    slope = central(lambda s: aba(model, moved(s), qd + b * s, tau + u * s))
    assert_allclose(rate[nv:], slope, atol=1e-7 * max(1, np.abs(rate).max()))


def test_free_body(rng):
    """A change of place and its rate: da/dt = b - qd × a, with the cross product of motion vectors."""
    model = sixd.zoo.single_body()
    q, qd = model.random_configuration(rng), rng.uniform(-1, 1, 6)
    A = sixd.linearize(model, q, qd).A
    assert_allclose(A[:6], np.hstack([-crm(qd), np.eye(6)]), atol=1e-13)
    assert_allclose(A[6:, :6], 0, atol=1e-13)  # nothing depends on where it is, without gravity


def test_damped_pendulum():
    builder = sixd.ModelBuilder("pendulum")
    builder.add_body("bob", "world", sixd.Revolute("y"), inertia=sixd.point(2.0).translated((0, 0, -0.5)), damping=0.3)
    linear = sixd.linearize(builder.build(), [0.4], [0.0], [2.0 * G * 0.5 * np.sin(0.4)])
    assert_allclose(linear.A, [[0, 1], [-G / 0.5 * np.cos(0.4), -0.3 / 0.5]], atol=1e-13)
    assert_allclose(linear.B, [[0], [1 / 0.5]], atol=1e-13)


@pytest.mark.long
@pytest.mark.parametrize("speed", [0.1, 0.5, 3.0])
def test_rolling_disc(speed, rng):
    """Upright at that speed, a uniform thin disc wobbles with ω² = 4(3v²/r² - g/r)/5: it falls below v² = g r / 3."""
    radius = 0.3
    builder = sixd.ModelBuilder("disc")
    inertia = sixd.Inertia(1.5, about_com=1.5 * radius**2 * np.array([0.25, 0.5, 0.25]))
    joints = {"x": sixd.Prismatic("x"), "y": sixd.Prismatic("y"), "z": sixd.Prismatic("z")}
    joints |= {"yaw": sixd.Revolute("z"), "lean": sixd.Revolute("x")}
    for (name, joint), parent in zip(joints.items(), ("world", *joints), strict=False):
        builder.add_body(name, parent, joint)
    builder.add_body("disc", "lean", sixd.Revolute("y"), inertia=inertia)
    builder.add_constraint(sixd.Rolling("disc", radius))
    model = builder.build()
    q = np.array([0, 0, radius, 0, 0, 0.7])
    qd = np.array([speed, 0, 0, 0, 0, speed / radius])
    linear = sixd.linearize(model, q, qd)
    assert (len(linear.positions), len(linear.speeds)) == (5, 3)
    square = 0.8 * (3 * (speed / radius) ** 2 - G / radius)
    expected = np.sqrt(complex(-square))
    # the other six are zeros of multiplicity up to two: rounding moves them by its square root
    for value in (expected, -expected):
        assert np.abs(linear.eigenvalues - value).min() < 1e-10
    assert np.sum(np.abs(linear.eigenvalues) < 1e-5) == 6

    # what x changes satisfies the constraints
    x = rng.uniform(-1, 1, 8)

    def slip(s):
        there, velocity = model.integrate_row(q, linear.dq @ x * s), qd + linear.dqd @ x * s
        return np.concatenate([constraint_error(model, there), constraint_velocity(model, there, velocity)])

    assert_allclose(central(slip, 1e-4), 0, atol=1e-10)


@pytest.mark.parametrize("closed_by", ["planar", "axis"])
def test_loop(closed_by):
    """A four-bar linkage in motion, with and without redundant equations: differences of assembled states."""
    model = sixd.zoo.four_bar(closed_by=closed_by)
    q, qd = sixd.assemble(model, [1.0, -0.5, 1.6], [1.3, 0.0, 0.0], fixed=["crank"])
    tau = np.array([0.7, -0.2, 0.4])
    linear = sixd.linearize(model, q, qd, tau, positions=[0], speeds=[0])

    def acceleration(s):
        at = sixd.assemble(model, q + FIRST * s, qd, fixed=["crank"])
        return constrained_dynamics(model, *at, tau)[0][0]

    def faster(s):
        at = sixd.assemble(model, q, qd + FIRST * s, fixed=["crank"])
        return constrained_dynamics(model, *at, tau)[0][0]

    assert_allclose(linear.A[0], [0, 1], atol=1e-12)
    # assembly leaves 1e-12, over steps of 1e-3
    assert_allclose(linear.A[1], [central(acceleration, 1e-3), central(faster, 1e-3)], rtol=1e-7, atol=1e-7)
    push = central(lambda s: constrained_dynamics(model, q, qd, tau + LAST * s)[0][0], 1.0)
    assert linear.B[1, 2] == pytest.approx(push, abs=1e-11)


def test_prescribed_rate():
    """A crank driven at b(t): nothing of it is left, and what hangs on it swings."""
    builder = sixd.ModelBuilder("driven", gravity=(0, 0, 0))
    for name, parent, at in (("crank", "world", 0.0), ("arm", "crank", 0.4)):
        rod = sixd.rod(0.4, mass=1.0, axis="x").translated((0.2, 0, 0))
        builder.add_body(name, parent, sixd.Revolute("z"), placement=sixd.placement((at, 0, 0)), inertia=rod)
    builder.add_constraint(sixd.Pfaffian(lambda q: np.array([[1, 0]]), rate=lambda t: np.array([2 + t])))
    linear = sixd.linearize(builder.build(), [0.3, 0.0], [2.5, 0.0], positions=[1], speeds=[1], t=0.5)
    # in the frame that turns at w: (1/3) m l² δ̈ = -(m l/2) l w² δ; its change of rate adds a moment that is symmetric
    assert_allclose(linear.A, [[0, 1], [-1.5 * 2.5**2, 0]], atol=1e-12)


def test_lagrange_system():
    """Systems of equations too: the same pendulum by its Lagrangian."""
    x, xd = sp.symbols("x xd")
    system = sixd.lagrange(2 * 0.25 * xd**2 / 2, 2 * G * 0.5 * (1 - sp.cos(x)), [x], qd=[xd])
    assert_allclose(sixd.linearize(system, [0.0], [0.0]).A, [[0, 1], [-G / 0.5, 0]], atol=1e-12)


# mistakes ---------------------------------------------------------------------------------------

FOUR_BAR = sixd.zoo.four_bar()
AT = sixd.assemble(FOUR_BAR, [1.0, -0.5, 1.6], fixed=["crank"])
STILL = np.zeros(3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: f("arm", AT, STILL), sixd.ScalarTypeError, "model is a str, expected a sixd.Model"),
        (lambda f: f(FOUR_BAR, [AT, AT], STILL), sixd.ShapeError, "q is .* expected one array of 3 finite numbers"),
        (lambda f: f(FOUR_BAR, AT, [0, np.nan, 0]), sixd.ShapeError, "qd is .* expected one array of 3 finite numbers"),
        (lambda f: f(FOUR_BAR, AT, STILL, [1, 2]), sixd.ShapeError, "tau is .* expected one array of 3 finite numbers"),
        (lambda f: f(FOUR_BAR, AT, STILL, positions=["crank"]), sixd.ScalarTypeError, "positions is .* expected a list of indices"),
        (lambda f: f(FOUR_BAR, AT, STILL, speeds=[0, 3]), sixd.ShapeError, "speeds are .* expected indices from 0 to 2, each once"),
        (lambda f: f(FOUR_BAR, AT, STILL, positions=[0, 1]), sixd.ModelError, "positions are 2 DoF .* expected at most the 1 that are independent"),
        (lambda f: f(FOUR_BAR, AT + 0.1, STILL), sixd.AssemblyError, "breaks the constraints of 'four_bar' by .* Use q, qd = sixd.assemble"),
        (lambda f: f(FOUR_BAR, AT, [1, 0, 0]), sixd.AssemblyError, "breaks the constraints of 'four_bar' by"),
        (lambda f: f(FOUR_BAR, AT, STILL, positions=[]), sixd.ModelError, "positions leave out DoF [012], on which those that are kept depend"),
        (lambda f: f(sixd.zoo.double_elbow(), [0, 0.3, 0.3], [0, 1, 1], speeds=[1, 2]), sixd.ModelError, "speeds are .*, expected independent DoF: .* determine that of number 2"),
        (lambda f: f(sixd.zoo.four_bar(crank=sp.Symbol("c")), AT, STILL), sixd.ScalarTypeError, "linearize: 'four_bar' has symbolic parameters"),
    ],
)  # fmt: skip
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call(sixd.linearize)
    assert issubclass(error, sixd.SixdError)


def test_singular():
    """A dead centre, and a mass matrix that is singular."""
    flat = sixd.zoo.four_bar(2.0, 0.5, 2.0, 0.5)  # a parallelogram: in line, it may go on in two ways
    with pytest.raises(sixd.SingularError, match="accelerations of 'four_bar' are not finite"):
        sixd.linearize(flat, [0.0, 0.0, 0.0], STILL)
    massless = sixd.zoo.four_bar(density=0.0)
    with pytest.raises(sixd.SingularError, match="mass matrix of 'four_bar' is singular at that configuration"):
        sixd.linearize(massless, AT, STILL)
