"""How long a program with an open viewer lives: real processes at a terminal of their own, and without one."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import urllib.request

import pytest

import sixd

ADDRESS = "http://127.0.0.1:"
SCRIPT = "import sixd\nviewer = sixd.view(sixd.zoo.pendulum(){})\nprint('done')\n"


class Terminal:
    """A Python program at a terminal of its own, without a display; ``read_until`` waits for what it prints."""

    def __init__(self, *arguments, **environment):
        ours, theirs = pty.openpty()
        wanted = {
            k: v
            for k, v in os.environ.items()
            if k not in ("PYTEST_CURRENT_TEST", "DISPLAY", "WAYLAND_DISPLAY", "SIXD_VIEW")
        }
        command = [sys.executable, *arguments]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=wanted | environment, start_new_session=True
        )
        os.close(theirs)
        self.ours, self.text = ours, ""

    def read_until(self, text):
        while text not in self.text:
            piece = self.read()
            assert piece, f"ended without {text!r}: {self.text}"
        return self.text

    def read(self):
        """Some more of what it prints; nothing once it has ended."""
        with contextlib.suppress(OSError):  # on Linux the end of the last writer
            piece = os.read(self.ours, 65536).decode()
            self.text += piece
            return piece
        return ""

    def write(self, text):
        os.write(self.ours, text.encode())

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        """(exit status, all that was printed), after it has ended by itself."""
        while self.read():
            pass
        return self.process.wait(), self.text


@pytest.fixture
def start(tmp_path):
    """start(script, *options before it, **environment): the script at a terminal."""
    started = []

    def run(script, *options, **environment):
        path = tmp_path / "script.py"
        path.write_text(script)
        started.append(Terminal(*options, str(path), **environment))
        return started[-1]

    yield run
    for terminal in started:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()
        os.close(terminal.ours)


@pytest.mark.long
def test_a_script_that_ends_serves_its_viewer_until_interrupted(start):
    terminal = start(SCRIPT.format(""))
    text = terminal.read_until("Ctrl-C")
    assert text.index(ADDRESS) < text.index("done")  # printed at once, and the script went on
    url = text[text.index(ADDRESS) :].split()[0]
    with urllib.request.urlopen(url, timeout=60) as page:  # answered while the program ends
        assert b"pendulum" in page.read()
    terminal.interrupt()
    status, text = terminal.end()
    assert status == 0
    assert "Traceback" not in text
    assert "KeyboardInterrupt" not in text


@pytest.mark.long
def test_the_exit_status_is_kept(start):
    terminal = start(SCRIPT.format("") + "import sys\nsys.exit(3)\n")
    terminal.read_until("Ctrl-C")
    terminal.interrupt()
    assert terminal.end()[0] == 3


def test_a_script_with_a_thread_of_its_own_waits_as_well(start):
    more = "import threading\nthreading.Thread(target=lambda: print('thread', flush=True)).start()\n"
    terminal = start(SCRIPT.format("") + more)
    terminal.read_until("Ctrl-C")
    assert "thread" in terminal.text
    terminal.interrupt()
    assert terminal.end()[0] == 0


def test_closing_from_a_thread_ends_the_waiting(start):
    more = """
import sys, threading
def close():
    sys.stdin.readline()
    viewer.close()
threading.Thread(target=close, daemon=True).start()
"""
    terminal = start(SCRIPT.format("") + more)
    terminal.read_until("Ctrl-C")
    terminal.write("\n")
    assert terminal.end()[0] == 0


WORKER = """
import multiprocessing, sixd
def work():
    sixd.view(sixd.zoo.pendulum())
