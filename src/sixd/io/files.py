"""What loaders and writers share: sources of any kind, files never half written, names not yet taken."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any, NamedTuple

from sixd.atomic import write_together
from sixd.errors import FileError, LoadError, ScalarTypeError


class Source(NamedTuple):
    """What was read: bytes, what to call it in messages, the folder it came from, and its encoding if known."""

    data: bytes
    name: str
    folder: Path | None
    encoding: str | None


def read_source(source: str | bytes | os.PathLike[str] | IO[Any]) -> Source:
    """Bytes of a path, of a text or bytes that are the document itself, or of an open file."""
    if isinstance(source, (bytes, bytearray)):
        return Source(bytes(source), "<bytes>", None, None)
    if isinstance(source, str) and not source.strip():
        raise LoadError("load: the source is an empty text, expected a path or the text of a robot file.")
    if isinstance(source, str) and "<" in source:
        return Source(source.encode(), "<text>", None, "utf-8")
    if isinstance(source, (str, os.PathLike)):
        path = Path(source).expanduser()
        try:
            return Source(path.read_bytes(), path.name, path.absolute().parent, None)
        except (OSError, ValueError) as error:
            raise LoadError(
                f"load: cannot read {str(source)!r}: {getattr(error, 'strerror', None) or error}. {_hint(path)}"
            ) from None
    if hasattr(source, "read"):
        content = source.read()
        name = str(getattr(source, "name", "<file>"))
        folder = Path(name).absolute().parent if os.path.exists(name) else None
        if isinstance(content, str):
            return Source(content.encode(), Path(name).name, folder, "utf-8")
        return Source(content, Path(name).name, folder, None)
    raise ScalarTypeError(
        f"load: source is a {type(source).__name__}, expected a path, text, bytes, an open file or a dictionary."
    )


def _hint(path: Path) -> str:
    if path.is_dir():
        return "Name the file in that folder."
    try:
        near = [p.name for p in path.parent.iterdir() if p.suffix in (".urdf", ".xml", ".mat")][:5]
    except OSError:
        near = []
    return f"There is {', '.join(near)} in that folder." if near else "Check the path."


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write the file whole or not at all: to a temporary file beside it, then rename."""
    try:
        write_together({Path(path): text})
    except OSError as error:
        raise FileError(f"cannot write {str(path)!r}: {error.strerror or error}. Check the folder.") from None


def unused(name: str, taken: Collection[str]) -> str:
    """The name, with underscores after it if it is taken."""
    while name in taken:
        name += "_"
    return name
