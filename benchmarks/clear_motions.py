"""``python -m benchmarks.clear_motions``: inverse kinematics and paths without collisions, next to other programs.

A panda with convex hulls, in a cell with four obstacles and in front of a window: sixd, a loop on Pinocchio and coal,
and OMPL's RRT-Connect with Pinocchio and coal as its checker (if the package ompl is installed). Every result is then
checked by ``sixd.distance``, paths at 1000 configurations.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import sixd
from benchmarks.cells import Cell, four_obstacles, queries, window
from benchmarks.report import Report, progress
from benchmarks.tasks import Array

CLEARANCE, TOLERANCE = 0.02, 1e-4
FINE = 1000  # configurations of a path that are checked
OMPL_STEPS = (0.01, 0.001)  # its default, and a tenth: parts of the ranges' diagonal of 13 rad


def targets(cell: Cell, count: int, seed: int = 1) -> Array:
    """Return poses of the tool (count, 4, 4) that are reached without collision by some configuration."""
    drawn = cell.model.random_configuration(np.random.default_rng(seed), size=4 * count)
    return np.asarray(sixd.pose(cell.model, drawn[cell.clear(drawn, CLEARANCE)][:count], cell.tool))


def inverse_kinematics(report: Report, count: int, loop_count: int) -> None:
    """Compare solutions that keep a clearance."""
    from benchmarks.contenders.collision_loops import ClearLoop, CoalCell

    cell = four_obstacles()
    T = targets(cell, count)
    rows = []
    for name, options in (("sixd without clearance", {}), ("sixd", {"clearance": CLEARANCE, "pairs": cell.pairs})):
        sixd.inverse_kinematics(cell.model, cell.tool, T, tol=TOLERANCE, **options)
        started = time.perf_counter()
        result = sixd.inverse_kinematics(cell.model, cell.tool, T, tol=TOLERANCE, **options)
        rows.append(_solutions(name, cell, list(result.q[result.success]), count, time.perf_counter() - started))
    import pinocchio as pin

    for restarts in (30, 100):
        loop = ClearLoop(CoalCell(cell), cell.tool, TOLERANCE, CLEARANCE, restarts)
        started = time.perf_counter()
        found = [loop.solve(pin.SE3(x[:3, :3], x[:3, 3])) for x in T[:loop_count]]
        solved = [q for q in found if q is not None]
        name = f"Pinocchio and coal, {restarts} restarts"
        rows.append(_solutions(name, cell, solved, loop_count, time.perf_counter() - started))
        progress(" | ".join(rows[-1]))
    report.heading(f"Inverse kinematics, {cell.name}, clearance {CLEARANCE} m")
    report.table(["program", "targets", "success [%]", "nearer than that", "time a target [ms]"], rows)


def _solutions(name: str, cell: Cell, solved: list[Array], count: int, seconds: float) -> list[str]:
    least = sixd.min_distance(cell.model, np.array(solved), cell.pairs)
    near = int((least < CLEARANCE - 1e-9).sum())  # coal's own distances differ by 1e-10
    share = f"{100 * len(solved) / count:.1f}"
    return [name, str(count), share, str(near), f"{1e3 * seconds / count:.3f}"]


def paths(report: Report, make: Callable[[], Cell], count: int, seconds: float) -> None:
    """Compare paths."""
    from benchmarks.contenders.collision_loops import HAS_OMPL, CoalCell, ompl_path

    cell = make()
    chosen = queries(cell, count)
    sixd.plan_path(cell.model, *chosen[0], pairs=cell.pairs)

    def ours(q0: Array, q1: Array, **options: Any) -> tuple[Array | None, float]:
        path = sixd.plan_path(cell.model, q0, q1, pairs=cell.pairs, max_time=seconds, **options)
        return (path.q if path.success else None), path.time

    programs = {"sixd": ours, "sixd, not shortened": lambda q0, q1: ours(q0, q1, shorten=False)}
    if HAS_OMPL:
        coal_cell = CoalCell(cell)
        for step in OMPL_STEPS:
            programs[f"OMPL, steps of {step:g}"] = lambda q0, q1, step=step: ompl_path(coal_cell, q0, q1, seconds, step)
    rows = []
    for name, plan in programs.items():
        rows.append(_planned(name, cell, [plan(*query) for query in chosen]))
        progress(" | ".join(rows[-1]))
    report.heading(f"Paths, {cell.name}, {len(chosen)} queries, at most {seconds:g} s each")
    head = [
        "program",
        "success [%]",
        "that collide",
        "median time [ms]",
        "mean time [ms]",
        "median length",
        "mean length",
    ]
    report.table(head, rows)


def _planned(name: str, cell: Cell, results: Sequence[tuple[Array | None, float]]) -> list[str]:
    found = [q for q, _ in results if q is not None]
    collide = sum(bool((sixd.min_distance(cell.model, along(q, FINE), cell.pairs) < 0).any()) for q in found)
    lengths = [np.linalg.norm(np.diff(q, axis=0), axis=1).sum() for q in found]
    times = [1e3 * seconds for _, seconds in results]
    share = f"{100 * len(found) / len(results):.1f}"
    numbers = [
        f"{np.median(times):.1f}",
        f"{np.mean(times):.1f}",
        f"{np.median(lengths):.2f}",
        f"{np.mean(lengths):.2f}",
    ]
    return [name, share, str(collide), *numbers]


def along(q: Array, count: int) -> Array:
    """Return configurations at equal distances along waypoints of an arm."""
    marks = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1))])
    at = np.linspace(0, marks[-1], count)
    return np.column_stack([np.interp(at, marks, column) for column in q.T])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=1000, help="of inverse kinematics")
    parser.add_argument("--loop-targets", type=int, default=1000, help="of them for the loop in Python")
    parser.add_argument("--queries", type=int, default=200, help="of paths in each cell")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each path")
    parser.add_argument("--only", choices=("kinematics", "obstacles", "window"))
    options = parser.parse_args()
    report = Report()
    if options.only in (None, "kinematics"):
        inverse_kinematics(report, options.targets, min(options.loop_targets, options.targets))
    for name, make in (("obstacles", four_obstacles), ("window", window)):
        if options.only in (None, name):
            paths(report, make, options.queries, options.seconds)


if __name__ == "__main__":
    main()
