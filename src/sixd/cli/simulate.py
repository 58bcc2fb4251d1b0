"""``sixd simulate``: let a robot move, tell how well energy was kept, save the motion."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np

import sixd
from sixd.cli.border import INTERRUPTED
from sixd.cli.group import command
from sixd.cli.motion import require_ending, save, show, summary
from sixd.cli.output import print_json
from sixd.cli.robot import load_robot, robot_argument
from sixd.cli.saving import free_path
from sixd.cli.state import parse_number, parse_state, random_states
from sixd.errors import ScalarTypeError, unknown_name
from sixd.model import Model
from sixd.spatial.scalar import Array

FILES = ("output", "html", "plot")
METHODS = ("euler", "rk4", "midpoint", "adaptive", "stiff")
CONTROLLERS = ("none", "gravity", "pd", "gravity+pd")


@command(
    "simulate",
    examples=[
        ("sixd simulate double_pendulum --q 2,0.5 --duration 10", "Let it fall, and see how well energy is kept."),
        (
            "sixd simulate puma560 --q joint2=90deg --controller gravity+pd:100,20 --html puma.html",
            "A page that plays it.",
        ),
        ("sixd simulate double_pendulum --random 1 --batch 1000 --duration 1 --json", "A thousand rollouts at once."),
    ],
)
@robot_argument()
@click.option("--duration", type=float, default=5.0, show_default=True, metavar="S", help="Time to simulate [s].")
@click.option("--dt", type=float, default=1e-3, show_default=True, metavar="S", help="Time step [s].")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="rk4",
    show_default=True,
    help="euler (first order), rk4, midpoint (keeps energy for long), adaptive, stiff.",
)
@click.option(
    "--q",
    metavar="STATE",
    help="Start [rad or m]: numbers with commas between, or joints by name: elbow=0.5,wrist=90deg.  [default: neutral]",
)
@click.option("--qd", metavar="STATE", help="Velocities at the start [rad/s or m/s], likewise.  [default: 0]")
@click.option("--random", "seed", type=click.IntRange(0), metavar="SEED", help="Draw what --q and --qd do not give.")
@click.option(
    "--controller",
    default="none",
    show_default=True,
    metavar="WHICH",
    help="none; gravity: holds the weight; pd:KP,KD: springs [N m/rad or N/m] and dampers towards --target; "
    "gravity+pd:KP,KD: both.",
)
@click.option("--target", metavar="STATE", help="Configuration that pd leads to.  [default: neutral]")
@click.option("--batch", type=click.IntRange(1), metavar="N", help="So many rollouts at once, from random states.")
@click.option(
    "--record-every",
    type=click.IntRange(1),
    metavar="N",
    help="Keep every Nth step.  [default: 100 records a second]",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Save the motion: .npz or .csv.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write a page that plays the motion.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .pdf or .svg.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def simulate(robot: str, floating_base: bool, package_dirs: tuple[str, ...], **options: Any) -> int:
    """Simulate a robot from a state, and print a summary: how much energy changed, how far constraints were off, how
    many rollouts failed, how many steps a second were done. Constrained robots start from an assembled state near
    the given one. Interrupted by Ctrl-C, it keeps what was computed. Exit status 1 if no rollout stayed finite.

    Where nothing rubs and nothing drives, energy is constant, and what its error is tells how good the simulation is.
    """
    for name in FILES:
        if options[name] is not None:
            require_ending(name, free_path(options[name], options["force"]))
    model = load_robot(robot, floating_base=floating_base, package_dirs=package_dirs)
    q, qd = start(model, options)
    controller = make_controller(model, options["controller"], options["target"])
    began = perf_counter()
    motion = sixd.simulate(
        model,
        q,
        qd,
        options["duration"],
        dt=options["dt"],
        method=options["method"],
        controller=controller,
        record_every=options["record_every"] or _record_every(options["dt"]),
    )
    facts = summary(model, motion, perf_counter() - began, driven=controller is not None)
    facts["files"] = save(model, motion, {name: options[name] for name in FILES})
    if options["as_json"]:
        print_json(facts)
    else:
        show(facts)
    if motion.interrupted:
        return INTERRUPTED
    return 1 if facts["failed"] == facts["rollouts"] else 0


def _record_every(dt: float) -> int:
    """Steps between records that are 10 ms apart; what is no step is left to the simulation to refuse."""
    return max(1, round(0.01 / dt)) if 1e-12 < dt < 1 else 1


def start(model: Model, options: dict[str, Any]) -> tuple[Array, Array]:
    """The states to start from, (n,) or (batch, n), assembled if there are constraints."""
    rows, seed = options["batch"], options["seed"]
    if seed is None and rows is not None and options["q"] is None:
        seed = 0
    q, qd = model.neutral(), np.zeros(model.nv)
    if seed is not None:
        q, qd = random_states(model, seed, rows)
    q = q if options["q"] is None else parse_state(model, "--q", options["q"])
    qd = qd if options["qd"] is None else parse_state(model, "--qd", options["qd"])
    if rows is not None:
        q, qd = (np.ascontiguousarray(np.broadcast_to(x, (rows, x.shape[-1]))) for x in (q, qd))
    return sixd.assemble(model, q, qd) if model.constraints else (q, qd)


def make_controller(model: Model, text: str, target: str | None) -> Any:
    """The controller that a word on the command line names, or None."""
    kind, _, gains = text.partition(":")
    if kind not in CONTROLLERS or bool(gains) != kind.endswith("pd"):
        raise unknown_name(
            "simulate: --controller", "controller", text, ("none", "gravity", "pd:KP,KD", "gravity+pd:KP,KD")
        )
    if target is not None and not gains:
        raise ScalarTypeError("simulate: --target was given without --controller pd:KP,KD, which would lead there.")
    if kind == "none":
        return None
    if kind == "gravity":
        return sixd.controllers.GravityCompensation(model)
    numbers = [parse_number("--controller", x) for x in gains.split(",")]
    if len(numbers) != 2:
        raise ScalarTypeError(f"simulate: --controller is {text!r}, expected two gains: {kind}:KP,KD.")
    place = model.neutral() if target is None else parse_state(model, "--target", target)
    return sixd.controllers.PD(place, *numbers, model=model, gravity=kind.startswith("gravity"))
