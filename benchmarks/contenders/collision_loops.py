"""Collisions as users of Pinocchio write them: its geometry model with coal, a loop of inverse kinematics, and OMPL.

The shapes are sixd's: boxes, spheres, and the same convex hulls.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import numpy as np
import pinocchio as pin

from benchmarks.cells import Cell
from benchmarks.contenders.kinematic_loops import Loop
from benchmarks.contenders.with_coal import solids_of
from benchmarks.robots import file_of
from benchmarks.tasks import Array
from sixd.collision.solids import solid_pairs

HAS_OMPL = importlib.util.find_spec("ompl") is not None


class CoalCell:
    """A cell as Pinocchio's model and geometry model."""

    def __init__(self, cell: Cell) -> None:
        whole = pin.buildModelFromUrdf(str(file_of("panda")))
        q = pin.neutral(whole)
        locked = [whole.getJointId(name) for name in whole.names if "finger" in name]
        q[[whole.joints[k].idx_q for k in locked]] = 0.02
        self.model = pin.buildReducedModel(whole, locked, q)
        self.data = self.model.createData()
        joints = [0, *(self.model.getJointId(name) for name in cell.model.joint_names)]
        self.geometry = solids_of(solid_pairs("CoalCell", cell.model, cell.pairs), joints)
        self.collisions = pin.GeometryData(self.geometry)

    def collides(self, q: Array) -> bool:
        """Return whether any pair overlaps."""
        return bool(pin.computeCollisions(self.model, self.data, self.geometry, self.collisions, q, True))

    def distance(self, q: Array) -> float:
        """Return the least distance of all pairs [m]."""
        k = pin.computeDistances(self.model, self.data, self.geometry, self.collisions, q)
        return float(self.collisions.distanceResults[k].min_distance)


class ClearLoop(Loop):
    """A loop of inverse kinematics that starts again until its solution keeps a clearance."""

    def __init__(self, cell: CoalCell, frame: str, tolerance: float, clearance: float, restarts: int) -> None:
        super().__init__(cell.model, frame, tolerance)
        self.cell, self.clearance, self.restarts = cell, clearance, restarts

    def solve(self, target: Any) -> Array | None:
        """The configuration of one pose, or None."""
        for attempt in range(self.restarts + 1):
            q = self.attempt(self.start(attempt), target)
            if q is not None and not self.cell.collides(q) and self.cell.distance(q) >= self.clearance:
                return q
        return None


def ompl_path(cell: CoalCell, q0: Array, q1: Array, seconds: float, resolution: float) -> tuple[Array | None, float]:
    """Return the waypoints of OMPL's RRT-Connect, simplified by its defaults, or None; and the time [s].

    ``resolution``: the step in which it checks edges, as a part of the diagonal of the joints' ranges.
    """
    from ompl import base, geometric, util

    util.setLogLevel(util.LogLevel.LOG_NONE)

    n = cell.model.nq
    space, bounds = base.RealVectorStateSpace(n), base.RealVectorBounds(n)
    for k in range(n):
        bounds.setLow(k, float(cell.model.lowerPositionLimit[k]))
        bounds.setHigh(k, float(cell.model.upperPositionLimit[k]))
    space.setBounds(bounds)
    setup = geometric.SimpleSetup(space)

    def is_valid(state: Any) -> bool:
        return not cell.collides(np.array([state[k] for k in range(n)]))

    setup.setStateValidityChecker(is_valid)
    information = setup.getSpaceInformation()
    information.setStateValidityCheckingResolution(resolution)
    ends = []
    for q in (q0, q1):
        state = space.allocState()
        for k in range(n):
            state[k] = float(q[k])
        ends.append(state)
    setup.setStartAndGoalStates(*ends)
    setup.setPlanner(geometric.RRTConnect(information))
    started = time.perf_counter()
    setup.solve(seconds)
    if not setup.haveExactSolutionPath():
        return None, time.perf_counter() - started
    setup.simplifySolution()
    spent = time.perf_counter() - started
    states = setup.getSolutionPath().getStates()
    return np.array([[state[k] for k in range(n)] for state in states]), spent
