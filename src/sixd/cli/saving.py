"""Where commands may write: never over a file that is there, unless they are told to."""

from __future__ import annotations

from pathlib import Path

from sixd.errors import FileError


def free_path(path: Path, force: bool) -> Path:
    """The path, if a file can be written there; asked before the work, so that none is done in vain."""
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder, expected the name of a file.")
    if path.exists() and not force:
        raise FileError(f"{str(path)!r} exists already. Give --force to replace it, or another name.")
    if not path.absolute().parent.is_dir():
        raise FileError(f"{str(path.parent)!r} is no folder, expected one that exists. Make it first.")
    return path
