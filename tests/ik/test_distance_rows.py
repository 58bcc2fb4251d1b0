"""Velocities that keep a clearance: rows are derivatives of distances, the optimum is the QP's, motions keep away."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from obstacle_courses import AWAY, COURSES, TIGHT, course, scene
from sixd.collision.pair_gaps import PairGaps
from sixd.ik.coordinates import Coordinates
from sixd.ik.distance_rows import MOST_ROWS, distance_rows


@pytest.mark.parametrize("name", COURSES)
def test_rows_are_derivatives_of_distances(name):
    """By central differences, where pairs are apart; witness points that jump are left out."""
    model, rng = course(name), np.random.default_rng(0)
    placements = scene(rng)
    space = Coordinates("test", model)
    gaps = PairGaps("test", model, None, placements)
    y = space.system.random_configuration(rng, size=20)
    fastest, dt, clearance = np.full(space.system.nv, 1e6), 0.1, 0.05
    rows = distance_rows(space, gaps, y, clearance, dt, fastest)
    d = gaps.exact(space.outer(y))
    number = rows.pair
    least = np.minimum((clearance - np.take_along_axis(d, number, axis=1)) / dt, 0.5 * np.abs(rows.G) @ fastest)
    assert_allclose(rows.h, least, atol=1e-12)
    step = 1e-5
    checked = 0
    for k in range(space.system.nv):
        e = np.zeros(space.system.nv)
        e[k] = step
        sides = [gaps.exact(space.outer(space.system.integrate(y, sign * e))) for sign in (1, -1)]
        central, onesided = (sides[0] - sides[1]) / (2 * step), (sides[0] - d) / step
        smooth = (np.abs(central - onesided) < 1e-3) & (d > 1e-3)
        expected = np.take_along_axis(central, number, axis=1)
        kept = np.take_along_axis(smooth, number, axis=1)
        assert_allclose(rows.G[..., k][kept], expected[kept], atol=2e-5)  # distances by iterations: 1e-10 / step
        checked += kept.sum()
    assert checked > 50
    assert rows.h.shape[1] == min(MOST_ROWS, len(gaps.names))


def qp_cost(model, q, v, qd, frame, damping):
    J = sixd.jacobian(model, q, frame, expressed_in="aligned")[3:]
    return np.sum((J @ qd - v) ** 2) + damping**2 * qd @ qd


def test_the_optimum():
    """Compared with SciPy's solver of the same problem, where rows are active."""
    from scipy.optimize import minimize

    model, rng = course("arm"), np.random.default_rng(3)
    placements, clearance, dt, damping = TIGHT, 0.02, 0.05, 0.1
    q = model.random_configuration(rng, size=400)
    q = q[sixd.min_distance(model, q, placements=placements) > clearance][:60]
    v = 2 * rng.normal(size=(60, 3))
    options = {"expressed_in": "aligned", "damping": damping, "dt": dt, "velocity_limits": 3.0}
    found = sixd.differential_ik(model, q, {"link3": v}, clearance=clearance, placements=placements, **options)
    free = sixd.differential_ik(model, q, {"link3": v}, **options)
    assert found.success.all()
    active = np.flatnonzero(np.abs(found.qd - free.qd).max(axis=1) > 1e-3)
    assert len(active) > 8
    space = Coordinates("test", model)
    rows = distance_rows(space, PairGaps("test", model, None, placements), q, clearance, dt, np.full(4, 3.0))
    low, high = np.maximum((model.lower - q) / dt, -3), np.minimum((model.upper - q) / dt, 3)
    for k in range(60):
        assert (rows.G[k] @ found.qd[k] >= rows.h[k] - 1e-5).all()
    for k in active:
        solved = minimize(
            lambda x, k=k: qp_cost(model, q[k], v[k], x, "link3", damping), np.zeros(4), method="SLSQP",
            bounds=list(zip(low[k], high[k], strict=True)), options={"ftol": 1e-12, "maxiter": 500},
            constraints={"type": "ineq", "fun": lambda x, k=k: rows.G[k] @ x - rows.h[k]},
        )  # fmt: skip
        assert qp_cost(model, q[k], v[k], found.qd[k], "link3", damping) <= solved.fun + 1e-5  # of SLSQP's own accuracy


def test_motions_keep_away():
    """Forty steps towards an obstacle: the distance stays near the clearance, without it they collide."""
    model = course("arm")
    placements = {"ball": sixd.placement((0.5, 0.0, 1.0))}
    start, goal = np.array([0.0, 0.3, 0.0, 0.5]), placements["ball"][:3, 3]
    for clearance, least in ((0.02, 0.015), (None, -np.inf)):
        q, nearest = start, np.inf
        for _ in range(60):
            away = goal - sixd.pose(model, q, "link3")[:3, 3]
            options = {} if clearance is None else {"clearance": clearance, "placements": placements}
            found = sixd.differential_ik(model, q, {"link3": 4 * away}, expressed_in="aligned", dt=0.02, **options)
            assert found.success
            q = model.integrate(q, 0.02 * found.qd)
            nearest = min(nearest, sixd.min_distance(model, q, placements=placements))
        assert nearest >= least
        assert (nearest < 0) == (clearance is None)


def test_pairs_that_are_too_near_move_apart():
    model = course("arm")
    placements = {"ball": sixd.placement((0.16, 0.0, 1.1))}
    q = np.array([0.0, 0.0, 0.0, 0.0])
    before = sixd.min_distance(model, q, placements=placements)
    assert before < 0.02
    for _ in range(10):
        found = sixd.differential_ik(
            model, q, {"link3": np.zeros(3)}, clearance=0.02, placements=placements, dt=0.02, velocity_limits=1.0
        )
        assert found.success
        q = model.integrate(q, 0.02 * found.qd)
    assert sixd.min_distance(model, q, placements=placements) >= 0.019


def test_nan_and_batches():
    """NaN affects only its own sample; float32; no samples; mimic joints; no pairs."""
    model = course("gripper").with_frame("tip", "lower", sixd.placement((0, 0, 0.5)))
    q = np.tile(model.configuration({"upper": 0.2, "lower": 0.3}), (3, 1))
    q[1] = np.nan
    goal = {"tip": np.full((3, 3), 0.1)}
    found = sixd.differential_ik(model, q, goal, clearance=0.01)
    assert found.success.tolist() == [True, False, True]
    assert_allclose(found.qd[0], found.qd[2], rtol=1e-12)
    assert_allclose(found.qd[0, 2], -found.qd[0, 3], atol=1e-12)
    single = sixd.differential_ik(model, q[0].astype(np.float32), {"tip": np.full(3, 0.1, np.float32)}, clearance=0.01)
    assert single.qd.dtype == np.float32
    assert single.success
    assert_allclose(single.qd, found.qd[0], atol=2e-2)  # degrees of freedom that the target does not determine
    assert sixd.differential_ik(model, q[:0], {"tip": np.zeros((0, 3))}, clearance=0.01).qd.shape == (0, 4)
    none = sixd.differential_ik(model, q, goal, clearance=0.01, pairs=sixd.CollisionPairs())
    assert_allclose(none.qd[0], sixd.differential_ik(model, q, goal).qd[0], rtol=1e-12)
    far = sixd.differential_ik(model, q, goal, clearance=0.01, pairs=("ball", "lower"), placements={"ball": AWAY})
    assert_allclose(far.qd[0], none.qd[0], atol=1e-9)
