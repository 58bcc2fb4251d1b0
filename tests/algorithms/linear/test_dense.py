"""Small dense solutions: residuals, exact cases, and every mask against the matrix without the other rows."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sixd.algorithms.linear.dense import (
    factors_free,
    factors_small,
    inverse_small,
    solve_free,
    solve_free_lu,
    solve_rows,
)

SIZES = range(1, 7)


def positive(rng, n, decades=2):
    """A symmetric positive definite matrix with a condition of 10^decades."""
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = Q @ np.diag(10 ** np.linspace(-decades, 0, n)) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize("n", SIZES)
def test_a_joint_s_size(n, rng):
    """L diag(1/r) Lᵀ = D with a unit triangle L; the inverse is symmetric to the bit."""
    for _ in range(20):
        D = positive(rng, n)
        L, r = factors_small(D)
        assert_allclose(np.array(L) @ np.diag(1 / np.array(r)) @ np.array(L).T, D, atol=1e-15 * n)
        assert np.array_equal(np.triu(L), np.eye(n))
        inverse = inverse_small(D)
        assert_allclose(inverse @ D, np.eye(n), atol=1e-12)
        assert np.array_equal(inverse, inverse.T)


def test_exact_solutions():
    """Rational matrices give rational results."""
    A = np.array([[Fraction(4), Fraction(2)], [Fraction(2), Fraction(3)]])
    b = np.array([Fraction(8), Fraction(7)])
    assert inverse_small(A).tolist() == [[Fraction(3, 8), Fraction(-1, 4)], [Fraction(-1, 4), Fraction(1, 2)]]
    assert solve_rows(A.tolist(), [[x] for x in b]) == [[Fraction(5, 4)], [Fraction(3, 2)]]
    for solve in (solve_free, solve_free_lu):
        assert solve(A, b, [True, True]).tolist() == [Fraction(5, 4), Fraction(3, 2)]
        assert solve(A, b, [False, True]).tolist() == [0, Fraction(7, 3)]
        assert solve(A, b, [False, False]).tolist() == [0, 0]


@pytest.mark.parametrize("n", SIZES)
def test_every_mask(n, rng):
    """Free rows have the solution of the matrix without the others, whose x is 0."""
    W = positive(rng, n)
    skewed = W + 0.01 * rng.normal(size=(n, n)) * np.diag(W).min()
    b = rng.normal(size=n)
    for mask in product([False, True], repeat=n):
        free = np.flatnonzero(mask)
        for solve, A in ((solve_free, W), (solve_free_lu, W), (solve_free_lu, skewed)):
            x = np.asarray(solve(A, b, mask), dtype=float)
            wanted = np.zeros(n)
            wanted[free] = np.linalg.solve(A[np.ix_(free, free)], b[free])
            assert_allclose(x, wanted, atol=1e-11 * max(1, np.abs(wanted).max()))
        L, r = factors_free(W, mask)
        left = np.array(L, dtype=float)[np.ix_(free, free)] + np.eye(len(free))
        assert_allclose(left @ np.diag(1 / np.array(r)[free]) @ left.T, W[np.ix_(free, free)], atol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_rows_with_several_right_hand_sides(n, rng):
    T, b = rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=(n, 3))
    assert_allclose(solve_rows(T.tolist(), b.tolist()), np.linalg.solve(T, b), atol=1e-13)
