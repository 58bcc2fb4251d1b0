"""What a file is that is not a robot description: the sentence that tells it, from its first bytes."""

from __future__ import annotations

from sixd.errors import LoadError

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
    b"\xff\xfe\0\0": "text in UTF-32. Save it as UTF-8.",
    b"\0\0\xfe\xff": "text in UTF-32. Save it as UTF-8.",
    b"<\0\0\0": "text in UTF-32. Save it as UTF-8.",
    b"\0\0\0<": "text in UTF-32. Save it as UTF-8.",
}
UTF16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
_EXPECTED = "expected URDF, MJCF or .mat."


def refuse_foreign(data: bytes, name: str) -> None:
    """Raise LoadError if the bytes are plainly no robot description, in a sentence that says what they are."""
    what = _foreign(data)
    if what:
        found, _, fix = what.partition(". ")
        raise LoadError(f"{name}: the file is {found}, {_EXPECTED} {fix}")


def _foreign(data: bytes) -> str | None:
    text = data.rstrip(b"\0\x1a \t\r\n")
    if not text:
        return "empty. Is it the right one?"
    for beginning, what in _BEGINNINGS.items():
        if data.startswith(beginning):
            return what
    head = data[:4000].lower()
    if (b"<!doctype html" in head or b"<html" in head) and b"<robot" not in head and b"<mujoco" not in head:
        return "an HTML page, such as a server's error message. Download the file itself (its raw form)."
    if _is_binary_stl(data) or (head.lstrip().startswith(b"solid") and b"facet" in head):
        return "a mesh (STL). Name the robot file that uses it."
    if b"\0" in text[:4000] and not text.startswith(UTF16):
        return "binary. Name the robot file."
    if b"<" not in data:
        return "no XML and no .mat file. Is it the right one?"
    return None


def _is_binary_stl(data: bytes) -> bool:
    return len(data) >= 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little")
