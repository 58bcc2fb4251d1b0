"""Machine code kept on disk between processes.

One file per kernel, ``<digest of the key>.sixd``: magic, length of the JSON, JSON of [key, header], image, checksum.
The image is executed, so a file counts only if its checksum and key are right and only its owner can write it.
Environment: ``SIXD_CACHE_DIR`` (a folder, or ``off``) and ``SIXD_CACHE_MB`` (size limit); read at each use.
Disk errors never stop a computation: reading returns None, writing warns once per process.

The fingerprint of what generates machine code is part of every key: the contents of sixd's own source, and LLVM. Sizes
and times of files do not suffice: packagers set all times to one value, and different builds often have equal sizes. So
contents are hashed, when the cache is first used, and only if the files are still those that this process loaded.
While sixd's own source is being edited (``fingerprint`` is empty) nothing is read or written.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from sixd.errors import CacheWarning
from sixd.locks import FORKS_WAIT

MAGIC = b"sixd\x00\xf1\r\n"  # a new layout of the file needs another number than f1
CHECKSUM = 32  # bytes
DEFAULT_MB = 1024.0

_NAME = re.compile(r"[0-9a-f]{40}(\.sixd|\.[0-9a-f]{16}\.tmp)")
_CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no links; a pipe must not block
_BAD_FILE = (OSError, ValueError, TypeError, MemoryError, RecursionError)
_writes, _warnings = count(), count()  # of this process; next() is atomic among threads
_failed: set[Path] = set()  # folders that could not be written, not tried again


class CachedKernel(NamedTuple):
    """One kernel: its header (JSON: tuples are read back as lists) and its machine code."""

    header: dict[str, Any]
    image: bytes


@dataclass(frozen=True, repr=False)
class CacheInfo:
    """State of the cache: how many kernels it holds, their size, and which were used last."""

    folder: Path
    enabled: bool
    entries: int
    bytes: int
    recent: tuple[str, ...] = ()

    def __repr__(self) -> str:
        if not self.enabled:
            return "sixd cache: off, by SIXD_CACHE_DIR"
        sizes = f"  entries: {self.entries}, {self.bytes / 2**20:.2f} MiB of {_limit() / 2**20:g} MiB"
        more = self.entries - len(self.recent)
        lines = [*self.recent, f"… and {more} more"] if more else self.recent
        return "\n    ".join([f"sixd cache: {self.folder}\n{sizes}", *lines])


def folder() -> Path:
    """The folder of the cache, even if it is off. Begins with ``~`` if there is no home folder."""
    if not _off() and (chosen := os.environ.get("SIXD_CACHE_DIR")):
        return Path(os.path.expanduser(chosen))
    if os.path.isabs(xdg := os.environ.get("XDG_CACHE_HOME", "")):  # by the XDG standard relative paths are ignored
        return Path(xdg, "sixd")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local"), "sixd", "Cache")
    return Path(os.path.expanduser("~/Library/Caches" if sys.platform == "darwin" else "~/.cache"), "sixd")


def read(key: str) -> CachedKernel | None:
    """The entry of that key, or None if there is no valid one."""
    path = os.path.join(where := folder(), digest(key) + ".sixd")
    try:
        if _off() or not fingerprint() or _shared(os.stat(where)):
            return None
        stored, entry = _load(path)
    except _BAD_FILE:
        return None
    with suppress(OSError):  # the time of last use decides what is removed when the cache is full
        os.utime(path)
    return entry if stored == key else None


def write(key: str, entry: CachedKernel) -> None:
    """Store an entry for other processes; an older one of that key is replaced atomically."""
    if _off() or not fingerprint() or (where := folder()) in _failed:
        return
    with FORKS_WAIT:
        import json  # not loaded by NumPy (1.5 ms)

    text = json.dumps([key, entry.header]).encode()
    body = b"".join((MAGIC, len(text).to_bytes(8, "little"), text, entry.image))
    try:
        if str(where).startswith("~"):  # expanduser knows no home folder
            raise OSError("there is no home folder")
        os.makedirs(where, mode=0o700, exist_ok=True)
        if _shared(os.stat(where)):
            raise OSError("it belongs to another user, or others can write to it: chmod go-w")
        _store(os.path.join(where, digest(key)), body + _hash(CHECKSUM, body))
        if next(_writes) % 32 == 0:  # listing a full folder takes some milliseconds
            _clean()
    except OSError as error:
        _failed.add(where)
        if next(_warnings) == 0:
            lost = f"{where} cannot be used ({error.strerror or error}), so kernels are compiled again in every process"
            fix = "Set SIXD_CACHE_DIR to a folder of your own, or to 'off' for no cache."
            warnings.warn(f"cache.write: {lost}. {fix}", CacheWarning, stacklevel=2)


def cache_info() -> CacheInfo:
    """The contents of the cache of compiled kernels, to be printed. ``SIXD_CACHE_DIR`` moves it or turns it ``off``."""
    files = [] if _off() else _files(".sixd")
    recent = tuple(f"{size / 2**20:6.2f} MiB  {_title(path)}" for _, size, path in reversed(files[-10:]))
    return CacheInfo(folder(), not _off(), len(files), sum(size for _, size, _ in files), recent)


def clear_cache() -> int:
    """Remove all compiled kernels from the cache and return their number; other files in its folder are kept."""
    removed = 0
    for _, _, path in [] if _off() else _files((".sixd", ".tmp")):
        with suppress(OSError):
            os.unlink(path)
            removed += path.endswith(".sixd")
    return removed


def digest(*parts: bytes | str) -> str:
    """A key of 40 hex digits from texts and bytes; ("ab", "c") and ("a", "bc") differ."""
    data = [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in parts]
    return _hash(20, b"".join(len(part).to_bytes(8, "little") + part for part in data)).hex()


def _off() -> bool:
    return os.environ.get("SIXD_CACHE_DIR", "on").strip().lower() in ("", "off")


def _hash(size: int, data: bytes | memoryview) -> bytes:
    with FORKS_WAIT:
        from hashlib import blake2b  # not loaded by NumPy (3 ms)

    return blake2b(data, digest_size=size, usedforsecurity=False).digest()  # 0.1 ms for 100 kB


def _shared(info: os.stat_result) -> bool:
    """Whether other users may have written a file or folder."""
    return os.name == "posix" and (info.st_uid != os.geteuid() or bool(info.st_mode & 0o022))


def _load(path: str) -> tuple[str, CachedKernel]:
    """Key and entry of a file; raises one of _BAD_FILE if it is not valid."""
    with FORKS_WAIT:
        import json

    with open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | _CAREFUL)) as file:
        info = os.fstat(file.fileno())
        data = memoryview(file.read() if stat.S_ISREG(info.st_mode) and not _shared(info) else b"")
    body, checksum = data[:-CHECKSUM], data[-CHECKSUM:]
    if body[:8] != MAGIC or _hash(CHECKSUM, body) != checksum:
        raise ValueError("damaged, or of another format")
    end = 16 + int.from_bytes(body[8:16], "little")
    key, header = json.loads(bytes(body[16:end]))
    return key, CachedKernel({**header}, bytes(body[end:]))


def _store(stem: str, data: bytes) -> None:
    temporary, path = f"{stem}.{os.urandom(8).hex()}.tmp", f"{stem}.sixd"
    try:
        # no fsync (milliseconds): a file that a power cut truncates fails its checksum
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        # not an error if another process cleared the cache, or (on Windows) reads the old file, which is as good
        cleared = isinstance(error, FileNotFoundError) and error.filename2  # named by os.replace only
        held = os.name == "nt" and isinstance(error, PermissionError) and os.path.isfile(path)
        if not (cleared or held):
            raise


def _files(ending: str | tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Time of use [ns], size [bytes] and path of the cache's own files, least recently used first; no links."""
    files = []
    with suppress(OSError), os.scandir(folder()) as listing:
        for item in listing:
            if _NAME.fullmatch(item.name) and item.name.endswith(ending) and item.is_file(follow_symlinks=False):
                with suppress(OSError):  # another process may have removed it
                    info = item.stat(follow_symlinks=False)
                    files.append((info.st_mtime_ns, info.st_size, item.path))
    return sorted(files)


