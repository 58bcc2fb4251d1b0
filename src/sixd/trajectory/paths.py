"""Places of files: paths that a user gives, and what keeps a file from being written, in words."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sixd.atomic import whole_file
from sixd.errors import FileError, SixdError, unknown_name

_HINTS = {
    errno.ENOENT: "Make the folder first.",
    errno.ENOTDIR: "A folder of the path is a file.",
    errno.EISDIR: "There is a folder of this name.",
    errno.EACCES: "Choose a folder that you may write to.",
    errno.EPERM: "Choose a folder that you may write to.",
    errno.EROFS: "Choose a folder that you may write to.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.ENOSPC: "Make room on the disk.",
    errno.EDQUOT: "Make room on the disk.",
}


def place_of(
    where: str, path: str | os.PathLike[str], suffixes: Sequence[str], error: type[SixdError] = FileError
) -> tuple[Path, str]:
    """The path, with a ~ for the home folder resolved, and its suffix, which must be one of these."""
    try:
        place = Path(path).expanduser()
        os.fsencode(place)
    except (TypeError, RuntimeError, UnicodeError) as reason:
        raise error(f"{where}: path is {path!r}, expected the path of a file ({str(reason).rstrip('.')}).") from None
    if "\0" in str(place):
        raise error(f"{where}: path is {path!r}, expected one without null characters.")
    if place.suffix.lower() not in suffixes:
        raise unknown_name(f"{where}: {place.name!r}", "file format", place.suffix, suffixes)
    return place, place.suffix.lower()


@contextmanager
def written(where: str, path: Any, place: Path) -> Iterator[BinaryIO]:
    """An open file that takes its place when all is written; the error of one that cannot says why, and no more."""
    try:
        with whole_file(place) as file:
            yield file
    except OSError as error:
        hint = _HINTS.get(error.errno or 0, "")
        reason = f"{error.strerror or error}. {hint}".strip()
        raise FileError(f"{where}: cannot write {str(path)!r}: {reason}") from None
