"""Timing in turns: every round runs each contender once, so that a noisy moment hits all of them alike."""

from __future__ import annotations

import math
import statistics
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.tasks import Array


@dataclass(frozen=True)
class Contender:
    """A statement to be timed, the names in it, and how many rows one execution computes.

    ``result`` computes the same rows, or the first few of them, in sixd's conventions; None where there is nothing
    to compare (an empty call). ``before`` runs outside the clock at each of its turns.
    """

    name: str
    statement: str
    names: dict[str, Any]
    rows: int = 1
    result: Callable[[], Array] | None = None
    tolerance: float = 1e-9
    before: Callable[[], None] | None = None


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per row: the median over the rounds, and half the distance between the quartiles."""

    median: float
    spread: float

    def __str__(self) -> str:
        return f"{digits(self.median)} ±{100 * self.spread / self.median:.0f}%"


def interleave(contenders: Sequence[Contender], rounds: int, goal: float) -> dict[str, Timing]:
    """Time them in turns; a turn repeats the statement until it takes about ``goal`` seconds."""
    timers = [timeit.Timer(c.statement, globals=c.names) for c in contenders]
    repetitions = [_repetitions(c, t, goal) for c, t in zip(contenders, timers, strict=True)]
    samples: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for contender, timer, number, mine in zip(contenders, timers, repetitions, samples, strict=True):
            _prepare(contender)
            mine.append(timer.timeit(number) / (number * contender.rows) * 1e9)
    return {c.name: _summary(mine) for c, mine in zip(contenders, samples, strict=True)}


def digits(x: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{x:.0f}" if x >= 100 else f"{x:.{2 - max(math.floor(math.log10(x)), 0)}f}" if x > 0 else "0"


def _prepare(contender: Contender) -> None:
    if contender.before is not None:
        contender.before()


def _repetitions(contender: Contender, timer: timeit.Timer, goal: float) -> int:
    _prepare(contender)
    first = timer.timeit(1)  # may compile
    if first > 20 * goal:
        first = timer.timeit(1)
    if first > goal:
        return 1
    number = 1
    while (elapsed := timer.timeit(number)) < goal / 4:
        number *= 4
    return max(1, math.ceil(number * goal / elapsed))


def _summary(samples: list[float]) -> Timing:
    median = statistics.median(samples)
    if len(samples) < 2:
        return Timing(median, 0.0)
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Timing(median, (high - low) / 2)
