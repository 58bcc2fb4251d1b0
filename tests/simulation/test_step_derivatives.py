"""The matrices of one step: against differences of the step, for all methods, joints and force elements."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from sixd.errors import ScalarTypeError, ShapeError, UnknownNameError
from sixd.spatial import sin

METHODS = ("rk4", "euler", "midpoint", "implicit")
H = 1e-3
E = 1e-4  # of differences: the step's rounding errors are divided by it
CLOSE = 1e-7  # of differences


def start(model, seed=0):
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)


def differences(model, q, qd, tau, e=E, *, law=None, **options):
    """Return (2 nv, 3 nv): the derivatives of the state after a step with respect to q, qd and tau."""
    nv = model.nv

    def after(x):
        forces = tau + x[2 * nv :]
        controller = forces if law is None else lambda t, q, qd: law(t, q, qd) + forces
        return sixd.step(model, model.integrate(q, x[:nv]), qd + x[nv : 2 * nv], H, controller=controller, **options)

    middle = after(np.zeros(3 * nv))[0]
    columns = []
    for unit in np.eye(3 * nv):
        (q1, v1), (q0, v0) = after(e * unit), after(-e * unit)
        columns.append(np.concatenate([model.difference(middle, q1) - model.difference(middle, q0), v1 - v0]) / (2 * e))
    return np.array(columns).T


def matrices(model, q, qd, tau, **options):
    A, B = sixd.step_derivatives(model, q, qd, H, tau=tau, **options)
    n = 2 * model.nv
    return np.concatenate([A[:n, :n], B[:n]], axis=1)


def chain(joint):
    """A joint between two revolute ones, with springs and dampers."""
    builder = sixd.ModelBuilder("chain")
    builder.add_body("base", "world", sixd.Revolute([0, 1, 0]), inertia=sixd.box(0.3, 0.2, 0.1, mass=1.0))
    builder.add_body(
        "middle", "base", joint, placement=sixd.placement([0.1, 0.2, 0.3]), inertia=sixd.box(0.2, 0.1, 0.3, mass=2.0)
    )
    builder.add_body(
        "end", "middle", sixd.Revolute([1, 0, 0]), placement=sixd.placement([0.2, 0.0, 0.1]),
        inertia=sixd.box(0.1, 0.3, 0.2, mass=0.5),
    )  # fmt: skip
    model = builder.build()
    rng = np.random.default_rng(1)
    return dataclasses.replace(model, damping=rng.uniform(0.1, 1, model.nv), armature=rng.uniform(0.01, 0.1, model.nv))


JOINTS = [
    sixd.Prismatic([0, 0, 1]),
    sixd.Helical([0, 0, 1], 0.1),
    sixd.Cylindrical([0, 0, 1]),
    sixd.Planar(),
    sixd.Universal(),
    sixd.RackAndPinion(0.2),
    sixd.Spherical(),
    sixd.Free(),
]


@pytest.mark.many
@pytest.mark.parametrize("method", ["rk4", "implicit"])
@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: type(joint).__name__)
def test_every_joint(joint, method):
    model = chain(joint)
    q, qd, tau = start(model)
    wanted = differences(model, q, qd, tau, method=method)
    assert_allclose(matrices(model, q, qd, tau, method=method), wanted, rtol=0, atol=CLOSE * np.abs(wanted).max())


@pytest.mark.many
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["pendulum", "planar", "spinning_top"])
def test_methods(name, method):
    model = sixd.zoo.planar(2) if name == "planar" else getattr(sixd.zoo, name)()
    q, qd, tau = start(model)
    wanted = differences(model, q, qd, tau, method=method)
    assert_allclose(matrices(model, q, qd, tau, method=method), wanted, rtol=0, atol=CLOSE * np.abs(wanted).max())


def test_a_linear_system_in_closed_form():
    """A mass on a spring by semi-implicit Euler: v⁺ = v - h k x / m + h tau / m, x⁺ = x + h v⁺."""
    builder = sixd.ModelBuilder("cart", gravity=(0, 0, 0))
    builder.add_body("cart", "world", sixd.Prismatic([1, 0, 0]), inertia=sixd.sphere(0.1, mass=2.0))
    model = dataclasses.replace(builder.build(), stiffness=np.array([3.0]))
    A, B = sixd.step_derivatives(model, [0.3], [0.2], H, method="euler")
    down = np.array([-H * 3 / 2, 1.0])
    assert_allclose(A, [[1, 0] + H * down, down], rtol=1e-14)
    assert_allclose(B, [[H * H / 2], [H / 2]], rtol=1e-14)


@dataclasses.dataclass(frozen=True)
class Wind(sixd.Force):
    """A force with the wind's velocity u as its state; the wind depends on the place."""

    strength: float

    def size(self, model):
        return 1

    def apply(self, model, t, q, qd, u):
        return sixd.Applied(tau=self.strength * (u - qd), rate=np.array([sin(q[0]) - u[0]]))


def test_a_state_of_a_force_in_closed_form():
    """By semi-implicit Euler: v⁺ = v + h (c (u - v) + tau) / m, x⁺ = x + h v⁺, u⁺ = u + h (sin x - u)."""
    builder = sixd.ModelBuilder("cart", gravity=(0, 0, 0))
    builder.add_body("cart", "world", sixd.Prismatic([1, 0, 0]), inertia=sixd.sphere(0.1, mass=2.0))
    x, c = 0.3, 0.7
    A, B = sixd.step_derivatives(builder.build(), [x], [0.2], H, method="euler", forces=Wind(c), u=[0.5])
    velocity = np.array([0, 1 - H * c / 2, H * c / 2])
    assert_allclose(A, [[1, 0, 0] + H * velocity, velocity, [H * np.cos(x), 0, 1 - H]], rtol=1e-14)
    assert_allclose(B, [[H * H / 2], [H / 2], [0]], rtol=1e-14)


