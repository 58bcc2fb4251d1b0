"""Shared by the writers of robot files: names and numbers as XML attributes, and files written completely."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from sixd.atomic import write_together
from sixd.errors import ModelError
from sixd.model import Model
from sixd.model.model import require_model


def require_writable(where: str, model: Model, *, configurations: bool = False) -> None:
    """Raise unless it is a Model of numbers and XML can hold its names (and those of ``configurations``)."""
    require_model(where, model)
    model.require_numeric(where)
    for name in (model.name, *model.frames, *model.joint_names, *(model.configurations if configurations else ())):
        if not all(c.isprintable() for c in name):
            raise ModelError(f"{where}: the name {name!r} has a control character, which XML cannot hold. Rename it.")


def base_frame(model: Model) -> str | None:
    """Return the first frame on the world: its link gets the inertia fixed there; other readers drop the world's."""
    on_world = (name for name, f in model.frames.items() if not f.body and not name.startswith("joint:"))
    return next((name for name in on_world if name != "world"), None)


def write_text(text: str, path: str | os.PathLike[str] | None) -> str:
    """Return the text; with a ``path`` also write it there, completely or not at all."""
    if path is not None:
        write_together({Path(path): text}, f"cannot write {str(path)!r}")
    return text


def numbers(values: object) -> str:
    """Return numbers as a quoted attribute, with all their digits."""
    return quoteattr(" ".join(repr(float(x) + 0.0) for x in np.ravel(np.asarray(values, dtype=float))))


def quoteattr(text: str) -> str:
    """Return ``text`` as a quoted XML attribute. (Importing ``xml.sax.saxutils`` would load an HTTP client.)"""
    escapes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'
