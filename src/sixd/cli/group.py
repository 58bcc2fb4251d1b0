"""The click group ``sixd``: commands are imported on demand, accept ``--debug``, and show examples in their help."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from sixd.cli.usage import NEAR
from sixd.errors import suggestion

# one line each, so that `sixd --help` need not load the commands themselves
COMMANDS = {
    "demo": "A tour: a robot, its equations, its speed, its motion, and an interactive page.",
    "info": "Show a robot: its tree, limits, masses, frames, constraints.",
    "check": "Find likely mistakes in a robot file, and how to fix them.",
    "convert": "Write a robot as URDF or MJCF.",
    "compare": "List the differences between two descriptions of a robot.",
    "simulate": "Simulate a robot, report how well energy was conserved, save the motion.",
    "view": "Show a robot, or a motion of it, in the browser.",
    "equations": "Print the equations of motion in closed form.",
    "bench": "Measure the compiled functions, compared with plain NumPy and Pinocchio.",
    "export": "Write a function for one robot as C source.",
    "cache": "Show or remove the compiled code on disk.",
}
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@dataclass
class CommandSettings:
    """Settings of one call of ``sixd``."""

    debug: bool = False


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.ensure_object(CommandSettings).debug |= value


def _debug_option() -> click.Option:
    options: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _set_debug}
    return click.Option(["--debug"], help="Show the traceback of an error.", **options)


class Command(click.Command):
    """A command with ``--debug`` and examples: pairs of a command line that runs as written, and its meaning."""

    def __init__(self, name: str, *, examples: Sequence[tuple[str, str]], **options: Any) -> None:
        super().__init__(name, context_settings=_SETTINGS, **options)
        self.params.append(_debug_option())
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples at the end of the help."""
        if self.examples:
            with formatter.section("Examples"):
                for line, meaning in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")
                    with formatter.indentation():
                        formatter.write_text(meaning)


def command(name: str, *examples: tuple[str, str]) -> Callable[[Callable[..., Any]], Command]:
    """Return a decorator that turns a function into the command of that name."""
    return click.command(name, cls=Command, examples=examples, short_help=COMMANDS[name])


class CommandGroup(click.Group):
    """The commands; each module is imported when its command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of that name."""
        if cmd_name not in COMMANDS:
            return None
        made = getattr(importlib.import_module(f"sixd.cli.commands.{cmd_name}"), cmd_name)
        assert isinstance(made, click.Command)
        return made

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest one with a similar name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = suggestion(args[0], COMMANDS, NEAR) or f"There are: {', '.join(COMMANDS)}."
            ctx.fail(f"no command named {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)


@click.pass_context
def _begin(context: click.Context) -> None:
    """Show the help if there is no command."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def make_group(version: str) -> CommandGroup:
    """Return the command ``sixd``."""
    group = CommandGroup("sixd", help=_HELP, context_settings=_SETTINGS, callback=_begin, invoke_without_command=True)
    group.params.append(_debug_option())
    return click.version_option(version, prog_name="sixd")(group)


_HELP = """Robot dynamics from the command line: inspect a robot file, find mistakes in it, convert, simulate and view
it, print its equations, export its functions as C.

A ROBOT is a file (URDF, SDF, MJCF, xacro, or a spatial_v2 model in .mat), a ready-made model (`sixd info` lists their
names; `zoo:NAME` if a file has the same name), `robot_descriptions:NAME`, or - for a file from standard input. `sixd
COMMAND --help` explains each command, with examples. Begin with `sixd demo`.
"""