def _clean() -> None:
    """Remove files left by crashed processes and, above the size limit, the least recently used entries."""
    yesterday, limit, files = time.time_ns() - 86_400 * 10**9, _limit(), _files(".sixd")
    rest = sum(size for _, size, _ in files)
    old = [path for used, _, path in _files(".tmp") if used < yesterday]
    for _, size, path in files if rest > limit else []:
        if rest > 0.75 * limit:
            old.append(path)
            rest -= size
    for path in old:
        with suppress(OSError):
            os.unlink(path)


def _limit() -> float:
    """Size limit of the cache [bytes]."""
    with suppress(ValueError):
        if (megabytes := float(os.environ.get("SIXD_CACHE_MB", DEFAULT_MB))) >= 0:  # false for nan
            return megabytes * 2**20
    return DEFAULT_MB * 2**20


def _title(path: str) -> str:
    """The printable title of an entry; its names may come from a hostile robot file."""
    try:
        header = _load(path)[1].header
    except _BAD_FILE:
        return "(damaged)"
    text = " of ".join(str(header[part]) for part in ("name", "model") if header.get(part)) or "(no name)"
    return "".join(c if c.isprintable() else "?" for c in text[:80])


# the fingerprint -----------------------------------------------------------------------------------

# their effect on a kernel is in its key, as the numbers of a model or as a graph (hashing them too: 4 ms more)
_NOT_IN_CODE = (
    "cli", "viewer", "io", "zoo", "interop", "spatial_v2", "symbolic", "controllers", "trajectory", "actuation",
    "__pycache__",
)  # fmt: skip
_LLVM_LIBRARIES = ("libllvmlite.so", "libllvmlite.dylib", "llvmlite.dll")
_ENDS = 4096  # bytes at each end of a library that distinguish builds: the build id and the section table


