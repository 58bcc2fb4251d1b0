"""xacro: expanded by the package xacrodoc in a process of its own.

A xacro file is a program, so it is expanded only if the caller trusts it. Packages in ``$(find NAME)`` are searched
like those of meshes; xacrodoc's own memory of packages is neither used nor changed. ``sixd.file_limits`` has the
limits.
"""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sixd import file_limits
from sixd.errors import LoadError, MissingPackageError, ScalarTypeError, unknown_name
from sixd.io.files import Source
from sixd.io.urdf.meshes import is_file, package_roots
from sixd.io.urdf.spelling import find_xacro
from sixd.io.xml import Element, parse

_ARGUMENT = re.compile(r"""<xacro:arg\s[^>]*?name\s*=\s*["']([^"']*)["']|\$\(arg\s+([^)\s]+)\s*\)""")
_NOT_FOUND = re.compile(r"Package not found: (\S+)")
_LONGEST_REASON = 300  # characters of xacro's message that are repeated
# the new process imports modules from where this one does, not from the working folder
_START = "import sys; sys.path[:] = sys.argv[2:]; exec(sys.argv[1])"


def is_xacro(source: Source, root: Element, arguments: Mapping[str, object] | None) -> bool:
    """Whether a robot's document is xacro; raises if there are arguments and it is not."""
    xacro = source.name.endswith(".xacro") or (root.tag in ("robot", "sdf") and find_xacro(root) is not None)
    if arguments is not None and not xacro:
        raise LoadError(
            f"load: arguments were passed, but {source.name} is not xacro and depends on none of them. Leave them out."
        )
    return xacro


def expand(
    source: Source,
    arguments: Mapping[str, object] | None,
    package_dirs: Iterable[str | os.PathLike[str]],
    *,
    trust: bool,
    all_known: bool,
) -> Source:
    """Return the expanded document, in the folder of the xacro file; ``all_known`` refuses unknown arguments."""
    if not trust:
        raise LoadError(
            f"load: {source.name} is xacro and trust is False, expected True: a xacro file is a program, whose Python "
            f"expressions can do anything that your account may do. If you trust its author: sixd.load(…, trust=True), "
            f"or --trust in a shell. Or expand it where it can do no harm: xacro robot.urdf.xacro > robot.urdf."
        )
    if any(importlib.util.find_spec(name) is None for name in ("xacro", "xacrodoc")):
        raise MissingPackageError(
            f"load: {source.name} is xacro, which needs the package xacrodoc: pip install xacrodoc. "
            f"Or expand it first: xacro robot.urdf.xacro > robot.urdf."
        )
    values = _values(arguments or {})
    text = source.data.decode("utf-8-sig", "replace")
    path = None if source.folder is None else str(source.folder / source.name)
    roots = [(str(base), _package_name(base)) for base in package_roots(package_dirs, source.folders)]
    reply = _answer(source, {"text": text, "path": path, "arguments": values, "roots": roots})
    if "error" in reply:
        raise LoadError(_reason(source, **reply))
    if all_known:
        _check_names(source, text, reply["includes"], values)
    return source._replace(data=reply["expanded"].encode(), encoding="utf-8")


def _answer(source: Source, request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply of the process that expands a file; raises if a limit stops it or it ends without a reply."""
    import json  # this import and the next take 7 ms, which other files do not need
    import subprocess

    seconds, memory = file_limits.XACRO_SECONDS, file_limits.XACRO_MEMORY
    program = (pkgutil.get_data("sixd.io", "xacro_process.py") or b"").decode()
    asked = json.dumps({**request, "seconds": seconds, "memory": memory})
    command = [sys.executable, "-c", _START, program, *map(str, sys.path)]
    try:
        done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, timeout=seconds, text=True)
    except subprocess.TimeoutExpired:
        raise LoadError(_stopped(source, f"it takes more than {seconds:g} s")) from None
    except OSError as error:
        raise LoadError(_stopped(source, f"no process can be started: {error.strerror or error}")) from None
    try:
        reply: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise LoadError(_stopped(source, f"its process ended with status {done.returncode}")) from None
    if "MemoryError" in reply.get("kinds", ()):
        raise LoadError(_stopped(source, f"it takes more than {memory >> 20} MiB of memory"))
    return reply


def _stopped(source: Source, reason: str) -> str:
    return f"{source.name}: xacro cannot expand the file: {reason}. Do its macros, loops or lists grow without end?"


def _values(arguments: Mapping[str, object]) -> dict[str, str]:
    """Return the arguments as text, the form that xacro expects."""
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        raise ScalarTypeError(f"load: arguments is {arguments!r}, expected a mapping such as {{'prefix': 'left_'}}.")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in arguments.items()}


def _check_names(source: Source, text: str, includes: list[str], values: Mapping[str, str]) -> None:
    """Raise for an argument that no file declares or uses, which xacro would ignore."""
    if not values:
        return
    texts = [text, *(Path(name).read_text("utf-8", "replace") for name in includes if is_file(Path(name)))]
    known = {declared or used for t in texts for declared, used in _ARGUMENT.findall(t)}
    for name in values:
        if name not in known:
            raise LoadError(str(unknown_name(f"{source.name}: arguments", "xacro argument", name, sorted(known))))


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


def _reason(source: Source, error: str, kinds: list[str], inside: str) -> str:
    """Return the message for an error of xacro, with the file in which it happened."""
    text = " ".join(error.split()) or kinds[0]
    missing = _NOT_FOUND.search(text)
    if missing:
        text = f"the package {missing.group(1)!r} is not found; pass package_dirs=…, the folders of the packages"
    elif "RecursionError" in kinds:
        text = "its macros or includes call each other without end"
    text = text.partition(" [Errno")[0]  # the rest repeats it
    other = f", in {Path(inside).name}" if inside and Path(inside).name != source.name else ""
    return f"{source.name}: xacro cannot expand the file{other}: {text[:_LONGEST_REASON].rstrip('.')}."
