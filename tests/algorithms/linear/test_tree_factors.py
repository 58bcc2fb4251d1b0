"""Factorizations with the sparsity of a tree, against dense algebra."""

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd.algorithms.linear.tree import (
    branches,
    eliminate_tree,
    inverse_diagonal,
    ltdl,
    ltl,
    multiply_h,
    multiply_l,
    multiply_lt,
    solve_l,
    solve_lt,
    tree_metric,
)
from tree_matrices import COURSE, SEEDS, close, random_matrix, random_parent, support


def solve_factored(L, D, parent, x):
    """H⁻¹ x with the factors of ``ltdl``; x is (n,) or (n, m)."""
    return solve_l(L, parent, (solve_lt(L, parent, x).T / D).T)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_dof_parent_is_the_pattern_of_the_mass_matrix(seed):
    """M of a random tree vanishes exactly where neither DoF supports the other."""
    model = sixd.zoo.random_tree(seed, passive=False)
    M = sixd.mass_matrix(model, model.random_configuration(seed))
    assert not M[~support(model.dof_parent)].any()
    found = ltdl(M, model.dof_parent)
    assert close(solve_factored(*found, model.dof_parent, np.eye(model.nv)) @ M, np.eye(model.nv), 1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_factors(seed):
    """LᵀL = H = LᵀDL, lower triangular, with the pattern of H: nothing fills in."""
    parent = random_parent(seed)
    H, pattern = random_matrix(seed, parent), support(parent)
    L = ltl(H, parent)
    assert close(L.T @ L, H)
    assert close(L, np.tril(L), 0)
    assert not L[~pattern].any()
    U, D = ltdl(H, parent)
    assert close(U.T @ np.diag(D) @ U, H)
    assert (np.diag(U) == 1).all()
    assert not U[~pattern].any()
    assert close(np.sqrt(D)[:, None] * U, L)
    # an independent factor: Cholesky of the matrix read from its last row
    flipped = np.linalg.cholesky(H[::-1, ::-1])[::-1, ::-1].T
    assert close(L, flipped)


@pytest.mark.parametrize("seed", SEEDS)
def test_only_the_lower_triangle_is_read(seed):
    """Rubbish above the diagonal changes nothing, and H itself is left as it was."""
    parent = random_parent(seed)
    H = random_matrix(seed, parent)
    lower = np.tril(H) + np.triu(np.full_like(H, np.nan), 1)
    before = lower.copy()
    x = np.random.default_rng(seed).standard_normal(len(H))
    assert close(ltl(lower, parent), ltl(H, parent), 0)
    assert close(ltdl(lower, parent)[1], ltdl(H, parent)[1], 0)
    assert close(multiply_h(lower, parent, x), H @ x)
    assert np.array_equal(lower, before, equal_nan=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_products_and_solutions(seed):
    """H x, L x, Lᵀ x and their inverses against dense algebra; H⁻¹ x by LᵀDL, also for many columns."""
    parent = random_parent(seed)
    H = random_matrix(seed, parent)
    rng = np.random.default_rng(seed)
    x, B = rng.standard_normal(len(H)), rng.standard_normal((len(H), 3))
    L = ltl(H, parent)
    assert close(multiply_h(H, parent, x), H @ x)
    assert close(multiply_l(L, parent, x), L @ x)
    assert close(multiply_lt(L, parent, x), L.T @ x)
    assert close(solve_l(L, parent, x), np.linalg.solve(L, x))
    assert close(solve_lt(L, parent, x), np.linalg.solve(L.T, x))
    assert close(solve_l(L, parent, solve_lt(L, parent, x)), np.linalg.solve(H, x))
    factors = ltdl(H, parent)
    assert close(solve_factored(*factors, parent, x), np.linalg.solve(H, x))
    assert close(solve_factored(*factors, parent, B), np.linalg.solve(H, B))


def test_fd1_sparse_factor():
    """LᵀL of λ = [0 1 1 3 3] has H's pattern and equals the factor with the chain λ = [0 1 2 3 4]."""
    parent = tuple(p - 1 for p in COURSE[1:])
    H = random_matrix(0, parent)
    L = ltl(H, parent)
    assert close(L, ltl(H, (-1, 0, 1, 2, 3)), 1e-15)
    assert ((L != 0) == np.tril(support(parent))).all()
    assert ((H != 0) == support(parent)).all()


def test_symbolic_factors():
    """A symbolic matrix of a branched tree factors exactly: products give it back, zeros stay zeros."""
    a, b, c, d, e = sp.symbols("a b c d e", positive=True)
    H = np.array([[a, d, e], [d, b, 0], [e, 0, c]])
    parent = (-1, 0, 0)
    U, D = ltdl(H, parent)
    assert sp.simplify(sp.Matrix(U.T @ np.diag(D) @ U) - sp.Matrix(H)) == sp.zeros(3, 3)
    L = ltl(H, parent)
    assert sp.simplify(sp.Matrix(L.T @ L) - sp.Matrix(H)) == sp.zeros(3, 3)
    assert L[2, 1] == U[2, 1] == 0
    x = np.array([1, 0, a])
    solved = solve_factored(U, D, parent, x)
    assert sp.simplify(sp.Matrix(multiply_h(H, parent, solved) - x)) == sp.zeros(3, 1)
    assert not sp.Matrix(L).atoms(sp.Float)


def test_no_degrees_of_freedom():
    """Matrices without rows."""
    assert ltl(np.zeros((0, 0)), ()).shape == ltdl(np.zeros((0, 0)), ())[0].shape == (0, 0)
    assert branches(()) == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_metric_solves(seed):
    """H = Lᵀ diag(1/w) L: ``lower`` and ``raised`` are the inverses of Lᵀ and L, ``solve`` that of H."""
    parent, rng = random_parent(seed), np.random.default_rng(seed)
    H = random_matrix(seed, parent)
    x, B = rng.standard_normal(len(H)), rng.standard_normal((len(H), 3))
    metric = tree_metric(H, parent)
    assert metric.branch == branches(parent)
    assert close(metric.lower(x), np.linalg.solve(metric.L.T, x))
    assert close(metric.raised(x), np.linalg.solve(metric.L, x))
    assert close(metric.solve(x), np.linalg.solve(H, x))
    assert close(metric.solve(B), np.linalg.solve(H, B))
    assert close(inverse_diagonal(metric.L, metric.weight, metric.branch), np.diag(np.linalg.inv(H)))


@pytest.mark.parametrize("seed", SEEDS)
def test_held_rows_are_left_out(seed):
    """With rows held, L, 1/D and L⁻ᵀb are those of the matrix without these rows and columns."""
    parent, rng = random_parent(seed), np.random.default_rng(seed)
    H, branch = random_matrix(seed, parent), branches(parent)
    held = {i: bool(rng.integers(2)) for i in range(0, len(H), 2)}
    free = [i for i in range(len(H)) if not held.get(i, False)]
    A = {(i, j): H[i, j] for i, path in enumerate(branch) for j in (i, *path)}
    right = rng.standard_normal(len(H))
    b = list(right)
    weight = eliminate_tree(A, branch, held, b)
    assert all(weight[i] == 0 for i, is_held in held.items() if is_held)
    inverse = np.linalg.inv(H[np.ix_(free, free)])
    assert close(np.array(inverse_diagonal(A, weight, branch))[free], np.diag(inverse))
    x = []
    for i, path in enumerate(branch):
        x.append(b[i] * weight[i] - sum(A[i, j] * x[j] * (weight[j] != 0) for j in path))
    assert close(np.array(x)[free], inverse @ right[free])
