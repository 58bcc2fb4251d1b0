"""``sixd convert``: a robot as a URDF or MJCF file."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import click

import sixd
from sixd.cli.arguments.files import FilePath, free_path, is_standard_output, require_other
from sixd.cli.arguments.robot import RobotSource, robot_argument
from sixd.cli.group import command
from sixd.cli.output import count, print_json, printable
from sixd.cli.usage import wrong_call
from sixd.io.writing import write_text

FORMATS = {"urdf": sixd.to_urdf, "mjcf": sixd.to_mjcf}
_ENDINGS = {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf"}


@command(
    "convert",
    ("sixd convert panda_arm panda.xml", "A ready-made model for MuJoCo; the path of a URDF file works as well."),
    ("sixd convert panda_arm panda.urdf", "The same as URDF."),
    ("sixd convert two_link_arm - --to mjcf --no-shapes", "To standard output, without shapes."),
)
@robot_argument()
@click.argument("out", type=FilePath(allow_dash=True))
@click.option("--to", "form", type=click.Choice(list(FORMATS)), help="The format.  [default: from the ending of OUT]")
@click.option("--no-shapes", is_flag=True, help="Leave out shapes and meshes.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def convert(source: RobotSource, out: Path, form: str | None, no_shapes: bool, force: bool, as_json: bool) -> None:
    """Write a robot to OUT as URDF (.urdf) or as MJCF for MuJoCo (.xml, .mjcf); - writes to standard output.

    The file has the same dynamics: a part that the format cannot hold, such as a spring in URDF, is an error. A warning
    lists less important parts that were left out. The file is written completely or not at all. `sixd compare ROBOT
    OUT` lists the differences.
    """
    chosen = form or _by_ending(out)
    shown = is_standard_output(out)
    if shown and as_json:
        raise wrong_call(f"--json and {out} both write to standard output, expected one of them. Name a file for OUT.")
    if not shown:
        require_other(source.robot, out)
        free_path(out, force)
    model = source.load()
    if no_shapes:
        model = dataclasses.replace(model, visuals=(), collisions=())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sixd.ModelWarning)
        text = FORMATS[chosen](model)
    notes = [str(w.message).partition(": ")[2] for w in caught]
    if shown:
        click.echo(text, nl=False)
    else:
        write_text(text, out)
    for note in notes:
        warnings.warn(note, sixd.ModelWarning, stacklevel=2)
    if as_json:
        print_json({"robot": model.name, "file": out, "format": chosen, "bodies": model.nb, "warnings": notes})
    elif not shown:
        click.echo(printable(f"{out}  ({chosen.upper()}, {count(model.nb, 'body', 'bodies')})"))


def _by_ending(out: Path) -> str:
    if is_standard_output(out):
        raise wrong_call("standard output has no ending, expected --to urdf or --to mjcf.")
    ending = out.suffix.lower()
    if ending not in _ENDINGS:
        known = ", ".join(_ENDINGS)
        raise wrong_call(f"OUT is {str(out)!r}, expected a name that ends in one of {known}; or add --to.")
    return _ENDINGS[ending]
