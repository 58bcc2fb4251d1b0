"""Wrong calls, which end with exit status 2: the sentence names the command, and where its help is.

What is wrong only because of the machine, such as a file that exists already, is a failure, with status 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sixd.errors import SixdError, suggestion

NEAR = 0.6  # of difflib's measure: 'ifno' is near 'info' (0.75), 'nope' is not (0.5)


def wrong_call(text: str) -> click.UsageError:
    """The error for a call that cannot be meant so."""
    context = click.get_current_context(silent=True)
    name = f"{context.info_name}: " if context is not None else ""
    return click.UsageError(name + text, context)


def unknown(kind: str, name: str, known: Iterable[str]) -> click.UsageError:
    """The error for a name that is none: it suggests a near one, else lists all."""
    names = list(known)
    hint = suggestion(name, names, NEAR) or f"There are: {', '.join(names)}."
    return wrong_call(f"no {kind} named {name!r}. {hint}")


@contextmanager
def from_option(option: str) -> Iterator[None]:
    """What the library refuses here was given by this option."""
    try:
        yield
    except SixdError as error:
        # without the name of the library's function, which was not called by the user
        raise wrong_call(f"{option}: {str(error).partition(': ')[2] or error}") from error


def number(*, zero: bool) -> Callable[[click.Context, click.Parameter, float], float]:
    """Callback of an option: a finite number above 0, or of at least 0."""

    def check(context: click.Context, parameter: click.Parameter, value: float) -> float:
        if not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
            want = "of at least 0" if zero else "above 0"
            raise wrong_call(f"{parameter.opts[-1]} is {value:g}, expected a finite number {want} [s].")
        return value

    return check


class FilePath(click.Path):
    """The name of a file or a folder, which is not empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            option = param.opts[-1] if param is not None else "the name"
            raise wrong_call(f"{option} is empty, expected a name.")
        return super().convert(value, param, ctx)
