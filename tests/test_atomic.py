"""Files that are written completely or not at all, and remains of killed processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sixd import atomic
from sixd.atomic import whole_file, write_together

posix = pytest.mark.skipif(os.name != "posix", reason="locks of drafts are POSIX")

WRITER = """
import sys
from pathlib import Path
from sixd.atomic import whole_file
with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("half", flush=True)
    sys.stdin.read()
"""


def writer(path):
    """A process that has written half of a file, and finishes when its input ends."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], env=environment, **pipes)
    assert process.stdout.readline() == b"half\n"
    return process


def drafts(folder):
    return {name for name in os.listdir(folder) if name.endswith(".tmp")}


@pytest.mark.long
@posix
def test_the_next_writer_removes_remains_of_killed_ones(tmp_path):
    """It keeps what a living process writes, and what belongs to other files."""
    path = tmp_path / "a[1]+.npz"
    other = {".b.npz.00000000.tmp", ".a[1]+.npz.mine.tmp", "a[1]+.npz.00000000.tmp"}
    for name in other:
        (tmp_path / name).touch()
    killed, living = writer(path), writer(path)
    assert len(drafts(tmp_path) - other) == 2
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    with whole_file(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert len(drafts(tmp_path) - other) == 1
    living.communicate()
    assert living.returncode == 0
    assert path.read_bytes() == b"half"
    assert drafts(tmp_path) == other


@posix
def test_a_draft_is_made_again_if_another_process_removed_it(tmp_path, monkeypatch):
    """Another process may remove it between its creation and its lock."""
    flock, taken = atomic.fcntl.flock, []

    def late(file, how):
        if not taken:
            taken.extend(drafts(tmp_path))
            (tmp_path / taken[0]).unlink()
        flock(file, how)

    monkeypatch.setattr(atomic.fcntl, "flock", late)
    write_together({tmp_path / "a.txt": "a", tmp_path / "b.txt": "b"})
    assert taken
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]
    assert (tmp_path / "a.txt").read_text() == "a"


@pytest.mark.parametrize("locks", [True, False])
def test_errors_leave_nothing(locks, tmp_path, monkeypatch):
    """Also on systems without locks, such as Windows."""
    if not locks:
        monkeypatch.setattr(atomic, "fcntl", None)
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(TypeError), whole_file(path) as file:
        file.write("text")
    assert path.read_text() == "old"
    with pytest.raises(OSError, match="No such file"):
        write_together({path: "new", tmp_path / "no" / "b.txt": "b"})
    assert path.read_text() == "old"
    write_together({path: "new"})
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@posix
def test_streams_are_written_to_not_replaced(tmp_path):
    """A pipe gets all of it; a file that a shell opened for appending (>>) gets it at its end.

    Neither gets anything on an error.
    """
    ours, theirs = os.pipe()
    write_together({Path(f"/dev/fd/{theirs}"): "text"})
    with pytest.raises(TypeError), whole_file(Path(f"/dev/fd/{theirs}")) as file:
        file.writelines([b"half", "text"])
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        assert pipe.read() == "text"
    with (tmp_path / "log").open("w") as log:
        log.write("old ")
        log.flush()
        write_together({Path(f"/dev/fd/{log.fileno()}"): "new", tmp_path / "other": "other"})
    assert (tmp_path / "log").read_text() == "old new"
    assert sorted(os.listdir(tmp_path)) == ["log", "other"]
