"""Files written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """An open file beside ``path`` that takes its place when all is written, and vanishes if not. Raises OSError."""
    path, draft = _beside(path)
    try:
        with open(draft, "xb") as file:
            yield file
        _take_place(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_together(texts: Mapping[Path, str]) -> None:
    """Write each text to its path: all to temporary files beside them first, then each renamed. Raises OSError."""
    places = [(*_beside(path), text) for path, text in texts.items()]
    try:
        for _, draft, text in places:
            draft.write_text(text, encoding="utf-8", newline="\n")
        for path, draft, _ in places:
            _take_place(draft, path)
    finally:
        for _, draft, _ in places:
            draft.unlink(missing_ok=True)


def _beside(path: Path) -> tuple[Path, Path]:
    """The file that is meant, behind links, and a draft beside it."""
    path = Path(os.path.realpath(path))
    return path, path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")


def _take_place(draft: Path, path: Path) -> None:
    """Rename the draft; a file that was there leaves its permissions. A device or a pipe is written to, and stays."""
    if path.exists() and not path.is_file():
        with open(draft, "rb") as source, open(path, "wb") as sink:
            shutil.copyfileobj(source, sink)
        return
    if path.exists():
        shutil.copymode(path, draft)
    os.replace(draft, path)
