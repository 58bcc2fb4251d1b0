"""Times that can be compared: contenders take turns, so that a noisy moment hits all alike, and medians are taken."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

ROUNDS = 7
TURN = 0.02  # seconds that one turn of a contender takes, about


class Contender(NamedTuple):
    """What is called, and how many rows one call computes."""

    name: str
    call: Callable[[], Any]
    rows: int = 1


def medians(contenders: Sequence[Contender], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds per row of each."""
    repetitions = [_repetitions(c, TURN) for c in contenders]
    samples: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for contender, number, mine in zip(contenders, repetitions, samples, strict=True):
            mine.append(_seconds(contender.call, range(number)) / (number * contender.rows))
    return {c.name: statistics.median(mine) for c, mine in zip(contenders, samples, strict=True)}


def _repetitions(contender: Contender, turn: float) -> int:
    contender.call()  # may compile
    number = 1
    while (elapsed := _seconds(contender.call, range(number))) < turn / 4:
        number *= 4
    return max(1, round(number * turn / elapsed))


def _seconds(call: Callable[[], Any], turns: Iterable[int]) -> float:
    start = perf_counter()
    for _ in turns:
        call()
    return perf_counter() - start
