"""A program: expands one xacro file in a process of its own. It imports xacrodoc and nothing of sixd.

Its standard input is a request in JSON, its standard output a reply: ``{"expanded": text, "includes": files}``, or
``{"error": text, "kinds": classes, "inside": file}``. ``xacro_files`` starts it, by its text.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any


def limit(seconds: float, memory: int) -> None:
    """Limit CPU time [s] and address space [bytes], where the system can."""
    try:
        import resource
    except ImportError:  # Windows: the process that waits for this one limits the time
        return
    for kind, most in ((resource.RLIMIT_CPU, int(seconds) + 1), (resource.RLIMIT_AS, memory)):
        try:
            _, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
        except (ValueError, OSError):  # macOS refuses limits of address space
            continue


def find_package(name: str, roots: list[tuple[str, str | None]], otherwise: Callable[[str], object]) -> str:
    """Return the folder of a package; ``roots`` are folders, each with the name in its ``package.xml`` or None."""
    for base, manifest in roots:
        if os.path.isdir(os.path.join(base, name)):
            return os.path.join(base, name)
        if name in (os.path.basename(base), manifest):
            return base
    return str(otherwise(name))


def expand(request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a request."""
    import xacro
    import xacrodoc

    otherwise = xacrodoc.packages.get_path
    xacrodoc.packages.get_path = lambda name: find_package(name, request["roots"], otherwise)
    try:
        xacro.init_stacks(request["path"])
        read = len(xacro.all_includes)
        document = xacrodoc.XacroDoc.from_string(request["text"], subargs=request["arguments"], resolve_packages=False)
        return {"expanded": document.dom.toxml(), "includes": list(map(str, xacro.all_includes[read:]))}
    except Exception as error:  # expressions of the file may raise anything
        stack = [str(name) for name in xacro.filestack or [] if name]
        return {"error": str(error), "kinds": kinds(error), "inside": stack[-1] if stack else ""}


def kinds(error: BaseException | None) -> list[str]:
    """Return the names of the classes of an error and of its causes, which xacro keeps as ``exc``."""
    names: list[str] = []
    while error is not None and len(names) < 20:
        names.append(type(error).__name__)
        error = getattr(error, "exc", None) or error.__cause__ or error.__context__
    return names


def main() -> None:
    """Answer the request on standard input; output of xacro and of the file goes to standard error."""
    answers = os.dup(1)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is reported by the process that waits
    request = json.load(sys.stdin)
    limit(request["seconds"], request["memory"])
    try:
        reply = json.dumps(expand(request))
    except MemoryError:
        reply = json.dumps({"error": "", "kinds": ["MemoryError"], "inside": ""})
    with os.fdopen(answers, "w", encoding="ascii") as file:
        file.write(reply)


if __name__ == "__main__":
    main()
