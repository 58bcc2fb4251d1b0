"""Symbolic mathematics: a polynomial ring with a normal form, and equations of motion in closed form."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sixd.symbolic.ring.normal_form import canonical
    from sixd.symbolic.writing.latex import latex
    from sixd.symbolic.writing.unicode_text import text

_MODULES = {"canonical": "ring.normal_form", "latex": "writing.latex", "text": "writing.unicode_text"}


def __getattr__(name: str) -> object:
    """Import a public function when it is first used."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"sixd.symbolic.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'sixd.symbolic' has no attribute {name!r}")
