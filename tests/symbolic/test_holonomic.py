"""Frobenius' test and integrals of Pfaffian constraints, compared with textbook cases and the theorem in exterior form."""

import itertools

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd.symbolic.arguments import velocities
from sixd.symbolic.echelon import echelon, is_zero, tidy

x, y, z, w, theta, phi, psi, R, L, a, b = sp.symbols("x y z w theta phi psi R L a b")
phi1, phi2, R1, R2 = sp.symbols("phi1 phi2 R1 R2")
s, c = sp.sin, sp.cos

DISC = [[1, 0, 0, -R * c(theta)], [0, 1, 0, -R * s(theta)]]  # x, y, theta, phi


def at_point(matrix, symbols, rng):
    values = {v: sp.Rational(int(rng.integers(5, 40)), 23) for v in symbols}
    return np.array(sp.Matrix(matrix).xreplace(values).evalf(20).tolist(), dtype=float)


def spans(integral, A, q, rng):
    """Whether dφ is a combination of the rows of A, by numbers at points."""
    A = sp.Matrix(A)
    symbols = sorted(A.free_symbols | set(q) | integral.free_symbols, key=str)
    both = sp.Matrix.vstack(A, sp.Matrix([[integral.diff(v) for v in q]]))
    for _ in range(3):
        numbers = at_point(both, symbols, rng)
        if np.linalg.matrix_rank(numbers, tol=1e-9) != np.linalg.matrix_rank(numbers[:-1], tol=1e-9):
            return False
    return True


# ---------------------------------------------------------------------------- textbook cases

HOLONOMIC = {
    "circle": ([[x, y]], [x, y], (x**2 + y**2,)),
    "integrating factor": ([[y, -x]], [x, y], (y / x,)),
    "gear": ([[R1, -R2]], [phi1, phi2], (R1 * phi1 - R2 * phi2,)),
    "disc along a line": (
        [[1, 0, -R * c(theta)], [0, 1, -R * s(theta)]],
        [x, y, phi],
        (x - R * phi * c(theta), y - R * phi * s(theta)),
    ),
    "product": ([[y * z, x * z, 2 * x * y]], [x, y, z], (x * y * z**2,)),
    "angles": ([[c(x) * s(y), s(x) * c(y)]], [x, y], (s(x) * s(y),)),
    "homogeneous": ([[x + y, x - 2 * y]], [x, y], (x**2 + 2 * x * y - 2 * y**2,)),
    "separable": ([[1, -x * y]], [y, x], (2 * sp.log(y) - x**2,)),
    "tangent": ([[sp.tan(x) * y, 1]], [x, y], (y / c(x),)),
    "linear equation": ([[a * y - sp.exp(x), 1]], [x, y], ((y - sp.exp(x) / (a + 1)) * sp.exp(a * x),)),
    "one with the help of another": ([[-y, 0, 1], [0, 1, 0]], [x, y, z], (x * y - z, y)),
    "nothing moves": ([[1, x], [y, 1]], [x, y], (x, y)),
}


@pytest.mark.parametrize("name", HOLONOMIC)
def test_holonomic(name, rng):
    A, q, expected = HOLONOMIC[name]
    result = sixd.is_holonomic(A, q)
    assert result
    assert result.holonomic
    assert result.degree == len(q) - result.rank == result.growth[0]
    assert all(spans(f, A, q, rng) for f in result.integrals)
    if name != "nothing moves":
        assert [is_zero(f - e) for f, e in zip(result.integrals, expected, strict=True)] == [True] * len(expected)


ball = sixd.angular_velocity(
    sp.Matrix(sixd.spatial.rotation_from_euler("ZXZ", np.array([psi, theta, phi], dtype=object))),
    [psi, theta, phi],
    frame="space",
)
psid, thetad, phid = velocities("test", [psi, theta, phi], None)
BALL = [[1, 0, *(-R * ball[1].diff(v) for v in (psid, thetad, phid))]]
BALL += [[0, 1, *(R * ball[0].diff(v) for v in (psid, thetad, phid))]]
car = [[s(theta), -c(theta), 0, 0], [s(theta + phi), -c(theta + phi), -L * c(phi), 0]]
trailer = [[*row, 0] for row in car] + [[s(psi), -c(psi), 0, 0, a]]

