"""A page in a browser without a window, driven through the DevTools protocol; knows nothing of what it shows.

The browser reads commands from its file descriptor 3 and writes answers to 4, JSON texts that end with a null byte: no
port is open. A browser that is not found, fails or does not answer raises OSError.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "microsoft-edge", "msedge")
_FLAGS = (
    "--headless", "--remote-debugging-pipe", "--no-first-run", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
_PATIENCE = 60.0  # [s] until an answer: a busy machine takes some five to start a browser


@contextmanager
def open_page(html: str) -> Iterator[Callable[[str], Any]]:
    """Open a page in the browser that SIXD_BROWSER names, or one on the path; yields a function that evaluates."""
    names = [os.environ["SIXD_BROWSER"]] if "SIXD_BROWSER" in os.environ else _NAMES
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None or not hasattr(os, "posix_spawn"):
        raise FileNotFoundError("no browser is found")
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryDirectory(prefix="sixd-", ignore_cleanup_errors=True) as profile, ours:
        with theirs:
            theirs.set_inheritable(True)
            ends: list[Any] = [(os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_RDWR, 0) for end in range(3)]
            ends += [(os.POSIX_SPAWN_DUP2, theirs.fileno(), end) for end in (3, 4)]
            # a sandbox is refused to the superuser
            flags = [*_FLAGS, f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
            process = os.posix_spawn(program, [program, *flags], os.environ, file_actions=ends, setpgroup=0)
        try:
            ours.settimeout(_PATIENCE)
            call = _caller(ours)
            target = call("Target.createTarget", {}, url="about:blank")["targetId"]
            page = {"sessionId": call("Target.attachToTarget", {}, targetId=target, flatten=True)["sessionId"]}

            def evaluate(text: str) -> Any:
                answer = call("Runtime.evaluate", page, expression=text, returnByValue=True)
                if "exceptionDetails" in answer:
                    raise ConnectionError(f"the page fails: {answer['result'].get('description')}")
                return answer["result"].get("value")

            evaluate(f"document.write({json.dumps(html)}); document.close()")
            yield evaluate
        finally:
            with suppress(ProcessLookupError, ChildProcessError):
                os.killpg(process, signal.SIGKILL)  # with its helpers, which would still write to the profile
                os.waitpid(process, 0)


def _caller(end: socket.socket) -> Callable[..., Any]:
    """A function (method, session, parameters) of the protocol; events are dropped."""
    numbers, rest = count(), b""

    def call(method: str, session: dict[str, str], **parameters: Any) -> Any:
        nonlocal rest
        message, answer = {"id": next(numbers), "method": method, "params": parameters, **session}, {}  # type: Any, Any
        end.sendall(json.dumps(message).encode() + b"\0")
        while answer.get("id") != message["id"]:
            while b"\0" not in rest:
                if not (more := end.recv(1 << 20)):
                    raise ConnectionError("the browser has ended")
                rest += more
            text, _, rest = rest.partition(b"\0")
            answer = json.loads(text)
        if "error" in answer:
            raise ConnectionError(f"the browser refuses {method}: {answer['error'].get('message')}")
        return answer["result"]

    return call
