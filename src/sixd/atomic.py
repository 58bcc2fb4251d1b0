"""Files written whole or not at all.

The contents are written to a draft next to the file, ``.NAME.HEX.tmp``, which is then renamed to the file. A killed
process leaves its draft behind; the next process that writes the same file removes it. A process holds a lock on its
draft as long as it lives, so a draft without a lock is abandoned.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sixd.errors import FileError

try:
    import fcntl
except ImportError:  # Windows: drafts of killed processes stay
    fcntl = None  # type: ignore[assignment]

_OPEN_FILES = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a draft that replaces ``path`` at the end of the block, and is removed on an error. Raises OSError.

    What goes to a stream, such as /dev/stdout, is written at the end of the block.
    """
    if _is_stream(path):
        with io.BytesIO() as file, open(path, "ab") as stream:
            yield file
            stream.write(file.getvalue())
        return
    path = Path(os.path.realpath(path))
    with _draft(path) as draft:
        with open(draft, "wb") as file:
            yield file
        _replace(draft, path)


def write_together(texts: Mapping[Path, str], failure: str = "cannot write") -> None:
    """Write each text to its path: first all drafts, then rename each. Raises FileError, beginning with ``failure``."""
    try:
        with ExitStack() as stack:
            for path, text in texts.items():
                file = stack.enter_context(whole_file(path))
                file.write(text.encode())
                file.flush()
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise FileError(f"{failure}: {getattr(error, 'strerror', None) or error}. Check the folder.") from None


def _is_stream(path: Path) -> bool:
    """Whether the path is a pipe or a device, or an open file by its number: written to at its end, not replaced."""
    return str(path).startswith(_OPEN_FILES) or (path.exists() and not path.is_file() and not path.is_dir())


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """An empty, locked file next to ``path``; it is removed in the end, unless it was renamed."""
    _remove_abandoned(path)
    draft, lock = _locked(path)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _locked(path: Path) -> tuple[Path, int | None]:
    """A new draft, and the file descriptor that holds its lock, None where there are no locks."""
    while True:
        draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
        lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:
            os.close(lock)  # an open file could not be renamed
            return draft, None
        with suppress(OSError):  # on a file system without locks no process can find it abandoned
            fcntl.flock(lock, fcntl.LOCK_EX)
        # another process may have removed it before it was locked
        if os.fstat(lock).st_nlink:
            return draft, lock
        os.close(lock)


def _remove_abandoned(path: Path) -> None:
    """Remove the drafts of processes that have ended."""
    if fcntl is None:
        return
    form = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):  # drafts that cannot be listed or removed stay
        for name in filter(form.fullmatch, os.listdir(path.parent)):
            _remove_unlocked(path.parent / name)


def _remove_unlocked(draft: Path) -> None:
    with suppress(OSError):
        file = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()
        finally:
            os.close(file)


def _replace(draft: Path, path: Path) -> None:
    """Rename the draft, with the permissions of an existing file."""
    if path.exists():
        shutil.copymode(path, draft)
    os.replace(draft, path)
