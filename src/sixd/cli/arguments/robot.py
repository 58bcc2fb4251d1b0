"""The argument ROBOT: a file, the name of a ready-made model, or standard input, loaded as a Model."""

from __future__ import annotations

import functools
import os
import shlex
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

import sixd
from sixd import zoo
from sixd.cli.output import count
from sixd.cli.usage import NEAR
from sixd.errors import LoadError, ModelWarning, suggestion
from sixd.io.descriptions import PREFIX as DESCRIPTIONS
from sixd.io.files import read_limited
from sixd.model import Model
from sixd.model.validate import findings_at_load

PREFIX = "zoo:"
_BASE = "Free the root link of a URDF; fix the models of an SDF at their poses."
_ARGUMENT = "An argument of a xacro file; may be repeated."
TRUST = "Expand a xacro file. It is a program: its Python can do anything that your account may do."
_PACKAGE_DIR = "A folder of the packages named in package://…; may be repeated."
_ENDINGS = (".urdf", ".xml", ".mjcf", ".mat", ".xacro", ".sdf", ".world")
_MOST_FILES = 5  # that a message lists
_NEAR_FILE = 0.75  # like NEAR, for names with endings: 'none.urdf' is not near 'robot.urdf' (0.63)


class RobotSource(NamedTuple):
    """The argument ROBOT, and the options for loading its file."""

    robot: str
    floating_base: bool | None
    package_dirs: tuple[str, ...]
    arguments: tuple[str, ...] = ()  # of xacro, NAME=VALUE each
    srdf: str | None = None
    trust: bool = False

    def load(self, *, quiet: bool = False) -> Model:
        """Return the model; a warning counts the findings in its file, unless ``quiet``."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            model = _load(
                self.robot,
                floating_base=self.floating_base,
                package_dirs=self.package_dirs,
                arguments=dict(map(_pair, self.arguments)) or None,
                srdf=None if self.srdf is None else Path(self.srdf),
                trust=self.trust,
            )
        doubtful = findings_at_load(model)
        if doubtful and not quiet:
            again = "" if self.robot == "-" else f": see `{self._check_command()}`"
            what = "unsupported element" if {f.code for f in doubtful} == {"not-carried"} else "likely mistake"
            text = f"{count(len(doubtful), what)} in {model.name!r}{again}"
            warnings.warn(text, ModelWarning, stacklevel=2)
        return model

    def _check_command(self) -> str:
        base = {None: [], True: ["--floating-base"], False: ["--fixed-base"]}[self.floating_base]
        several = {"--package-dir": self.package_dirs, "--argument": self.arguments}
        words = [word for option, values in several.items() for value in values for word in (option, value)]
        srdf = [] if self.srdf is None else ["--srdf", self.srdf]
        return shlex.join(["sixd", "check", self.robot, *base, *words, *srdf, *["--trust"] * self.trust])


def robot_argument(*, required: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds ROBOT and its options, passed to the function as one ``source`` or None."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.argument("robot", required=required, shell_complete=complete)
        @click.option("--floating-base/--fixed-base", default=None, help=_BASE)
        @click.option("--package-dir", "package_dirs", multiple=True, metavar="FOLDER", help=_PACKAGE_DIR)
        @click.option("--argument", "arguments", multiple=True, metavar="NAME=VALUE", help=_ARGUMENT)
        @click.option("--srdf", metavar="FILE", help="The robot's SRDF file: group states become configurations.")
        @click.option("--trust", is_flag=True, help=TRUST)
        @functools.wraps(function)
        def with_source(robot: str | None, **options: Any) -> Any:
            loading = {name: options.pop(name) for name in RobotSource._fields[1:]}
            return function(None if robot is None else RobotSource(robot, **loading), **options)

        return with_source

    return decorate


def _load(robot: str, **options: Any) -> Model:
    if robot == "-":
        text = b"" if sys.stdin is None else read_limited(sys.stdin.buffer, "standard input")
        if not text.strip():
            raise LoadError("robot: standard input is empty, expected the text of a URDF, SDF or MJCF file.")
        return sixd.load(text, **options)
    if not robot.strip():
        raise LoadError(f"robot: its name is {robot!r}, expected a file or a ready-made model.")
    named = robot.startswith(PREFIX)
    name = robot.removeprefix(PREFIX)
    if named or (name in zoo.names() and not Path(robot).is_file()):
        if options["floating_base"]:
            raise LoadError(
                f"robot: {name!r} is a ready-made model, expected a URDF file for --floating-base. Leave the option "
                f"out."
            )
        for option in ("arguments", "srdf"):
            if options[option] is not None:
                text = f"robot: {name!r} is a ready-made model, which has no --{option.removesuffix('s')}."
                raise LoadError(f"{text} Leave it out.")
        return zoo.get(name)
    if robot.startswith(DESCRIPTIONS):
        return sixd.load(robot, **options)
    if _is_path(robot):
        _require_file(Path(robot).expanduser())
        return sixd.load(Path(robot), **options)
    hint = suggestion(name, [*zoo.names(), *_files(Path())], NEAR) or "`sixd info` lists the ready-made models."
    raise LoadError(f"robot: no file and no ready-made model is named {robot!r}. {hint}")


def _pair(text: str) -> tuple[str, str]:
    """Return the name and value of an argument of xacro; xacro's own ``NAME:=VALUE`` is accepted too."""
    name, separator, value = text.partition("=")
    if not separator or not name.rstrip(":"):
        raise LoadError(f"robot: --argument is {text!r}, expected NAME=VALUE, such as prefix=left_.")
    return name.removesuffix(":"), value


def _is_path(robot: str) -> bool:
    path = Path(robot).expanduser()
    return os.path.exists(path) or len(path.parts) > 1 or path.suffix.lower() in _ENDINGS


def _require_file(path: Path) -> None:
    """Raise for a folder, and for a missing file with a similar name in its folder; the reader raises other errors."""
    try:
        folder, missing = path.is_dir(), not path.exists()
        names = _files(path if folder else path.parent)
    except (OSError, ValueError):
        return
    if folder:
        listed = ", ".join(repr(str(path / name)) for name in names[:_MOST_FILES])
        more = f" and {len(names) - _MOST_FILES} more" if len(names) > _MOST_FILES else ""
        hint = f"It contains {listed}{more}." if names else "It contains no robot file."
        raise LoadError(f"robot: cannot read {str(path)!r}: it is a folder, expected a file. {hint}")
    near = suggestion(path.name, names, _NEAR_FILE) if missing else ""
    if near:
        raise LoadError(f"robot: cannot read {str(path)!r}: there is no such file. {near}")


def _files(folder: Path) -> list[str]:
    """Return the names of the robot files in a folder."""
    return sorted(p.name for p in folder.iterdir() if p.suffix.lower() in _ENDINGS)


def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Return completions for the shell: ready-made models, then files."""
    from click.shell_completion import CompletionItem

    names = [CompletionItem(n) for n in zoo.names() if n.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="file")]
