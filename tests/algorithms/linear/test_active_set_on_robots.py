"""The bounded problem of dry friction in states of robots, compared with an independent solver; no cycles."""

import dataclasses

import numpy as np
import pytest

import robots
import sixd
from sixd.algorithms.linear.active_set import MOST, PATIENCE, iteration
from sixd.algorithms.linear.responses import DenseResponse, SparseResponse
from sixd.trace.program import trace

H = 1e-3
FILES = {
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
}


def solve(response, data, W, v, bound):
    """Run the traced program on samples; return the impulses (n, k) and the iterations (n,), MOST + 1 where not solved."""
    n, k = v.shape
    diagonal = np.einsum("nii->ni", W)
    alone = -v / diagonal  # the impulse that would stop each joint alone: the initial guess of a step
    guess = np.where(alone >= bound, 1.0, np.where(alone <= -bound, -1.0, 0.0))
    carried = [np.zeros((n, *shape)) for shape in response.carried.values()]
    state = [guess, np.full(n, k + 1.0), np.full(n, float(PATIENCE)), *carried, np.zeros(n)]
    program, count = trace(*iteration(response, k, False, "float64"), "float64"), np.zeros(n, int)
    for _ in range(MOST):
        left = state[-1] < 0.5
        if not left.any():
            break
        count += left
        state = [np.asarray(x) for x in program.evaluate(*state, *data, v, diagonal, -bound, bound)]
    return state[3], np.where(state[-1] < 0.5, MOST + 1, count)


def lower(W):
    """Return the data of a dense response."""
    i, j = np.tril_indices(W.shape[1])
    return [W[:, i, j]]


def residual(W, v, bound, l):
    """Return by how much impulses differ from those that their velocities require, relative to the largest bound."""
    after = v + np.einsum("nij,nj->ni", W, l)
    wanted = np.clip(l - after / np.einsum("nii->ni", W), -bound, bound)
    return (np.abs(wanted - l) / bound.max(axis=1, keepdims=True)).max()


def gauss_seidel(W, v, bound, sweeps):
    """Projected Gauss–Seidel: another method for the same impulses, with many iterations."""
    l, after = np.zeros_like(v), v.copy()
    for _ in range(sweeps):
        for i in range(v.shape[1]):
            new = np.clip(l[:, i] - after[:, i] / W[:, i, i], -bound[:, i], bound[:, i])
            after += W[:, :, i] * (new - l[:, i])[:, None]
            l[:, i] = new
    return l


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_robots(name, rng):
    """Residuals of 1e-10, at most 8 iterations in nearly all states, dense and sparse."""
    model = robots.quiet_load(robots.ROBOTS / FILES[name])
    bare, rows = dataclasses.replace(model, friction=np.zeros(model.nv)), np.flatnonzero(model.friction)
    n = 2000
    q = rng.uniform(np.maximum(model.lower, -2), np.minimum(model.upper, 2), (n, model.nq))
    qd = rng.normal(size=(n, model.nv)) * 10 ** rng.uniform(-4, 0.5, (n, 1))
    M, inverse = sixd.mass_matrix(bare, q), sixd.inverse_mass_matrix(bare, q)
    v = (qd + H * sixd.forward_dynamics(bare, q, qd, np.zeros(model.nv)))[:, rows]
    W, bound = inverse[:, rows][:, :, rows], np.tile(H * model.friction[rows], (n, 1))
    dense, sparse = DenseResponse(len(rows), model.nv), SparseResponse(tuple(rows.tolist()), tuple(model.dof_parent))
    l, count = solve(dense, lower(W), W, v, bound)
    assert residual(W, v, bound, l) <= 1e-10
    assert np.mean(count <= 8) >= 0.998  # 99.9 % of 10,000 states
    some, entries = slice(200), np.array(sparse.entries)
    other, _ = solve(sparse, [M[some, entries[:, 0], entries[:, 1]]], W[some], v[some], bound[some])
    assert residual(W[some], v[some], bound[some], other) <= 1e-10
    np.testing.assert_allclose(l[some], other, atol=1e-9 * bound.max())  # W has a condition number of up to 1e5


def test_an_independent_solver(rng):
    """Projected Gauss–Seidel converges to the same impulses."""
    n, k = 200, 5
    A = rng.normal(size=(n, k, k))
    W = A @ A.swapaxes(1, 2) + np.eye(k)
    v, bound = 5 * rng.normal(size=(n, k)), 10 ** rng.uniform(-1, 1, (n, k))
    l, _ = solve(DenseResponse(k, k), lower(W), W, v, bound)
    np.testing.assert_allclose(l, gauss_seidel(W, v, bound, 3000), atol=1e-8)  # it has not fully converged


@pytest.mark.long
@pytest.mark.parametrize(("k", "decades", "count"), [(6, 3, 60_000), (12, 4, 27_000), (20, 4, 13_000)])
def test_no_cycles(k, decades, count, rng):
    """100,000 random problems, much harder than those of robots, are all solved."""
    for _ in range(0, count, 500):
        turn, _ = np.linalg.qr(rng.normal(size=(500, k, k)))
        W = np.einsum("nij,nj,nkj->nik", turn, 10 ** rng.uniform(-decades, 0, (500, k)), turn)
        v, bound = rng.normal(size=(500, k)) * 10 ** rng.uniform(-2, 1, (500, 1)), 10 ** rng.uniform(-1, 1, (500, k))
        l, iterations = solve(DenseResponse(k, k), lower(W), W, v, bound)
        assert iterations.max() <= MOST
        assert residual(W, v, bound, l) <= 1e-10
