"""``sixd simulate``: simulate a robot, report how well energy was conserved, save the motion."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import click

import sixd
from sixd.cli.arguments.files import FilePath, free_path, require_ending
from sixd.cli.arguments.initial_state import initial_state
from sixd.cli.arguments.robot import RobotSource, robot_argument
from sixd.cli.arguments.state import parse_number, parse_state
from sixd.cli.entry_point import INTERRUPTED
from sixd.cli.group import command
from sixd.cli.motion_summary import save, show, summary
from sixd.cli.output import digits, print_json, print_notes
from sixd.cli.usage import from_option, seconds_option, unknown, wrong_call
from sixd.errors import ScalarTypeError
from sixd.model import Model
from sixd.model.joints import Free
from sixd.simulation.simulate import METHODS, automatic_method

AUTOMATIC = "auto"
FILES = ("output", "html", "plot", "video")
CONTROLLERS = ("none", "gravity", "pd", "gravity+pd")
_UNKNOWN_MEMORY = 8e9  # bytes assumed if the system does not report the available memory
_DT = "Time step [s]; adaptive and stiff choose their own steps and record every N dt (see --record-every)."
_BATCH = "Number of rollouts from random states (with seed 0 unless --random sets another)."
_METHOD = """euler (first order), rk4, midpoint (conserves energy for long), implicit (stiff springs and dampers, high
gains), adaptive, stiff; auto: rk4, or implicit if the step is too long for rk4."""
_CONTROLLER = """none; gravity: compensates gravity; pd:KP,KD: gains [N m/rad or N/m] and [N m s/rad or N s/m] towards
--target; gravity+pd:KP,KD: both."""


@command(
    "simulate",
    ("sixd simulate double_pendulum --q 2,0.5 --duration 10", "A falling pendulum; the summary shows its energy."),
    (
        "sixd simulate panda_arm --q joint2=30deg --controller gravity+pd:50,5 --html panda.html",
        "A page that plays it.",
    ),
    ("sixd simulate double_pendulum --random 1 --batch 1000 --duration 1 --json", "A thousand rollouts at once."),
)
@robot_argument()
@seconds_option("--duration", default=5.0, zero=True, help="Time to simulate [s].")
@seconds_option("--dt", default=1e-3, zero=False, help=_DT)
@click.option("--method", type=click.Choice((AUTOMATIC, *METHODS)), default=AUTOMATIC, help=_METHOD)
@click.option(
    "--q",
    metavar="STATE",
    help="Initial configuration [rad or m]: numbers separated by commas, or joints by name: elbow=0.5,wrist=90deg.  "
    "[default: that of an MJCF file, else neutral]",
)
@click.option("--qd", metavar="STATE", help="Initial velocities [rad/s or m/s], in the same form.  [default: 0]")
@click.option("--random", "seed", type=click.IntRange(0), metavar="SEED", help="Random values for all other joints.")
@click.option("--controller", default="none", metavar="WHICH", help=_CONTROLLER)
@click.option("--target", metavar="STATE", help="Target configuration of pd.  [default: the default of --q]")
@click.option("--batch", type=click.IntRange(1), metavar="N", help=_BATCH)
@click.option(
    "--record-every", type=click.IntRange(1), metavar="N", help="Keep every Nth step.  [default: 100 records a second]"
)
@click.option("-o", "--output", type=FilePath(), metavar="FILE", help="Save the motion: .npz or .csv.")
@click.option("--html", type=FilePath(), metavar="FILE", help="Write a page that plays the motion.")
@click.option("--plot", type=FilePath(), metavar="FILE", help="Write a plot: .png, .pdf or .svg.")
@click.option("--video", type=FilePath(), metavar="FILE", help="Write a video: .mp4 (with ffmpeg) or .gif (pillow).")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def simulate(source: RobotSource, **options: Any) -> int:
    """Simulate a robot from a state, and print a summary: the change of energy, the largest constraint error, failed
    rollouts, and steps per second. A robot with constraints starts from an assembled state near the initial one; joints
    named in --q and --qd keep their values if possible, and a note lists changed values. After Ctrl-C the part that was
    computed is kept. Exit status 1 if no rollout stayed finite.

    Without friction and without a controller energy is constant: its change shows the error of the simulation.
    """
    for name in FILES:
        if options[name] is not None:
            require_ending(name, options[name])
            free_path(options[name], options["force"])
    model = source.load()
    every = options["record_every"] or _record_every(options["dt"])
    _require_memory(model, options["batch"], options["duration"] / (options["dt"] * every))
    begin = initial_state(model, options["q"], options["qd"], options["seed"], options["batch"])
    print_notes(begin.notes)
    controller = make_controller(model, options["controller"], options["target"])
    if controller is not None:
        print_notes(_held_bases(model))
    began = perf_counter()
    method, dt = options["method"], options["dt"]
    if method == AUTOMATIC:
        run = sixd.Scenario(model, controller=controller, dt=dt, where="simulate")
        method, reason = automatic_method(run, begin.q, begin.qd, options["duration"])
        if reason:
            print_notes([f"method {method!r} is used, since {reason}."])
    stepping = {"dt": dt, "method": method, "record_every": every}
    motion = sixd.simulate(model, begin.q, begin.qd, options["duration"], controller=controller, **stepping)
    facts = summary(model, motion, perf_counter() - began, driven=controller is not None, seed=begin.seed)
    facts["files"] = save(model, motion, {name: options[name] for name in FILES})
    if options["as_json"]:
        print_json(facts)
    else:
        show(facts)
    if motion.interrupted:
        return INTERRUPTED
    return 1 if facts["failed"] == facts["rollouts"] else 0


def _record_every(dt: float) -> int:
    """Return the number of steps between records that are 10 ms apart."""
    return max(1, round(0.01 / dt)) if 1e-12 < dt < 1 else 1


def _held_bases(model: Model) -> list[str]:
    """Return a note if the controller acts on free joints, which no motor drives."""
    free = [model.joint_names[i - 1] for i in model.bodies if isinstance(model.joints[i], Free)]
    if not free:
        return []
    return [
        f"the controller also acts on {', '.join(free)}, which has no motor. In Python, use "
        f"sixd.controllers.PD(target, kp, kd, model=model) with zeros in kp and kd for its six degrees of freedom."
    ]


def make_controller(model: Model, text: str, target: str | None) -> Any:
    """Return the controller that the option names, or None."""
    kind, _, gains = text.partition(":")
    if kind not in CONTROLLERS:
        raise unknown("controller", text, ("none", "gravity", "pd:KP,KD", "gravity+pd:KP,KD"))
    if kind.endswith("pd") and not gains:
        raise wrong_call(f"--controller is {text!r}, expected it with gains: {kind}:KP,KD, such as {kind}:100,20.")
    if gains and not kind.endswith("pd"):
        raise wrong_call(f"--controller is {text!r}, expected no gains. Did you mean gravity+pd:{gains}?")
    if target is not None and not gains:
        raise wrong_call("--target requires --controller pd:KP,KD or gravity+pd:KP,KD.")
    if kind == "none":
        return None
    if kind == "gravity":
        return sixd.controllers.GravityCompensation(model)
    numbers = [parse_number("--controller", x) for x in gains.split(",")]
    if len(numbers) != 2:
        raise wrong_call(f"--controller is {text!r}, expected two gains: {kind}:KP,KD.")
    position = model.initial_configuration() if target is None else parse_state(model, "--target", target)
    with from_option("--controller"):
        return sixd.controllers.PD(position, *numbers, model=model, gravity=kind.startswith("gravity"))


def _require_memory(model: Model, rollouts: int | None, records: float) -> None:
    # q, qd and tau of each record, energies and the summary's arrays
    need = 8.0 * (rollouts or 1) * (records + 3) * (model.nq + 2 * model.nv + 8)
    have = _available_memory()
    if need > have:
        raise ScalarTypeError(
            f"simulate: the motion needs about {digits(need / 1e9)} GB, expected at most the {digits(have / 1e9)} GB "
            f"of free memory. Use a smaller --batch, a shorter --duration, or a larger --record-every."
        )


def _available_memory() -> float:
    """Return the bytes that Linux reports as available, on other systems a guess."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        facts: dict[str, Any] = dict(line.split(":", 1) for line in lines)
        return 1024.0 * int(facts["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        return _UNKNOWN_MEMORY
