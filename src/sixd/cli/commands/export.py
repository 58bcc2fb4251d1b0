"""``sixd export``: a function for one robot as C99 source and header."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

import sixd
import sixd.symbolic.newton.result  # declares newton_euler
from sixd.api.declared import LIBRARY
from sixd.cli.arguments.files import FilePath, free_path
from sixd.cli.arguments.robot import RobotSource, robot_argument
from sixd.cli.group import command
from sixd.cli.output import console, count, print_json
from sixd.cli.usage import from_option, unknown, wrong_call


def _complete(context: click.Context, parameter: click.Parameter, word: str) -> list[str]:
    return [name for name in FUNCTIONS if name.startswith(word)]


# integrate and difference are methods of a model; external_force takes arrays of several shapes
FUNCTIONS = tuple(name for name in LIBRARY if name in sixd.__all__ and name != "external_force")
_AXES = click.Choice(["body", "aligned", "world"])
_OUTPUT = "The folder of the two files; created if missing.  [default: the current folder]"


@command(
    "export",
    ("sixd export ur_arm inverse_dynamics -o c_code", "Writes c_code/inverse_dynamics.c and .h."),
    ("sixd export panda_arm jacobian --frame tool -o c_code", "Functions of a frame require its name."),
    ("sixd export ur_arm gravity_force --dtype float32 --name ur_gravity -o c_code", "For a microcontroller."),
)
@robot_argument()
@click.argument("function", metavar="FUNCTION", shell_complete=_complete)
@click.option("-o", "--output", type=FilePath(file_okay=False), metavar="FOLDER", help=_OUTPUT)
@click.option("--frame", help="The frame, for functions of a frame: a link's name, joint:NAME, or an added frame.")
@click.option("--expressed-in", type=_AXES, help="Axes of a frame's vectors.  [default: body]")
@click.option("--given", multiple=True, metavar="JOINT", help="For hybrid_dynamics: a joint with prescribed qdd.")
@click.option("--name", metavar="NAME", help="Name of the C function and of the files. [default: FUNCTION]")
@click.option("--dtype", type=click.Choice(["float64", "float32"]), default="float64", help="double or float.")
@click.option("--f-ext", is_flag=True, help="Add external forces (nb, 6) as the last input.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def export(source: RobotSource, function: str, name: str | None, as_json: bool, **options: Any) -> None:
    """Write a function of the library, specialised for one robot, as C99: one function of plain arrays, without
    branches and allocation, which depends only on the C library's math functions. FUNCTION is inverse_dynamics,
    forward_dynamics, mass_matrix, bias_force, gravity_force, coriolis_matrix, energy, pose, jacobian, or another; an
    unknown name (`sixd export pendulum ?`) lists all.

    Both files are written completely or not at all; existing files are only replaced with --force.
    """
    chosen = function.replace("-", "_")
    if chosen not in FUNCTIONS:
        raise unknown("function", function, FUNCTIONS)
    if name is not None and not (name.isidentifier() and name.isascii()):
        raise wrong_call(f"--name is {name!r}, expected letters, digits and underscores.")
    static = _static(chosen, options)
    model = source.load()
    if options["frame"] is not None:
        with from_option("--frame"):
            model.frame(options["frame"], "export")
    for joint in options["given"]:
        with from_option("--given"):
            model.v_slice(joint)
    folder = options["output"] or Path()
    for ending in (".c", ".h"):
        if folder.is_dir():
            free_path(folder / f"{name or chosen}{ending}", options["force"])
    with console(stderr=True).status(f"writing {chosen} of {model.name}"):
        code = sixd.export_c(getattr(sixd, chosen), model, name=name, dtype=options["dtype"], **static)
    c_file, header = code.save(folder)
    lines = code.source.count("\n")
    if as_json:
        names = {"robot": model.name, "function": chosen, "name": code.name}
        print_json(names | {"source": c_file, "header": header, "lines": lines})
    else:
        click.echo(f"{c_file}  ({count(lines, 'line')})\n{header}")


def _static(function: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the static arguments of the function from the options; raise for options that do not apply."""
    values = {name: options[name] for name in ("frame", "expressed_in")} | {"given": options["given"] or None}
    choices = LIBRARY[function].choices
    for option, value in values.items():
        if value is not None and option not in choices:
            raise wrong_call(f"{function} has no option --{option.replace('_', '-')}. Leave it out.")
        if value is None and choices.get(option) is ...:
            raise wrong_call(f"{function} requires --{option}. Add it.")
    if options["f_ext"] and not LIBRARY[function].force:
        raise wrong_call(f"{function} has no external forces. Leave out --f-ext.")
    static: dict[str, Any] = {option: value for option, value in values.items() if value is not None}
    return static | ({"f_ext": True} if options["f_ext"] else {})