# growth vectors from the literature
NOT_HOLONOMIC = {
    "knife edge": ([[s(theta), -c(theta), 0]], [x, y, theta], (2, 3)),
    "Heisenberg": ([[-y, 0, 1]], [x, y, z], (2, 3)),
    "upright disc": (DISC, [x, y, theta, phi], (2, 3, 4)),
    "Engel": ([[-w, 1, 0, 0], [-y, 0, 1, 0]], [x, y, z, w], (2, 3, 4)),
    "car": (car, [x, y, theta, phi], (2, 3, 4)),
    "car with a trailer": (trailer, [x, y, theta, phi, psi], (2, 3, 4, 5)),
    "Cartan's five": ([[-y, 0, 1, 0, 0], [-z, 0, 0, 1, 0], [0, -z, 0, 0, 1]], [x, y, z, a, b], (2, 3, 5)),
    "rolling ball": (BALL, [x, y, psi, theta, phi], (3, 5)),
}


@pytest.mark.parametrize("name", NOT_HOLONOMIC)
def test_not_holonomic(name):
    A, q, growth = NOT_HOLONOMIC[name]
    result = sixd.is_holonomic(A, q)
    assert not result
    assert result.growth == growth
    assert result.degree == growth[-1] == len(q)
    assert result.integrals == (None,) * len(A)
    assert "not holonomic" in result.reason


def test_a_wheel_has_a_height_that_integrates():
    """A wheel in space keeps its height; only that row is holonomic."""
    A = [[1, 0, 0, 0, -R * c(theta)], [0, 1, 0, 0, -R * s(theta)], [0, 0, 1, 0, 0]]
    result = sixd.is_holonomic(A, [x, y, z, theta, phi])
    assert not result.holonomic
    assert result.rows == (False, False, True)
    assert result.integrals == (None, None, z)
    assert (result.rank, result.degree, result.growth) == (3, 4, (2, 3, 4))
    assert "integrable without the others are rows 2" in result.reason


def test_two_wheels_on_an_axle_determine_the_heading(rng):
    """No row of a differential drive is integrable alone, but R(φ1 - φ2) + 2 L θ is constant."""
    A = [[s(theta), -c(theta), 0, 0, 0], [c(theta), s(theta), -L, -R, 0], [c(theta), s(theta), L, 0, -R]]
    q = [x, y, theta, phi1, phi2]
    result = sixd.is_holonomic(A, q)
    assert (result.holonomic, result.rows, result.growth) == (False, (False,) * 3, (2, 3, 4))
    (integral,) = [f for f in result.integrals if f is not None]
    assert is_zero(integral * R - (R * (phi1 - phi2) + 2 * L * theta))
    # it can replace its row: the span of the rows stays the same
    k = result.integrals.index(integral)
    exchanged = sp.Matrix(A)
    exchanged[k, :] = sp.Matrix([[integral.diff(v) for v in q]])
    assert all(spans_row(sp.Matrix(A).row(i), exchanged, q, rng) for i in range(3))


def spans_row(row, A, q, rng):
    symbols = sorted(A.free_symbols | row.free_symbols | set(q), key=str)
    numbers = at_point(sp.Matrix.vstack(A, row), symbols, rng)
    return np.linalg.matrix_rank(numbers, tol=1e-9) == np.linalg.matrix_rank(numbers[:-1], tol=1e-9)


def test_redundant_rows_and_rows_of_zeros():
    result = sixd.is_holonomic([[x, y, 0], [2 * x, 2 * y, 0], [0, 0, 0]], [x, y, z])
    assert result.holonomic
    assert (result.rank, result.redundant) == (1, (1, 2))
    assert result.integrals == (x**2 + y**2, None, None)
    assert "rows 1, 2 are combinations" in result.reason


def test_no_constraints():
    result = sixd.is_holonomic(sp.zeros(0, 2), [x, y])
    assert (result.holonomic, result.integrals, result.degree) == (True, (), 2)


def test_an_integral_that_exists_and_is_not_found():
    """y' = x² + y² has Bessel functions for solutions; the test does not need them."""
    result = sixd.is_holonomic([[x**2 + y**2, -1]], [x, y])
    assert result.holonomic
    assert result.integrals == (None,)
    assert "integrals exist 1, found 0" in result.reason
    spiral = sixd.is_holonomic([[x + y, y - x]], [x, y])  # ln(x² + y²) + 2 atan(x/y)
    assert (spiral.holonomic, spiral.integrals) == (True, (None,))
    assert "Keep those rows as constraints on velocities, or give the integral yourself" in spiral.reason