def test_a_controller_together_with_parameters():
    """The controller has no parameters; a model with symbols needs them all the same."""
    import sympy

    model = sixd.zoo.pendulum(1, 1.0, sympy.Symbol("m", positive=True))
    options = {"controller": lambda t, q, qd: -5 * q - qd, "tau": [0.3]}
    found = sixd.step_derivatives(model, [0.5], [0.1], H, parameters={"m": 2.0}, **options)
    numbers = sixd.step_derivatives(sixd.zoo.pendulum(1, 1.0, 2.0), [0.5], [0.1], H, **options)
    assert_allclose(found.A, numbers.A, rtol=1e-12)
    assert_allclose(found.B, numbers.B, rtol=1e-12)


@pytest.mark.long
def test_a_controller_closes_the_loop():
    model = sixd.zoo.planar(2)
    q, qd, tau = start(model)

    def law(t, q, qd):
        return -50 * q - 2 * qd + sin(q[0])

    for method in METHODS:
        wanted = differences(model, q, qd, tau, law=law, method=method)
        found = matrices(model, q, qd, tau, controller=law, method=method)
        assert_allclose(found, wanted, rtol=0, atol=CLOSE * np.abs(wanted).max())


def test_joints_that_stick_have_zero_rows():
    model = dataclasses.replace(sixd.zoo.planar(2), friction=np.array([50.0, 0.1]))
    A, B = sixd.step_derivatives(model, [0.3, 0.4], [0.0, 1.0], H)
    assert_array_equal(A[2], 0)
    assert_array_equal(B[2], 0)
    assert_array_equal(A[0], [1, 0, 0, 0])
    assert A[3, 3] != 0


def test_states_of_force_elements():
    """Ground has two states for a point: the matrices have as many additional rows and columns."""
    ball = sixd.zoo.falling_sphere()
    ground = sixd.Ground({"sphere": (0, 0, 0, 0.05)})
    q, qd = np.array([1.0, 0, 0, 0, 0, 0, 0.0499]), np.array([0, 0.1, 0, 0.3, 0.2, -0.1])
    nu = ground.size(ball)
    u = np.full(nu, 1e-5)
    A, B = sixd.step_derivatives(ball, q, qd, H, forces=ground, u=u)
    assert A.shape == (12 + nu, 12 + nu)
    assert B.shape == (12 + nu, 6)
    assert np.isfinite(A).all()
    assert np.abs(A[6:12, 12:]).max() > 0


def test_batches_alone_and_together():
    model = sixd.zoo.falling_sphere()
    rng = np.random.default_rng(0)
    q = np.array([model.random_configuration(rng) for _ in range(35)]).reshape(5, 7, 7)
    qd = rng.normal(size=(5, 7, 6))
    A, _ = sixd.step_derivatives(model, q, qd, H, tau=rng.normal(size=6))
    assert A.shape == (5, 7, 12, 12)
    qd[2, 3, 0] = np.nan
    C, _ = sixd.step_derivatives(model, q, qd, H)
    others = np.ones((5, 7), bool)
    others[2, 3] = False
    assert np.isnan(C[2, 3]).any()
    assert np.isfinite(C[others]).all()
    alone = sixd.step_derivatives(model, q[1, 2], qd[1, 2], H)
    assert_array_equal(C[1, 2], alone.A)
    assert sixd.step_derivatives(model, q[:0], qd[:0], H).B.shape == (0, 7, 12, 6)


def test_float32():
    model = sixd.zoo.planar(2)
    q, qd, tau = (x.astype(np.float32) for x in start(model))
    A, _ = sixd.step_derivatives(model, q, qd, H, tau=tau)
    fine, _ = sixd.step_derivatives(model, *(x.astype(float) for x in (q, qd)), H, tau=tau.astype(float))
    assert A.dtype == np.float32
    assert_allclose(A, fine, rtol=0, atol=1e-5)  # of float32


def test_closed_loops_stay_closed():
    """The state after a step satisfies the constraints, whatever the change before."""
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, [1.0, -0.3, 1.5])
    A, B = sixd.step_derivatives(model, q, None, H)
    J = sixd.constraint_jacobian(model, sixd.step(model, q, None, H)[0])
    assert np.abs(J @ B[:3]).max() < 1e-12
    assert np.abs(J @ A[:3]).max() < 1e-10


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"method": "adaptive"}, UnknownNameError, "method"),
        ({"dt": -1.0}, ScalarTypeError, "dt"),
        ({"t": np.nan}, ScalarTypeError, "t is"),
        ({"controller": np.zeros(2)}, ScalarTypeError, "tau="),
        ({"controller": lambda t, q, qd: [float(x) for x in q]}, ScalarTypeError, "traced"),
        ({"tau": np.zeros(3)}, ShapeError, "tau has shape"),
        ({"u": [1.0]}, ShapeError, "0 states"),
        ({"u": np.zeros(3)}, ShapeError, "0 states"),
        ({"u": "a"}, ScalarTypeError, "u is"),
        ({"q": np.zeros(3)}, ShapeError, "q has shape"),
    ],
)
def test_errors_name_the_mistake(change, error, words):
    given = {"q": [0.1, 0.2], "qd": None, "dt": H} | change
    q, qd, dt = (given.pop(name) for name in ("q", "qd", "dt"))
    with pytest.raises(error, match=words):
        sixd.step_derivatives(sixd.zoo.planar(2), q, qd, dt, **given)
