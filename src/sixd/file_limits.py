"""Limits of what a file may cost: bytes that are read and unpacked, time and memory of xacro.

All numbers are here. A file beyond one of them is refused with a sentence, before it fills the memory of the machine.
"""

from __future__ import annotations

import os

MIB = 1 << 20
LARGEST_ROBOT_FILE = 256 * MIB  # bytes; the largest known, MJCF with inline meshes, have some 50 million
LARGEST_MESH = 64 * MIB  # bytes: 1.3 million triangles of STL, which took 1.3 GB; the largest known has 29 million
LARGEST_MESHES = 1024 * MIB  # bytes of all meshes of a model as they are drawn, before they are simplified
# an archive may unpack to so many bytes plus so many times its own
UNPACKED_ROOM, UNPACKED_RATIO = 256 * MIB, 100
XACRO_SECONDS = 60.0  # each of rtb-data's 60 files needs less than 1
XACRO_MEMORY = 2048 * MIB  # bytes of address space, where the system can limit it

_ZIPPED_MESHES = (".3mf", ".zae")  # formats that are archives themselves
_POINTER = b"version https://git-lfs"
_ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf")


def excess(packed: int, unpacked: int) -> str | None:
    """Return why an archive is not unpacked, or None; sizes are in bytes."""
    if unpacked <= UNPACKED_ROOM + UNPACKED_RATIO * packed:
        return None
    sizes = f"from {packed / 1e6:.3g} MB to {unpacked / 1e6:.3g} MB"
    return f"unpacks {sizes}, expected at most {UNPACKED_RATIO} times as much"


def mesh_problem(file: str | os.PathLike[str]) -> str | None:
    """Return why a mesh file is not read, or None: too large, an archive, a Git LFS pointer, or not to be opened."""
    import zipfile  # 9 ms, which most programs do not need

    if not os.path.isfile(file):  # a pipe or a device might never end
        return "there is no such file"
    try:
        size = os.stat(file).st_size
        with open(file, "rb") as opened:
            start = opened.read(len(_POINTER))
            if start == _POINTER:
                return "it is a Git LFS pointer, not the mesh itself. Fetch it with: git lfs pull"
            if start.startswith(_ARCHIVES):
                if not os.fspath(file).lower().endswith(_ZIPPED_MESHES):
                    return "it is an archive, expected a mesh such as STL, OBJ or DAE. Unpack it"
                with zipfile.ZipFile(opened) as archive:
                    size = sum(member.file_size for member in archive.infolist())
    except (OSError, zipfile.BadZipFile) as error:
        return f"{getattr(error, 'strerror', None) or error}"
    if size <= LARGEST_MESH:
        return None
    return f"it has {size >> 20} MiB, expected at most {LARGEST_MESH >> 20} MiB. Simplify the mesh"
