"""What loaders and writers share: sources of any kind, files never half written, names not yet taken."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any, NamedTuple

from sixd.atomic import write_together
from sixd.errors import FileError, LoadError, ScalarTypeError

# bytes: the largest robot files known, MJCF with meshes written out, have some 50 million
LARGEST = 256 * 1024 * 1024
_KINDS = {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}

_OF_SHELLS = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


class Source(NamedTuple):
    """What was read: bytes, what to call it in messages, the folder it came from, and its encoding if known."""

    data: bytes
    name: str
    folder: Path | None
    encoding: str | None

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folder as it was named and, where links lead to it or to the file, those that they lead to."""
        if self.folder is None:
            return ()
        try:
            return tuple(
                dict.fromkeys([self.folder, self.folder.resolve(), (self.folder / self.name).resolve().parent])
            )
        except (OSError, RuntimeError, ValueError):
            return (self.folder,)


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
            _require_file(path)
            with open(path, "rb") as file:
                return Source(read_limited(file, path.name), path.name, path.absolute().parent, None)
        except LoadError:
            raise
        except (OSError, ValueError) as error:
            raise LoadError(
                f"load: cannot read {str(source)!r}: {getattr(error, 'strerror', None) or error}. {_hint(path)}"
            ) from None
    if hasattr(source, "read"):
        name = str(getattr(source, "name", "<file>"))
        content = read_limited(source, name)
        folder = Path(name).absolute().parent if os.path.exists(name) else None
        if isinstance(content, str):
            return Source(content.encode(), Path(name).name, folder, "utf-8")
        return Source(content, Path(name).name, folder, None)
    raise ScalarTypeError(
        f"load: source is a {type(source).__name__}, expected a path, text, bytes, an open file or a dictionary."
    )


def read_limited(file: IO[Any], name: str) -> Any:
    """All of an open file, bytes or text; one that does not end is refused."""
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise LoadError(
            f"load: {name} has more than {LARGEST >> 20} MiB, expected a robot file, which is far smaller. "
            f"Is it the right one?"
        )
    return content


def _require_file(path: Path) -> None:
    """Refuse devices, and pipes but those that a shell makes for ``<(command)``: reading them might never end."""
    mode = stat.S_IFMT(path.stat().st_mode)
    if mode not in _KINDS or (mode == stat.S_IFIFO and str(path).startswith(_OF_SHELLS)):
        return
    raise LoadError(f"load: {str(path)!r} is {_KINDS[mode]}, expected a regular file. Name the robot file.")


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
