"""The architectures of GPUs for which PTX is made.

LLVM ends the process on a PTX version that does not fit an architecture, and accepts unknown names silently. So a name
is looked up here before LLVM sees it, and LLVM chooses the PTX version itself: the oldest that fits.

PTX of an architecture runs on every later one: the driver compiles it for the card.
"""

from __future__ import annotations

import re

from sixd.errors import UnknownNameError, unknown_name

# cards, from the oldest to the newest: architecture, and the newest up to it that every LLVM from version 20 on knows
ARCHITECTURES = {
    "sm_75": "sm_75", "sm_80": "sm_80", "sm_86": "sm_86", "sm_87": "sm_87", "sm_88": "sm_87", "sm_89": "sm_89",
    "sm_90": "sm_90", "sm_100": "sm_100", "sm_103": "sm_100", "sm_110": "sm_100", "sm_120": "sm_120",
    "sm_121": "sm_120",
}  # fmt: skip


def check_architecture(where: str, name: object) -> str:
    """The architecture for which PTX is made if ``name`` is requested; for newer names that of the newest known."""
    match = re.fullmatch(r"sm_([0-9]{2,3})", name) if isinstance(name, str) else None
    oldest, newest = next(iter(ARCHITECTURES)), list(ARCHITECTURES)[-1]
    if match is None:
        raise unknown_name(f"{where}: arch", "architecture", name, ARCHITECTURES)
    if int(match[1]) > _number(newest):
        return ARCHITECTURES[newest]
    if int(match[1]) < _number(oldest):
        raise UnknownNameError(
            f"{where}: arch is {name!r}, expected {oldest!r} or newer: {', '.join(ARCHITECTURES)}. For older cards use "
            f"target='cpu'."
        )
    if match[0] not in ARCHITECTURES:
        raise unknown_name(f"{where}: arch", "architecture", name, ARCHITECTURES)
    return ARCHITECTURES[match[0]]


def architecture_of(where: str, major: int, minor: int) -> str:
    """The architecture for which PTX is made for a card of that compute capability."""
    known = [name for name in ARCHITECTURES if _number(name) <= 10 * major + minor]
    return ARCHITECTURES[known[-1]] if known else check_architecture(where, f"sm_{10 * major + minor}")


def _number(name: str) -> int:
    return int(name.removeprefix("sm_"))
