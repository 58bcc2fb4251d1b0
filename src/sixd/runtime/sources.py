"""The fingerprint of what generates machine code: the contents of sixd's own source, and LLVM.

Sizes and times of files do not suffice: packagers set all times to one value, and different builds often have equal
sizes. So contents are hashed, when the cache is first used, and only if the files are still those that this process
loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from sixd.locks import FORKS_WAIT

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
    found: list[Stamp] = []
    with suppress(OSError), os.scandir(root) as listing:
        for item in listing:
            # linked folders count too, and links may form cycles: hence the limit of depth
            if item.is_dir() and depth < 6 and item.name not in _NOT_IN_CODE:
                found += stamps(item.path, depth + 1)
            elif item.name.endswith(".py") and item.is_file():  # editors leave dangling links with that ending
                info = item.stat()
                found.append(Stamp(item.path, info.st_size, info.st_mtime_ns))
    return sorted(found)


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
    with FORKS_WAIT:
        from hashlib import blake2b  # not loaded by NumPy (3 ms)

    total = blake2b(digest_size=20, usedforsecurity=False)
    try:
        for name, data in (*(_in_folder() if _SEEN else _in_archive(_ROOT)), *_llvm()):
            total.update(f"{name} {len(data)} ".encode("utf-8", "surrogatepass"))
            total.update(data)
    except OSError:
        return ""
    return total.hexdigest()


def _in_folder() -> Iterator[tuple[str, bytes]]:
    """Name and contents of each file (2.5 ms); OSError if one has changed since it was loaded."""
    for path, size, time in _SEEN:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            info, data = os.fstat(file), os.read(file, size + 1)
        finally:
            os.close(file)
        if (info.st_size, info.st_mtime_ns, len(data)) != (size, time, size):
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
