"""Scalar functions on floats, arrays, SymPy expressions, object arrays and foreign scalars."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from scalars import BINARY, UNARY, Algebraic, Foreign, value, values
from sixd import ScalarTypeError, SixdError, spatial
from sixd.spatial import scalar
from sixd.spatial.scalar import where

SAMPLES = [0.25, 1e-9, 1.0, 0.999]
PAIRS = [(0.5, -2.0), (-1.0, -1e-160), (0.0, -1.0), (3.0, 3.0)]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("x", SAMPLES)
def test_unary_on_every_scalar(name, x):
    """A float, a fraction, an array, SymPy, an object array and a foreign scalar give one value."""
    f, expected = getattr(spatial, name), pytest.approx(UNARY[name](x), rel=1e-14, abs=1e-15)
    assert f(x) == expected
    assert f(np.float64(x)) == expected
    assert f(Fraction(x)) == expected
    assert f(np.array([[x], [x]])).tolist() == f([[x], [x]]).tolist() == [[expected]] * 2
    assert float(f(sp.Symbol("x")).subs("x", sp.Rational(x))) == expected
    assert f(Foreign(x)).value == expected
    mixed = f(np.array([x, sp.Rational(x), Foreign(x)], dtype=object))
    assert mixed.dtype == object
    assert [float(value(y)) for y in mixed] == [expected] * 3


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("pair", PAIRS)
def test_binary_on_every_pair_of_scalars(name, pair):
    """Floats, SymPy and foreign scalars mix with plain numbers on either side."""
    f, expected = getattr(spatial, name), pytest.approx(BINARY[name](*pair), rel=1e-14)
    x, y = pair
    assert f(x, y) == expected
    assert f(np.array([x, x]), y).tolist() == [expected] * 2
    assert float(f(sp.Rational(x), y)) == expected
    assert float(f(x, sp.Rational(y))) == expected
    for a, b in [(Foreign(x), Foreign(y)), (Foreign(x), y), (x, Foreign(y))]:
        assert f(a, b).value == expected
    column = np.array([[Foreign(x)], [Foreign(x)]])
    assert values(f(column, [y, y, y])).tolist() == [[expected] * 3] * 2


@pytest.mark.parametrize("name", BINARY)
def test_binary_of_one_object_twice(name):
    """The same foreign scalar may stand on both sides, as shared subexpressions do."""
    x = Foreign(2.0)
    assert getattr(spatial, name)(x, x).value == pytest.approx(BINARY[name](2.0, 2.0))


def test_sympy_stays_exact():
    """Exact numbers and symbols pass through without a float."""
    x = sp.Symbol("x", real=True)
    assert spatial.sin(sp.pi / 6) == sp.Rational(1, 2)
    assert spatial.sqrt(sp.Integer(8)) == 2 * sp.sqrt(2)
    assert spatial.atan2(1, sp.Integer(-1)) == 3 * sp.pi / 4
    assert spatial.minimum(x, 2) == sp.Min(x, 2)
    assert spatial.absolute(x) == sp.Abs(x)
    assert (spatial.cos(np.array([0, sp.pi, x])) == np.array([1, -1, sp.cos(x)])).all()


def test_functions_of_time():
    """An undefined function q(t), as dynamicsymbols makes, is a SymPy scalar."""
    q = sp.Function("q")(sp.Symbol("t"))
    assert spatial.sin(q) == sp.sin(q)


def test_sign_of_zero_is_zero():
    """sign(0) = 0 for floats, arrays and SymPy."""
    assert (spatial.sign(0.0), spatial.sign(sp.Integer(0))) == (0, 0)
    assert spatial.sign(np.array([0.0, -3.0])).tolist() == [0, -1]


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_scalar_without_the_method(name):
    """The error names the function and the type."""
    arguments = [object()] * (1 if name in UNARY else 2)
    with pytest.raises(ScalarTypeError, match=f"{name}: a scalar of type object has no method '{name}'"):
        getattr(spatial, name)(*arguments)


# where -----------------------------------------------------------------------------------------


def test_where_on_booleans():
    """A bool selects a whole value, an array of bools element by element."""
    assert where(True, 1, 2) == 1
    assert where(np.bool_(False), 1, 2) == 2
    assert where(np.array([True, False]), 1.0, np.array([5.0, 6.0])).tolist() == [1.0, 6.0]
    assert values(where(np.array([True, False]), Foreign(1.0), Foreign(2.0))).tolist() == [1.0, 2.0]


def test_where_on_sympy_relations():
    """A relation becomes a piecewise expression; a decided one selects."""
    x = sp.Symbol("x", real=True)
    assert where(x < 0, -x, x) == sp.Piecewise((-x, x < 0), (x, True))
    assert where(sp.Integer(1) < 2, x, 0) == x
    column = where(np.array([x < 0, sp.true]), np.array([1, 2]), 3)
    assert column[0].subs(x, 1) == 3
    assert column[1] == 2


def test_where_on_foreign_conditions():
    """A foreign comparison chooses by its own method, alone or in an array, and is never asked for its truth."""
    x = Foreign(2.0)
    assert where(x > 1.0, "a", "b") == "a"
    assert where(np.array([x > 1.0, x > 3.0]), np.array([1, 2]), np.array([3, 4])).tolist() == [1, 4]


@pytest.mark.parametrize("condition", [object(), 1.0, Foreign(1.0)])
def test_where_refuses_what_is_no_condition(condition):
    """Something without truth and without the method gives the family's error."""
    with pytest.raises(SixdError, match="where"):
        where(condition, 1, 2)


