"""xacro: expanded by the package xacrodoc, whose result is read as any other text.

xacro evaluates expressions of the file, so only files named ``….xacro``, or loaded with ``arguments=``, are expanded.
Packages in ``$(find NAME)`` are searched as those of meshes are, and nothing that xacrodoc remembers is used or kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sixd.errors import LoadError, MissingPackageError, ScalarTypeError, unknown_name
from sixd.io.files import Source
from sixd.io.urdf.meshes import is_file, package_roots
from sixd.io.urdf.spelling import find_xacro
from sixd.io.xml import Element, parse
from sixd.locks import Lock

_LOCK = Lock()  # xacro keeps its state in its module
_ARGUMENT = re.compile(r"""<xacro:arg\s[^>]*?name\s*=\s*["']([^"']*)["']|\$\(arg\s+([^)\s]+)\s*\)""")
_NOT_FOUND = re.compile(r"Package not found: (\S+)")
_LONGEST_REASON = 300  # characters of xacro's message that are repeated


def wants_xacro(source: Source, root: Element, arguments: Mapping[str, Any] | None) -> bool:
    """Whether a document is to be expanded; raises if there are arguments and it is not xacro."""
    if source.name.endswith(".xacro"):
        return True
    if arguments is not None and find_xacro(root) is None:
        raise LoadError(
            f"load: arguments are given, but {source.name} is not xacro: nothing in it depends on them. Leave them out."
        )
    return arguments is not None


def expand(
    source: Source,
    arguments: Mapping[str, Any] | None,
    package_dirs: Iterable[str | os.PathLike[str]],
    *,
    all_known: bool,
) -> Source:
    """Return the expanded document, in the folder of the xacro file; ``all_known`` refuses unknown arguments."""
    xacrodoc, xacro = _import(source)
    values = _values(arguments or {})
    text = source.data.decode("utf-8-sig", "replace")
    path = None if source.folder is None else source.folder / source.name
    with _LOCK:
        kept = xacrodoc.packages.get_path
        xacrodoc.packages.get_path = _finder(list(package_dirs), source.folders, kept)
        try:
            xacro.init_stacks(None if path is None else str(path))
            read = len(xacro.all_includes)
            document = xacrodoc.XacroDoc.from_string(text, subargs=dict(values), resolve_packages=False)
            expanded = document.dom.toxml("utf-8")
            if all_known:
                _check_names(source, text, xacro.all_includes[read:], values)
        except LoadError:
            raise
        except Exception as error:  # xacro evaluates expressions of the file, which may raise anything
            raise LoadError(_reason(source, xacro, error)) from None
        finally:
            xacrodoc.packages.get_path = kept
    return source._replace(data=expanded, encoding="utf-8")


def _import(source: Source) -> tuple[Any, Any]:
    try:
        import xacro
        import xacrodoc
    except ImportError:
        raise MissingPackageError(
            f"load: {source.name} is xacro, which needs the package xacrodoc: pip install 'sixd[xacro]' (or pip "
            f"install xacrodoc). Or expand it first: xacro robot.urdf.xacro > robot.urdf."
        ) from None
    return xacrodoc, xacro


def _values(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments as xacro takes them: as texts."""
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        raise ScalarTypeError(f"load: arguments is {arguments!r}, expected a mapping such as {{'prefix': 'left_'}}.")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in arguments.items()}


def _check_names(source: Source, text: str, includes: list[str], values: Mapping[str, str]) -> None:
    """Raise if there is an argument that no file declares or uses: xacro would ignore it."""
    if not values:
        return
    texts = [text, *(Path(name).read_text("utf-8", "replace") for name in includes if is_file(Path(name)))]
    known = {declared or used for t in texts for declared, used in _ARGUMENT.findall(t)}
    for name in values:
        if name not in known:
            raise LoadError(str(unknown_name(f"{source.name}: arguments", "xacro argument", name, sorted(known))))


def _finder(
    package_dirs: list[str | os.PathLike[str]], folders: tuple[Path, ...], otherwise: Callable[[str], str]
) -> Callable[[str], str]:
    """Return the function that finds the folder of a package."""

    def find(name: str) -> str:
        for base in package_roots(package_dirs, folders):
            if (base / name).is_dir():
                return str(base / name)
            if base.name == name or _package_name(base) == name:
                return str(base)
        return otherwise(name)

    return find


def _package_name(folder: Path) -> str | None:
    """Return the name in a folder's ``package.xml``, if it has one."""
    manifest = folder / "package.xml"
    if not is_file(manifest):
        return None
    try:
        name = parse(manifest.read_bytes(), manifest.name).find("name")
    except (LoadError, OSError):
        return None
    return None if name is None else name.content


def _reason(source: Source, xacro: Any, error: Exception) -> str:
    """Return the message for an error of xacro, with the file in which it occurred."""
    text = " ".join(str(error).split()) or type(error).__name__
    missing = _NOT_FOUND.search(text)
    if missing:
        text = f"the package {missing.group(1)!r} is not found; give package_dirs=…, the folders that packages are in"
    elif isinstance(error, RecursionError):
        text = "its macros or includes call each other without end"
    text = text.partition(" [Errno")[0]  # which repeats what is before it
    stack = [Path(name).name for name in xacro.filestack or [] if name]
    inside = f", in {stack[-1]}" if stack and stack[-1] != source.name else ""
    return f"{source.name}: xacro cannot expand the file{inside}: {text[:_LONGEST_REASON].rstrip('.')}."
