"""Exponentials and logarithms of rotations and poses, screws and adjoints: next to SciPy's matrix functions, published
numbers and models; with derivatives of both orders, at 0 and next to pi; in compiled code, C and JavaScript."""

import mpmath
import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm, logm

import group_functions
import sixd
from c_compiler import build, call, needs_cc
from robots import FIVE, quiet_load
from sixd import spatial
from sixd.codegen.c import emit
from sixd.spatial.dual import Dual, duals, parts

MODEL = sixd.zoo.pendulum()
ANGLES = [0, 1e-300, 1e-18, 1e-9, 1e-3, 0.2, 0.4999, 0.5001, 1.0, 2.0, 3.0, np.pi - 1e-3]


def hat(twist):
    """The matrix (4, 4) of a twist."""
    return np.block([[spatial.skew(twist[:3]), twist[3:, None]], [np.zeros((1, 4))]])


def twist_of(angle, rng):
    axis = rng.standard_normal(3)
    return np.concatenate([axis / np.linalg.norm(axis) * angle, rng.standard_normal(3)])


# values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", ANGLES)
def test_exponentials_beside_scipy(angle, rng):
    """exp of SO(3) and SE(3) is that of the matrices, log its inverse, and both agree with rotation vectors."""
    for _ in range(10):
        x = twist_of(angle, rng)
        T = spatial.exp_se3(x)
        assert_allclose(T, expm(hat(x)), atol=1e-14)
        assert_array_equal(spatial.exp_so3(x[:3]), T[:3, :3])
        assert_allclose(T[:3, :3], spatial.rotation_from_vector(x[:3]), atol=1e-15)
        assert_allclose(spatial.log_se3(T), x, atol=2e-15)
        assert_allclose(spatial.log_so3(T[:3, :3]), spatial.rotation_to_vector(T[:3, :3]), atol=2e-15)
        if angle < 3:  # SciPy's logarithm loses digits near pi
            assert_allclose(hat(spatial.log_se3(T)), logm(T).real, atol=1e-11)


def test_turns_beyond_pi_and_at_pi(rng):
    """A rotation vector may have any length; at pi the logarithm's sign is open, its length and direction are not."""
    for angle in (4.0, 10.0, 1e3):
        x = twist_of(angle, rng)
        assert_allclose(spatial.exp_se3(x), expm(hat(x)), atol=angle * 1e-14)
    for less in (0, 1e-15, 1e-12, 1e-8):
        w = np.array([1, 2, -2]) / 3 * (np.pi - less)
        found = spatial.log_so3(spatial.exp_so3(w))
        assert min(np.abs(found - w).max(), np.abs(found + w).max()) < 1e-15


def test_adjoint_and_rate_of_a_quaternion(rng):
    """Ad maps motion vectors from B to A, Ad exp(x) = exp(x×); a quaternion's rate turns it by ω in body axes."""
    x, y = rng.standard_normal((2, 6))
    T, other = spatial.exp_se3(x), spatial.exp_se3(y)
    assert_allclose(spatial.adjoint(T) @ spatial.transform_from_pose(T), np.eye(6), atol=1e-15)
    assert_allclose(spatial.adjoint(T @ other), spatial.adjoint(T) @ spatial.adjoint(other), atol=1e-14)
    assert_allclose(spatial.adjoint(T), expm(spatial.crm(x)), atol=1e-13)
    assert_allclose(spatial.exp_se3(spatial.adjoint(T) @ y), T @ other @ np.linalg.inv(T), atol=1e-14)
    q, w = spatial.random_quaternion(rng), x[:3]
    turned = [spatial.quaternion_multiply(q, spatial.quaternion_from_vector(w * t)) for t in (-1e-5, 1e-5)]
    assert_allclose(spatial.quaternion_rate(q, w), (turned[1] - turned[0]) / 2e-5, atol=1e-9)  # a difference
    ball = sixd.ModelBuilder()
    ball.add_body("ball", "world", sixd.Spherical(), inertia=sixd.sphere(0.1, mass=1.0))
    assert_array_equal(spatial.quaternion_rate(q, w), ball.build().configuration_rate(q, w))


