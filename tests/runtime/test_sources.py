"""Where machine code comes from: builds of sixd and of LLVM are distinguished by their contents, never by their times."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sixd
from sixd.runtime import cache

PACKAGE = Path(sixd.__file__).parent
SMALL = ("errors.py", "locks.py", "runtime/__init__.py", "runtime/cache.py")
TIME = 1_600_000_000 * 10**9  # ns


def small_package(folder, init="x = 1"):
    """As much of sixd as the cache needs, all files with one time; every change of ``init`` has one size."""
    for name in SMALL:
        (folder / "sixd" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / name, folder / "sixd" / name)
    (folder / "sixd/__init__.py").write_text(init)
    (folder / "sixd/cli").mkdir()
    (folder / "sixd/cli/__init__.py").write_text(init)
    for path in folder.rglob("*.py"):
        os.utime(path, ns=(TIME, TIME))
    return folder


def zipped(folder):
    archive = folder.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.rglob("*.py")):
            file.write(path, path.relative_to(folder))
    os.utime(archive, ns=(TIME, TIME))
    return archive


def run(place, code, **env):
    """Return the output of a process that imports sixd from there; it writes no compiled Python, which depends on
    times.
    """
    environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", **env}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FINGERPRINT = "from sixd.runtime import cache; print(cache.fingerprint())"


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_builds_of_one_size_and_time(form, tmp_path):
    """Only the contents distinguish builds, not even their places."""
    packages = [small_package(tmp_path / f"{k}", init) for k, init in enumerate(("x = 1", "x = 2", "x = 1"))]
    places = [zipped(p) if form == "zip" else p for p in packages]
    first, second, third = (run(place, FINGERPRINT) for place in places)
    assert len(first) == 40
    assert first == third != second


CHANGED = """
import os
from sixd.runtime import cache
path = os.environ["CHANGE"]
CHANGE
cache.write("key", cache.CachedKernel({}, b"code"))
print(repr(cache.fingerprint()), cache.read("key"), os.path.exists(os.environ["SIXD_CACHE_DIR"]))
"""
CHANGES = {
    "another time": "os.utime(path, ns=(1, 1))",
    "another size": f"open(path, 'a').write(' '); os.utime(path, ns=({TIME}, {TIME}))",
    "gone": "os.unlink(path)",
    "a folder": "os.unlink(path); os.mkdir(path)",
}


@pytest.mark.skipif(os.name != "posix", reason="files in use can be changed")
@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_since_it_was_loaded(change, form, tmp_path):
    """Then the process neither reads nor writes; an unchanged one does both."""
    place = small_package(tmp_path / "build")
    place = zipped(place) if form == "zip" else place
    path = place if form == "zip" else place / "sixd/locks.py"
    env = {"CHANGE": str(path), "SIXD_CACHE_DIR": str(tmp_path / "cache")}
    assert run(place, CHANGED.replace("\nCHANGE\n", "\n" + CHANGES[change] + "\n"), **env) == "'' None False"


def test_what_did_not_change(tmp_path):
    """The cache is used; a change of a command does not matter, because compiled code does not depend on it."""
    place = small_package(tmp_path / "build")
    env = {"CHANGE": str(place / "sixd/cli/__init__.py"), "SIXD_CACHE_DIR": str(tmp_path / "cache")}
    code = CHANGED.replace("\nCHANGE\n", "\nos.unlink(path)\n")
    assert run(place, code, **env).endswith("CachedKernel(header={}, image=b'code') True")


def test_files_of_a_package(tmp_path):
    """Python files only, including links and circles."""
    (tmp_path / "sub" / "__pycache__").mkdir(parents=True)
    for name in ("a.py", "sub/b.py", "sub/c.txt", "sub/__pycache__/d.py"):
        (tmp_path / name).write_text("x = 1")
    (tmp_path / ".#a.py").symlink_to("nowhere")  # an editor's lock
    (tmp_path / "sub" / "round").symlink_to(tmp_path / "sub")  # links in a circle
    found = cache.stamps(str(tmp_path))
    assert found == cache.stamps(str(tmp_path))
    assert (found[0].path, found[0].size) == (str(tmp_path / "a.py"), 5)
    assert not any("c.txt" in stamp.path or "d.py" in stamp.path for stamp in found)
    assert cache.stamps("") == cache.stamps(str(tmp_path / "absent")) == []
    assert any(stamp.path.endswith("cache.py") for stamp in cache._SEEN)


@pytest.mark.parametrize("change", ["_version.py", "binding/libllvmlite.so", "nothing"])
def test_llvm_is_part_of_the_key(change, tmp_path):
    """Another version of llvmlite, or another build of its library, makes other code; then this code is not loaded."""
    place, llvm = small_package(tmp_path / "build"), tmp_path / "build" / "llvmlite"
    (llvm / "binding").mkdir(parents=True)
    (llvm / "__init__.py").write_text("raise SystemError('loaded')")
    for name in ("_version.py", "binding/libllvmlite.so"):
        (llvm / name).write_bytes(b"\x7f" * 10_000)
    first = run(place, FINGERPRINT)
    if change != "nothing":
        (llvm / change).write_bytes(b"\x7f" * 9_999 + b"\x80")
    assert (run(place, FINGERPRINT) == first) == (change == "nothing")


RESULT = """
import sixd
arm = sixd.zoo.pendulum(1)
print(sixd.__file__, float(sixd.inverse_dynamics(arm, [0.0], [0.0], [1.0])[0]), sixd.cache_info().entries)
"""


@pytest.mark.long
def test_two_builds_share_a_cache(tmp_path):
    """Whole copies of sixd, equal in sizes and times: each computes with its own source."""
    values = []
    for k, weight in enumerate(("1 *", "3 *")):
        place = tmp_path / f"{k}"
        shutil.copytree(PACKAGE, place / "sixd", ignore=shutil.ignore_patterns("__pycache__"))
        source = place / "sixd/algorithms/rnea.py"
        text = source.read_text()
        plain = "return tau + model.armature"
        assert plain in text
        source.write_text(text.replace(plain, plain.replace("tau", f"{weight} tau")))
        os.utime(source, ns=(TIME, TIME))
        file, value, entries = run(place, RESULT, SIXD_CACHE_DIR=str(tmp_path / "cache")).split()
        assert Path(file).parent == place / "sixd"
        assert int(entries) == 2 * (k + 1)  # the function and the code of calls
        values.append(float(value))
    assert values[1] == 3 * values[0] != 0
