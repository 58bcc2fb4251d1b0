"""Files written whole or not at all.

What is written goes to a draft beside the file, ``.NAME.HEX.tmp``, which then takes its place. A process that is killed
leaves its draft; the next that writes the same file removes it. A process holds a lock on its draft, which ends with it
however it ends, so that drafts without a lock are nobody's.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: drafts of killed processes stay
    fcntl = None  # type: ignore[assignment]


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """An open file beside ``path`` that takes its place when all is written, and vanishes if not. Raises OSError."""
    path = Path(os.path.realpath(path))
    with _draft(path) as draft:
        with open(draft, "wb") as file:
            yield file
        _take_place(draft, path)


def write_together(texts: Mapping[Path, str]) -> None:
    """Write each text to its path: all to temporary files beside them first, then each renamed. Raises OSError."""
    with ExitStack() as stack:
        places = [(stack.enter_context(_draft(path)), path, text) for path, text in _behind_links(texts)]
        for draft, _, text in places:
            draft.write_text(text, encoding="utf-8", newline="\n")
        for draft, path, _ in places:
            _take_place(draft, path)


def _behind_links(texts: Mapping[Path, str]) -> Iterator[tuple[Path, str]]:
    return ((Path(os.path.realpath(path)), text) for path, text in texts.items())


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """An empty file beside ``path``, locked; it is gone in the end, if it has not taken a place."""
    _remove_abandoned(path)
    draft, lock = _locked(path)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _locked(path: Path) -> tuple[Path, int | None]:
    """A new draft, and the descriptor that holds its lock, where there are locks."""
    while True:
        draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
        lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:
            os.close(lock)  # an open file could not be renamed
            return draft, None
        with suppress(OSError):  # a file system without locks: nobody can take it for abandoned
            fcntl.flock(lock, fcntl.LOCK_EX)
        # between its making and its lock another process may have removed it
        if os.fstat(lock).st_nlink:
            return draft, lock
        os.close(lock)


def _remove_abandoned(path: Path) -> None:
    """Remove the drafts of processes that are no more."""
    if fcntl is None:
        return
    form = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):  # what cannot be seen or removed stays
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


def _take_place(draft: Path, path: Path) -> None:
    """Rename the draft; a file that was there leaves its permissions. A device or a pipe is written to, and stays."""
    if path.exists() and not path.is_file():
        with open(draft, "rb") as source, open(path, "wb") as sink:
            shutil.copyfileobj(source, sink)
        return
    if path.exists():
        shutil.copymode(path, draft)
    os.replace(draft, path)