def test_product_of_exponentials_of_a_published_arm():
    """UR5 of K. Lynch and F. Park, Modern Robotics, example 4.5, whose result is printed to three digits."""
    W1, W2, L1, L2, H1, H2 = 0.109, 0.082, 0.425, 0.392, 0.089, 0.095
    screws = [[0, 0, 1, 0, 0, 0], [0, 1, 0, -H1, 0, 0], [0, 1, 0, -H1, 0, L1], [0, 1, 0, -H1, 0, L1 + L2],
              [0, 0, -1, -W1, L1 + L2, 0], [0, 1, 0, H2 - H1, 0, L1 + L2]]  # fmt: skip
    home = [[-1, 0, 0, L1 + L2], [0, 0, 1, W1 + W2], [0, 1, 0, H1 - H2], [0, 0, 0, 1]]
    T = spatial.product_of_exponentials(screws, [0, -np.pi / 2, 0, 0, np.pi / 2, 0], home)
    assert_allclose(T, [[0, -1, 0, 0.095], [1, 0, 0, 0.109], [0, 0, 1, 0.988], [0, 0, 0, 1]], atol=5e-4)  # as printed


def chain(model, frame):
    """Screws and home of the joints from the world to a frame, from the model's poses and subspaces at q = 0."""
    zero, path = model.neutral(), model.tree.ancestors(model.frames[frame].body)
    poses = [sixd.pose(model, zero, f"joint:{model.joint_names[i - 1]}") for i in path]
    S = [spatial.adjoint(T) @ model.joints[i].subspace(np.zeros(1))[:, 0] for i, T in zip(path, poses, strict=True)]
    return path, np.array(S), sixd.pose(model, zero, frame)


@pytest.mark.parametrize("name", ["panda", "ur5", "helical"])
def test_product_of_exponentials_is_the_pose(name, rng):
    """Turns, displacements and screws of robots, in numbers and scaled by their axes' lengths."""
    if name == "helical":
        kinds = ("revolute", "prismatic", "helical")
        model = sixd.zoo.random_tree(3, kinds=kinds, passive=False)
        frame = f"frame{model.nb}"
    else:
        model = sixd.zoo.panda_arm() if name == "panda" else quiet_load(FIVE["ur5"])
        frame = "tool" if name == "panda" else model.body_names[-1]
    path, screws, home = chain(model, frame)
    for q in model.random_configuration(rng, size=5):
        own = np.array([q[model.iq[i]][0] for i in path])
        T = sixd.pose(model, q, frame)
        assert_allclose(spatial.product_of_exponentials(screws, own, home), T, atol=1e-13)
        assert_allclose(spatial.product_of_exponentials(screws * 2, own / 2, home), T, atol=1e-13)
        step = np.eye(4)
        for S, angle in zip(screws, own, strict=True):
            step = step @ spatial.exp_se3(S * angle)
        assert_allclose(step @ home, T, atol=1e-13)


def test_symbols():
    """Axes in numbers give sines and cosines alone, exact; rotation vectors of symbols the closed form."""
    a, b, c, length = sp.symbols("a b c l", real=True)
    screws = [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -length, 0], [0, 0, 0, 0, 0, 1]]
    T = sp.Matrix(spatial.product_of_exponentials(screws, [a, b, c], spatial.placement((2 * length, 0, 0))))
    tip = sp.Matrix([length * (sp.cos(a) + sp.cos(a + b)), length * (sp.sin(a) + sp.sin(a + b)), c])
    assert sp.simplify(T[:3, 3] - tip) == sp.zeros(3, 1)
    assert not T.atoms(sp.Float)
    R = sp.Matrix(spatial.exp_so3([a, b, c]))
    assert not R.has(sp.Piecewise, sp.Float)
    at = {a: 0.3, b: -0.2, c: 0.9}
    assert_allclose(np.array(R.subs(at), float), spatial.exp_so3([0.3, -0.2, 0.9]), atol=1e-15)
    general = sp.Matrix(spatial.product_of_exponentials([[a, b, c, 0, 0, 1]], [length], np.eye(4, dtype=int)))
    exact = spatial.product_of_exponentials([[0.3, -0.2, 0.9, 0, 0, 1]], [0.7], np.eye(4))
    assert_allclose(np.array(general.subs({**at, length: 0.7}), float), exact, atol=1e-15)
    assert spatial.hypot(a, 2) == sp.sqrt(a**2 + 4)
    assert spatial.log1p(a) == sp.log(1 + a)
    assert spatial.tanh(a) == sp.tanh(a)
    assert spatial.clip(a, -1, 1) == sp.Min(sp.Max(a, -1), 1)