if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work)
    worker.start()
    worker.join()
    print("done")
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "script",
    [
        WORKER,
        SCRIPT.format(", open_browser=False"),
        SCRIPT.format(", block=False"),
        SCRIPT.format("") + "viewer.close()\n",
        "import sixd\nwith sixd.view(sixd.zoo.pendulum()):\n    print('done')\n",
        SCRIPT.format("") + "import os\nif os.fork() == 0:\n    raise SystemExit\nos.wait()\nviewer.close()\n",
    ],
    ids=["worker", "open_browser", "block", "close", "with", "fork"],
)
def test_a_script_ends_by_itself(start, script):
    status, text = start(script).end()
    assert status == 0
    assert "done" in text
    assert "Ctrl-C" not in text


def test_a_script_that_dies_ends(start):
    status, text = start(SCRIPT.format("") + "raise ValueError('its own')\n").end()
    assert status == 1
    assert "ValueError: its own" in text
    assert "Ctrl-C" not in text


def test_a_test_ends(start):
    """Programs that a test starts do not wait."""
    status, text = start(SCRIPT.format(""), PYTEST_CURRENT_TEST="test").end()
    assert (status, "Ctrl-C" in text) == (0, False)


@pytest.mark.long
@pytest.mark.parametrize("more", ["", ", block=True, open_browser=True"])
def test_switched_off_nothing_is_served(start, more, tmp_path):
    page = tmp_path / "page.html"
    tail = f"viewer.save_html({str(page)!r})\nviewer.show([0.1])\nviewer.wait()\nprint(repr(viewer), [viewer.url])\n"
    status, text = start(SCRIPT.format(more) + tail, SIXD_VIEW="off").end()
    assert status == 0
    assert ADDRESS not in text
    assert "not served" in text
    assert "['']" in text
    assert page.read_text().rstrip().endswith("</html>")


@pytest.mark.long
def test_interactive_sessions_do_not_wait(start):
    terminal = start(SCRIPT.format(""), "-i")
    terminal.read_until(">>>")
    terminal.write("sixd.view(sixd.zoo.pendulum()).url\nexit()\n")
    status, text = terminal.end()
    assert (status, "Ctrl-C" in text) == (0, False)


def test_block_waits_in_the_call(start):
    terminal = start(
        "import sixd\nprint('before')\nv = sixd.view(sixd.zoo.pendulum(), block=True, open_browser=False)\nprint('after', v)\n"
    )
    text = terminal.read_until(ADDRESS)
    url = text[text.index(ADDRESS) :].split()[0]
    urllib.request.urlopen(url, timeout=60).close()
    assert "after" not in terminal.text
    terminal.interrupt()
    status, text = terminal.end()
    assert status == 0
    assert "after <Viewer of 'pendulum': closed>" in text
    assert "Traceback" not in text


def test_without_a_terminal_a_script_ends_and_prints_no_dead_address():
    done = subprocess.run([sys.executable, "-c", SCRIPT.format("")], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"
    assert done.stderr.startswith("sixd: without a terminal the page closes when this program ends. Keep it by view(")
    assert ADDRESS not in done.stderr


def test_without_a_terminal_the_address_of_a_page_that_stays_is_printed():
    script = "import sixd\nsixd.view(sixd.zoo.pendulum(), block=True)\nprint('after')\n"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().split()[-1]
    with urllib.request.urlopen(url, timeout=60) as page:
        assert b"pendulum" in page.read()
    process.send_signal(signal.SIGINT)
    assert process.communicate()[0] == "after\n"
    assert process.returncode == 0


def test_nothing_is_printed_if_no_browser_is_wanted(capsys):
    with sixd.view(sixd.zoo.pendulum()):
        assert "block=True" in capsys.readouterr().err  # a test has no terminal
    with sixd.view(sixd.zoo.pendulum(), open_browser=False):
        assert capsys.readouterr() == ("", "")


def test_a_notebook_gets_no_address(capsys, monkeypatch):
    """The page stands in the notebook itself."""
    shell = type("Shell", (), {"kernel": object()})()
    monkeypatch.setitem(sys.modules, "IPython", type("Module", (), {"get_ipython": staticmethod(lambda: shell)}))
    with sixd.view(sixd.zoo.pendulum()):
        assert capsys.readouterr().out == ""
