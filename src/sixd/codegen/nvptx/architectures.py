"""The architectures of GPUs for which PTX is made.

LLVM ends the process on a PTX version that does not fit an architecture, and takes unknown names without a word. So a
name is looked up here before LLVM sees it, and no PTX version is ever given: LLVM takes the oldest that fits.

PTX of an architecture runs on every later one: the driver compiles it for the card.
"""

from __future__ import annotations

import re

from sixd.errors import UnknownNameError, unknown_name

# from the oldest to the newest that both LLVM and the assembler of CUDA 13 know, as (major, minor)
ARCHITECTURES = {
    f"sm_{major}{minor}": (major, minor)
    for major, minor in ((7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (12, 0), (12, 1))
}
OLDEST, NEWEST = next(iter(ARCHITECTURES)), list(ARCHITECTURES)[-1]


def check_architecture(where: str, name: object) -> str:
    """The architecture for which PTX is made if ``name`` is asked for: that, or the newest known if it is newer."""
    match = re.fullmatch(r"sm_(\d+)(\d)", name) if isinstance(name, str) else None
    if match is None or not match[0].isascii():
        raise unknown_name(f"{where}: arch", "architecture", name, ARCHITECTURES)
    version = int(match[1]), int(match[2])
    if version > ARCHITECTURES[NEWEST]:
        return NEWEST
    if version < ARCHITECTURES[OLDEST]:
        raise UnknownNameError(
            f"{where}: arch is {name!r}, expected {OLDEST!r} or newer: {', '.join(ARCHITECTURES)}. Older cards are not "
            f"supported; use target='cpu'."
        )
    if match[0] not in ARCHITECTURES:
        raise unknown_name(f"{where}: arch", "architecture", name, ARCHITECTURES)
    return match[0]


def architecture_of(where: str, major: int, minor: int) -> str:
    """The newest known architecture whose PTX a card of that compute capability runs."""
    known = [name for name, version in ARCHITECTURES.items() if version <= (major, minor)]
    return known[-1] if known else check_architecture(where, f"sm_{major}{minor}")
