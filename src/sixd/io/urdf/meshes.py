"""The file of a mesh that a URDF file names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlparse

# limits of the search for a mesh that is not at its path: parent folders of the robot file, and parts of the path
_FOLDERS_ABOVE = 8
_LONGEST = 8
# variables of the environment that hold folders of packages and models
_SEARCH_PATHS = ("ROS_PACKAGE_PATH", "SDF_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")


Folders = Iterable[str | os.PathLike[str]]


def find_mesh(name: str, package_dirs: Folders, folders: Sequence[Path] = ()) -> str:
    """Return the file of ``package://PACKAGE/PATH``, ``file://…`` or a path; the name itself if it is not found.

    ``folders`` are the robot file's own, the one that the user named first. Packages are searched in ``package_dirs``,
    in ROS_PACKAGE_PATH and Gazebo's paths, and in the folders above the robot file. If the file is not there (the
    package has another name, or the path comes from another machine), the ends of its path are tried in the robot's
    folder and those above it. Folders are never listed.
    """
    roots = package_roots(package_dirs, folders)
    if name.startswith(("package://", "model://")):
        package, _, rest = name.split("://", 1)[1].partition("/")
        inside = f"{package}/{rest}" if package else rest
        # made one at a time: the first or second one usually exists
        candidates = (b / end for b in roots for end in ((inside, rest) if b.name == package else (inside,)))
    else:
        rest = unquote(urlparse(name).path) if name.startswith("file://") else name
        candidates = (folder / rest for folder in folders or [Path()])
    path = next(filter(is_file, candidates), None) or next(filter(is_file, _elsewhere(rest, folders)), None)
    return name if path is None else str(path)


def _elsewhere(rest: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the ends of a path in each folder, the longest ends first.

    A bare file name is only tried in the robot's own folder, the one above, and their folders ``meshes``: farther away
    it could belong to another robot.
    """
    parts = [p for p in PurePosixPath(rest.replace("\\", "/")).parts if p not in ("/", "..", ".")][-_LONGEST:]
    if not parts:
        return
    near = [f for start in folders for f in [start, *start.parents][: _FOLDERS_ABOVE + 1] if f != f.parent]
    for k in range(len(parts) - 1):
        yield from (base.joinpath(*parts[k:]) for base in near)
    for base in [f for own in folders for f in (own, own.parent)]:
        yield from (base / parts[-1], base / "meshes" / parts[-1])


def is_file(path: Path) -> bool:
    """Whether a file is at the path; False for a path that cannot be one."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with a null byte
        return False


def package_roots(package_dirs: Folders, folders: Sequence[Path]) -> list[Path]:
    """Return the folders in which a package may be, in the order in which they are tried."""
    roots = [Path(d).expanduser() for d in package_dirs]
    roots += [Path(d) for name in _SEARCH_PATHS for d in os.environ.get(name, "").split(os.pathsep) if d]
    for own in folders:
        roots += [own, *own.parents]
    return roots
