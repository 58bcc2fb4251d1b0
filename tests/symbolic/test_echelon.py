"""Exact linear algebra on matrices of SymPy functions: zero test, shortening, echelon form and null space."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from sixd.symbolic.echelon import echelon, is_zero, tidy

x, y, z, theta, phi, R, L = sp.symbols("x y z theta phi R L")
s, c = sp.sin, sp.cos


def test_zero_test_sees_through_fractions_and_angles():
    assert is_zero(1 / (x + 1) - 1 / (x + 2) - 1 / ((x + 1) * (x + 2)))
    assert is_zero(sp.tan(x) - s(x) / c(x))
    assert is_zero(s(x + y) * s(x - y) - s(x) ** 2 + s(y) ** 2)
    assert is_zero(sp.cosh(x) ** 2 - sp.sinh(x) ** 2 - 1)
    assert not is_zero(s(x) ** 2 + c(x) ** 2 - sp.Rational(999999, 1000000))
    assert not is_zero(sp.sqrt(x**2) - x)
    assert not is_zero(sp.exp(x) - 1 - x)


@pytest.mark.parametrize("seed", range(4))
def test_echelon_has_the_rank_and_the_null_space(seed):
    """Compared with NumPy, for matrices of rank two with numbers, and with functions of full rank."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-3, 4, (3, 2)) @ rng.integers(-3, 4, (2, 5))
    reduced = echelon(sp.Matrix(numbers))
    assert len(reduced.pivots) == np.linalg.matrix_rank(numbers)
    assert sp.Matrix(numbers) * reduced.null_space == sp.zeros(3, 5 - len(reduced.pivots))
    A = sp.Matrix([[s(x), y, 1, x * y], [c(x), int(rng.integers(1, 4)), x, 0]])
    N = echelon(A, [x, y]).null_space
    assert N.shape == (4, 2)
    assert all(is_zero(e) for e in A * N)


def test_tidy_is_equal_and_not_longer(rng):
    for e in [(x**2 - 1) / (x - 1), (c(x) ** 2 - 1) / s(x), 1 / x - 1 / (x + 1), R * c(x), sp.sqrt(x) + 1 / x]:
        short = tidy(e)
        point = {v: Fraction(int(rng.integers(3, 30)), 17) for v in e.free_symbols}
        assert abs(complex((short - e).subs(point).evalf())) < 1e-12
        assert sp.count_ops(short) <= sp.count_ops(e)


ROLLING = sp.Matrix([[1, 0, 0, -R * c(theta)], [0, 1, 0, -R * s(theta)]])
PFAFFIAN = {
    "disc": (ROLLING, [x, y, theta, phi], (theta, phi)),
    "disc with a redundant row": (
        ROLLING.col_join(sp.Matrix([[c(theta), s(theta), 0, -R]])),
        [x, y, theta, phi],
        (theta, phi),
    ),
    "knife edge": (sp.Matrix([[s(theta), -c(theta), 0]]), [x, y, theta], (x, theta)),
    "gear": (sp.Matrix([[R, -L]]), [theta, phi], (theta,)),
    "number before parameter before coordinate": (sp.Matrix([[x, R, 2]]), [x, y, z], (x, y)),
    "nothing": (sp.zeros(0, 2), [x, y], (x, y)),
}


@pytest.mark.parametrize("name", PFAFFIAN)
def test_null_space_of_pfaffian_constraints(name):
    """A N = 0, the identity in the rows of the independent velocities, and as few divisions as can be."""
    A, q, expected = PFAFFIAN[name]
    reduced = echelon(A, q)
    N, independent = reduced.null_space, tuple(q[j] for j in reduced.others)
    assert independent == expected
    assert all(is_zero(e) for e in A * N)
    assert N.extract([q.index(v) for v in independent], range(len(independent))) == sp.eye(len(independent))
