"""The bounded problem of joint rows, solved by an active set: which joints stick, which slide, which lean on a limit.

Row i has the velocity v = v_e + W l after impulses l, and its impulse follows from that velocity by a monotone graph::

     l
     ^  |                     state  velocity  impulse
     |  | 2                     2    v = low   l ≥ hi          leans on its lower limit
  hi |  +--1--+                 1    v ≤ 0     l = hi          slides backwards
     |        | 0               0    v = 0     lo ≤ l ≤ hi     sticks
  lo |        +--(-1)--+       -1    v ≥ 0     l = lo          slides forwards
     |                 | -2    -2    v = high  l ≤ lo          leans on its upper limit
     +--low---0-------high--> v

For dry friction alone this is min ½ lᵀW l + lᵀv_e with lo ≤ l ≤ hi. Given the states, half of the unknowns are known
and the rest solve a linear system; states that the solution contradicts change all at once (J. J. Júdice, F. M. Pires,
"A block principal pivoting algorithm for large-scale strictly monotone linear complementarity problems", *Computers &
Operations Research* 21, 1994); after ``PATIENCE`` iterations without progress only the one that is contradicted most;
after ``LONGER`` only the last (Murty's rule), which cannot cycle. One to three iterations are usual; projected
Gauss–Seidel took up to 860. Of random problems of 20 rows with conditions up to 1e4, Murty's rule alone took up to 282,
the largest contradiction first up to 77.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial, reduce
from typing import Any, NamedTuple

import numpy as np

from sixd.spatial.scalar import Array, Scalar, absolute, maximum, where
from sixd.trace.program import Program, trace
from sixd.trace.stages import Stages

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
        """The arrays that there are."""
        return tuple(x for x in self if x is not None)


class Solution(NamedTuple):
    """Impulses (k,), the change of the velocity (nv,), states (k,), and 1 if all rows agree with their states.

    ``found`` are the response's own results.
    """

    impulse: Array
    change: Array
    state: Array
    done: Scalar
    found: tuple[Array, ...]


def _problem(response: Any, k: int, has_limits: bool) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of what is known of a problem."""
    shapes = {**response.shapes, "v_e": (k,), "diagonal": (k,), "lo": (k,), "hi": (k,)}
    return {**shapes, "low": (k,), "high": (k,)} if has_limits else shapes


def _solved(response: Any, state: Array, given: dict[str, Any], slack: float) -> tuple[Any, ...]:
    """Return, of a problem, for given states (k,): those that the solution has (a list), which rows have a known
    velocity, the rows' velocities, impulses, and the response's other results."""
    k = len(state)
    v_e, lo, hi, low, high = given["v_e"], given["lo"], given["hi"], given.get("low"), given.get("high")
    data = [given[name] for name in response.shapes]

    # the states as given: which rows have a known velocity, and which one; which have a known impulse
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

    # what the solution says
    new: list[Any] = []
    for i in range(k):
        margin = given["diagonal"][i] * (hi[i] - lo[i]) * slack
        sticks = where(l[i] > hi[i], 1, where(l[i] < lo[i], -1, 0))
        upper: Any = where(v[i] > margin, 0, 1)
        lower: Any = where(v[i] < -margin, 0, -1)
        if low is not None and high is not None and far is not None:
            # a row without friction passes through 0 at once
            upper = where(v[i] > margin, where(lo[i] < hi[i], 0, -1), where(v[i] < low[i] - margin, 2, 1))
            lower = where(v[i] < -margin, where(lo[i] < hi[i], 0, 1), where(v[i] > high[i] + margin, -2, -1))
            # a limit beyond rest, as after a bounce: there is one sense of sliding
            upper = where(low[i] > 0, where(v[i] < low[i] - margin, 2, 1), upper)
            lower = where(high[i] < 0, where(v[i] > high[i] + margin, -2, -1), lower)
            leans = where(state[i] > 0, where(l[i] < hi[i], 1, 2), where(l[i] > lo[i], -1, -2))
            sticks = where(far[i], leans, sticks)
        new.append(where(free[i], sticks, where(state[i] > 0, upper, lower)))
    return new, free, v, l, more


def attempt(response: Any, k: int, has_limits: bool, dtype: str) -> Program:
    """Return the program of a first attempt: (state, data…, v_e, bounds…) -> (found…, done), 1 if it was right.

    It is right more often than not, and takes 0.75 times the operations of an iteration.
    """
    shapes = {"state": (k,), **_problem(response, k, has_limits)}

    def once(*arrays: Any) -> Any:
        given = dict(zip(shapes, arrays, strict=True))
        state = given["state"]
        new, _, _, l, more = _solved(response, state, given, SLACK[dtype])
        most = reduce(maximum, [absolute(x - y) for x, y in zip(new, state, strict=True)])
        return l, *more, where(most > 0.5, 0, 1)

    return trace(once, shapes, dtype)


