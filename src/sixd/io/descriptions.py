"""``robot_descriptions:NAME``: robots of the package robot_descriptions, which clones their files when first used."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple

from sixd.errors import LoadError, MissingPackageError, unknown_name

PREFIX = "robot_descriptions:"
_PACKAGE = "robot_descriptions"
_LONGEST_REASON = 300


class Description(NamedTuple):
    """The files of a description: the robot, the arguments of its xacro or None, and its packages' folders."""

    path: str
    arguments: Mapping[str, object] | None
    package_dirs: tuple[str, ...]


def find_description(source: str) -> Description:
    """Return the files of ``robot_descriptions:NAME``; the package clones them."""
    name = source.removeprefix(PREFIX).strip()
    if importlib.util.find_spec(_PACKAGE) is None:
        raise MissingPackageError(
            f"load: {source!r} needs the package robot_descriptions: pip install robot_descriptions. It clones the "
            f"robot's repository with Git when it is first used."
        )
    known = _names()
    if name not in known:
        raise LoadError(str(unknown_name("load", f"module of {_PACKAGE}", name, known)))
    try:
        module = importlib.import_module(f"{_PACKAGE}.{name}")
    except Exception as error:  # Git's and the network's errors are of many classes
        raise LoadError(_reason(name, error)) from None
    for attribute in ("URDF_PATH", "MJCF_PATH", "XACRO_PATH", "SDF_PATH"):
        path = getattr(module, attribute, None)
        if path is not None:
            arguments = getattr(module, "XACRO_ARGS", {}) if attribute == "XACRO_PATH" else None
            return Description(str(path), arguments, _package_dirs(module))
    raise LoadError(f"load: {source!r} has neither a URDF nor an MJCF nor a xacro file, expected one of them.")


def _names() -> list[str]:
    """Return the names of the descriptions without importing them, which would clone their files."""
    package = importlib.import_module(_PACKAGE)
    return [m.name for m in pkgutil.iter_modules(package.__path__) if m.name.endswith("_description")]


def _package_dirs(module: ModuleType) -> tuple[str, ...]:
    """Return the folders of the packages that the module's files name, and the folders that hold these."""
    paths = [getattr(module, key, None) for key in ("PACKAGE_PATH", "REPOSITORY_PATH")]
    paths += list(getattr(module, "XACRO_PACKAGE_PATHS", {}).values())
    return tuple(dict.fromkeys(str(p) for p in paths if p))


def _reason(name: str, error: Exception) -> str:
    """Return one sentence for an error of Git: the line that it marks as fatal, if there is one."""
    lines = [line.strip(" '\"") for line in str(getattr(error, "stderr", "") or error).splitlines()]
    telling = [line for line in lines if "fatal:" in line] or [line for line in lines if line] or [type(error).__name__]
    text = telling[0].partition("fatal:")[2].strip(" '\"") or telling[0]
    return (
        f"load: the files of {name!r} cannot be fetched: {text[:_LONGEST_REASON].rstrip('.')}. robot_descriptions "
        f"clones them with Git: it needs a network and Git, or a copy that it has cloned before."
    )
