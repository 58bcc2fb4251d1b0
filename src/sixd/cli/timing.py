"""Interleaved timing: every round measures each contender once, so that noise affects all of them alike.

``sixd bench`` and the project's own ``benchmarks/`` both measure with this module.
"""

from __future__ import annotations

import math
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.cli.output import digits
from sixd.spatial.scalar import Array


@dataclass(frozen=True)
class Contender:
    """A statement to time, the names in it, and how many states one execution computes.

    ``result`` computes the same states, or the first few of them, in sixd's conventions; None if there is nothing to
    compare (an empty call). ``before`` runs before each measurement and is not timed.
    """

    name: str
    statement: str
    names: dict[str, Any]
    states: int = 1
    result: Callable[[], Array] | None = None
    tolerance: float = 1e-9
    before: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per state: the median over the rounds, and half the distance between the quartiles."""

    median: float
    spread: float

    def __str__(self) -> str:
        return f"{digits(self.median)} ±{100 * self.spread / self.median:.0f}%"


def interleave(contenders: Sequence[Contender], rounds: int, seconds: float) -> dict[str, Timing]:
    """Return the timings by name; each measurement repeats the statement for about ``seconds``."""
    timers = [timeit.Timer(c.statement, globals=c.names) for c in contenders]
    repetitions = [_repetitions(c, t, seconds) for c, t in zip(contenders, timers, strict=True)]
    samples: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for contender, timer, number, mine in zip(contenders, timers, repetitions, samples, strict=True):
            contender.before()
            mine.append(timer.timeit(number) / (number * contender.states) * 1e9)
    return {c.name: _summary(mine) for c, mine in zip(contenders, samples, strict=True)}


def _repetitions(contender: Contender, timer: timeit.Timer, seconds: float) -> int:
    contender.before()
    first = timer.timeit(1)  # may compile
    if first > 20 * seconds:
        first = timer.timeit(1)
    if first > seconds:
        return 1
    number = 1
    while (elapsed := timer.timeit(number)) < seconds / 4:
        number *= 4
    return max(1, math.ceil(number * seconds / elapsed))


def _summary(samples: list[float]) -> Timing:
    low, median, high = np.percentile(samples, (25, 50, 75)).tolist()
    return Timing(median, (high - low) / 2)
