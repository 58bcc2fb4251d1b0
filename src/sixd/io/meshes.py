"""Where a mesh named in a robot file lies on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlparse


def find_mesh(name: str, package_dirs: Iterable[str | os.PathLike[str]], folder: Path | None) -> str:
    """The file behind ``package://PACKAGE/PATH``, ``file://…`` or a path; the name itself if it is not found.

    Packages are looked for in ``package_dirs``, in ROS_PACKAGE_PATH, and in the folders above the robot file.
    """
    if name.startswith(("package://", "model://")):
        package, _, rest = name.split("://", 1)[1].partition("/")
        for base in _package_roots(package_dirs, folder):
            for candidate in (base / package / rest, base / rest if base.name == package else None):
                if candidate is not None and _is_file(candidate):
                    return str(candidate)
        return name
    path = Path(unquote(urlparse(name).path)) if name.startswith("file://") else Path(name)
    if not path.is_absolute() and folder is not None:
        path = folder / path
    return str(path) if _is_file(path) else name


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with a null byte
        return False


def _package_roots(package_dirs: Iterable[str | os.PathLike[str]], folder: Path | None) -> list[Path]:
    roots = [Path(d).expanduser() for d in package_dirs]
    roots += [Path(d) for d in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if d]
    if folder is not None:
        roots += [folder, *folder.parents]
    return roots
