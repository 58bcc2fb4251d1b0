"""The entry point: errors in one sentence, warnings in one line, exit statuses.

0: success; 1: failure (or ``sixd check`` found a fault); 2: wrong usage; 130: interrupted. A reader that closes the
pipe early, as in ``sixd info | head -1``, does not change the exit status.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO, TypeGuard

import click

import sixd
from sixd.cli.group import CommandSettings, make_group
from sixd.cli.output import Wrapped, printable
from sixd.errors import SixdError
from sixd.slow_work import listening

INTERRUPTED = 130
_WRITING = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)


def main() -> NoReturn:
    """The entry point ``sixd``."""
    for stream in (sys.stdout, sys.stderr):
        # a character that the stream cannot encode becomes a question mark instead of an error
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if sys.stderr is None:  # closed by the caller: messages are dropped
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command with these arguments (None: those of the process); return its exit status."""
    settings = CommandSettings()
    if sys.stdout is None:
        text = "standard output is closed, expected a terminal, a file or a pipe. To discard the output: >/dev/null."
        _say("error", text)
        return 1
    with _pipes_may_close(), warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # shown, whatever -W says
        show = warnings.showwarning
        warnings.showwarning = lambda *w: show(*w) if settings.debug else _show_warning(*w)
        try:
            with listening(_note):
                args = None if arguments is None else list(arguments)
                group = make_group(sixd.__version__)
                status: Any = group.main(args, prog_name="sixd", standalone_mode=False, obj=settings)
            sys.stdout.flush()
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx is not None else "sixd"
            _say("error", f"{_sentence(error.format_message())}{_example(error)} See '{path} --help'.")
            return 2
        except (click.Abort, KeyboardInterrupt):
            return INTERRUPTED
        except Exception as error:
            if _is_write_error(error):
                _discard(sys.stdout)
            if settings.debug:
                traceback.print_exc()
            else:
                _say("error", _explain(error))
            return 1
    return status or 0


def _explain(error: Exception) -> str:
    if isinstance(error, (SixdError, click.ClickException)):
        return _sentence(error.format_message() if isinstance(error, click.ClickException) else str(error))
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot use {str(error.filename)!r}: {error.strerror or error}."
    if isinstance(error, MemoryError):
        return "there is not enough memory. Reduce the batch or the duration."
    if _is_write_error(error):
        return f"cannot write the output: {error.strerror}."
    return f"{type(error).__name__}: {_sentence(str(error))} This is unexpected: run again with --debug to see where."


def _is_write_error(error: Exception) -> TypeGuard[OSError]:
    """Whether writing to standard output failed, as on a full disk: such an error does not name a file."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _WRITING


def _sentence(text: str) -> str:
    """Return the text on one line, with a full stop at its end."""
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!", "?)")) else f"{line}."


def _example(error: click.UsageError) -> str:
    """Return an example of a call if the error is a missing argument."""
    examples = getattr(error.ctx and error.ctx.command, "examples", ())
    if not examples or not isinstance(error, click.MissingParameter):
        return ""
    return f" For example: {examples[0][0]}."


def _say(kind: str, text: str) -> None:
    mark = f"{kind}:"
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        mark = click.style(mark, fg="red" if kind == "error" else "yellow", bold=True)
    with suppress(OSError):
        click.echo(f"{mark} {printable(text)}", err=True)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    text = str(message) if issubclass(category, UserWarning) else f"{category.__name__}: {message}"
    _say("warning", _sentence(text))


def _note(what: str) -> None:
    """Announce slow work on standard error; standard output is for results."""
    kept = ": once, the code is kept on disk" if sixd.cache_info().enabled else ""
    with suppress(OSError, ValueError):  # the stream is closed
        click.echo(f"{printable(what)}{kept} …", err=True)


# pipes ----------------------------------------------------------------------------------------------


class _Pipe(Wrapped):
    """A stream that its reader may close: later output is discarded, and the command ends as usual."""

    def write(self, text: str) -> int:
        """Write the text."""
        return int(self._unbroken(lambda: self.stream.write(text)) or 0)

    def flush(self) -> None:
        """Flush the stream."""
        self._unbroken(self.stream.flush)

    def _unbroken(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except BrokenPipeError:
            _discard(self.stream)
            return None


@contextmanager
def _pipes_may_close() -> Iterator[None]:
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_Pipe(stream) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def _discard(stream: TextIO) -> None:
    """Redirect the stream to the null device; the flush at the end of the process then works too."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
