"""The bounded problem of joint impulses: its conditions, and a comparison with every choice of states."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sixd.algorithms.linear.active_set import MOST, PATIENCE, ActiveSet, Bounds, iteration
from sixd.algorithms.linear.responses import DenseResponse, SparseResponse
from sixd.trace.program import trace
from sixd.trace.stages import trace_stages

FAR = 1e30


def problems(rng, k, rows, condition=1e4):
    """Return W (samples, k, k) symmetric and positive definite, velocities and bounds of friction (samples, k)."""
    Q = np.linalg.qr(rng.normal(size=(rows, k, k)))[0]
    W = np.einsum("nij,nj,nkj->nik", Q, condition ** rng.uniform(-1, 0, (rows, k)), Q)
    v = rng.normal(size=(rows, k)) * 10 ** rng.uniform(-2, 1, (rows, 1))
    return (W + np.swapaxes(W, 1, 2)) / 2, v, 10 ** rng.uniform(-1, 1, (rows, k))


def solved(W, v, lo, hi, low=None, high=None, dtype="float64"):
    """Return impulses (samples, k), states, iterations, and whether all agree: from the program, as NumPy evaluates it."""
    rows, k = v.shape
    response = DenseResponse(k, k)
    program = trace(*iteration(response, k, low is not None, dtype), dtype)
    packed = np.stack([W[:, i, j] for i in range(k) for j in range(i + 1)], axis=-1)
    limits = [] if low is None else [low, high]
    data = [packed, v, np.einsum("nii->ni", W), lo, hi, *limits]
    found = [np.zeros((rows, k)), np.full(rows, k + 1.0), np.full(rows, float(PATIENCE)), np.zeros((rows, k)), np.zeros(rows)]  # fmt: skip
    used = np.zeros(rows, dtype=int)
    for turn in range(1, MOST + 1):
        used[found[-1] == 0] = turn
        found = list(program.evaluate(*found, *data))
        if found[-1].all():
            break
    return found[3], found[0], used, found[-1]


def residual(W, v, lo, hi, l):
    """Return how far impulses are from min ½ lᵀW l + lᵀv within lo and hi, relative to the largest bound."""
    u, d = v + np.einsum("nij,nj->ni", W, l), np.einsum("nii->ni", W)
    return np.abs(l - np.clip(l - u / d, lo, hi)).max(axis=1) / hi.max(axis=1)


@pytest.mark.parametrize(("k", "rows"), [(1, 100), (3, 2000), (7, 2000), (16, 500)])
def test_random_problems(k, rows, rng):
    """No cycle, whatever the condition; the conditions of the minimum hold."""
    W, v, b = problems(rng, k, rows)
    l, _, used, done = solved(W, v, -b, b)
    assert done.all()
    assert residual(W, v, -b, b, l).max() < 1e-13
    assert np.percentile(used, 90) <= 12


def test_bounds_that_meet_and_differ(rng):
    """Joints without friction, and bounds that do not contain 0, as after a joint has reversed."""
    W, v, b = problems(rng, 5, 1000)
    lo, hi = -b * rng.uniform(0, 1, b.shape), b * rng.uniform(-0.5, 1, b.shape)
    lo, hi = np.minimum(lo, hi), np.maximum(lo, hi)
    hi[:, 2] = lo[:, 2]
    l, _, _, done = solved(W, v, lo, hi)
    assert done.all()
    u, d = v + np.einsum("nij,nj->ni", W, l), np.einsum("nii->ni", W)
    assert np.abs(l - np.clip(l - u / d, lo, hi)).max() < 1e-11


def test_limits_against_every_choice_of_states(rng):
    """Five states a joint: the result is the one choice in which all joints agree with their graphs."""
    k, rows = 3, 200
    W, v, b = problems(rng, k, rows, condition=100)
    low, high = -rng.uniform(0, 2, (rows, k)), rng.uniform(0, 2, (rows, k))
    low[:, 0], high[:, 1] = -FAR, FAR
    l, _, _, done = solved(W, v, -b, b, low, high)
    assert done.all()
    for n in range(rows):
        assert_allclose(l[n], by_trying(W[n], v[n], b[n], low[n], high[n]), atol=1e-9)


def by_trying(W, v, b, low, high):
    """Return the impulses (k,) of the states, among all, with which every joint agrees."""
    k = len(v)
    for states in product((-2, -1, 0, 1, 2), repeat=k):
        free = [i for i in range(k) if states[i] in (-2, 0, 2)]
        l = np.array([0.0 if i in free else np.sign(states[i]) * b[i] for i in range(k)])
        at = np.array([{2: low[i], -2: high[i]}.get(states[i], 0.0) for i in range(k)])
        if np.abs(at[free]).max(initial=0.0) >= FAR:
            continue
        l[free] = np.linalg.solve(W[np.ix_(free, free)], (at - v - W @ l)[free]) if free else []
        u = v + W @ l
        if all(agrees(states[i], l[i], u[i], b[i], low[i], high[i]) for i in range(k)):
            return l
    raise AssertionError("no choice of states agrees")


def agrees(state, l, u, b, low, high, slack=1e-9):
    return {
        2: l >= b - slack,
        1: low - slack <= u <= slack,
        0: -b - slack <= l <= b + slack,
        -1: -slack <= u <= high + slack,
        -2: l <= -b + slack,
    }[state]


def tree_matrix(rng, parent):
    """Return a positive definite matrix with the zeros of a tree."""
    n = len(parent)
    L = np.eye(n)
    for i in range(n):
        j = parent[i]
        while j >= 0:
            L[i, j] = rng.normal()
            j = parent[j]
    return L.T @ np.diag(rng.uniform(0.5, 2, n)) @ L


def test_sparse_and_dense_agree(rng):
    """Through a whole recipe, with DoFs that are not in the problem; and locked responses compared with matrices."""
    parent, dofs = (-1, 0, 1, 1, 3, 0), (0, 2, 4, 5)
    M = tree_matrix(rng, parent)
    n, k = len(parent), len(dofs)
    inverse = np.linalg.inv(M)
    W = inverse[np.ix_(dofs, dofs)]
    v, b = rng.normal(size=(40, k)), rng.uniform(0.05, 1, (40, k))

    def recipe(response, data):
        solve = ActiveSet(response, k, False, "float64", trace)

        def step(stages, v, b, *arrays):
            found = solve(stages, arrays, v, Bounds(-b, b), np.zeros(k))
            return found.impulse, b, *arrays

        state = {"v": (k,), "b": (k,), **{f"data {i}": np.shape(x) for i, x in enumerate(data)}}
        return trace_stages(step, state, {})

    sparse = SparseResponse(dofs, parent)
    of_sparse = [np.asarray(x, dtype=float) for x in sparse.data(M)]
    assert_allclose(sparse.diagonal(of_sparse), np.diag(W), atol=1e-12)
    dense = DenseResponse(k, n)
    J = np.eye(n)[list(dofs)]
    of_dense = [np.asarray(x, dtype=float) for x in dense.data(J, inverse @ J.T, 0.0)]
    results = []
    for response, data in ((sparse, of_sparse), (dense, of_dense)):
        rows = [np.broadcast_to(x, (len(v), *x.shape)) for x in data]
        results.append(recipe(response, data).evaluate(v, b, *rows)[0])
        assert_allclose(np.asarray(response.respond(data, v[0]), dtype=float), inverse @ J.T @ v[0], atol=1e-12)
        # row 1 locked: the response of the others is the Schur complement
        locked = [False, True, False, False]
        wanted = np.diag(W - np.outer(W[:, 1], W[1]) / W[1, 1])
        found = np.asarray(response.locked_diagonal(data, locked), dtype=float)
        assert_allclose(found[[0, 2, 3]], wanted[[0, 2, 3]], atol=1e-12)
    assert_allclose(results[0], results[1], atol=1e-12)
    assert residual(np.broadcast_to(W, (len(v), k, k)), v, -b, b, results[1]).max() < 1e-12