class Stamp(NamedTuple):
    """A file when this process loaded it: its path, size [bytes] and time of change [ns]."""

    path: str
    size: int
    time: int


def stamps(root: str, depth: int = 0) -> list[Stamp]:
    """The Python files of a package; none if it is not in a folder (a zip, a frozen program)."""
    files: list[Stamp] = []
    with suppress(OSError), os.scandir(root) as listing:
        for item in listing:
            # linked folders count too, and links may form cycles: hence the limit of depth
            if item.is_dir() and depth < 6 and item.name not in _NOT_IN_CODE:
                files += stamps(item.path, depth + 1)
            elif item.name.endswith(".py") and item.is_file():  # editors leave dangling links with that ending
                info = item.stat()
                files.append(Stamp(item.path, info.st_size, info.st_mtime_ns))
    return sorted(files)


def _stamp(path: str) -> Stamp | None:
    with suppress(OSError):
        info = os.stat(path)
        return Stamp(path, info.st_size, info.st_mtime_ns)
    return None


# at import (0.3 ms): loaded code must not get the hash of a later edit
_ROOT = os.path.dirname(os.path.dirname(globals().get("__file__", "")))
_LOADER: Any = globals().get("__loader__")
_SEEN = stamps(_ROOT)
_ARCHIVE = _stamp(getattr(_LOADER, "archive", ""))


@cache
def fingerprint() -> str:
    """40 hex digits that change with sixd's source and with LLVM; "" if files cannot be read or have changed since they
    were loaded: then nothing is kept on disk."""
    try:
        files = [*(_in_folder() if _SEEN else _in_archive(_ROOT)), *_llvm()]
    except OSError:
        return ""
    parts = [f"{name} {len(data)} ".encode("utf-8", "surrogatepass") + data for name, data in files]
    return _hash(20, b"".join(parts)).hex()


def _in_folder() -> Iterator[tuple[str, bytes]]:
    """Name and contents of each file (2.5 ms); OSError if one has changed since it was loaded."""
    for path, size, changed in _SEEN:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            info, data = os.fstat(file), os.read(file, size + 1)
        finally:
            os.close(file)
        if (info.st_size, info.st_mtime_ns, len(data)) != (size, changed, size):
            raise OSError(f"{path} has changed")
        yield os.path.relpath(path, _ROOT), data


def _in_archive(folder: str) -> Iterator[tuple[str, bytes]]:
    """The same from a zip, by the loader that imported it."""
    if _ARCHIVE is None or _stamp(_ARCHIVE.path) != _ARCHIVE:
        raise OSError("no archive, or a changed one")
    with FORKS_WAIT:
        import pkgutil

    modules = [(name, is_package) for _, name, is_package in pkgutil.iter_modules([folder])]
    for name, is_package in [("__init__", False), *modules]:
        path = os.path.join(folder, name)
        if is_package and name not in _NOT_IN_CODE:
            yield from _in_archive(path)
        elif not is_package:
            yield os.path.relpath(path, _ROOT), _module(path)


def _module(path: str) -> bytes:
    """The source of a module in an archive, or its compiled code if there is no source."""
    try:
        return bytes(_LOADER.get_data(path + ".py"))
    except OSError:
        return bytes(_LOADER.get_data(path + ".pyc"))


def _llvm() -> Iterator[tuple[str, bytes]]:
    """The version of llvmlite and both ends of its library, which contains LLVM; without loading it (80 ms)."""
    with FORKS_WAIT:
        from importlib.util import find_spec

    with suppress(ImportError, ValueError):  # not installed: then nothing is compiled
        spec = find_spec("llvmlite")
        for folder in (spec and spec.submodule_search_locations) or ():
            yield from _read(os.path.join(folder, "_version.py"), 1 << 16)
            for name in _LLVM_LIBRARIES:
                yield from _read(os.path.join(folder, "binding", name), _ENDS)


def _read(path: str, most: int) -> Iterator[tuple[str, bytes]]:
    """Size and both ends of a file, if it exists."""
    with suppress(FileNotFoundError, NotADirectoryError), open(path, "rb", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(most)
        file.seek(max(0, size - most))
        yield f"{os.path.basename(path)} {size}", head + file.read(most)