def iteration(response: Any, k: int, has_limits: bool, dtype: str) -> Program:
    """Return the program of one iteration: (state, best, patience, found…, done, data…, v_e, bounds…) -> the first."""
    extra = dict(response.carried)
    shapes: dict[str, tuple[int, ...]] = {"state": (k,), "best": (), "patience": (), **extra, "done": ()}
    count = len(shapes)
    shapes |= _problem(response, k, has_limits)

    def once(*arrays: Any) -> Any:
        given = dict(zip(shapes, arrays, strict=True))
        state, lo, hi = given["state"], given["lo"], given["hi"]
        before = given["done"] > 0
        new, free, v, l, more = _solved(response, state, given, SLACK[dtype])
        wrong_by: list[Any] = []
        for i in range(k):
            # in units of velocity: how far an impulse is beyond its bounds, or a velocity beyond rest
            beyond = maximum(maximum(l[i] - hi[i], lo[i] - l[i]), 0) * given["diagonal"][i]
            wrong_by.append(where(free[i], beyond, absolute(v[i])))
        wrong = [where(absolute(new[i] - state[i]) > 0.5, 1, 0) for i in range(k)]
        total = sum(wrong[1:], wrong[0])
        better, patience = total < given["best"], given["patience"]
        together = better | (patience > 0)
        most = reduce(maximum, [where(wrong[i] > 0, x, -1) for i, x in enumerate(wrong_by)])
        later: Any = 0  # contradictions in rows after this one
        for i in reversed(range(k)):
            alone = where(patience > -LONGER, where(wrong_by[i] < most, 1, 0), later)
            new[i] = where(together, new[i], where(alone > 0, state[i], new[i]))
            later = later + wrong[i]
        best = where(better, total, given["best"])
        patience = where(better, PATIENCE, patience - 1)
        results = [np.array(new), best, patience, l, *more]
        kept = [where(before, given[name], x) for name, x in zip(shapes, results, strict=False)]
        return (*kept, where(before, 1, where(total < 0.5, 1, 0)))

    program = trace(once, shapes, dtype)
    assert len(program.outputs) == count
    return program


def iteration_slope(response: Any, k: int, has_limits: bool, dtype: str) -> Program:
    """Return a program with the arguments of an iteration: the solution as a smooth function, its states held."""
    extra = dict(response.carried)
    own: dict[str, tuple[int, ...]] = {"state": (k,), "best": (), "patience": (), **extra, "done": ()}
    shapes = own | _problem(response, k, has_limits)

    def solution(*arrays: Any) -> Any:
        given = dict(zip(shapes, arrays, strict=True))
        _, _, _, l, more = _solved(response, given["state"], given, SLACK[dtype])
        return given["state"], given["best"], given["patience"], l, *more, given["done"]

    return trace(solution, shapes, dtype)


class ActiveSet:
    """The solver of k rows with a response, as calls within a recipe."""

    def __init__(self, response: Any, k: int, has_limits: bool, dtype: str) -> None:
        self.response, self.k = response, k
        self.slope = cache(partial(iteration_slope, response, k, has_limits, dtype))
        self.program = iteration(response, k, has_limits, dtype)
        self.attempt = attempt(response, k, has_limits, dtype)

    def __call__(
        self,
        stages: Stages,
        data: Sequence[Array],
        v_e: Array,
        bounds: Bounds,
        state: Array,
        when: Any = None,
        known: Solution | None = None,
    ) -> Solution:
        """Return the solution for rows with the velocities v_e (k,), from a guess of their states.

        Where the scalar ``when`` is 0, it is the solution ``known``.
        """
        read = data[: len(self.response.shapes)]
        rest = (*read, v_e, self.response.diagonal(data), *bounds.arrays)
        if known is None:
            *found, done = stages(self.attempt, state, *rest)
            when = 1 - done
        else:
            found, done = list(known.found), where(when > 0, 0, 1)
        given = (state, float(self.k + 1), float(PATIENCE), *found, done)
        state, _, _, *found, done = stages(self.program, *given, *rest, most=MOST, when=when, smooth=self.slope)
        if known is not None:
            done = where(when > 0, done, known.done)
        return Solution(found[0], self.response.change(data, found), state, done, tuple(found))