# foreign scalars are never asked for their truth --------------------------------------------------


@pytest.mark.parametrize(
    ("function", "size"),
    [
        (lambda x: spatial.rotx(x[0]) @ spatial.roty(x[1]) @ spatial.rotz(x[2]) @ spatial.xlt(x[:3]), 3),
        (spatial.crm, 6),
        (spatial.crf, 6),
        (spatial.skew, 3),
        (spatial.quaternion_to_rotation, 4),
        (spatial.quaternion_normalize, 4),
        (spatial.quaternion_from_vector, 3),
        (spatial.rotation_from_vector, 3),
        (lambda x: spatial.rotation_from_euler("ZXZ", x), 3),
        (lambda x: spatial.plucker(spatial.quaternion_to_rotation(x[:4]), x[4:]), 7),
        (lambda x: spatial.inverse_transform(spatial.rotx(x[0]) @ spatial.xlt(x)), 3),
        (lambda x: spatial.congruence(spatial.xlt(x), np.eye(6)), 3),
        (lambda x: spatial.Inertia(x[0], x[1:4], x[4:7]).matrix, 7),
    ],
)
def test_algebra_takes_algebraic_scalars(function, size, rng):
    """Transforms, cross products and inertias never ask a scalar for truth or a comparison."""
    x = rng.uniform(0.2, 2.0, size)
    assert values(function(np.array([Algebraic(a) for a in x]))) == pytest.approx(function(x), abs=1e-13)


def test_rotation_inverses_take_foreign_scalars(rng):
    """Quaternion, vector and Euler angles of a rotation choose by where alone."""
    R = spatial.quaternion_to_rotation(rng.standard_normal(4))
    F = np.array([[Foreign(x) for x in row] for row in R])
    for f in (spatial.quaternion_from_rotation, spatial.rotation_to_vector, spatial.rotation_to_rpy):
        assert values(f(F)) == pytest.approx(f(R), abs=1e-14)


# small helpers ------------------------------------------------------------------------------------


def test_kinds_of_scalars():
    """Numbers, zeros and objects are distinguished without asking a foreign scalar."""
    x = sp.Symbol("x")
    samples = (Fraction(1, 2), np.float32(0), 0.0, sp.Integer(0), x, Foreign(0.0))
    assert [scalar.is_number(a) for a in samples] == [True, True, True, False, False, False]
    assert [scalar.is_zero(a) for a in samples] == [False, True, True, True, False, False]
    assert scalar.is_object([1.0, x])
    assert not scalar.is_object([1, 2.0])
    assert scalar.symbols_in([np.ones(3), np.array([x, 2, Foreign(1.0)])]) == {x}
    assert scalar.common_dtype([np.ones(2, dtype=int)], []) == np.float64
    assert scalar.common_dtype([np.ones(2)], [np.array([x])]) == np.object_


def test_a_sympy_float_may_be_zero():
    """A SymPy 0.0 is exactly zero too."""
    assert scalar.is_zero(sp.Float(0))


def test_whole_numbers():
    """A float without a fraction becomes an int; anything else stays as it is."""
    assert isinstance(scalar.whole(np.float64(2.0)), int)
    assert scalar.whole(0.5) == 0.5
    assert isinstance(scalar.whole(2.0**60), float)
    assert scalar.whole(math.inf) == math.inf
    assert isinstance(scalar.whole(sp.Float(2)), sp.Float)
