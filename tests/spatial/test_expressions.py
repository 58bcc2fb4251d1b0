"""SymPy expressions on other scalars: against SymPy's own evaluation."""

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd.spatial.expressions import evaluate_expressions
from sixd.trace import trace

x, y = sp.symbols("x y", positive=True)
EXPRESSIONS = [
    sp.Integer(3), sp.Rational(1, 3), sp.pi * x, sp.E + y, sp.sqrt(2) * x, -x * y, x - y, 3 / x, x**5, x**-3,
    sp.sqrt(x + y) / y**2, x ** sp.Rational(5, 2), x ** sp.Rational(-3, 2), x ** sp.Rational(1, 3), x**y,
    sp.sin(x) ** 2 + sp.cos(x * y), sp.tan(x), sp.asin(x / 3), sp.acos(x / 3), sp.atan(x), sp.atan2(x, y),
    sp.exp(x), sp.log(x), sp.sinh(x), sp.cosh(x), sp.tanh(x), sp.sec(x), sp.csc(x), sp.cot(x),
    sp.sign(x - y), sp.Abs(x - y), sp.Min(x, y, 2), sp.Max(x, y, 2),
    sp.Piecewise((x, x > y), (y, True)), sp.Piecewise((x, (x > 2) & (y < 3)), (y, (x <= 1) | (y >= 2)), (1, True)),
]  # fmt: skip
POINT = {x: 1.3, y: 2.7}


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_floats_and_traces(expression):
    expected = float(expression.subs(POINT))
    assert float(evaluate_expressions([expression], POINT)[0]) == pytest.approx(expected, rel=1e-14)
    program = trace(lambda a: evaluate_expressions([expression], {x: a[0], y: a[1]}), {"a": (2,)})
    assert program.evaluate(np.array([1.3, 2.7]))[0][0] == pytest.approx(expected, rel=1e-14)


def test_symbols_change_places():
    assert list(evaluate_expressions([x - y], {x: y, y: x})) == [y - x]


def test_a_case_that_no_condition_covers_is_nan():
    assert np.isnan(float(evaluate_expressions([sp.Piecewise((x, x > 2))], {x: 1.0})[0]))


def test_what_cannot_be_evaluated_is_named():
    with pytest.raises(sixd.ScalarTypeError, match=r"pendulum: the symbol y has no value.*substitute"):
        evaluate_expressions([x + y], {x: 1.0}, "pendulum")
    with pytest.raises(sixd.ScalarTypeError, match="gamma in .* cannot be evaluated"):
        evaluate_expressions([sp.gamma(x)], {x: 1.0})
