"""What a compiled MuJoCo model calls its bodies and joints; it is read as an object, MuJoCo is not imported."""

from __future__ import annotations

from typing import Any

from sixd.io.files import unused

FREE, BALL, SLIDE, HINGE = range(4)  # MuJoCo's mjtJoint


def written_names(compiled: Any, kind: str) -> list[str]:
    """Names of a compiled model's things of a ``kind`` ("body", "jnt", "site"), as written; "" where there is none."""
    buffer = bytes(compiled.names)
    starts = [int(k) for k in getattr(compiled, f"name_{kind}adr")]
    return [buffer[k : buffer.index(b"\0", k)].decode(errors="replace") for k in starts]


def invented_names(compiled: Any, kind: str, stem: str) -> list[str]:
    """The same, where an unnamed one is called STEM and its number."""
    names = written_names(compiled, kind)
    taken = set(names)
    for k, name in enumerate(names):
        if not name:
            names[k] = unused(f"{stem}{k}", taken)
            taken.add(names[k])
    return names
