"""Paths of files that a user gives: checked, and opened for writing with errors that say how to fix them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sixd.atomic import whole_file
from sixd.errors import FileError, SixdError, unknown_name

_HINTS = {
    errno.ENOENT: "Make the folder first.",
    errno.ENOTDIR: "A folder of the path is a file.",
    errno.EISDIR: "There is a folder of this name.",
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Choose a folder that you may write to."),
    errno.ENAMETOOLONG: "Choose a shorter name.",
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Make room on the disk."),
}


def checked_path(
    where: str, path: str | os.PathLike[str], suffixes: Sequence[str], error: type[SixdError] = FileError
) -> tuple[Path, str]:
    """Return the path, with ~ expanded to the home folder, and its suffix, which must be one of ``suffixes``."""
    try:
        file = Path(path).expanduser()
        os.fsencode(file)
    except (TypeError, RuntimeError, UnicodeError) as reason:
        raise error(f"{where}: path is {path!r}, expected the path of a file ({str(reason).rstrip('.')}).") from None
    if "\0" in str(file):
        raise error(f"{where}: path is {path!r}, expected one without null characters.")
    if file.suffix.lower() not in suffixes:
        raise unknown_name(f"{where}: {file.name!r}", "file format", file.suffix, suffixes)
    return file, file.suffix.lower()


@contextmanager
def open_whole(where: str, name: str | os.PathLike[str] | None, path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears at ``path`` once all is written; raise FileError, with ``name``, on failure."""
    try:
        with whole_file(path) as file:
            yield file
    except OSError as error:
        hint = _HINTS.get(error.errno or 0, "")
        reason = f"{error.strerror or error}. {hint}".strip()
        raise FileError(f"{where}: cannot write {str(name)!r}: {reason}") from None
