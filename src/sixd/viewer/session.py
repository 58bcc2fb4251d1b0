"""The process that opens a viewer: terminal, notebook, test or script; and how a script waits at its end.

Knows nothing of what a viewer shows.
"""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import Any

from sixd.notebook import ipython

_waiting: list[Any] = []  # viewers that keep a script from ending while they are open


def is_off() -> bool:
    """Whether the environment turns the viewer off: SIXD_VIEW=off."""
    return os.environ.get("SIXD_VIEW", "").strip().lower() == "off"


def wants_browser() -> bool:
    """Whether the program runs at a terminal with a display, and not in a test."""
    if not _at_terminal():
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def is_script() -> bool:
    """Whether this is a program started from a terminal, neither an interactive session nor a notebook."""
    return _at_terminal() and not is_interactive()


def is_interactive() -> bool:
    """Whether commands are typed one by one: Python's prompt, IPython, a notebook."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or ipython() is not None


def say(text: str, file: Any = None) -> None:
    """Print a line of ASCII text to a stream, standard output if omitted, unless it is closed."""
    with suppress(OSError, ValueError):
        print(text, file=file, flush=True)


def wait_at_end(viewer: Any) -> None:
    """Keep the process from ending while the viewer is open, until Ctrl-C."""
    atexit.unregister(_wait)
    atexit.register(_wait, os.getpid())
    _waiting[:] = [one for one in _waiting if one.is_open] + [viewer]


def _wait(process: int) -> None:
    """Keep serving at the end of the program, unless it ends with a traceback or is a fork of ``process``."""
    # the interpreter sets these when it prints the traceback of an exception that was not caught
    died = getattr(sys, "last_value", None) is not None or getattr(sys, "last_exc", None) is not None
    viewers = [viewer for viewer in _waiting if viewer.is_open]
    if died or not viewers or os.getpid() != process:
        return
    try:
        say("sixd: the page stays open - press Ctrl-C to end")
        for viewer in viewers:
            viewer.until_closed()
    except KeyboardInterrupt:
        say("")  # the shell's prompt begins a line


def _at_terminal() -> bool:
    """Whether standard output is a terminal, and this is neither a test nor a worker process."""
    workers = sys.modules.get("multiprocessing.process")
    is_worker = workers is not None and workers.parent_process() is not None
    if "PYTEST_CURRENT_TEST" in os.environ or sys.stdout is None or is_worker:
        return False
    try:
        return sys.stdout.isatty()
    except ValueError:  # closed
        return False
