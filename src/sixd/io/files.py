"""Reading files: sources of any kind, and checks that they are robot files."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any, AnyStr, NamedTuple

from sixd import file_limits
from sixd.errors import LoadError, ScalarTypeError, suggestion

_LONGEST_NAME = 200  # of a path, in a message
_KINDS = {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
_OF_SHELLS = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")  # pipes that a shell makes for <(command)
# the first bytes of files that are not robot descriptions, with what they are and how to fix it
_BEGINNINGS: dict[bytes, str] = {
    b"\x1f\x8b": "compressed by gzip. Unpack it first (gunzip).",
    b"BZh": "compressed by bzip2. Unpack it first (bunzip2).",
    b"\xfd7zXZ\0": "compressed by xz. Unpack it first (unxz).",
    b"\x28\xb5\x2f\xfd": "compressed by zstd. Unpack it first (unzstd).",
    b"PK\x03\x04": "a zip archive. Unpack it, and name the robot file in it.",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive. Unpack it, and name the robot file in it.",
    b"\x7fELF": "a program (ELF). Name the robot file.",
    b"\x89PNG": "a picture (PNG). Name the robot file.",
    b"\xff\xd8\xff": "a picture (JPEG). Name the robot file.",
    b"%PDF": "a PDF document. Name the robot file.",
    b"glTF": "a mesh (binary glTF). Name the robot file that uses it.",
    b"\x89HDF": "an HDF5 file (MATLAB's v7.3, perhaps). Save a spatial_v2 model with -v7.",
    b"version https://git-lfs": "a Git LFS pointer, not the file itself. Fetch it with: git lfs pull.",
    **dict.fromkeys((b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"<\0\0\0", b"\0\0\0<"), "text in UTF-32. Save it as UTF-8."),
}
UTF16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
_EXPECTED = "expected URDF, SDF, MJCF or .mat."


class Source(NamedTuple):
    """A document: its bytes, its name in messages, the folder it comes from, and its encoding if known."""

    data: bytes
    name: str
    folder: Path | None
    encoding: str | None

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folder itself and, if it or the file is a symbolic link, the folders that the links point to."""
        if self.folder is None:
            return ()
        try:
            linked = self.folder.resolve(), (self.folder / self.name).resolve().parent
            return tuple(dict.fromkeys([self.folder, *linked]))
        except (OSError, RuntimeError, ValueError):
            return (self.folder,)


def read_source(source: str | bytes | os.PathLike[str] | IO[Any]) -> Source:
    """Return the document at a path or in an open file; text and bytes are the document itself."""
    if isinstance(source, (bytes, bytearray)):
        return Source(bytes(source), "<bytes>", None, None)
    if isinstance(source, str) and not source.strip():
        raise LoadError("load: the source is an empty string, expected a path or the text of a robot file.")
    if isinstance(source, str) and "<" in source:
        return Source(source.encode(), "<text>", None, "utf-8")
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        try:
            path = path.expanduser()
            _require_file(path)
            with open(path, "rb") as file:
                return Source(read_limited(file, path.name), path.name, path.absolute().parent, None)
        except LoadError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            name = str(source) if len(str(source)) <= _LONGEST_NAME else f"{str(source)[:_LONGEST_NAME]}…"
            raise LoadError(
                f"load: cannot read {name!r}: {getattr(error, 'strerror', None) or error}. {_hint(path)}"
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


def read_limited(file: IO[AnyStr], name: str) -> AnyStr:
    """Return the content of an open file, bytes or text; raises if it is larger than a robot file can be."""
    largest = file_limits.LARGEST_ROBOT_FILE
    content = file.read(largest + 1)
    if len(content) > largest:
        raise LoadError(
            f"load: {name} has more than {largest >> 20} MiB, expected a robot file, which is far smaller. "
            f"Is it the right one?"
        )
    return content


def _require_file(path: Path) -> None:
    """Raise for devices, and for pipes not made by a shell: reading them might never end."""
    mode = stat.S_IFMT(path.stat().st_mode)
    if mode not in _KINDS or (mode == stat.S_IFIFO and str(path).startswith(_OF_SHELLS)):
        return
    raise LoadError(f"load: {str(path)!r} is {_KINDS[mode]}, expected a regular file. Name the robot file.")


def _hint(path: Path) -> str:
    try:
        if path.is_dir():
            return "Name the file in that folder."
        near = sorted(p.name for p in path.parent.iterdir() if p.suffix in (".urdf", ".sdf", ".xacro", ".xml", ".mat"))
    except OSError:
        near = []
    there = f"In that folder: {', '.join(near[:5])}." if near else "Check the path."
    return suggestion(path.name, near, 0.7) or there


def refuse_foreign(data: bytes, name: str) -> None:
    """Raise a LoadError that says what the bytes are, if they are clearly not a robot description."""
    what = _foreign(data)
    if what:
        kind, _, fix = what.partition(". ")
        raise LoadError(f"{name}: the file is {kind}, {_EXPECTED} {fix}")


def _foreign(data: bytes) -> str | None:
    text = data.rstrip(b"\0\x1a \t\r\n")
    if not text:
        return "empty. Is it the right one?"
    for beginning, what in _BEGINNINGS.items():
        if data.startswith(beginning):
            return what
    head = data[:4000].lower()
    if (b"<!doctype html" in head or b"<html" in head) and not any(
        tag in head for tag in (b"<robot", b"<mujoco", b"<sdf")
    ):
        return "an HTML page, such as a server's error message. Download the file itself (its raw form)."
    is_binary_stl = len(data) == 84 + 50 * int.from_bytes(data[80:84], "little")
    if is_binary_stl or (head.lstrip().startswith(b"solid") and b"facet" in head):
        return "a mesh (STL). Name the robot file that uses it."
    if b"\0" in text[:4000] and not text.startswith(UTF16):
        return "binary. Name the robot file."
    return "neither XML nor a .mat file. Is it the right one?" if b"<" not in data else None


def claimed_name(name: str, used: set[str]) -> str:
    """Return ``unused_name``, and add it to ``used``."""
    name = unused_name(name, used)
    used.add(name)
    return name


def unused_name(name: str, used: Collection[str]) -> str:
    """Return ``name``, with underscores appended until it is not among ``used``."""
    while name in used:
        name += "_"
    return name
