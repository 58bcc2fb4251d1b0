"""Usage errors, which end with exit status 2: the message names the command.

An error that depends on the machine, such as a file that exists already, is a failure with exit status 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from sixd.errors import SixdError, suggestion

NEAR = 0.6  # difflib's ratio: 'ifno' is near 'info' (0.75), 'nope' is not (0.5)


def wrong_call(text: str) -> click.UsageError:
    """Return the error for wrong usage, with the name of the command before the text."""
    context = click.get_current_context(silent=True)
    name = f"{context.info_name}: " if context is not None else ""
    return click.UsageError(name + text, context)


def unknown(kind: str, name: str, known: Iterable[str]) -> click.UsageError:
    """Return the error for an unknown name: it suggests a similar name, else lists all."""
    names = list(known)
    hint = suggestion(name, names, NEAR) or f"There are: {', '.join(names)}."
    return wrong_call(f"no {kind} named {name!r}. {hint}")


def names_in(option: str, text: str, kind: str, known: Iterable[str]) -> list[str]:
    """Return the names in an option, separated by commas; raises if there are none or one is unknown."""
    names, all_names = [n.strip() for n in text.split(",") if n.strip()], list(known)
    for name in names:
        if name not in all_names:
            raise unknown(kind, name, all_names)
    if not names:
        raise wrong_call(f"{option} is {text!r}, expected names separated by commas: {', '.join(all_names)}.")
    return names


@contextmanager
def from_option(option: str) -> Iterator[None]:
    """Convert errors of the library in this block to usage errors of the option."""
    try:
        yield
    except SixdError as error:
        # drop the name of the library function, which the user did not call
        raise wrong_call(f"{option}: {str(error).partition(': ')[2] or error}") from error


def seconds_option(name: str, *, zero: bool, **options: Any) -> Callable[..., Any]:
    """Return a decorator that adds an option for a time [s]: a finite number above 0, or of at least 0."""

    def check(context: click.Context, parameter: click.Parameter, value: float) -> float:
        if not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
            want = "of at least 0" if zero else "above 0"
            raise wrong_call(f"{name} is {value:g}, expected a finite number {want} [s].")
        return value

    return click.option(name, type=float, metavar="S", callback=check, **options)
