"""The search of all samples for their targets: attempts with compiled iterations.

Each pass of the loop does a few iterations of all remaining samples, in compiled code. A sample whose attempt failed
goes on from its next start in the next pass; samples that ended are removed from the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sixd.engine.artifact import make_rollout, recipe_key
from sixd.errors import ModelError
from sixd.ik.iteration import (
    CLOSED,
    REACHED,
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

CHUNK = 6  # iterations of a pass
_ALONG = 40  # iterations of a pose of a path
_FEW, _AT_ONCE = 256, 4  # up to so many samples do several chunks in a pass
_DAMPING = 0.1
_ASTRAY = 1e6  # added to the merit of samples whose loops are closed on a wrong branch


class CompiledSearch(NamedTuple):
    """Compiled iterations, the number of constraints, and the places in q that they change."""

    rollout: Rollout
    constraints: int
    moving: tuple[int, ...]


class SearchResult(NamedTuple):
    """Results of n samples: q (n, nq), and (n,) each: error of the tasks, largest entry of the projected gradient,
    error of the constraints, whether the targets are reached, iterations."""

    q: Array
    residual: Array
    gradient: Array
    closed: Array
    success: Array
    iterations: Array


def compiled(problem: IKProblem, *, path: bool = False) -> CompiledSearch:
    """The code of a problem, kept with its system."""

    def make() -> CompiledSearch:
        with watched(f"compiling inverse_kinematics for {problem.system.name!r}"):
            iteration = Iteration(problem)
            if not iteration.dofs:
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
    """A problem with n samples: targets (n, …), weights (2 tasks,), limits (nq,) each, and the tolerance."""

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
        """The state of samples at the beginning of an attempt."""
        n, dtype = len(q), self.problem.dtype
        state = {name: np.zeros(n, dtype) for name in STATE}
        return state | {
            "q": np.array(q, dtype), "damping": np.full(n, _DAMPING, dtype),
            "y": np.zeros((n, self.code.constraints), dtype),
        }  # fmt: skip

    def _iterate(self, state: dict[str, Array], targets: list[Array], posture: Array | None) -> dict[str, Array]:
        chunks = np.ones(1) if len(state["q"]) > _FEW else np.full(1, _AT_ONCE)
        more = [] if posture is None else [posture]
        after = self.code.rollout(chunks, [*state.values(), *targets, *self._shared(), *more])
        return dict(zip(STATE, after, strict=True))

    def run(self, q: Array, starts: Starts | None = None, restarts: int = 0, first: int = 0) -> SearchResult:
        """The best attempt of each sample: from q (n, nq), then from ``restarts`` starts, numbered from ``first``."""
        n = len(q)
        nan = [np.full(n, np.nan) for _ in range(3)]
        best = SearchResult(np.array(q), nan[0], nan[1], nan[2], np.zeros(n, bool), np.zeros(n, int))
        merit = np.full(n, np.inf)
        attempt = np.zeros(n, int)
        samples, state, targets, posture = np.arange(n), self._state(q), self.targets, self.posture
        left = np.ones(n, bool)  # samples of the state that have not ended
        while len(samples):
            state = self._iterate(state, targets, posture)
            ended = np.flatnonzero(left & (state["status"] != RUNNING))
            if not len(ended):
                continue
            own = samples[ended]
            success = state["status"][ended] == REACHED
            best.iterations[own] += state["count"][ended].astype(int)
            value = np.where(success, -1.0, state["merit"][ended] + _ASTRAY * (state["branch"][ended] <= 0))
            better = value < merit[own]
            to, at = own[better], ended[better]
            merit[to] = value[better]
            best.q[to], best.residual[to] = state["q"][at], np.sqrt(state["square"][at])
            best.gradient[to], best.closed[to], best.success[to] = (
                state["gradient"][at],
                state["closed"][at],
                success[better],
            )
            # samples that go on from another start; NaN in a target gives NaN in every attempt
            attempt[own] += 1
            again = ~success & (attempt[own] <= restarts) & ~np.isnan(state["gradient"][ended])
            if starts is not None and again.any():
                self._restart(starts, state, ended[again], attempt[own[again]] - 1 + first, targets)
            left[ended[~again]] = False
            if left.sum() < 0.8 * len(left):
                samples, state = samples[left], {name: x[left] for name, x in state.items()}
                targets = [x[left] for x in targets]
                posture = None if posture is None else posture[left]
                left = left[left]
        return best

    def _restart(
        self, starts: Starts, state: dict[str, Array], at: Array, attempt: Array, targets: list[Array]
    ) -> None:
        """Put samples of the state at the start of their next attempts."""
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

    def part(self, samples: Array, mode: str = "search") -> Search:
        """The search of some samples, in a mode."""
        posture = None if self.posture is None else self.posture[samples]
        problem = replace(self.problem, mode=mode)
        return replace(self, problem=problem, targets=[x[samples] for x in self.targets], posture=posture)

    def all(self, q: Array, starts: Starts, restarts: int, first: int) -> SearchResult:
        """Search; then lead samples without a solution to a minimum, and solutions to the posture."""
        plain = replace(self, posture=None)
        results = plain.run(q, starts, restarts, first)
        lost = ~results.success & np.isfinite(results.residual)
        for mode in ("exact", "finish", "exact"):
            good = (results.gradient <= self.tolerance) & (results.closed <= CLOSED[self.problem.dtype])
            samples = np.flatnonzero(lost & ~results.success & ~good)
            if len(samples):
                new = plain.part(samples, mode).run(results.q[samples])
                _update(results, samples, new, np.isfinite(new.residual))
        if self.posture is not None and results.success.any():
            self._to_posture(plain, results)
        return results

    def _to_posture(self, plain: Search, results: SearchResult) -> None:
        """Move each solution to the nearby one nearest to the posture; where that is singular, to one near it."""
        assert self.posture is not None
        samples = np.flatnonzero(results.success)
        new = self.part(samples, "posture").run(results.q[samples])
        short = np.flatnonzero(~new.success & np.isfinite(new.residual))
        if len(short):
            again = plain.part(samples[short]).run(new.q[short])
            _update(new, short, again, again.success)
        system, posture = self.problem.system, self.posture[samples]
        away = [np.linalg.norm(system.difference(posture, x), axis=1) for x in (results.q[samples], new.q)]
        _update(results, samples, new, new.success & (away[1] <= away[0]))

    def along(
        self, q: Array, targets: list[Array], starts: Starts, restarts: int, tries: int, first: int
    ) -> SearchResult:
        """The solutions of paths, targets (n, length, …): each pose from the solution of the one before.

        A path that is lost is tried again from up to ``tries`` starts, since another solution of its first pose may
        lead to its end; the try that goes farthest is kept. With a posture, the path is then followed once more by
        the solutions nearest to the posture.
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
            _update(best, lost, new, farther)
        if self.posture is not None and best.success[:, 0].any():
            self._near_posture(plain, best, targets)
        return best

    def _near_posture(self, plain: Search, best: SearchResult, targets: list[Array]) -> None:
        """Replace paths by those nearest to the posture, unless these are lost earlier."""
        samples = np.flatnonzero(best.success[:, 0])
        part, own = self.part(samples), [x[samples] for x in targets]
        first = SearchResult(*(x[samples, 0] for x in best))._replace(iterations=np.zeros(len(samples), int))
        part._to_posture(plain.part(samples), first)
        new = part.part(np.arange(len(samples)), "posture")._one_path(first, own)
        # where the search for the nearest fails, as at singular poses, one near it
        short = np.nonzero(~new.success & np.isfinite(new.residual))
        again = replace(plain, targets=[x[short] for x in own]).run(new.q[short])
        _update(new, short, again, again.success)
        _update(best, samples, new, new.success.sum(axis=1) >= best.success[samples].sum(axis=1))

    def _one_path(self, first: SearchResult, targets: list[Array]) -> SearchResult:
        code = compiled(self.problem, path=True)
        state = self._state(first.q)
        more = [] if self.posture is None else [self.posture]
        results = code.rollout(np.ones(targets[0].shape[1]), [*state.values(), *self._shared(), *more, *targets])
        after = dict(zip(STATE, results, strict=True))
        iterations = after["count"].astype(int)
        iterations[:, 0] += first.iterations
        success, residual = after["status"] == REACHED, np.sqrt(after["square"])
        return SearchResult(after["q"], residual, after["gradient"], after["closed"], success, iterations)


def nothing(n: int, nq: int) -> SearchResult:
    """The results of no samples."""
    return SearchResult(
        np.zeros((n, 0, nq)), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, bool), np.zeros(0, int)
    )


def _update(results: SearchResult, samples: Array | tuple[Array, ...], new: SearchResult, better: Array) -> None:
    """Replace the results of samples, by their indices, by the new ones that are ``better``; iterations add up."""
    results.iterations[samples] += new.iterations
    at = tuple(k[better] for k in samples) if isinstance(samples, tuple) else samples[better]
    for old, x in zip(results[:-1], new[:-1], strict=True):
        old[at] = x[better]
