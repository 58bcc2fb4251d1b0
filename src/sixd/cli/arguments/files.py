"""Where commands may write: never over a file that is there, unless they are told to."""

from __future__ import annotations

import os
from pathlib import Path

from sixd.errors import FileError


def free_path(path: Path, force: bool) -> Path:
    """The path, if a file can be written there; asked before the work, so that none is done in vain."""
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder, expected the name of a file.")
    if path.is_file() and not force:  # a device or a pipe is not replaced
        raise FileError(f"{str(path)!r} exists already. Give --force to replace it, or another name.")
    if not path.absolute().parent.is_dir():
        raise FileError(f"{str(path.parent)!r} is not a folder, expected one that exists. Make it first.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise FileError(f"{str(path)!r} cannot be written, expected a place where you may. Give another folder.")
    return path
