"""Solutions with matrices whose zeros are known, against dense algebra."""

from fractions import Fraction

import numpy as np
import pytest

from sixd.algorithms.linear.patterns import factors, metric_of, solve_entries
from tree_matrices import SEEDS, close, random_matrix, random_parent, support


@pytest.mark.parametrize("seed", SEEDS)
def test_factors_of_matrices_with_zeros(seed):
    """U D L = A with and without symmetry; the pattern of a tree does not fill in, others do where they must."""
    parent, rng = random_parent(seed), np.random.default_rng(seed)
    H, pattern = random_matrix(seed, parent), support(parent)
    skewed = H + rng.uniform(-0.1, 0.1, H.shape) * pattern
    crossed = skewed.copy()
    crossed[0, -1] = crossed[3, 5] = 0.2
    x = rng.standard_normal(len(H))
    for A, is_symmetric, is_tree in ((H, True, True), (H, False, True), (skewed, False, True), (crossed, False, False)):
        entries = np.where(A == 0, 0, A.astype(object))
        found = factors(entries, is_symmetric=is_symmetric)
        U, d, L = (np.array(part, dtype=float) for part in found[:3])
        assert close(U @ np.diag(d) @ L, A, 1e-10)
        assert close(np.array(found.solve(x), dtype=float), np.linalg.solve(A, x), 1e-10)
        if is_tree:
            assert not U[~pattern].any()
            assert not L[~pattern].any()
        assert all(L[i, j] for i, row in enumerate(found.pattern) for j in row)
    triangle = np.tril(H) + np.triu(np.full_like(H, np.nan), 1)
    assert close(np.array(factors(triangle, is_symmetric=True).solve(x), dtype=float), np.linalg.solve(H, x), 1e-10)


def random_pattern(seed, n=9):
    """A matrix with zeros in random places that are not those of a tree, and a dominant diagonal."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, n)) * (rng.random((n, n)) < 0.3) + n * np.eye(n)


def entries_of(A):
    """The entries that are not zero."""
    return {(i, j): A[i, j] for i, j in zip(*map(list, np.nonzero(A)), strict=True)}


@pytest.mark.parametrize("seed", SEEDS)
def test_entries_solve(seed):
    """A⁻¹ b of any pattern and of a tree's, which does not fill in; of a symmetric one from the lower triangle."""
    b = np.random.default_rng(seed).standard_normal(9)
    A = random_pattern(seed)
    assert close(solve_entries(entries_of(A), list(b)), np.linalg.solve(A, b))
    symmetric = A + A.T
    assert close(
        solve_entries(entries_of(np.tril(symmetric)), list(b), is_symmetric=True), np.linalg.solve(symmetric, b)
    )
    H = random_matrix(seed, random_parent(seed, n=9))
    entries = entries_of(H)
    known = set(entries)
    assert close(solve_entries(entries, list(b)), np.linalg.solve(H, b))
    assert set(entries) == known


@pytest.mark.parametrize("seed", SEEDS)
def test_factors_of_a_symmetric_matrix_are_a_metric(seed):
    """Also with zeros that are not a tree's."""
    A = random_pattern(seed)
    A, b = A + A.T, np.random.default_rng(seed).standard_normal(9)
    metric = metric_of(factors(np.where(A == 0, 0, A.astype(object)), is_symmetric=True))
    assert close(np.array(metric.solve(b), dtype=float), np.linalg.solve(A, b))


def test_exact_entries():
    """Rational entries give the rational solution."""
    A = {(0, 0): Fraction(2), (1, 1): Fraction(3), (0, 1): Fraction(1), (1, 0): Fraction(5)}
    assert solve_entries(A, [Fraction(1), Fraction(2)]).tolist() == [Fraction(1), Fraction(-1)]
