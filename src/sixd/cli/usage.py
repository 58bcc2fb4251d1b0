"""Usage errors, which end with exit status 2: the message names the command.

An error that depends on the machine, such as a file that exists already, is a failure with exit status 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import click

from sixd.errors import SixdError, suggestion

NEAR = 0.6  # of difflib's measure: 'ifno' is near 'info' (0.75), 'nope' is not (0.5)


def wrong_call(text: str) -> click.UsageError:
    """Return the error for wrong usage, with the name of the command before the text."""
    context = click.get_current_context(silent=True)
    name = f"{context.info_name}: " if context is not None else ""
    return click.UsageError(name + text, context)


def unknown(kind: str, name: str, known: Iterable[str]) -> click.UsageError:
    """Return the error for an unknown name: it suggests a similar one, else lists all."""
    names = list(known)
    hint = suggestion(name, names, NEAR) or f"There are: {', '.join(names)}."
    return wrong_call(f"no {kind} named {name!r}. {hint}")


@contextmanager
def from_option(option: str) -> Iterator[None]:
    """Turn errors of the library in this block into usage errors of the option."""
    try:
        yield
    except SixdError as error:
        # leave out the name of the library function, which the user did not call
        raise wrong_call(f"{option}: {str(error).partition(': ')[2] or error}") from error


def number(*, zero: bool) -> Callable[[click.Context, click.Parameter, float], float]:
    """Return the callback of an option that takes a finite number above 0, or of at least 0."""

    def check(context: click.Context, parameter: click.Parameter, value: float) -> float:
        if not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
            want = "of at least 0" if zero else "above 0"
            raise wrong_call(f"{parameter.opts[-1]} is {value:g}, expected a finite number {want} [s].")
        return value

    return check
