"""The viewer: its server on this machine, saved pages, live configurations, and the page in a browser."""

import contextlib
import http.client
import json
import os
import select
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest

import sixd
from browser import Watched, chromium
from sixd.viewer.server import Server


@pytest.fixture
def viewer():
    with sixd.view(sixd.zoo.pendulum(2), q=[0.3, 0.4]) as found:
        yield found


def get(viewer, path="/", **headers):
    """(status, text, headers) of a request; by the page's own host unless another is given."""
    port = int(viewer.url.rsplit(":")[-1].strip("/"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    try:
        method = headers.pop("method", "GET")
        connection.request(method, path, headers={"Host": f"127.0.0.1:{port}", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        connection.close()


# the server ---------------------------------------------------------------------------------------


def test_the_page_is_served(viewer):
    status, text, headers = get(viewer)
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert '"server":"/state"' in text
    assert get(viewer, method="HEAD")[:2] == (200, "")


def test_localhost_is_a_name_of_this_machine(viewer):
    port = viewer.url.rsplit(":")[-1].strip("/")
    assert get(viewer, Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1", "127.0.0.1:1", "evil.127.0.0.1.nip.io", "", "localhost"])
@pytest.mark.parametrize("path", ["/", "/state"])
def test_other_hosts_are_refused(viewer, host, path):
    """A page elsewhere that lets its own name point here gets nothing."""
    status, text, _ = get(viewer, path, Host=host)
    assert status == 403
    assert "pendulum" not in text


@pytest.mark.parametrize("path", ["/x", "/state/", "/../etc/passwd", "/index.html", "/%2e%2e/", "/page/main.js"])
def test_nothing_else_is_served(viewer, path):
    assert get(viewer, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_is_taken(viewer, method):
    assert get(viewer, method=method)[0] == 501


def test_it_listens_on_this_machine_alone(viewer):
    """The address is bound to 127.0.0.1: the same port of another address of this machine is closed."""
    port = int(viewer.url.rsplit(":")[-1].strip("/"))
    assert viewer.url == f"http://127.0.0.1:{port}/"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), timeout=5).close()


def test_close_frees_the_port(viewer):
    port = int(viewer.url.rsplit(":")[-1].strip("/"))
    get(viewer)
    viewer.close()
    viewer.close()  # a second call is not an error
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(viewer.url, timeout=5)
    assert "closed" in repr(viewer)
    with sixd.view(sixd.zoo.pendulum(), port=port) as again:
        assert again.url == viewer.url


def test_a_connection_that_was_kept_ends(viewer):
    """A page that is open learns that the viewer is gone; it does not ask on and on."""
    host = viewer.url.removeprefix("http://").strip("/")
    connection = http.client.HTTPConnection(host, timeout=600)
    connection.request("GET", "/")
    assert connection.getresponse().read()
    viewer.close()
    assert connection.sock.recv(1) == b""  # the end of the connection
    connection.close()


def test_a_port_in_use_is_refused(viewer):
    port = int(viewer.url.rsplit(":")[-1].strip("/"))
    with pytest.raises(sixd.FileError, match=f"view: cannot listen on port {port}: Address already in use"):
        sixd.view(sixd.zoo.pendulum(), port=port)


@pytest.mark.parametrize("port", [-1, 65536, "80", 1.5, True])
def test_a_port_is_a_number(port):
    with pytest.raises(sixd.OutOfRangeError, match="view: port is .*, expected a number of 0 … 65535"):
        sixd.view(sixd.zoo.pendulum(), port=port)


# live configurations ------------------------------------------------------------------------------


def state(viewer, since):
    return json.loads(get(viewer, f"/state?since={since}")[1])


def test_the_state_is_the_configuration_last_shown(viewer):
    viewer.show([0.1, 0.2])
    assert state(viewer, 0) == {"version": 1, "q": [0.1, 0.2]}
    viewer.show(np.array([1.0, 2.0]))
    assert state(viewer, 1) == {"version": 2, "q": [1.0, 2.0]}
    # what cannot be read counts as knowing nothing
    for since in ("x", "-5", "9" * 40, ""):
        assert state(viewer, since)["version"] == 2


def ask(viewer, since):
    """A connection on which the state was asked for."""
    connection = http.client.HTTPConnection(viewer.url.removeprefix("http://").strip("/"), timeout=60)
    connection.request("GET", f"/state?since={since}")
    return connection


def test_a_request_waits_for_a_change(viewer):
    request = ask(viewer, 0)
    assert state(viewer, 5) == {"version": 0, "q": None}  # another is answered meanwhile
    viewer.show([0.5, 0.5])
    assert json.loads(request.getresponse().read()) == {"version": 1, "q": [0.5, 0.5]}
    request.close()


def test_close_answers_waiting_requests(viewer):
    request = ask(viewer, 0)
    state(viewer, 5)  # connections are accepted in turn, so that of the request is too
    viewer.close()
    answer = request.getresponse()
    assert (answer.status, answer.headers["Connection"]) == (503, "close")
    request.close()


def test_many_clients_wait_and_others_are_served(viewer):
    """Clients that wait have no thread each, and do not keep others from the page."""
    threads = threading.active_count()
    requests = [ask(viewer, 0) for _ in range(200)]
    assert get(viewer)[0] == 200
    assert threading.active_count() == threads
    viewer.show([0.1, 0.2])
    for request in requests:
        assert json.loads(request.getresponse().read())["version"] == 1
        request.close()


def test_clients_connect_while_the_server_is_busy():
    """Connections queue: the system accepts them before they are answered. With a queue of 5 they wait seconds."""
    busy, go_on = threading.Event(), threading.Event()

    def page():
        busy.set()
        go_on.wait(60)
        return "page"

    server = Server(page)
    address = ("127.0.0.1", server.port)
    first = http.client.HTTPConnection(*address, timeout=60)
    first.request("GET", "/")
    assert busy.wait(60)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.socket()) for _ in range(200)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(address)
        for client in clients:  # in a full queue none of the rest ever connects, for the server takes none
            assert select.select([], [client], [], 20)[1]
        go_on.set()
        assert first.getresponse().read() == b"page"
    first.close()
    server.close()


def test_what_is_shown_is_checked(viewer):
    with pytest.raises(sixd.ShapeError, match=r"q has shape \(3,\), expected \(2,\)"):
        viewer.show([1, 2, 3])


def test_wait_ends_when_the_viewer_is_closed(viewer, monkeypatch):
    waiting, wait = threading.Event(), viewer._server.closed.wait
    monkeypatch.setattr(viewer._server.closed, "wait", lambda seconds: waiting.set() or wait(seconds))
    closer = threading.Thread(target=lambda: waiting.wait() and viewer.close())
    closer.start()
    viewer.wait()
    closer.join()
    assert "closed" in repr(viewer)


def test_interrupted_waiting_closes(viewer, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(viewer._server.closed, "wait", interrupt)
    viewer.wait()
    assert "closed" in repr(viewer)


# pages in files -----------------------------------------------------------------------------------


def test_a_saved_page_is_whole(viewer, tmp_path):
    path = viewer.save_html(tmp_path / "swing.html")
    text = path.read_text()
    assert '"server"' not in text
    assert text.rstrip().endswith("</html>")
    viewer.show([1.25, 0.5])
    assert "1.25" in viewer.save_html(str(path)).read_text()  # replaced, with what is shown now
    assert os.listdir(tmp_path) == ["swing.html"]


def test_a_failed_write_leaves_what_was_there(viewer, tmp_path, monkeypatch):
    path = viewer.save_html(tmp_path / "swing.html")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(sixd.FileError, match="save_html: cannot write '.*swing.html': No space left on device"):
        viewer.save_html(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["swing.html"]


def test_paths_that_cannot_be_written(viewer, tmp_path):
    with pytest.raises(sixd.FileError, match="cannot write '.*x.html': No such file or directory. Check the folder"):
        viewer.save_html(tmp_path / "none" / "x.html")
    with pytest.raises(sixd.FileError, match="is a folder, expected the name of a file"):
        viewer.save_html(tmp_path)
    if os.geteuid():  # the superuser may write anywhere
        tmp_path.chmod(0o500)
        with pytest.raises(sixd.FileError, match="Permission denied"):
            viewer.save_html(tmp_path / "x.html")
        tmp_path.chmod(0o700)


def test_in_a_notebook(viewer):
    text = viewer._repr_html_()
    assert text.startswith('<iframe srcdoc="')
    assert 'sandbox="allow-scripts"' in text
    assert text.count('"') == 6  # all of the page's own are escaped
    assert '"server"' not in text


# the browser --------------------------------------------------------------------------------------


def test_no_browser_opens_in_tests(monkeypatch):
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    with sixd.view(sixd.zoo.pendulum()):
        assert opened == []
    with sixd.view(sixd.zoo.pendulum(), open_browser=True) as viewer:
        assert opened == [viewer.url]


@pytest.mark.parametrize(
    ("terminal", "display", "wanted"), [(True, ":0", True), (True, "", False), (False, ":0", False)]
)
def test_a_browser_opens_from_a_terminal_with_a_display(monkeypatch, terminal, display, wanted):
    from sixd.viewer.session import wants_browser

    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    assert wants_browser() == wanted


def test_sixd_view_is_a_function_and_light():
    """The package of that name does not hide it, and ``import sixd`` brings in no server."""
    code = "import sixd, sys, sixd.viewer; from sixd.viewer import viewer; print(callable(sixd.view), 'http.server' in sys.modules, 'sixd.viewer.scene.scene' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False"]


@pytest.mark.long
def test_a_live_page_follows(viewer):
    """In a browser the page opens without errors, sends requests to this server only, and shows the configuration given to ``show``."""
    with chromium() as browser:
        watched = Watched(browser)
        watched.page.goto(viewer.url)
        watched.page.evaluate("sixd.ready")
        viewer.show([0.7, -0.2])
        watched.until("Math.abs(sixd.configuration[0] - 0.7) < 1e-6")
        want = sixd.body_poses(viewer.system, np.array([0.7, -0.2]))[1]
        got = np.reshape(watched.page.evaluate("Array.from(sixd.bodyPose('rod2'))"), (4, 4)).T  # by columns
        assert np.allclose(got, want, atol=1e-6)  # float32
        assert watched.complaints == []
        assert all(url.startswith((viewer.url, "data:")) for url in watched.requests)


def test_server_closes_twice():
    server = Server(lambda: "page")
    server.close()
    server.close()
