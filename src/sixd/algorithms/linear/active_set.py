"""Bounded quadratic problems with a monotone graph for each row, by an active set: which rows stick, slide or lean.

Row i has the velocity v = v_e + W l after impulses l, and its impulse follows from that velocity by a monotone graph::

     l
     ^  |                     state  velocity  impulse
     |  | 2                     2    v = low   l ≥ hi          leans on its lower limit
  hi |  +--1--+                 1    v ≤ 0     l = hi          slides backwards
     |        | 0               0    v = 0     lo ≤ l ≤ hi     sticks
  lo |        +--(-1)--+       -1    v ≥ 0     l = lo          slides forwards
     |                 | -2    -2    v = high  l ≤ lo          leans on its upper limit
     +--low---0-------high--> v

Without limits this is min ½ lᵀW l + lᵀv_e with lo ≤ l ≤ hi, the problem of joints with dry friction. For fixed states
half of the unknowns are known and the rest solve a linear system (``responses.py``). States that the solution
contradicts change all at once (J. J. Júdice, F. M. Pires, "A block principal pivoting algorithm for large-scale
strictly monotone linear complementarity problems", *Computers & Operations Research* 21, 1994); after ``PATIENCE``
iterations without progress only the one that is contradicted most; after ``LONGER`` only the last (Murty's rule), which
cannot cycle. One to three iterations are usual; projected Gauss–Seidel needed up to 860. Of random problems of 20 rows
with conditions up to 1e4, Murty's rule alone needed up to 282, the largest contradiction first up to 77.

The functions here are plain functions on scalars. :class:`ActiveSet` lets its user trace them into programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.linear.responses import DenseResponse, Shapes, SparseResponse
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, where

Response = DenseResponse | SparseResponse
Traceable = tuple[Callable[..., Any], Shapes]  # a function of arrays, and their names and shapes

MOST = 200  # iterations: at most 8 in 99.9 % of the states of robots
PATIENCE, LONGER = 3, 60
FAR = 1e30  # a velocity that is never reached: of a row without a limit
# a row slides as long as its velocity has the wrong sign by less than this part of what friction can change it by: at
# the edge between sticking and sliding rounding decides otherwise, again and again
SLACK = {"float64": 1e-12, "float32": 1e-5}


class Bounds(NamedTuple):
    """The graphs of all rows: impulses lo ≤ hi, and velocities low, high (each (k,)), None where no row has limits."""

    lo: Array
    hi: Array
    low: Array | None = None
    high: Array | None = None

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays that are not None."""
        return tuple(x for x in self if x is not None)


class Solution(NamedTuple):
    """Impulses (k,), the change of the velocity (nv,), states (k,), and 1 if all rows agree with their states.

    ``results`` are the arrays of the response, in the order of its ``carried``.
    """

    impulse: Array
    change: Array
    state: Array
    done: Scalar
    results: tuple[Array, ...]


class StateSolution(NamedTuple):
    """The solution for fixed states: the states it calls for, which rows had a prescribed velocity, velocities,
    impulses, and the response's other results."""

    state: list[Any]
    free: list[Any]
    v: Array
    impulse: Array
    more: list[Array]

    @property
    def results(self) -> tuple[Array, ...]:
        """The arrays of the response."""
        return self.impulse, *self.more


def _problem(response: Response, k: int, has_limits: bool) -> Shapes:
    """Names and shapes of the arrays of a problem."""
    shapes = {**response.shapes, "v_e": (k,), "diagonal": (k,), "lo": (k,), "hi": (k,)}
    return {**shapes, "low": (k,), "high": (k,)} if has_limits else shapes


def solve_in_states(response: Response, state: Array, problem: dict[str, Any], slack: float) -> StateSolution:
    """The solution of a problem for fixed states (k,)."""
    k = len(state)
    v_e, lo, hi, low, high = problem["v_e"], problem["lo"], problem["hi"], problem.get("low"), problem.get("high")
    data = [problem[name] for name in response.shapes]

    # which rows have a known velocity, and which one; which have a known impulse
    far = None if low is None else [x * x > 2 for x in state]
    free = [x * x < 0.5 for x in state]
    if far is not None:
        free = [f | g for f, g in zip(free, far, strict=True)]
    known_velocity: list[Any] = [0] * k
    if low is not None and high is not None and far is not None:
        known_velocity = [where(far[i], where(state[i] > 0, low[i], high[i]), 0) for i in range(k)]
    known_impulse = np.array([where(free[i], 0, where(state[i] > 0, hi[i], lo[i])) for i in range(k)])
    l, change, *more = response.solve(data, free, np.array(known_velocity) - v_e, known_impulse)
    v = v_e + change

    # the states that the solution calls for
    new: list[Any] = []
    for i in range(k):
        margin = problem["diagonal"][i] * (hi[i] - lo[i]) * slack
        sticks = where(l[i] > hi[i], 1, where(l[i] < lo[i], -1, 0))
        upper: Any = where(v[i] > margin, 0, 1)
        lower: Any = where(v[i] < -margin, 0, -1)
        if low is not None and high is not None and far is not None:
            # a row without friction passes through 0 at once
            upper = where(v[i] > margin, where(lo[i] < hi[i], 0, -1), where(v[i] < low[i] - margin, 2, 1))
            lower = where(v[i] < -margin, where(lo[i] < hi[i], 0, 1), where(v[i] > high[i] + margin, -2, -1))
            # a limit beyond rest, as after a rebound: there is one direction of sliding
            upper = where(low[i] > 0, where(v[i] < low[i] - margin, 2, 1), upper)
            lower = where(high[i] < 0, where(v[i] > high[i] + margin, -2, -1), lower)
            leans = where(state[i] > 0, where(l[i] < hi[i], 1, 2), where(l[i] > lo[i], -1, -2))
            sticks = where(far[i], leans, sticks)
        new.append(where(free[i], sticks, where(state[i] > 0, upper, lower)))
    return StateSolution(new, free, v, l, more)


