"""``sixd compare``: the differences between two descriptions of a robot."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import click

import sixd
from sixd.cli.arguments.robot import TRUST, RobotSource
from sixd.cli.arguments.robot import complete as complete_robot
from sixd.cli.group import command
from sixd.cli.output import print_json, printable
from sixd.cli.usage import names_in, wrong_call
from sixd.inspection.comparison import KINDS

_ENDS = ("a", "b", "both")


def _tolerance(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise wrong_call(f"{parameter.opts[-1]} is {value:g}, expected a finite number of at least 0.")
    return value


_tolerance_option = partial(click.option, type=float, default=1e-9, callback=_tolerance)


@command(
    "compare",
    ("sixd compare panda_arm zoo:panda_arm", "The same robot: exit status 0."),
    ("sixd compare panda_arm ur_arm --by order", "Two robots, joint by joint: exit status 1."),
    ("sixd compare puma560 puma560 --tol 1e-3 --ignore limits,names --json", "Within 0.1 %, for a program."),
)
@click.argument("a", shell_complete=complete_robot)
@click.argument("b", shell_complete=complete_robot)
@_tolerance_option("--tol", help="Tolerance of parts: relative, or m, rad.")
@_tolerance_option("--dynamics-tol", help="Tolerance of joint forces, relative to the largest.")
@click.option("--states", type=click.IntRange(0), default=20, help="Random states for inverse dynamics; 0 for none.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the random states.")
@click.option("--by", type=click.Choice(["name", "order"]), default="name", help="How joints are matched.")
@click.option("--ignore", metavar="KINDS", help=f"Kinds to leave out, separated by commas: {', '.join(KINDS)}.")
@click.option("--floating-base", type=click.Choice(_ENDS), help="Which URDF gets a free root link.")
@click.option("--package-dir", "package_dirs", multiple=True, metavar="FOLDER", help="A folder of packages of meshes.")
@click.option("--trust", is_flag=True, help=TRUST)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(
    a: str, b: str, ignore: str | None, floating_base: str | None, trust: bool, as_json: bool, **options: Any
) -> int:
    """Compare two robots A and B: joints and their order, masses, inertias, placements and axes, limits, damping,
    friction, springs and armature, frames, constraints, gravity; and joint forces at random states.

    A and B are files or ready-made models. Body frames may be at different places on the bodies, as in a URDF and an
    MJCF file of one robot: values of A are expressed in B's frames. Exit status: 0 if A and B are equal within the
    tolerances, 1 if they differ, 2 for wrong usage.
    """
    if a == b == "-":
        raise wrong_call("A and B are both -, expected at most one of them from standard input.")
    ignored = names_in("--ignore", ignore, "kind", KINDS) if ignore is not None else []
    folders, models = options.pop("package_dirs"), []
    for robot, end in ((a, "a"), (b, "b")):
        source = RobotSource(robot, floating_base in (end, "both") or None, folders, trust=trust)
        models.append(source.load(quiet=True))
    result = sixd.compare(*models, ignore=ignored, **options)
    if as_json:
        print_json({**result.to_dict(), "tol": options["tol"], "dynamics_tol": options["dynamics_tol"]})
    else:
        click.echo("\n".join(map(printable, str(result).split("\n"))))
    return 0 if result.equal else 1
