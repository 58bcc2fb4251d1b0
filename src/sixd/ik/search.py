"""The search of all rows for their targets: attempts with compiled iterations, rows compacted as they end.

Each turn of the loop here does a few iterations of all rows that are left, in compiled code; a row whose attempt has
failed goes on with its next start in the next turn, beside rows that are at their first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sixd.engine.artifact import make_rollout, recipe_key
from sixd.errors import ModelError
from sixd.ik.iteration import (
    CLOSED,
    FOUND,
    RUNNING,
    STATE,
    IKProblem,
    Iteration,
    make_path_recipe,
    make_recipe,
)
from sixd.ik.starts import Starts
from sixd.model.memo import remember
from sixd.runtime.routine import Rollout
from sixd.slow_work import watched
from sixd.spatial.scalar import Array

CHUNK = 6  # iterations a turn
_ALONG = 40  # iterations of a pose of a path
_FEW, _TURNS = 256, 4  # with fewer rows than that, so many chunks at once
_DAMPING = 0.1
_ASTRAY = 1e6  # added to the merit of rows whose loops are closed the wrong way


class CompiledSearch(NamedTuple):
    """Compiled iterations, the number of constraints, and the places in q that they change."""

    rollout: Rollout
    constraints: int
    moving: tuple[int, ...]


class Found(NamedTuple):
    """Results of rows: q (n, nq), and (n,) each: error of the tasks, projected gradient, error of the constraints,
    whether the targets are reached, iterations."""

    q: Array
    residual: Array
    slope: Array
    closed: Array
    success: Array
    iterations: Array


def compiled(problem: IKProblem, *, path: bool = False) -> CompiledSearch:
    """The code of a problem, kept with its system."""

    def make() -> CompiledSearch:
        with watched(f"compiling inverse_kinematics for {problem.system.name!r}"):
            iteration = Iteration(problem)
            if not iteration.freedoms:
                names = ", ".join(repr(t.frame) for t in problem.tasks)
                raise ModelError(
                    f"inverse_kinematics: no joint of {problem.system.name!r} that is not locked moves {names}. Lock "
                    f"fewer joints, or choose another frame."
                )
            recipe = make_path_recipe(iteration, _ALONG) if path else make_recipe(iteration, CHUNK)
            form = "path" if path else problem.mode
            rollout = make_rollout(
                recipe,
                recipe_key(recipe, problem.dtype),
                "inverse_kinematics",
                form,
                problem.system.name,
                problem.dtype,
            )
            return CompiledSearch(rollout, problem.constraints, iteration.moving)

    return remember(problem.system, ("inverse kinematics", path, problem.key), make)


@dataclass(frozen=True, eq=False)
class Search:
    """A problem with its rows: targets (n, …), weights (2 tasks,), limits (nq,) each, and the tolerance."""

    problem: IKProblem
    targets: list[Array]
    weights: Array
    lower: Array
    upper: Array
    tolerance: float
    posture: Array | None = None

    @cached_property
    def code(self) -> CompiledSearch:
        """The compiled iterations."""
        return compiled(self.problem)

    def _shared(self) -> list[Array]:
        dtype = self.problem.dtype
        numbers = self.weights, self.lower, self.upper, np.array(self.tolerance)
        return [np.asarray(x, dtype)[None] for x in numbers]

    def _state(self, q: Array) -> dict[str, Array]:
        """The state of rows at the beginning of an attempt."""
        n, dtype = len(q), self.problem.dtype
        state = {name: np.zeros(n, dtype) for name in STATE}
        return state | {
            "q": np.array(q, dtype), "damping": np.full(n, _DAMPING, dtype),
            "y": np.zeros((n, self.code.constraints), dtype),
        }  # fmt: skip

    def _iterate(self, state: dict[str, Array], targets: list[Array], posture: Array | None) -> dict[str, Array]:
        turns = np.ones(1) if len(state["q"]) > _FEW else np.full(1, _TURNS)
        more = [] if posture is None else [posture]
        found = self.code.rollout(turns, [*state.values(), *targets, *self._shared(), *more])
        return dict(zip(STATE, found, strict=True))

    def run(self, q: Array, starts: Starts | None = None, restarts: int = 0, first: int = 0) -> Found:
        """The best end of a row's attempts: from q (n, nq), then from ``restarts`` starts, from number ``first`` on."""
        n = len(q)
        nan = [np.full(n, np.nan) for _ in range(3)]
        best = Found(np.array(q), nan[0], nan[1], nan[2], np.zeros(n, bool), np.zeros(n, int))
        merit = np.full(n, np.inf)
        attempt = np.zeros(n, int)
        rows, state, targets, posture = np.arange(n), self._state(q), self.targets, self.posture
        left = np.ones(n, bool)  # rows of the state that are not finished
        while len(rows):
            state = self._iterate(state, targets, posture)
            ended = np.flatnonzero(left & (state["status"] != RUNNING))
            if not len(ended):
                continue
            own = rows[ended]
            success = state["status"][ended] == FOUND
            best.iterations[own] += state["count"][ended].astype(int)
            value = np.where(success, -1.0, state["merit"][ended] + _ASTRAY * (state["branch"][ended] <= 0))
            better = value < merit[own]
            to, at = own[better], ended[better]
            merit[to] = value[better]
            best.q[to], best.residual[to] = state["q"][at], np.sqrt(state["square"][at])
            best.slope[to], best.closed[to], best.success[to] = state["slope"][at], state["closed"][at], success[better]
            # rows that go on, from another start; NaN in a target gives NaN in every attempt
            attempt[own] += 1
            again = ~success & (attempt[own] <= restarts) & ~np.isnan(state["slope"][ended])
            if starts is not None and again.any():
                self._restart(starts, state, ended[again], attempt[own[again]] - 1 + first, targets)
            left[ended[~again]] = False
            if left.sum() < 0.8 * len(left):
                rows, state = rows[left], {name: x[left] for name, x in state.items()}
                targets = [x[left] for x in targets]
                posture = None if posture is None else posture[left]
                left = left[left]
        return best

    def _restart(
        self, starts: Starts, state: dict[str, Array], at: Array, attempt: Array, targets: list[Array]
    ) -> None:
        """Put rows of the state at the start of their next attempts."""
        fresh = np.empty((len(at), state["q"].shape[1]))
        for k in np.unique(attempt):
            these = attempt == k
            fresh[these] = starts.nearest(int(k), [x[at[these]] for x in targets])
        moving = np.array(self.code.moving)
        state["q"][at[:, None], moving] = fresh[:, moving]
        state["damping"][at] = _DAMPING
        for name in STATE:
            if name not in ("q", "damping"):
                state[name][at] = 0

    def part(self, rows: Array, mode: str = "search") -> Search:
        """The search of some rows, in that mode."""
        posture = None if self.posture is None else self.posture[rows]
        problem = replace(self.problem, mode=mode)
        return replace(self, problem=problem, targets=[x[rows] for x in self.targets], posture=posture)

    def all(self, q: Array, starts: Starts, restarts: int, first: int) -> Found:
        """Search; then lead rows that found nothing to a minimum, and those that did near the posture."""
        plain = replace(self, posture=None)
        found = plain.run(q, starts, restarts, first)
        lost = ~found.success & np.isfinite(found.residual)
        for mode in ("exact", "finish", "exact"):
            good = (found.slope <= self.tolerance) & (found.closed <= CLOSED[self.problem.dtype])
            rows = np.flatnonzero(lost & ~found.success & ~good)
            if len(rows):
                new = plain.part(rows, mode).run(found.q[rows])
                _take(found, rows, new, np.isfinite(new.residual))
        if self.posture is not None and found.success.any():
            self._to_posture(plain, found)
        return found

    def _to_posture(self, plain: Search, found: Found) -> None:
        """Move solutions along the others to the one nearest to the posture; where it is singular, to one near it."""
        assert self.posture is not None
        rows = np.flatnonzero(found.success)
        new = self.part(rows, "posture").run(found.q[rows])
        short = np.flatnonzero(~new.success & np.isfinite(new.residual))
        if len(short):
            again = plain.part(rows[short]).run(new.q[short])
            _take(new, short, again, again.success)
        system, posture = self.problem.system, self.posture[rows]
        away = [np.linalg.norm(system.difference(posture, x), axis=1) for x in (found.q[rows], new.q)]
        _take(found, rows, new, new.success & (away[1] <= away[0]))

    def along(self, q: Array, targets: list[Array], starts: Starts, restarts: int, tries: int, first: int) -> Found:
        """The solutions of paths, targets (n, length, …): each pose from the solution of the one before.

        Where a path is lost, for another solution of its first pose may lead to its end, it is tried again from up to
        ``tries`` starts; the one that goes farthest is kept. With a posture it is then followed once more, by the
        solutions nearest to that.
        """
        plain = replace(self, posture=None)
        best = plain._one_path(plain.all(q, starts, restarts, first), targets)
        for k in range(first, tries + first):
            lost = np.flatnonzero(~best.success.all(axis=1) & np.isfinite(best.residual).all(axis=1))
            if not len(lost):
                break
            part, own = plain.part(lost), [x[lost] for x in targets]
            start = np.array(q[lost])
            moving = list(self.code.moving)
            start[:, moving] = starts.nearest(k, part.targets)[:, moving]
            new = part._one_path(part.run(start), own)
            farther = new.success.sum(axis=1) > best.success[lost].sum(axis=1)
            _take(best, lost, new, farther)
        if self.posture is not None and best.success[:, 0].any():
            self._near_posture(plain, best, targets)
        return best

    def _near_posture(self, plain: Search, best: Found, targets: list[Array]) -> None:
        """Replace paths by those of the solutions nearest to the posture, unless these are lost earlier."""
        rows = np.flatnonzero(best.success[:, 0])
        part, own = self.part(rows), [x[rows] for x in targets]
        first = Found(*(x[rows, 0] for x in best))._replace(iterations=np.zeros(len(rows), int))
        part._to_posture(plain.part(rows), first)
        new = part.part(np.arange(len(rows)), "posture")._one_path(first, own)
        # where the nearest is not found, as at singular poses, one near it
        short = np.nonzero(~new.success & np.isfinite(new.residual))
        again = replace(plain, targets=[x[short] for x in own]).run(new.q[short])
        _take(new, short, again, again.success)
        _take(best, rows, new, new.success.sum(axis=1) >= best.success[rows].sum(axis=1))

    def _one_path(self, first: Found, targets: list[Array]) -> Found:
        code = compiled(self.problem, path=True)
        state = self._state(first.q)
        more = [] if self.posture is None else [self.posture]
        found = code.rollout(np.ones(targets[0].shape[1]), [*state.values(), *self._shared(), *more, *targets])
        after = dict(zip(STATE, found, strict=True))
        iterations = after["count"].astype(int)
        iterations[:, 0] += first.iterations
        return Found(
            after["q"], np.sqrt(after["square"]), after["slope"], after["closed"], after["status"] == FOUND, iterations
        )


def nothing(n: int, nq: int) -> Found:
    """The results of no rows."""
    return Found(np.zeros((n, 0, nq)), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, bool), np.zeros(0, int))


def _take(found: Found, rows: Any, new: Found, taken: Array) -> None:
    """Replace rows, by their indices, of results by the new ones that are ``taken``; iterations add up."""
    found.iterations[rows] += new.iterations
    at = tuple(k[taken] for k in rows) if isinstance(rows, tuple) else rows[taken]
    for old, x in zip(found[:-1], new[:-1], strict=True):
        old[at] = x[taken]