def test_numbers_need_not_be_exact():
    result = sixd.is_holonomic(np.array([[0.3, -0.7]]), [x, y])
    assert spans(result.integrals[0], [[0.3, -0.7]], [x, y], np.random.default_rng(1))
    assert not sixd.is_holonomic([[0.1 * s(theta), -0.1 * c(theta), 0]], [x, y, theta])
    assert sixd.is_holonomic(np.array([2, 3]), [x, y]).integrals == (2 * x + 3 * y,)
    assert sixd.is_holonomic(sp.ImmutableMatrix([[x, y]]), sp.Matrix([x, y])).integrals == (x**2 + y**2,)


# ---------------------------------------------------------------------------- laws


def wedge(A, q):
    """Coefficients of dω_i ∧ ω_1 ∧ … ∧ ω_k for each i: the theorem in Frobenius' form, by permutations."""
    A = sp.Matrix(A)
    k, n = A.shape
    for i in range(k):
        d = sp.Matrix(n, n, lambda p, r, i=i: A[i, r].diff(q[p]) - A[i, p].diff(q[r]))
        for columns in itertools.combinations(range(n), k + 2):
            total = 0
            for order in itertools.permutations(range(k + 2)):
                p = [columns[j] for j in order]
                sign = sp.combinatorics.Permutation(list(order)).signature()
                total += sign * d[p[0], p[1]] * sp.prod(A[j, p[j + 2]] for j in range(k))
            yield sp.expand(total)


def random_form(rng, q):
    """A sparse polynomial of degree at most two for each coordinate."""
    monomials = [sp.Integer(1), *q, q[0] * q[1], q[-1] ** 2]
    pick = rng.integers(0, len(monomials), len(q))
    return [int(rng.integers(-2, 3)) * monomials[k] for k in pick]


@pytest.mark.many
@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_the_exterior_form(seed):
    """The result by brackets is that of dω_i ∧ ω_1 ∧ … ∧ ω_k = 0, for random constraints of both kinds."""
    rng = np.random.default_rng(seed)
    q, k = [x, y, z, w], 1 + seed % 2
    A = sp.Matrix([random_form(rng, q) for _ in range(k)])
    if len(echelon(A, q).pivots) < k:
        pytest.skip("dependent rows: the product of the forms is zero and says nothing")
    assert sixd.is_holonomic(A, q).holonomic == all(is_zero(e) for e in wedge(A, q))


@pytest.mark.parametrize("name", [*HOLONOMIC, *NOT_HOLONOMIC])
def test_textbook_cases_agree_with_the_exterior_form(name):
    A, q = {**HOLONOMIC, **NOT_HOLONOMIC}[name][:2]
    if len(q) < len(A) + 2:
        assert name in HOLONOMIC  # one motion at most: always integrable
    else:
        assert all(is_zero(e) for e in wedge(A, q)) == (name in HOLONOMIC)


@pytest.mark.many
@pytest.mark.parametrize("seed", range(6))
def test_gradients_of_functions_times_any_matrix_are_holonomic(seed, rng):
    """A = B dφ with B regular is holonomic; every integral returned is constant along the motions."""
    random = np.random.default_rng(seed)
    q = [x, y, z, w]
    stock = [x * y + z, x**2 + y**2 - w, s(x) + z * w, y * sp.exp(x), x - 2 * w + 1]
    functions = [stock[k] for k in random.choice(len(stock), 2, replace=False)]
    B = sp.Matrix([[1, random.choice([x, z, 2])], [random.choice([w, y]), 3]])
    A = (B * sp.Matrix([[f.diff(v) for v in q] for f in functions])).applyfunc(sp.expand)
    result = sixd.is_holonomic(A, q)
    assert result.holonomic
    assert (result.rank, result.degree) == (2, 2)
    assert all(spans(f, A, q, rng) for f in result.integrals if f is not None)
    assert any(f is not None for f in result.integrals)


