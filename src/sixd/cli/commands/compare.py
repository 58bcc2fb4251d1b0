"""``sixd compare``: where two descriptions of a robot differ."""

from __future__ import annotations

import math

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


@command(
    "compare",
    examples=[
        ("sixd compare panda_arm zoo:panda_arm", "The same robot: exit status 0."),
        ("sixd compare panda_arm ur_arm --by order", "Two robots, joint by joint: exit status 1."),
        ("sixd compare puma560 puma560 --tol 1e-3 --ignore limits,names --json", "For a program, within 0.1 %."),
    ],
)
@click.argument("a", shell_complete=complete_robot)
@click.argument("b", shell_complete=complete_robot)
@click.option("--tol", type=float, default=1e-9, callback=_tolerance, help="Of parts: relative, or m and rad.")
@click.option(
    "--dynamics-tol", type=float, default=1e-9, callback=_tolerance, help="Of joint forces, relative to the largest."
)
@click.option("--states", type=click.IntRange(0), default=20, help="Random states for inverse dynamics; 0 for none.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the random states.")
@click.option("--by", type=click.Choice(["name", "order"]), default="name", help="How joints are matched.")
@click.option("--ignore", metavar="KINDS", help=f"Kinds to leave out, with commas: {', '.join(KINDS)}.")
@click.option("--floating-base", type=click.Choice(_ENDS), help="Whose root link, of a URDF, moves freely in space.")
@click.option("--package-dir", "package_dirs", multiple=True, metavar="FOLDER", help="Where packages of meshes lie.")
@click.option("--trust", is_flag=True, help=TRUST)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(
    a: str,
    b: str,
    tol: float,
    dynamics_tol: float,
    states: int,
    seed: int,
    by: str,
    ignore: str | None,
    floating_base: str | None,
    package_dirs: tuple[str, ...],
    trust: bool,
    as_json: bool,
) -> int:
    """Compare two robots A and B: joints and how they are connected, masses, inertias, placements and axes, limits,
    damping, friction, springs and armature, frames, constraints, gravity; and joint forces at random states.

    A and B are files or names of the zoo. Frames of bodies may be at different places on them, as in a URDF and an MJCF
    file of one robot: values of A are given in B's frames. Exit status: 0 if nothing differs by more than the
    tolerances, 1 if something does, 2 on wrong usage.
    """
    if a == b == "-":
        raise wrong_call("A and B are both -, expected at most one of them from standard input.")
    ignored = names_in("--ignore", ignore, "kind", KINDS) if ignore is not None else []
    models = [
        RobotSource(robot, floating_base in (end, "both") or None, package_dirs, trust=trust).load(quiet=True)
        for robot, end in ((a, "a"), (b, "b"))
    ]
    found = sixd.compare(*models, tol=tol, dynamics_tol=dynamics_tol, states=states, seed=seed, by=by, ignore=ignored)
    if as_json:
        print_json({**found.to_dict(), "tol": tol, "dynamics_tol": dynamics_tol})
    else:
        click.echo("\n".join(map(printable, str(found).split("\n"))))
    return 0 if found.equal else 1
