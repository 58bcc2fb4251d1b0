"""Solutions of inverse kinematics that keep a clearance: other starts, in batches, then steps away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.collision.distances import min_distance
from sixd.collision.pair_gaps import PairGaps
from sixd.errors import ModelError, ScalarTypeError
from sixd.ik.coordinates import Coordinates
from sixd.ik.distance_rows import distance_gradients
from sixd.ik.search import Search, SearchResult
from sixd.ik.starts import Starts
from sixd.model.model import Model
from sixd.simulation.arguments import nonnegative
from sixd.spatial.scalar import Array

_CANDIDATES = 12  # of a sample at a time
_STEPS, _STEP = 12, 0.15  # steps away from what is near, and the length of the first [rad and m]
_FAR = 0.1  # m: solutions that are too near by more than that are not moved; steps gain 6 cm at most
_COMPARED = 3  # rounds whose distances are compared: these take ten times as long as the rest where shapes overlap


def read_clearance(
    where: str, space: Coordinates, clearance: Any, pairs: Any, placements: Mapping[str, Any] | None, path: bool
) -> Clearance:
    """The clearance of a call, checked."""
    least = nonnegative(where, "clearance", clearance, "m")
    if path:
        raise ScalarTypeError(
            f"{where}: path is True and clearance is {clearance!r}, expected one of them. Check the path by "
            f"sixd.clearance, or plan one by sixd.plan_path."
        )
    model = space.model
    if not isinstance(model, Model):
        raise ModelError(f"{where}: {model.name!r} is in reduced coordinates, expected a sixd.Model with clearance.")
    return Clearance(space, PairGaps(where, model, pairs, placements), least)


@dataclass(frozen=True, eq=False)
class Clearance:
    """Pairs of collision shapes that are to keep a distance."""

    space: Coordinates
    gaps: PairGaps
    least: float

    def is_near(self, y: Array) -> Array:
        """Whether a pair is too near (n,) at configurations (n, nq) of the system."""
        return self.gaps.near(self._outer(y), self.least)

    def distance(self, y: Array) -> Array:
        """The least distances (n,) [m]."""
        gaps = self.gaps
        return np.asarray(min_distance(gaps.model, self._outer(y), gaps.names, placements=gaps.placements))

    def _outer(self, y: Array) -> Array:
        return np.asarray(self.space.outer(y), dtype=float)

    def select(self, search: Search, result: SearchResult, starts: Starts, wanted: Array) -> None:
        """Replace solutions that are too near by others, those nearest to configurations ``wanted``; else fail."""
        solved = np.flatnonzero(result.success)
        lost = solved[self.is_near(result.q[solved])]
        best = np.full(len(result.q), -np.inf)
        best[lost] = self.distance(result.q[lost])
        plain = search.part(np.arange(len(result.q)))
        order = starts.ranked([x[lost] for x in search.targets])
        for first in range(0, order.shape[1], _CANDIDATES):
            if not len(lost):
                return
            fresh = starts.table[order[:, first : first + _CANDIDATES]]
            left = self._others(plain, result, fresh, wanted, best if first < _COMPARED * _CANDIDATES else None, lost)
            lost, order = lost[left], order[left]
        hopeless = best[lost] < self.least - _FAR
        result.success[lost[hopeless]] = False
        lost = lost[~hopeless]
        for k in range(_STEPS):
            if not len(lost):
                return
            lost = lost[self._step_away(plain, result, best, lost, _STEP * (1 - k / _STEPS))]
        result.success[lost] = False

    def _others(
        self, search: Search, result: SearchResult, fresh: Array, wanted: Array, best: Array | None, lost: Array
    ) -> Array:
        """Try starts ``fresh`` (lost, count, nq) of each lost sample; return which samples remain lost."""
        count = fresh.shape[1]
        samples = np.repeat(lost, count)
        q = np.array(result.q[samples])
        moving = list(search.code.moving)
        q[:, moving] = fresh.reshape(-1, fresh.shape[2])[:, moving]
        found = self._plain(search, samples).run(q)
        result.iterations[lost] += found.iterations.reshape(-1, count).sum(axis=1)
        free = np.array(found.success)
        free[free] = ~self.is_near(found.q[free])
        away = np.full(len(samples), np.inf)
        away[free] = np.linalg.norm(search.problem.system.difference(wanted[samples[free]], found.q[free]), axis=1)
        choice = away.reshape(-1, count).argmin(axis=1)
        at = np.arange(len(lost)) * count + choice
        _replace(result, lost[free[at]], found, at[free[at]])
        if best is not None:  # those without one keep the solution with the largest distance
            tight = np.flatnonzero(found.success & ~free & ~np.repeat(free[at], count))
            self._improve(result, best, samples[tight], found, tight)
        return ~free[at]

    def _plain(self, search: Search, samples: Array) -> Search:
        return replace(search.part(samples), posture=None)

    def _improve(self, result: SearchResult, best: Array, samples: Array, found: SearchResult, at: Array) -> None:
        """Replace results by those with larger distances."""
        distance = self.distance(found.q[at])
        order = np.argsort(distance, kind="stable")
        order = order[distance[order] > best[samples[order]]]
        best[samples[order]] = distance[order]  # the last one of a sample is the largest
        _replace(result, samples[order], found, at[order])

    def _step_away(self, search: Search, result: SearchResult, best: Array, lost: Array, step: float) -> Array:
        """Move lost samples along the gradient of their distance and solve again; return which remain lost.

        What is left of a step after the solution is along the null space of the target: once more along that.
        """
        system = search.problem.system
        y, direction = result.q[lost], self._gradients(search, result.q[lost])
        for _ in range(2):
            length = np.linalg.norm(direction, axis=1, keepdims=True)
            moved = np.asarray(system.integrate(y, step * direction / np.where(length > 0, length, 1)))
            for dof, i in search.problem.boxed.items():
                if dof not in search.problem.locked:
                    moved[:, i] = np.clip(moved[:, i], search.lower[i], search.upper[i])
            found = self._plain(search, lost).run(moved)
            result.iterations[lost] += found.iterations
            solved = np.flatnonzero(found.success)
            self._improve(result, best, lost[solved], found, solved)
            direction = np.asarray(system.difference(y, found.q))
        return self.is_near(result.q[lost])

    def _gradients(self, search: Search, y: Array) -> Array:
        """The gradients (n, nv) of the least distances."""
        distances, gradients = distance_gradients(self.space, self.gaps, np.asarray(y, dtype=float))
        found: Array = gradients[np.arange(len(y)), distances.argmin(axis=1)]
        found[:, list(search.problem.locked)] = 0
        return found


def _replace(result: SearchResult, samples: Array, found: SearchResult, at: Array) -> None:
    """Replace results of samples by others, but for their iterations."""
    for old, new in zip(result[:-1], found[:-1], strict=True):
        old[samples] = new[at]
