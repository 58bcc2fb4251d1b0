"""Files written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """An open file beside ``path`` that takes its place when all is written, and vanishes if not. Raises OSError."""
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        with open(draft, "xb") as file:
            yield file
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_together(texts: Mapping[Path, str]) -> None:
    """Write each text to its path: all to temporary files beside them first, then each renamed. Raises OSError."""
    drafts = {path: path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp") for path in texts}
    try:
        for path, text in texts.items():
            drafts[path].write_text(text, encoding="utf-8", newline="\n")
        for path, draft in drafts.items():
            os.replace(draft, path)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
