"""Where a mesh named in a robot file lies on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlparse

_FOLDERS_ABOVE = 8  # of the robot file that are looked through for a mesh whose package or path is not there

_LONGEST = 8  # parts of its path that are tried


def find_mesh(name: str, package_dirs: Iterable[str | os.PathLike[str]], folders: Sequence[Path] = ()) -> str:
    """The file behind ``package://PACKAGE/PATH``, ``file://…`` or a path; the name itself if it is not found.

    ``folders`` are the robot file's own, the one that was named first. Packages are looked for in ``package_dirs``, in
    ROS_PACKAGE_PATH, and in the folders above the robot file. What is not there, since the package has another name on
    this machine or the path was another one's, is looked for by the ends of its path in the robot's folder and those
    above it: single places are asked for, no folder is searched.
    """
    roots = _package_roots(package_dirs, folders)
    if name.startswith(("package://", "model://")):
        package, _, rest = name.split("://", 1)[1].partition("/")
        places = [(base / package / rest, *([base / rest] if base.name == package else [])) for base in roots]
        candidates = [path for pair in places for path in pair]
    else:
        rest = unquote(urlparse(name).path) if name.startswith("file://") else name
        candidates = [folder / rest for folder in folders] or [Path(rest)]
    found = next(filter(_is_file, candidates), None) or next(filter(_is_file, _elsewhere(rest, folders)), None)
    return name if found is None else str(found)


def _elsewhere(rest: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Places for a path that is not where it should be: each of its ends in each folder, the longest ends first.

    A bare file name is looked for in the robot's own folder, in the one above, and in a folder of meshes there: farther
    away it might be the part of another robot.
    """
    parts = [p for p in PurePosixPath(rest.replace("\\", "/")).parts if p not in ("/", "..", ".")][-_LONGEST:]
    if not parts:
        return
    near = [f for start in folders for f in [start, *start.parents][: _FOLDERS_ABOVE + 1] if f != f.parent]
    for k in range(len(parts) - 1):
        yield from (base.joinpath(*parts[k:]) for base in near)
    for base in [f for own in folders for f in (own, own.parent)]:
        yield from (base / parts[-1], base / "meshes" / parts[-1])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with a null byte
        return False


def _package_roots(package_dirs: Iterable[str | os.PathLike[str]], folders: Sequence[Path]) -> list[Path]:
    roots = [Path(d).expanduser() for d in package_dirs]
    roots += [Path(d) for d in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if d]
    for own in folders:
        roots += [own, *own.parents]
    return roots
