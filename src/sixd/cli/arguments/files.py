"""Files that commands write: options that name them, and checks before the work begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from sixd.cli.usage import wrong_call
from sixd.errors import FileError

_PAGES, _FIGURES, _VIDEOS = (".html", ".htm"), (".png", ".pdf", ".svg"), (".mp4", ".gif")
_ENDINGS = {"output": (".npz", ".csv"), "html": _PAGES, "save": _PAGES, "plot": _FIGURES, "video": _VIDEOS}


class FilePath(click.Path):
    """The type of an option that names a file or a folder: a path that is not empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return the text as a Path."""
        if value == "":
            option = param.opts[-1] if param is not None else "the name"
            raise wrong_call(f"{option} is empty, expected a name.")
        return super().convert(value, param, ctx)


def is_standard_output(path: Path) -> bool:
    """Whether this names standard output."""
    return str(path) in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def free_path(path: Path, force: bool) -> Path:
    """Return the path if a file can be written there, else raise; called before any work."""
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder, expected the name of a file.")
    if path.is_file() and not force:  # a device or a pipe is not replaced
        raise FileError(f"{str(path)!r} exists already. Add --force to replace it, or choose another name.")
    if not path.absolute().parent.is_dir():
        raise FileError(f"{str(path.parent)!r} is not a folder, expected an existing one. Create it first.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise FileError(f"{str(path)!r} cannot be written, expected a writable folder. Choose another folder.")
    return path


def require_other(robot: str, out: Path) -> None:
    """Raise if the file to be written is the robot's own file, under any name."""
    try:
        same = os.path.samefile(Path(robot).expanduser(), out)
    except (OSError, RuntimeError, ValueError):
        return
    if same:
        raise FileError(f"{str(out)!r} is the robot's own file, expected another one. Choose another name.")


def require_ending(option: str, path: Path) -> None:
    """Raise unless the file name ends in that of a format that can be written."""
    if path.suffix.lower() not in _ENDINGS[option]:
        known = ", ".join(_ENDINGS[option])
        raise wrong_call(f"--{option} is {str(path)!r}, expected a name that ends in one of {known}.")
