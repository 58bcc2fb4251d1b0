"""One run of the benchmarks, which all sections share: settings, results so far, and the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from benchmarks import robots
from benchmarks.report import Report
from benchmarks.robots import Robot
from benchmarks.tasks import States, Task, random_states
from sixd.cli.output import digits
from sixd.cli.timing import Contender, Timing, interleave

Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Session:
    """One run. ``measured`` holds the values for the targets, by section, function, robot and contender."""

    tasks: tuple[Task, ...]
    robot_names: tuple[tuple[str, bool], ...]
    rows: int
    sizes: tuple[int, ...]
    chains: tuple[int, ...]
    rounds: int
    turn: float
    folder: Path
    report: Report = field(default_factory=Report)
    measured: dict[Key, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def quick(self) -> bool:
        """Whether the run is a trial, with too few rounds for a verdict."""
        return self.rounds < 10

    def robots(self) -> list[Robot]:
        """The robots, loaded once."""
        return [_load(*name) for name in self.robot_names]

    def states(self, robot: Robot) -> States:
        """``rows`` random states of a robot, always the same."""
        return random_states(robot.model, self.rows)

    def time(self, key: Key, contenders: list[Contender], rounds: int | None = None) -> dict[str, Timing]:
        """Time contenders alternately, and keep the medians under ``key`` and their names."""
        timings = interleave(contenders, rounds or self.rounds, self.turn)
        self.measured.update({(*key, name): timing.median for name, timing in timings.items()})
        return timings

    def note(self, text: str) -> None:
        """Add a note to the end of the report, once."""
        if text not in self.notes:
            self.notes.append(text)


_load = lru_cache(maxsize=None)(robots.load)


def ratio(slow: float | None, fast: float | None) -> str:
    """``slow / fast`` as text for a table; a dash if one is missing."""
    return f"{digits(slow / fast)}×" if slow is not None and fast else "–"


def cell(timing: Timing | None) -> str:
    """A timing, or a dash."""
    return "–" if timing is None else str(timing)