def attempt(response: Response, k: int, has_limits: bool, dtype: str) -> Traceable:
    """A first attempt: (state, data…, v_e, bounds…) -> (results…, done), done = 1 if the states were right.

    It is right more often than not, and needs 0.75 times the operations of an iteration.
    """
    shapes = {"state": (k,), **_problem(response, k, has_limits)}

    def once(*arrays: Any) -> Any:
        known = dict(zip(shapes, arrays, strict=True))
        state = known["state"]
        solved = solve_in_states(response, state, known, SLACK[dtype])
        most = reduce(maximum, [absolute(x - y) for x, y in zip(solved.state, state, strict=True)])
        return *solved.results, where(most > 0.5, 0, 1)

    return once, shapes


def iteration(response: Response, k: int, has_limits: bool, dtype: str) -> Traceable:
    """One iteration: (state, best, patience, results…, done, data…, v_e, bounds…) -> the first ones, up to done."""
    shapes = _changing(response, k) | _problem(response, k, has_limits)

    def once(*arrays: Any) -> Any:
        known = dict(zip(shapes, arrays, strict=True))
        state, lo, hi = known["state"], known["lo"], known["hi"]
        before = known["done"] > 0
        solved = solve_in_states(response, state, known, SLACK[dtype])
        new, l = solved.state, solved.impulse
        wrong_by: list[Any] = []
        for i in range(k):
            # in units of velocity: how far an impulse is beyond its bounds, or a velocity beyond rest
            beyond = maximum(maximum(l[i] - hi[i], lo[i] - l[i]), 0) * known["diagonal"][i]
            wrong_by.append(where(solved.free[i], beyond, absolute(solved.v[i])))
        wrong = [where(absolute(new[i] - state[i]) > 0.5, 1, 0) for i in range(k)]
        total = sum(wrong[1:], wrong[0])
        better, patience = total < known["best"], known["patience"]
        together = better | (patience > 0)
        most = reduce(maximum, [where(wrong[i] > 0, x, -1) for i, x in enumerate(wrong_by)])
        later: Any = 0  # contradictions in rows after this one
        for i in reversed(range(k)):
            alone = where(patience > -LONGER, where(wrong_by[i] < most, 1, 0), later)
            new[i] = where(together, new[i], where(alone > 0, state[i], new[i]))
            later = later + wrong[i]
        best = where(better, total, known["best"])
        patience = where(better, PATIENCE, patience - 1)
        results = [np.array(new), best, patience, *solved.results]
        kept = [where(before, known[name], x) for name, x in zip(shapes, results, strict=False)]
        return (*kept, where(before, 1, where(total < 0.5, 1, 0)))

    return once, shapes


def held_solution(response: Response, k: int, has_limits: bool, dtype: str) -> Traceable:
    """The arguments of an iteration -> its results as a smooth function, with the states held."""
    shapes = _changing(response, k) | _problem(response, k, has_limits)

    def solution(*arrays: Any) -> Any:
        known = dict(zip(shapes, arrays, strict=True))
        solved = solve_in_states(response, known["state"], known, SLACK[dtype])
        return known["state"], known["best"], known["patience"], *solved.results, known["done"]

    return solution, shapes


def _changing(response: Response, k: int) -> Shapes:
    """Names and shapes of the arrays that an iteration replaces."""
    return {"state": (k,), "best": (), "patience": (), **response.carried, "done": ()}


class ActiveSet:
    """The solver of k rows with a response, as calls within a recipe.

    ``trace(function, shapes, dtype)`` makes a program, and ``stages(program, *arrays, …)`` calls one.
    """

    def __init__(self, response: Response, k: int, has_limits: bool, dtype: str, trace: Callable[..., Any]) -> None:
        self.response, self.k = response, k
        options = response, k, has_limits, dtype
        self.slope = cache(lambda: trace(*held_solution(*options), dtype))
        self.program = trace(*iteration(*options), dtype)
        self.attempt = trace(*attempt(*options), dtype)

    def __call__(
        self,
        stages: Callable[..., Any],
        data: Sequence[Array],
        v_e: Array,
        bounds: Bounds,
        state: Array,
        when: Any = None,
        known: Solution | None = None,
    ) -> Solution:
        """Return the solution for rows with the velocities v_e (k,), from an initial guess of their states.

        Where the scalar ``when`` is 0, it is the solution ``known``.
        """
        read = data[: len(self.response.shapes)]
        rest = (*read, v_e, self.response.diagonal(data), *bounds.arrays)
        if known is None:
            *results, done = stages(self.attempt, state, *rest)
            when = 1 - done
        else:
            results, done = list(known.results), where(when > 0, 0, 1)
        start = (state, float(self.k + 1), float(PATIENCE), *results, done)
        state, _, _, *results, done = stages(self.program, *start, *rest, most=MOST, when=when, smooth=self.slope)
        if known is not None:
            done = where(when > 0, done, known.done)
        return Solution(results[0], self.response.change(data, results), state, done, tuple(results))
