"""Dual numbers: derivatives against SymPy's derivatives, on floats, symbols, traced scalars and nested."""

import numpy as np
import pytest
import sympy as sp

from sixd import spatial
from sixd.spatial.dual import Dual, derivative, duals, gradient, parts
from sixd.trace import trace

FUNCTIONS = {
    "polynomial": lambda x: x[0] * x[0] * 3 - x[1] / 2 + 1 - (-x[0]) * x[1],
    "quotient": lambda x: (1 + x[0]) / (2 + x[1] * x[1]) - 3 / x[0],
    "power": lambda x: x[0] ** 3 * x[1] ** 2,
    "sin": lambda x: spatial.sin(x[0] * x[1]),
    "cos": lambda x: spatial.cos(x[0] + x[1]),
    "tan": lambda x: spatial.tan(x[0] / 3),
    "asin": lambda x: spatial.asin(x[0] / 3),
    "acos": lambda x: spatial.acos(x[1] / 3),
    "atan2": lambda x: spatial.atan2(x[0], x[1]) + spatial.atan2(1, x[0]),
    "sqrt": lambda x: spatial.sqrt(x[0] + x[1] * x[1]),
    "exp": lambda x: spatial.exp(x[0] * x[1]),
    "log": lambda x: spatial.log(x[0] + x[1]),
    "where": lambda x: spatial.where(x[0] > x[1], x[0] * x[0], x[1] * 2) + spatial.where(x[0] >= 0, x[1], 0),
    "extremes": lambda x: spatial.minimum(x[0], x[1]) * 2 + spatial.maximum(x[0] * x[1], 3),
    "absolute": lambda x: spatial.absolute(x[0] - x[1]) + spatial.sign(x[0]) * x[1],
    "logic": lambda x: spatial.where((x[0] > 0) & ~(x[1] > x[0]) | (x[0] < -5), x[0], x[1] * x[1]),
}
POINTS = [(1.3, 0.7), (0.4, 2.1)]
A, B = sp.symbols("a b", real=True)


def derivative_by_sympy(function, point, direction):
    expression = function(np.array([A, B]))
    slope = expression.diff(A) * direction[0] + expression.diff(B) * direction[1]
    return float(slope.subs({A: point[0], B: point[1]}).doit().evalf())


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_dual_numbers_are_derivatives(name, point):
    direction = (0.6, -1.1)
    if name == "logic":  # SymPy's own conditions do not take & of our kind of expression: checked by cases
        a, b = point
        expected = direction[0] if a > 0 and not b > a else 2 * b * direction[1]
    else:
        expected = derivative_by_sympy(FUNCTIONS[name], point, direction)
    value, slope = derivative(lambda x: np.array([FUNCTIONS[name](x)]), np.array(point), np.array(direction))
    assert slope[0] == pytest.approx(expected, abs=1e-12)
    assert value[0] == pytest.approx(float(FUNCTIONS[name](np.array(point))), abs=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced_derivatives(name):
    """The same on traced scalars: what is compiled."""
    direction = np.array([0.6, -1.1])
    one = FUNCTIONS[name]
    program = trace(lambda x: derivative(lambda y: np.array([one(y)]), x, direction)[1], {"x": (2,)})
    for point in POINTS:
        expected = derivative(lambda y: np.array([one(y)]), np.array(point), direction)[1]
        np.testing.assert_allclose(program.evaluate(np.array(point))[0], expected, atol=1e-12)


def test_nested_for_second_derivatives():
    def first(x):
        return derivative(lambda y: np.array([spatial.sin(y[0]) * y[1]]), x, np.array([1, 0]))[1]

    value, slope = derivative(first, np.array([0.3, 2.0]), np.array([0.0, 1.0]))
    assert value[0] == pytest.approx(2 * np.cos(0.3))
    assert slope[0] == pytest.approx(np.cos(0.3))


def test_symbols_stay_exact():
    value, slope = derivative(lambda x: x * x / 3, np.array([A]), np.array([1]))
    assert (value[0], slope[0]) == (A**2 / 3, 2 * A / 3)


def test_arrays_of_duals():
    x = duals(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    assert all(isinstance(e, Dual) for e in np.array([1.0, 2.0]) * x)
    values, slopes = parts(np.array([[3.0, x[0]], [x[0] * x[1], 1]], dtype=object))
    np.testing.assert_array_equal(values, [[3, 1], [2, 1]])
    np.testing.assert_array_equal(slopes, [[0, 1], [2, 0]])
    assert "Dual(1.0, 1.0)" in repr(x[0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_several_directions_at_once(name):
    """``gradient`` gives what ``derivative`` gives direction by direction, on floats and on traced scalars."""
    directions = np.array([(0.6, -1.1), (1.0, 0.0), (0.0, 2.0)])
    one = FUNCTIONS[name]

    def both(x):
        return np.array([one(x), x[0] * 2])

    program = trace(lambda x: gradient(both, x, directions)[1], {"x": (2,)})
    for point in POINTS:
        value, slopes = gradient(both, np.array(point), directions)
        expected = np.array([derivative(both, np.array(point), d)[1] for d in directions], dtype=float).T
        np.testing.assert_allclose(slopes.astype(float), expected, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(program.evaluate(point)[0], expected, rtol=1e-12, atol=1e-12)
        assert value.shape == (2,)


def test_division_by_zero_is_not_refused():
    """A zero quaternion gives inf or NaN in its row, as NumPy's own numbers do."""
    with np.errstate(all="ignore"):
        x = Dual(1.0, 1.0) / Dual(0.0, 1.0)
    assert np.isinf(x.value)
    assert not np.isfinite(x.derivative)