def test_clip():
    """As NumPy's on arrays; the derivative is 1 within the bounds, and 0 beyond."""
    x = np.linspace(-2, 2, 9)
    assert_array_equal(spatial.clip(x, -1, 1.5), np.clip(x, -1, 1.5))
    assert_array_equal(spatial.clip(x, -1, x[::-1]), np.clip(x, -1, x[::-1]))
    values, slopes = parts(spatial.clip(duals(x, np.ones(9)), -1, 1.5))
    assert_array_equal(values, np.clip(x, -1, 1.5))
    assert_array_equal(slopes, (x >= -1) & (x <= 1.5))


# derivatives ------------------------------------------------------------------------------------------


def second_derivatives(v):
    """∂²exp(v×) (9, 3, 3), exact to 1e-20: of the power series in 60 digits, by differences."""
    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -12

        def power_series(*changes):
            x = [mpmath.mpf(float(a)) for a in v]
            for k, sign in changes:
                x[k] += sign * step
            V = mpmath.matrix([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
            term = total = mpmath.eye(3)
            for k in range(1, 24):
                term = term * V / k
                total = total + term
            return total

        found = np.empty((9, 3, 3))
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            corners = [power_series((i, a), (j, b)) * (a * b) for a in (-1, 1) for b in (-1, 1)]
            D = (corners[0] + corners[1] + corners[2] + corners[3]) / (4 * step**2)
            found[:, i, j] = found[:, j, i] = [float(x) for x in D]
        return found


def test_derivatives_of_both_orders_are_accurate_everywhere():
    """Where the angle is 0, tiny, or where series and closed forms meet: no 0/0, and no digits lost."""
    hessian = sixd.hessian(lambda v: spatial.exp_so3(v).ravel(), MODEL, shapes={"v": (3,)})
    back = sixd.hessian(lambda x: spatial.log_se3(spatial.exp_se3(x)), MODEL, shapes={"x": (6,)})
    slope = sixd.jvp(lambda x: spatial.log_se3(spatial.exp_se3(x)), MODEL, shapes={"x": (6,)})
    for size in (0, 1e-20, 1e-17, 1e-12, 1e-8, 0.0816, 0.0817, 0.2041, 0.2042):
        v = np.array([1.0, 2.0, -1.0]) * size
        assert_allclose(hessian(v), second_derivatives(v), atol=1e-15)
        x = np.concatenate([v, [0.3, -0.2, 0.5]])
        assert_allclose([slope(x, e) for e in np.eye(6)], np.eye(6), atol=1e-14)
        assert_allclose(back(x), 0, atol=1e-13)
        dual = parts(spatial.log_se3(spatial.exp_se3(duals(x, np.arange(6.0)))))
        assert_allclose(dual[0], x, atol=1e-14)
        assert_allclose(dual[1], np.arange(6.0), atol=1e-13)


def test_gradients_beside_differences(rng):
    """Forward and in reverse, of every function at once, next to central differences."""
    slope = sixd.jvp(group_functions.all_of_them, MODEL, shapes={"x": (group_functions.SIZE,)})
    pull = sixd.vjp(group_functions.all_of_them, MODEL, shapes={"x": (group_functions.SIZE,)})
    for x in group_functions.arguments(rng, 8)[::2]:  # not at the corner of a length
        dx, h = rng.standard_normal(len(x)), 1e-6
        dx[10:] *= 1e-3  # next to pi the logarithm turns over
        numeric = (group_functions.all_of_them(x + h * dx) - group_functions.all_of_them(x - h * dx)) / (2 * h)
        found = slope(x, dx)
        assert_allclose(found, numeric, atol=1e-8 * (1 + np.abs(found).max()))  # differences
        w = rng.standard_normal(len(found))
        assert_allclose(pull(x, w) @ dx, w @ found, rtol=1e-12)


def test_derivatives_at_the_corner_of_a_length():
    """√(x² + y²) has no derivative at 0: kernels take 0 there, as for a root."""
    for f in (lambda x: spatial.hypot(x[0], x[1]), lambda x: spatial.sqrt(x[0] * x[0] + x[1] * x[1])):
        assert_array_equal(sixd.vjp(f, MODEL, shapes={"x": (2,)})(np.zeros(2), 1.0), [0, 0])
    assert spatial.hypot(Dual(3.0, 1.0), Dual(4.0, 0.0)).derivative == 0.6
    assert spatial.hypot(1e300, 1e300) == pytest.approx(np.sqrt(2) * 1e300)


# compiled code ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled(dtype, rng):
    """A kernel of one's own, one row and many, next to the plain functions."""
    kernel = sixd.compile(group_functions.all_of_them, MODEL, shapes={"x": (group_functions.SIZE,)}, dtype=dtype)
    x = group_functions.arguments(rng, 12).astype(dtype)
    expected = np.array([group_functions.all_of_them(row.astype(float)) for row in x])
    loose = 1e-13 if dtype == "float64" else 1e-2  # next to pi a rounding of float32 is multiplied by 1e4
    assert_allclose(kernel(x), expected, atol=loose)
    assert_array_equal(kernel(x)[3], kernel(x[3]))


@needs_cc
def test_in_c(rng, tmp_path):
    made = group_functions.program()
    function = build(emit(made, "all_of_them"), tmp_path)
    for x in group_functions.arguments(rng, 8):
        assert_allclose(call(function, made, x)[0], group_functions.all_of_them(x), atol=1e-13)


# mistakes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: spatial.exp_so3([1, 2]), sixd.ShapeError, r"exp_so3: w has shape \(2,\), expected \(3,\). For many"),
        (lambda: spatial.exp_se3(np.zeros((5, 6))), sixd.ShapeError, r"exp_se3: twist has shape \(5, 6\), expected \(6,\)"),
        (lambda: spatial.log_se3(np.eye(3)), sixd.ShapeError, r"log_se3: T has shape \(3, 3\), expected \(4, 4\)"),
        (lambda: spatial.log_so3(np.diag([1, 1, -1])), sixd.ModelError, "log_so3: R is not rigid, expected a rotation"),
        (lambda: spatial.log_se3(np.ones((4, 4))), sixd.ModelError, "log_se3: T is not rigid"),
        (lambda: spatial.adjoint(np.eye(4)[::-1]), sixd.ModelError, "adjoint: T is not rigid"),
        (lambda: spatial.exp_so3("abc"), sixd.ScalarTypeError, "exp_so3: w is 'abc', expected numbers"),
        (lambda: spatial.product_of_exponentials(np.zeros(6), [1], np.eye(4)), sixd.ShapeError, r"screws has shape \(6,\), expected \(n, 6\)"),
        (lambda: spatial.product_of_exponentials(np.zeros((2, 6)), [1], np.eye(4)), sixd.ShapeError, r"q has shape \(1,\), expected \(2,\)"),
        (lambda: spatial.product_of_exponentials(np.zeros((1, 6)), [1], np.eye(3)), sixd.ShapeError, "home has shape"),
    ],
)  # fmt: skip
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()
