"""Index sets of trees, and factorisation with branch-induced sparsity."""

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd import ModelError
from sixd.model.sparsity import (
    expand_parent,
    factors,
    ltdl,
    ltl,
    multiply_h,
    multiply_l,
    multiply_lt,
    solve_l,
    solve_lt,
)
from sixd.model.tree import Tree

COURSE = [-1, 0, 1, 1, 3, 3]  # λ = [0 1 1 3 3], the world first
SEEDS = range(6)


def random_parent(seed, n=12):
    """Per-DoF parent array of a random forest."""
    rng = np.random.default_rng(seed)
    return tuple(int(rng.integers(-1, k)) for k in range(n))


def support(parent):
    """(n, n) bools: whether i or j supports the other, from the transitive closure."""
    n = len(parent)
    A = np.eye(n, dtype=bool)
    for k, p in enumerate(parent):
        if p >= 0:
            A[k] |= A[p]
    return A | A.T


def random_matrix(seed, parent):
    """A symmetric positive definite matrix with the pattern of the tree."""
    rng = np.random.default_rng(seed)
    n = len(parent)
    L = np.tril(rng.uniform(-1, 1, (n, n))) * support(parent) + 2 * np.eye(n)
    return L.T @ L


def close(a, b, tolerance=1e-12):
    return np.abs(np.asarray(a) - b).max(initial=0.0) <= tolerance


# index sets -------------------------------------------------------------------------------------------


def test_mod1_index_sets():
    """κ, μ, ν and depth of λ = [0 1 1 3 3]; ν is depth first."""
    tree = Tree(COURSE)
    assert [tree.ancestors(i) for i in range(1, 6)] == [(1,), (1, 2), (1, 3), (1, 3, 4), (1, 3, 5)]
    assert [tree.children(i) for i in range(6)] == [(1,), (2, 3), (), (4, 5), (), ()]
    assert [tree.subtree(i) for i in range(1, 6)] == [(1, 2, 3, 4, 5), (2,), (3, 4, 5), (4,), (5,)]
    assert tree.depth() == 3
    assert Tree([-1, 0, 1, 1, 2, 3]).subtree(1) == (1, 2, 4, 3, 5)


def test_expanded_lambda():
    """λ = [0 1 1] with 2, 1 and 3 freedoms gives [0 1 2 2 4 5], counted from 1."""
    expanded = expand_parent([-1, 0, 1, 1], [0, 2, 1, 3])
    assert [k + 1 for k in expanded] == [0, 1, 2, 2, 4, 5]
    # bodies without freedoms hand their parent's on
    assert expand_parent([-1, 0, 1, 2, 0], [0, 1, 0, 2, 1]) == (-1, 0, 1, -1)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees(seed):
    """Each set by its definition: j ∈ κ(i) exactly if i ∈ ν(j); depth counts κ; μ partitions the bodies."""
    rng = np.random.default_rng(seed)
    n = 30
    parent = [-1] + [int(rng.integers(0, i)) for i in range(1, n)]
    tree = Tree(parent)
    carried = support([p - 1 for p in parent[1:]]) & np.tri(n - 1, dtype=bool)
    for i in range(1, n):
        assert tree.ancestors(i) == tuple(np.flatnonzero(carried[i - 1]) + 1)
        assert sorted(tree.subtree(i)) == (np.flatnonzero(carried[:, i - 1]) + 1).tolist()
        assert tree.depth(i) == carried[i - 1].sum()
        assert tree.children(i) == tuple(j for j in range(n) if parent[j] == i)
        # depth first: a body's subtree follows it without a gap
        at = tree.subtree(0).index(i)
        assert tree.subtree(0)[at : at + len(tree.subtree(i))] == tree.subtree(i)
    assert tree.ancestors(0) == ()
    assert tree.depth() == max(tree.depth(i) for i in range(n))


@pytest.mark.parametrize("parent", [[-1, 1], [-1, 0, 3, 1], [-1, -1], [-1, 0, 2]])
def test_bad_parents(parent):
    """A parent that does not come before its child is refused, and named."""
    with pytest.raises(ModelError, match=r"parent of body \d is -?\d, expected 0 to \d\. Number parents first"):
        Tree(parent)


def test_the_empty_tree():
    """The world alone has no bodies."""
    tree = Tree([-1])
    assert (tree.subtree(0), tree.children(0), tree.depth()) == ((), (), 0)
    assert ltl(np.zeros((0, 0)), ()).shape == (0, 0)
    assert expand_parent([-1], [0]) == ()


def test_a_long_chain_does_not_recurse():
    """10,000 bodies in a row, and as many side by side, stay within the stack."""
    n = 10_000
    tree = Tree(range(-1, n))
    assert tree.depth() == n
    assert tree.ancestors(n) == tree.subtree(1) == tuple(range(1, n + 1))
    assert expand_parent(range(-1, n), [1] * (n + 1)) == tuple(range(-1, n - 1))
    star = Tree([-1] + [0] * n)
    assert len(star.children(0)) == n
    assert star.depth() == 1


def solve_factored(L, D, parent, x):
    """H⁻¹ x with the factors of ``ltdl``; x is (n,) or (n, m)."""
    return solve_l(L, parent, (solve_lt(L, parent, x).T / D).T)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_dof_parent_is_the_pattern_of_the_mass_matrix(seed):
    """M of a random tree vanishes exactly where neither freedom supports the other."""
    model = sixd.zoo.random_tree(seed, passive=False)
    M = sixd.mass_matrix(model, model.random_configuration(seed))
    assert not M[~support(model.dof_parent)].any()
    found = ltdl(M, model.dof_parent)
    assert close(solve_factored(*found, model.dof_parent, np.eye(model.nv)) @ M, np.eye(model.nv), 1e-10)


# factors ----------------------------------------------------------------------------------------------


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
