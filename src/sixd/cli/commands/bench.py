"""``sixd bench``: the speed of the compiled functions, compared with plain NumPy and Pinocchio."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import sixd
import sixd.symbolic.newton.result  # declares newton_euler
from sixd.api.declared import LIBRARY
from sixd.cli.arguments.robot import RobotSource, robot_argument
from sixd.cli.group import command
from sixd.cli.output import console, count, digits, duration, print_json, printable
from sixd.cli.pinocchio import Pinocchio, find_pinocchio, first_result
from sixd.cli.timing import Contender, interleave
from sixd.cli.usage import from_option, names_in, wrong_call
from sixd.errors import ModelError, SixdError
from sixd.model import Model
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from rich.table import Table

_STATE = {"q", "qd", "qdd", "tau"}
_CHOICES = {"frame", "relative_to", "expressed_in", "kind", "per"}
FUNCTIONS = tuple(n for n, f in LIBRARY.items() if set(f.arrays) <= _STATE and set(f.choices) <= _CHOICES)
ROUNDS = 7
MEASUREMENT = 0.02  # approximate duration of one measurement [s]
_NARROW, _WIDE = 60, 84  # widths: below the first the table would be cut, from the second on times and ratios fit
USUAL = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


@dataclass(frozen=True, kw_only=True)
class Result:
    """Seconds per state, None if there is nothing to time; the largest relative difference between the results."""

    function: str
    batch: float
    single: float
    numpy: float
    pinocchio_batch: float | None = None
    pinocchio_single: float | None = None
    ready: float
    difference: float


@command(
    "bench",
    ("sixd bench ur_arm", "Inverse dynamics, forward dynamics and mass matrix of a six-axis arm."),
    ("sixd bench panda_arm --functions jacobian,energy --batch 1000", "Others; the frame is the last body's."),
    ("sixd bench pendulum --rounds 3 --json", "Times in seconds, for a program."),
)
@robot_argument()
@click.option("--functions", default=",".join(USUAL), metavar="NAMES", help="Functions, separated by commas.")
@click.option("--batch", type=click.IntRange(1, 10**7), default=4096, help="States in a batch.")
@click.option("--frame", help="The frame, for functions of a frame. [default: the last body]")
@click.option("--threads", type=click.IntRange(1), default=1, help="Threads for batches.")
@click.option("--rounds", type=click.IntRange(1, 1000), default=ROUNDS, help="Measurements of each contender.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def bench(
    source: RobotSource, functions: str, batch: int, frame: str | None, threads: int, rounds: int, as_json: bool
) -> None:
    """Measure the compiled functions for a robot: time per state in a batch and for one state, compared with the same
    algorithm in plain NumPy (the library's own source, not compiled) and with Pinocchio if installed.

    Results are compared first. Then all contenders are measured in alternation; the table shows medians. Friction,
    damping, springs and armature are left out, since other programs do not include them. It takes a few seconds.
    """
    names = names_in("--functions", functions.replace("-", "_"), "function", FUNCTIONS)
    if frame is not None and not any("frame" in LIBRARY[name].choices for name in names):
        raise wrong_call(f"--frame is {frame!r}, but none of {', '.join(names)} has a frame. Leave it out.")
    model = source.load().without_passive()
    if frame is not None:
        with from_option("--frame"):
            model.frame(frame, "bench")
    with console(stderr=True).status(f"measuring {model.name}"):
        results, remark = measure(model, names, batch, frame=frame, threads=threads, rounds=rounds)
    if as_json:
        measured = [vars(result) for result in results]
        facts = {"robot": model.name, "batch": batch, "threads": threads, "remark": remark}
        print_json(facts | {"functions": measured})
        return
    out = console()
    title = f"{printable(model.name)}: time per state; batches of {count(batch, 'state')} on {count(threads, 'thread')}"
    out.print(title, style="bold")
    out.print(table(results, out.width))
    out.print(footnote(results, remark), style="dim")


def measure(
    model: Model, names: Iterable[str], batch: int, *, frame: str | None = None, threads: int = 1, rounds: int = ROUNDS
) -> tuple[list[Result], str]:
    """Return a result for each function, and a remark if Pinocchio is not among the contenders."""
    if not model.nv:
        raise ModelError(f"bench: {model.name!r} has no degrees of freedom, expected a robot that can move.")
    before = sixd.get_num_threads()
    states = _states(model, batch)
    pinocchio, remark = find_pinocchio(model, states)
    sixd.set_num_threads(threads)
    try:
        return [_measure(model, name, states, frame, pinocchio, rounds) for name in names], remark
    finally:
        sixd.set_num_threads(before)


def _states(model: Model, size: int) -> dict[str, Array]:
    rng = np.random.default_rng(7)
    q = np.resize(model.random_configuration(rng, size=min(size, 512)), (size, model.nq))
    qd, qdd, tau = rng.standard_normal((3, size, model.nv))
    return {"q": q, "qd": qd, "qdd": qdd, "tau": tau}


def _measure(
    model: Model, name: str, states: dict[str, Array], frame: str | None, pinocchio: Pinocchio | None, rounds: int
) -> Result:
    made = LIBRARY[name].for_system(model)
    static: dict[str, Any] = {"frame": frame or model.body_names[-1]} if "frame" in made.choices else {}
    choices = made.check_choices(model, tuple({**made.choices, **static}.values()))
    many = [states[a] for a in made.arrays]
    one = [x[0].copy() for x in many]
    start = perf_counter()
    kernel = sixd.compile(getattr(sixd, name), model, **static)
    out = kernel(*many)
    ready = perf_counter() - start
    plain = partial(made.row, model, choices, one)
    names = {"kernel": kernel, "plain": plain, "many": many, "one": one, "out": out}
    contenders = [
        Contender("batch", "kernel(*many, out=out)", names, len(states["q"])),
        Contender("single", "kernel(*one)", names),
        Contender("numpy", "plain()", names),
    ]
    difference = _difference(kernel(*one), plain())
    if pinocchio and (other := _pinocchio(pinocchio, name)):
        contenders.append(other)
        difference = max(difference, _difference(kernel(*one), first_result(model, pinocchio.model, other)))
    if not difference < 1e-8:
        raise SixdError(
            f"bench: results of {name} differ by {difference:.1e}, expected rounding errors. Please report it."
        )
    times = {key: 1e-9 * timing.median for key, timing in interleave(contenders, rounds, MEASUREMENT).items()}
    return Result(function=name, **times, ready=ready, difference=difference)


def _pinocchio(theirs: Pinocchio, name: str) -> Contender | None:
    """Return its batch call, else its call for one state; a Jacobian, with rows in another order, is not compared."""
    if name == "jacobian":
        return None
    return theirs.batch("pinocchio_batch", name) or theirs.single("pinocchio_single", name)


def _difference(ours: Array | tuple[Array, ...], theirs: Array | tuple[Array, ...]) -> float:
    """Return the largest difference, relative to the largest entry."""
    pairs = list(zip(ours, theirs, strict=True)) if isinstance(ours, tuple) else [(np.asarray(ours), theirs)]
    gaps = [np.abs(a - b).max(initial=0) / max(np.abs(a).max(initial=0), 1e-300) for a, b in pairs]
    return float(max(gaps))


def table(results: list[Result], width: int) -> Table:
    """Return a table of times and ratios; only ratios in narrower terminals, one ratio a line in very narrow ones."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    if width < _NARROW:
        made = Table.grid(padding=(0, 2))
        made.add_column(overflow="fold")
        made.add_column(justify="right", overflow="fold")
        for result in results:
            made.add_row(result.function, duration(result.batch), style="bold")
            for name, (_, ratio) in _rivals(result).items():
                made.add_row(f"  {name}/sixd", ratio)
        return made
    wide = width >= _WIDE
    names = dict.fromkeys(name for result in results for name in _rivals(result))
    made = Table(box=SIMPLE_HEAD, header_style="dim", padding=(0, 1), show_edge=False)
    made.add_column("function", no_wrap=True)
    made.add_column("batch", justify="right", no_wrap=True, style="bold")
    for head in (["one state"] if wide else []) + [x for n in names for x in ([n, "ratio"] if wide else [f"{n}/sixd"])]:
        made.add_column(head, justify="right", no_wrap=True)
    for result in results:
        times = [duration(result.batch)] + ([duration(result.single)] if wide else [])
        rivals = _rivals(result).values()
        ratios = [x for time, ratio in rivals for x in ([time, ratio] if wide else [ratio])]
        made.add_row(result.function, *times, *ratios)
    return made


def _rivals(result: Result) -> dict[str, tuple[str, str]]:
    """Return the time of each other program, and its ratio to sixd's time."""
    rivals = {"NumPy": (duration(result.numpy), _ratio(result.numpy, result.batch))}
    if result.pinocchio_batch:
        rivals["Pinocchio"] = duration(result.pinocchio_batch), _ratio(result.pinocchio_batch, result.batch)
    elif result.pinocchio_single:
        rivals["Pinocchio"] = duration(result.pinocchio_single), _ratio(result.pinocchio_single, result.single, "*")
    return rivals


def _ratio(theirs: float, ours: float, mark: str = " ") -> str:
    return f"{digits(theirs / ours)} ×{mark}"


def footnote(results: list[Result], remark: str) -> str:
    """Return the text below the table."""
    ready = duration(sum(result.ready for result in results))
    worst = max((result.difference for result in results), default=0.0)
    text = f"Ratios: their time over sixd's in a batch. Results agree to {worst:.0e}. Compilation took {ready}."
    if any(result.pinocchio_single for result in results):
        text += " *Pinocchio has no batch call for it: times for one state."
    return f"{text} {remark}." if remark else text
