"""A server for one page, on this machine alone: the page at ``/`` and the configuration to show at ``/state``.

It listens on 127.0.0.1, answers no request that names another host (a page elsewhere could otherwise reach it by a
name of its own), and has nothing else to give.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from numbers import Integral
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sixd.errors import FileError, OutOfRangeError

HOST = "127.0.0.1"
_WAIT = 20.0  # [s] an asker waits for news before it is told that there are none


class State:
    """The configuration last shown, with a number that grows; askers wait for a higher one."""

    def __init__(self) -> None:
        self.version, self.closed = 0, False
        self.q: list[float] | None = None
        self._news = threading.Condition()

    def set(self, q: Sequence[float]) -> None:
        """Show this configuration."""
        with self._news:
            self.version, self.q = self.version + 1, [float(x) for x in q]
            self._news.notify_all()

    def close(self) -> None:
        """Send all askers away."""
        with self._news:
            self.closed = True
            self._news.notify_all()

    def after(self, version: int) -> dict[str, Any]:
        """The state, as soon as its number differs from ``version``, or after a while."""
        with self._news:
            self._news.wait_for(lambda: self.closed or self.version != version, _WAIT)
            return {"version": self.version, "q": self.q}


class Server:
    """Serves ``page()`` and a state until ``close``; ``port`` 0 takes a free one."""

    def __init__(self, page: Callable[[], str], port: Any = 0) -> None:
        self.state = State()
        if isinstance(port, bool) or not isinstance(port, Integral) or not 0 <= int(port) <= 65535:
            raise OutOfRangeError(f"view: port is {port!r}, expected a number of 0 … 65535; 0 takes a free one.")
        try:
            self._server = _HTTPServer((HOST, int(port)), _handler(page, self.state))
        except OSError as error:
            raise FileError(
                f"view: cannot listen on port {port}: {error.strerror or error}. Choose another, or port=0 for a free "
                f"one."
            ) from None
        self.port: int = self._server.server_address[1]
        # it looks for the end every so many seconds
        serve = partial(self._server.serve_forever, poll_interval=0.05)
        self._thread = threading.Thread(target=serve, name="sixd-view", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.port}/"

    @property
    def is_open(self) -> bool:
        """Whether it still answers."""
        return not self.state.closed

    def close(self) -> None:
        """Stop answering and free the port."""
        if self.is_open:
            self.state.close()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True  # a port closed a moment ago may be taken again; one in use may not
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that is closed while it waits is no error."""


def _handler(page: Callable[[], str], state: State) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "sixd", ""
        protocol_version = "HTTP/1.1"
        timeout = 60  # [s] for a request to arrive

        def do_GET(self) -> None:
            """The page, or the state."""
            port = self.server.server_address[1]  # type: ignore[index]
            if self.headers.get("Host", "") not in (f"{HOST}:{port}", f"localhost:{port}"):
                self._answer(403, "text/plain", "This address is for this machine alone.\n")
                return
            path = urlsplit(self.path)
            if state.closed:  # on a connection that was kept open
                self._answer(503, "text/plain", "The viewer is closed.\n")
            elif path.path == "/":
                self._answer(200, "text/html; charset=utf-8", page())
            elif path.path == "/state":
                since = parse_qs(path.query).get("since", ["-1"])[0]
                known = int(since) if since.removeprefix("-").isdecimal() and len(since) < 16 else -1
                self._answer(200, "application/json", json.dumps(state.after(known)))
            else:
                self._answer(404, "text/plain", "There is only the page, at /.\n")

        do_HEAD = do_GET

        def _answer(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if state.closed:
                self.send_header("Connection", "close")  # which the handler obeys, too
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are nobody's news."""

    return Handler
