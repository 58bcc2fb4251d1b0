"""The cache of machine code: an entry is read completely or not at all, whatever happens to the disk or the process."""

import contextlib
import errno
import hashlib
import itertools
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from sixd.errors import CacheWarning
from sixd.runtime import cache
from sixd.runtime.cache import CachedKernel

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX")
ENTRY = CachedKernel(
    {"name": "forward_dynamics", "model": "panda", "offsets": [0, 64], "deep": {"ü": None}}, bytes(range(64))
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A folder for the cache and a process that has not written yet."""
    monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SIXD_CACHE_MB", raising=False)
    for counter in ("_writes", "_warnings"):
        monkeypatch.setattr(cache, counter, itertools.count())
    monkeypatch.setattr(cache, "_failed", set())
    return tmp_path / "cache"


def only(home):
    (path,) = home.iterdir()
    return path


def sealed(body):
    return body + cache._hash(cache.CHECKSUM, body)


def test_round_trip(home):
    assert cache.read("key") is None
    cache.write("key", ENTRY)
    assert cache.read("key") == ENTRY
    cache.write("key", CachedKernel({}, b""))
    assert cache.read("key") == CachedKernel({}, b"")
    assert cache.read("other") is None
    assert len(list(home.iterdir())) == 1


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "a" * 5000, "ü\0\n", "\ud800", "C:\\x"], ids=ascii)
def test_any_key_stays_in_the_folder(home, key):
    cache.write(key, ENTRY)
    assert cache.read(key) == ENTRY
    assert only(home).name == cache.digest(key) + ".sixd"


def test_every_truncation_is_rejected(home):
    cache.write("key", ENTRY)
    path, data = only(home), only(home).read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert cache.read("key") is None, length
    for longer in (data + b"\0", data + data, b"\0" + data):
        path.write_bytes(longer)
        assert cache.read("key") is None


def test_every_flipped_byte_is_rejected(home):
    cache.write("key", ENTRY)
    path, data = only(home), only(home).read_bytes()
    for place, flip in itertools.product(range(len(data)), (1, 0x80)):
        path.write_bytes(data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :])
        assert cache.read("key") is None, place
    cache.write("key", ENTRY)  # a bad entry is simply overwritten
    assert cache.read("key") == ENTRY


@pytest.mark.parametrize(
    "body",
    [
        b"\x7fELF" + bytes(100),
        b"sixd\x00\xf0\r\n" + (11).to_bytes(8, "little") + b'["key", {}]',
        cache.MAGIC,
        cache.MAGIC + (2).to_bytes(8, "little") + b"{}",
        cache.MAGIC + (1).to_bytes(8, "little") + b"1",
        cache.MAGIC + (11).to_bytes(8, "little") + b'["key", []]',
        cache.MAGIC + (13).to_bytes(8, "little") + b'["key", null]',
        cache.MAGIC + (2**63).to_bytes(8, "little") + b'["key", {',
        cache.MAGIC + (99_999).to_bytes(8, "little") + b"[" * 99_999,
    ],
    ids=range(9),
)
def test_other_formats_are_rejected_though_their_checksum_holds(home, body):
    cache.write("key", ENTRY)
    only(home).write_bytes(sealed(body))
    assert cache.read("key") is None
    assert "(damaged)" in str(cache.cache_info())


def test_another_key_is_rejected(home):
    cache.write("other", ENTRY)
    os.replace(only(home), home / (cache.digest("key") + ".sixd"))
    assert cache.read("key") is None


def test_anything_but_a_file_is_rejected(home, tmp_path):
    cache.write("key", ENTRY)
    path = only(home)
    os.replace(path, tmp_path / "real")
    path.mkdir()
    assert cache.read("key") is None
    path.rmdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(path, 0o600)
        assert cache.read("key") is None
        path.unlink()
    path.symlink_to(tmp_path / "real")
    assert cache.read("key") is None
    cache.write("key", CachedKernel({}, b"new"))  # the link is removed, not its target
    assert cache.read("key") == CachedKernel({}, b"new")
    assert not path.is_symlink()
    assert (tmp_path / "real").stat().st_size > len(ENTRY.image)


@posix
def test_only_the_owner_can_read_and_write(home):
    old = os.umask(0)
    try:
        cache.write("key", ENTRY)
    finally:
        os.umask(old)
    assert home.stat().st_mode & 0o777 == 0o700
    assert only(home).stat().st_mode & 0o777 == 0o600


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_files_that_others_can_write_are_rejected(home, mode):
    cache.write("key", ENTRY)
    only(home).chmod(mode)
    assert cache.read("key") is None
    cache.write("key", ENTRY)
    assert cache.read("key") == ENTRY


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_folders_that_others_can_write_are_rejected(home, mode):
    cache.write("key", ENTRY)
    home.chmod(mode)
    assert cache.read("key") is None
    with pytest.warns(CacheWarning, match="others can write to it: chmod go-w"):
        cache.write("new", ENTRY)
    assert len(list(home.iterdir())) == 1
    home.chmod(0o755)  # others may read it, but not change it
    assert cache.read("key") == ENTRY


@posix
def test_files_and_folders_of_others_are_rejected(home, monkeypatch):
    cache.write("key", ENTRY)
    with monkeypatch.context() as other:
        other.setattr(os, "geteuid", lambda: 54321)
        assert cache.read("key") is None
    real = os.fstat

    def foreign(fd):
        return os.stat_result([54321 if k == 4 else value for k, value in enumerate(real(fd))])

    monkeypatch.setattr(os, "fstat", foreign)
    assert cache.read("key") is None


# the cache needs neither NumPy nor the rest of sixd: an empty package of that name starts fast
RACE = """
import sys, time, types
sys.modules["sixd"] = sixd = types.ModuleType("sixd")
me, start, sixd.__path__ = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
from sixd.runtime import cache
time.sleep(max(0, start - time.time()))
for k in range(30):
    cache.write("key", cache.CachedKernel({"from": me}, bytes([me]) * 50_000))
    header, image = cache.read("key")  # never None, never a mixture
    assert image == bytes([header["from"]]) * 50_000
    if me == 0 and k % 10 == 9:
        cache.cache_info()
"""


@pytest.mark.long
def test_processes_race(home):
    start, package = str(time.time() + 0.5), str(Path(cache.__file__).parents[1])  # by then all are running, or nearly
    command = [sys.executable, "-W", "error", "-c", RACE]
    runs = [subprocess.Popen([*command, str(me), start, package], stderr=subprocess.PIPE) for me in range(8)]
    errors = [run.communicate()[1].decode() for run in runs]
    assert errors == [""] * 8
    assert only(home).name.endswith(".sixd")


def test_clearing_while_others_write_is_harmless(home, monkeypatch):
    """The temporary file is gone when it is to be moved to its place."""
    real = os.replace

    def late(source, target):
        cache.clear_cache()
        real(source, target)

    monkeypatch.setattr(os, "replace", late)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.write("key", ENTRY)
    monkeypatch.undo()
    monkeypatch.setenv("SIXD_CACHE_DIR", str(home))
    cache.write("key", ENTRY)
    assert cache.read("key") == ENTRY


def fail(error):
    def call(*args, **kwargs):
        raise error

    return call


@pytest.mark.parametrize("name", ["open", "replace", "makedirs"])
@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_disk_that_cannot_be_written_warns_once(home, monkeypatch, name, code):
    with monkeypatch.context() as broken:
        broken.setattr(os, name, fail(OSError(code, os.strerror(code))))
        with pytest.warns(CacheWarning) as caught:
            cache.write("key", ENTRY)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cache.write("another", ENTRY)
    text = str(caught.pop().message)
    assert not caught.list
    for part in (str(home), os.strerror(code), "compiled again in every process", "Set SIXD_CACHE_DIR"):
        assert part in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.write("key", ENTRY)  # not tried again
    assert cache.cache_info().entries == 0
    assert not home.exists() or not list(home.iterdir())


def test_a_disk_that_becomes_full_late(home, monkeypatch):
    """Most of the bytes are written when the disk becomes full."""

    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            self.file.write(data[:100])
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "open", lambda *a, **k: Full(open(*a, **k)), raising=False)  # noqa: SIM115
    with pytest.warns(CacheWarning, match="No space left"):
        cache.write("key", ENTRY)
    assert not list(home.iterdir())


def test_a_folder_below_a_file(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert cache.read("key") is None
    with pytest.warns(CacheWarning, match="below cannot be used"):
        cache.write("key", ENTRY)
    assert cache.read("key") is None
    assert cache.cache_info().entries == cache.clear_cache() == 0
    # following the advice helps at once, and a second failure gives no second warning
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "file"))
        cache.write("key", ENTRY)
        monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "better" / "place"))
        cache.write("key", ENTRY)
    assert cache.read("key") == ENTRY
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["open", "replace"])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_leaves_nothing_behind(home, monkeypatch, name, after):
    cache.write("old", ENTRY)
    real = getattr(os, name)

    def interrupted(*args, **kwargs):
        if after:
            real(*args, **kwargs)
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(os, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            cache.write("key", ENTRY)
    assert not list(home.glob("*.tmp"))
    assert cache.read("old") == ENTRY
    assert cache.read("key") == (ENTRY if name == "replace" and after else None)
    cache.write("key", ENTRY)
    assert cache.read("key") == ENTRY


@pytest.mark.parametrize("off", ["", "off", "OFF", " off "])
def test_disabled(home, monkeypatch, off):
    cache.write("key", ENTRY)
    monkeypatch.setenv("SIXD_CACHE_DIR", off)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home.parent))
    os.replace(home, home.parent / "sixd")  # there is an entry at the place of the cache
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.write("new", ENTRY)
    assert cache.read("key") is None
    assert cache.clear_cache() == 0
    assert len(list((home.parent / "sixd").iterdir())) == 1
    info = cache.cache_info()
    assert (info.enabled, info.entries, info.bytes) == (False, 0, 0)
    assert str(info) == "sixd cache: off, by SIXD_CACHE_DIR"


def test_where_the_folder_is(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("SIXD_CACHE_DIR", "~/kernels")
    assert cache.folder() == Path("/home/ada/kernels")
    monkeypatch.delenv("SIXD_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "sixd"
    for unset in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", unset)
        monkeypatch.setattr(sys, "platform", "linux")
        assert cache.folder() == Path("/home/ada/.cache/sixd")
        monkeypatch.setattr(sys, "platform", "darwin")
        assert cache.folder() == Path("/home/ada/Library/Caches/sixd")
        monkeypatch.setattr(sys, "platform", "win32")
        monkeypatch.setenv("LOCALAPPDATA", "/appdata")
        assert cache.folder() == Path("/appdata/sixd/Cache")
        monkeypatch.delenv("LOCALAPPDATA")
        assert cache.folder() == Path("/home/ada/AppData/Local/sixd/Cache")


@posix
def test_no_home(monkeypatch, tmp_path):
    """Like a container whose user has no name."""
    import pwd

    for name in ("HOME", "XDG_CACHE_HOME", "SIXD_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", fail(KeyError("uid")))
    monkeypatch.chdir(tmp_path)
    assert cache.folder() == Path("~/.cache/sixd")
    assert cache.read("key") is None
    with pytest.warns(CacheWarning, match="no home folder"):
        cache.write("key", ENTRY)
    assert not list(tmp_path.iterdir())
    assert cache.clear_cache() == 0


def fill(home, count, size=100_000):
    """Entries used one second after another, in the order of their number."""
    for k in range(count):
        cache.write(f"key{k}", CachedKernel({"name": f"f{k}"}, bytes(size)))
        path = home / (cache.digest(f"key{k}") + ".sixd")
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, (1e9 + k, 1e9 + k))


def test_the_least_recently_used_go_first(home, monkeypatch):
    monkeypatch.setenv("SIXD_CACHE_MB", "1")
    fill(home, 12)
    assert cache.cache_info().entries == 12  # over the limit, but this is checked only sometimes
    assert cache.read("key0") is not None  # so that it is removed last
    monkeypatch.setattr(cache, "_writes", itertools.count(32))
    cache.write("new", CachedKernel({}, bytes(100_000)))
    info = cache.cache_info()
    assert info.entries == 7
    assert info.bytes <= 0.75 * 2**20 < info.bytes * 8 / 7
    kept = [k for k in range(12) if cache.read(f"key{k}")]
    assert kept == [0, 7, 8, 9, 10, 11]
    assert cache.read("new") is not None


def test_cleaning_happens_at_the_first_and_every_32nd_write(home, monkeypatch):
    calls = []
    monkeypatch.setattr(cache, "_clean", lambda: calls.append(1))
    for k in range(65):
        cache.write("key", ENTRY)
        assert len(calls) == 1 + k // 32


@pytest.mark.parametrize(
    ("text", "limit"),
    [("5", 5), ("0.5", 0.5), ("0", 0), ("inf", float("inf")), ("", 1024), ("lots", 1024), ("-1", 1024), ("nan", 1024)],
)
def test_the_limit(monkeypatch, text, limit):
    monkeypatch.setenv("SIXD_CACHE_MB", text)
    assert cache._limit() == limit * 2**20
    cache.write("key", ENTRY)
    assert (cache.read("key") == ENTRY) == (limit > 0)


def strangers(home):
    """Files that do not belong to the cache, some with similar names."""
    name = "0" * 40
    home.mkdir(exist_ok=True, mode=0o700)
    (home.parent / "precious").write_text("precious")
    (home / (name + ".sixd")).symlink_to(home.parent / "precious")
    (home / ("1" * 40 + ".sixd")).mkdir()
    for other in ("notes.txt", "x.sixd", "x.tmp", name + ".sixd.bak", name + ".tmp", name.replace("0", "A") + ".sixd"):
        (home / other).write_text("precious")
        os.utime(home / other, (0, 0))
    return sorted(home.iterdir())


def temporary(home, age):
    path = home / f"{'2' * 40}.{'ab' * 8}.tmp"
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_stale_temporaries_go_with_the_first_write(home):
    kept = strangers(home)
    path = temporary(home, age=100_000)
    cache.write("key", ENTRY)
    assert not path.exists()
    path = temporary(home, age=80_000)
    cache._clean()
    assert path.exists()
    assert set(kept) <= set(home.iterdir())


def test_clear_removes_only_our_files(home):
    assert cache.clear_cache() == 0  # no folder yet
    kept = strangers(home)
    fill(home, 3, size=10)
    temporary(home, age=0)
    reading = open(home / (cache.digest("key0") + ".sixd"), "rb")  # noqa: SIM115
    with reading:
        assert cache.clear_cache() == 3
        assert reading.read(4) == b"sixd"
    assert sorted(home.iterdir()) == kept
    assert (home.parent / "precious").read_text() == "precious"
    assert cache.clear_cache() == 0
    assert cache.cache_info().entries == 0


def test_info(home, monkeypatch):
    assert str(cache.cache_info()) == f"sixd cache: {home}\n  entries: 0, 0.00 MiB of 1024 MiB"
    cache.write("a", CachedKernel({"name": "jacobian", "model": "evil\x1b[31m\nrobot"}, bytes(2**20)))
    cache.write("b", CachedKernel({"shapes": []}, b""))
    for k, key in enumerate("ab"):
        os.utime(home / (cache.digest(key) + ".sixd"), (k, k))
    info = cache.cache_info()
    assert (info.folder, info.enabled, info.entries) == (home, True, 2)
    assert info.bytes == sum(path.stat().st_size for path in home.iterdir())
    lines = [
        "  entries: 2, 1.00 MiB of 1024 MiB",
        "      0.00 MiB  (no name)",
        "      1.00 MiB  jacobian of evil?[31m?robot",
    ]
    assert repr(info) == str(info) == "\n".join([f"sixd cache: {home}", *lines])
    fill(home, 12, size=10)
    lines = str(cache.cache_info()).splitlines()
    assert lines[2:4] == ["      0.00 MiB  f11", "      0.00 MiB  f10"]
    assert lines[-1] == "    … and 4 more"
    assert len(lines) == 13


def test_info_does_not_count_as_use(home):
    fill(home, 1)
    before = only(home).stat().st_mtime_ns
    assert "f0" in str(cache.cache_info())
    assert only(home).stat().st_mtime_ns == before
    cache.read("key0")
    assert only(home).stat().st_mtime_ns > before


def test_a_cache_that_cannot_be_touched_can_be_read(home, monkeypatch):
    cache.write("key", ENTRY)
    monkeypatch.setattr(os, "utime", fail(OSError(errno.EROFS, "Read-only file system")))
    assert cache.read("key") == ENTRY


def test_digest():
    assert cache.digest("ab", "c") != cache.digest("a", "bc") != cache.digest("abc") != cache.digest("abc", "")
    assert cache.digest("ü") == cache.digest("ü".encode()) == cache.digest("ü")
    assert cache.digest() != cache.digest("")
    assert len(cache.digest("x")) == 40
    framed = b"\2\0\0\0\0\0\0\0ab" + b"\1\0\0\0\0\0\0\0c"
    assert cache.digest("ab", b"c") == hashlib.blake2b(framed, digest_size=20).hexdigest()
