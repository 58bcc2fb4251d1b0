"""A panda with convex hulls in the cells of the benchmarks: paths and solutions without collisions."""

import numpy as np
import pytest

import sixd

pytest.importorskip("pinocchio")  # its package brings the robot's files

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("name", "count"), [("four_obstacles", 30), ("window", 3)])
def test_paths(name, count):
    """Every path is found, and is free at 2000 configurations."""
    from benchmarks import cells

    cell = getattr(cells, name)()
    for q0, q1 in cells.queries(cell, count, seed=7)[:count]:
        path = sixd.plan_path(cell.model, q0, q1, pairs=cell.pairs, max_time=None, max_rounds=2000)
        assert path.success
        assert sixd.min_distance(cell.model, path.sample(2000), cell.pairs).min() >= 0
        assert sixd.clearance(cell.model, path.q, cell.pairs, tol=1e-4).least >= -1e-4


def test_solutions():
    """Nearly as many as with a hundred restarts of a loop on Pinocchio and coal, which agrees on the clearances."""
    import pinocchio as pin
    from benchmarks import cells, clear_motions
    from benchmarks.contenders.collision_loops import ClearLoop, CoalCell

    cell = cells.four_obstacles()
    T = clear_motions.targets(cell, 1000)
    least = clear_motions.CLEARANCE
    found = sixd.inverse_kinematics(cell.model, cell.tool, T, clearance=least, pairs=cell.pairs)
    assert found.success.mean() > 0.99
    assert sixd.min_distance(cell.model, found.q[found.success], cell.pairs).min() >= least - 1e-9
    loop = ClearLoop(CoalCell(cell), cell.tool, 1e-6, least, 100)
    for q in found.q[found.success][:100]:
        assert loop.cell.distance(q) >= least - 1e-5  # coal stops at 1e-6 m
    solved = [loop.solve(pin.SE3(x[:3, :3], x[:3, 3])) is not None for x in T[:40]]
    assert found.success[:40].mean() >= 0.95 * np.mean(solved)