@pytest.mark.parametrize("name", ["knife edge", "upright disc", "Heisenberg"])
def test_the_result_does_not_depend_on_coordinates(name):
    """x = u + v², other coordinates kept: A becomes A ∂q/∂q', and nothing changes."""
    A, q, growth = NOT_HOLONOMIC[name]
    u = sp.Symbol("u")
    new = [u, *q[1:]]
    change = sp.Matrix([u + q[1] ** 2, *q[1:]])
    moved = (sp.Matrix(A).xreplace({q[0]: change[0]}) * change.jacobian(new)).applyfunc(tidy)
    assert sixd.is_holonomic(moved, new).growth == growth


def test_constraints_written_in_velocities():
    xd, yd, thetad = sp.symbols("xd yd thetad")
    one = sixd.is_holonomic(x * xd + y * yd, [x, y], qd=[xd, yd])
    assert one == sixd.is_holonomic([[x, y]], [x, y])
    edge = sixd.is_holonomic([sp.Eq(xd * s(theta), yd * c(theta))], [x, y, theta], qd=[xd, yd, thetad])
    assert (edge.holonomic, edge.degree) == (False, 3)


def test_functions_of_time_are_coordinates():
    X, Y = sp.Function("x")(sp.Symbol("t")), sp.Function("y")(sp.Symbol("t"))
    t = sp.Symbol("t")
    result = sixd.is_holonomic([X * X.diff(t) + Y * Y.diff(t)], [X, Y], qd=[X.diff(t), Y.diff(t)])
    assert result.integrals == (X**2 + Y**2,)
    assert sixd.is_holonomic([[Y, -X]], [X, Y]).integrals == (Y / X,)


# ---------------------------------------------------------------------------- mistakes

xd, yd = sp.symbols("xd yd")
MISTAKES = [
    (([[1, 2, 3]], [x, y]), {}, sixd.ShapeError, r"A has shape \(1, 3\), expected \(k, 2\)"),
    ((sp.Matrix([x, y]), [x, y]), {}, sixd.ShapeError, r"A has shape \(2, 1\)"),
    (([[1, 2], 3], [x, y]), {}, sixd.ShapeError, "mixes rows and numbers"),
    (("x", [x]), {}, sixd.ScalarTypeError, "A is 'x', expected a SymPy matrix"),
    (([["x", 1]], [x, y]), {}, sixd.ScalarTypeError, "an entry of A is 'x', expected a number"),
    (([[None, 1]], [x, y]), {}, sixd.ScalarTypeError, "an entry of A is None"),
    (([[sp.nan, 1]], [x, y]), {}, sixd.ScalarTypeError, "an entry of A is nan, expected a finite"),
    (([[xd, y]], [x, y]), {}, sixd.ModelError, "contains the velocity xd, expected functions of q alone. Give qd="),
    (([[x, y]], [x, x]), {}, sixd.ModelError, "expected each coordinate once"),
    (([[x, y]], x), {}, sixd.ScalarTypeError, r"q is x, expected a list of coordinates: \[x\]"),
    (([[x, y]], [x, 1]), {}, sixd.ScalarTypeError, "coordinate 1 is a int, expected a SymPy symbol"),
    (([[x, y]], 3), {}, sixd.ScalarTypeError, "q is 3, expected a list of SymPy symbols"),
    ((x * xd**2, [x, y]), {"qd": [xd, yd]}, sixd.ModelError, "must be linear in the velocities"),
    ((x * xd - 1, [x, y]), {"qd": [xd, yd]}, sixd.ModelError, "has the term -1 without a velocity"),
    ((x**2 + y**2, [x, y]), {"qd": [xd, yd]}, sixd.ModelError, r"the term x\*\*2 \+ y\*\*2 without a velocity"),
    ((x * xd, [x, y]), {"qd": [xd]}, sixd.ShapeError, "qd has 1 entries, expected 2"),
    ((x * xd, [x, y]), {"qd": [xd, xd]}, sixd.ModelError, "a symbol of its own for each velocity"),
    ((x * xd, [x, y]), {"qd": 3}, sixd.ScalarTypeError, "qd is 3, expected a list"),
]


@pytest.mark.parametrize(("arguments", "options", "error", "message"), MISTAKES, ids=lambda v: str(v)[:40])
def test_mistakes_raise(arguments, options, error, message):
    with pytest.raises(error, match=message) as caught:
        sixd.is_holonomic(*arguments, **options)
    assert str(caught.value).startswith("is_holonomic: ")
