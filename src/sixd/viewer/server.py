"""An HTTP server for one page, on this machine only: the page at ``/`` and the configuration to show at ``/state``.

It listens on 127.0.0.1 and rejects requests that name another host (otherwise a foreign page could reach it through a
host name of its own). One thread serves all clients: waiting ones cost nothing, and it still answers while the program
ends, when Python starts no more threads.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.client import HTTPException, parse_headers
from io import BytesIO
from numbers import Integral
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from sixd.errors import FileError, OutOfRangeError

HOST = "127.0.0.1"
BACKLOG = 1024  # connections that may wait to be accepted; with 5, the usual number, 400 clients took 51 s to connect
_WAIT = 20.0  # [s] until a request for a newer state is answered without one
_ARRIVE = 60.0  # [s] for a request to arrive
_LEAVE = 2.0  # [s] for unfinished answers when the server is closed
_REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 501: "Not Implemented", 503: "Closed"}


class LiveState:
    """The configuration shown last and its version; requests wait in the server's event loop for a newer one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.version, self.closed = 0, False
        self.q: list[float] | None = None
        self.pairs: dict[str, Any] | None = None
        self._loop, self._lock = loop, threading.Lock()
        self._changed = asyncio.Event()

    def set(self, q: Sequence[float], pairs: dict[str, Any] | None = None) -> None:
        """Show this configuration, with the nearest points of pairs of shapes; may be called from any thread."""
        with self._lock:
            self.version, self.q, self.pairs = self.version + 1, [float(x) for x in q], pairs
            if not self.closed:
                self._loop.call_soon_threadsafe(self._notify)

    def close(self) -> None:
        """Answer all waiting requests; to be called inside the event loop."""
        with self._lock:
            self.closed = True
        self._notify()

    async def after(self, version: int) -> dict[str, Any]:
        """Return the state as soon as its version differs from ``version``, or after 20 s."""
        if not self.closed and self.version == version:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), _WAIT)
        with self._lock:
            more = {} if self.pairs is None else {"pairs": self.pairs}
            return {"version": self.version, "q": self.q, **more}

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Server:
    """Serves ``page()`` and a state until ``close``; ``port`` 0 chooses a free port."""

    def __init__(self, page: Callable[[], str], port: Any = 0) -> None:
        if isinstance(port, bool) or not isinstance(port, Integral) or not 0 <= int(port) <= 65535:
            raise OutOfRangeError(f"view: port is {port!r}, expected a number of 0 … 65535; 0 chooses a free port.")
        try:
            # on POSIX a port that was just closed can be reused; one in use cannot
            listener = socket.create_server((HOST, int(port)), backlog=BACKLOG)
        except OSError as error:
            raise FileError(
                f"view: cannot listen on port {port}: {error.strerror or error}. Choose another, or port=0 for a free "
                f"one."
            ) from None
        self.port: int = listener.getsockname()[1]
        self.closed = threading.Event()
        self._page = page
        self._loop = asyncio.new_event_loop()
        self.state = LiveState(self._loop)
        self._end = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._idle: set[StreamWriter] = set()
        self._thread = threading.Thread(target=self._run, args=(listener,), name="sixd-view", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.port}/"

    @property
    def is_open(self) -> bool:
        """Whether the server still answers."""
        return not self.closed.is_set()

    def close(self) -> None:
        """Stop answering and free the port."""
        if self.is_open:
            self.closed.set()
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join()

    # inside the thread --------------------------------------------------------------------------------

    def _run(self, listener: socket.socket) -> None:
        try:
            self._loop.run_until_complete(self._serve(listener))
        finally:
            self._loop.close()

    async def _serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(self._connect, sock=listener, backlog=BACKLOG)
        await self._end.wait()
        server.close()
        self.state.close()
        for writer in self._idle:
            writer.close()
        if self._connections:
            _, late = await asyncio.wait(self._connections, timeout=_LEAVE)
            for connection in late:
                connection.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _connect(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        try:
            while not self.state.closed:
                self._idle.add(writer)
                request = await asyncio.wait_for(_read(reader), _ARRIVE)
                self._idle.discard(writer)
                status, kind, text = await self._answer(request)
                last = request.last or self.state.closed
                writer.write(_response(status, kind, text, last=last, head_only=request.method == "HEAD"))
                await writer.drain()
                if last:
                    break
        # a page that is closed while it waits is not an error
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self._idle.discard(writer)
            self._connections.discard(connection)
            writer.close()

    async def _answer(self, request: _Request) -> tuple[int, str, str]:
        """Status, content type and text: the page, or the state."""
        if request.method not in ("GET", "HEAD"):
            return (501 if request.method else 400), "text/plain", "There is only the page, to GET.\n"
        if request.host not in (f"{HOST}:{self.port}", f"localhost:{self.port}"):
            return 403, "text/plain", "This address works only on this machine.\n"
        if request.path == "/":
            return 200, "text/html; charset=utf-8", self._page()
        if request.path != "/state":
            return 404, "text/plain", "There is only the page, at /.\n"
        since = parse_qs(request.query).get("since", ["-1"])[0]
        known = int(since) if since.removeprefix("-").isdecimal() and len(since) < 16 else -1
        state = await self.state.after(known)
        if self.state.closed:
            return 503, "text/plain", "The viewer is closed.\n"
        return 200, "application/json", json.dumps(state)


class _Request(NamedTuple):
    """A request; ``method`` is empty if it cannot be parsed. ``last``: whether the connection is closed after it."""

    method: str
    host: str = ""
    path: str = ""
    query: str = ""
    last: bool = True


async def _read(reader: StreamReader) -> _Request:
    head = await reader.readuntil(b"\r\n\r\n")
    line, _, rest = head.partition(b"\r\n")
    try:
        method, target, version = line.decode("ascii").split(" ")
        headers = parse_headers(BytesIO(rest))
        path = urlsplit(target)
    except (ValueError, HTTPException):
        return _Request("")
    hosts = headers.get_all("Host", [])
    # a request with a body is answered, but the body is not read
    plain = method in ("GET", "HEAD") and not (headers.get("Content-Length") or headers.get("Transfer-Encoding"))
    last = not plain or version != "HTTP/1.1" or headers.get("Connection", "").lower() == "close"
    return _Request(method, hosts[0] if len(hosts) == 1 else "", path.path, path.query, last)


def _response(status: int, kind: str, text: str, *, last: bool, head_only: bool) -> bytes:
    body = text.encode()
    lines = [
        f"HTTP/1.1 {status} {_REASONS[status]}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        *(["Connection: close"] if last else []),
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Cross-Origin-Resource-Policy: same-origin",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if head_only else body)
