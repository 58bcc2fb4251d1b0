"""Random trees, and matrices with their sparsity."""

import numpy as np

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
    """Whether no entry differs by more than the tolerance."""
    return np.abs(np.asarray(a) - b).max(initial=0.0) <= tolerance
