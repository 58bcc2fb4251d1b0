"""Drawing: a finished figure, as text, in notebooks and as a file. Knows nothing of mechanisms."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sixd.atomic import write_together
from sixd.errors import FileError

_OWN_FILE = 'style="color-scheme:light dark;color:CanvasText;background:Canvas"'


@dataclass(frozen=True)
class Drawing:
    """A figure of a mechanism. Alone in a notebook's cell it shows itself, in light and dark pages.

    ``svg`` is its text (an ``<svg>`` element without scripts, identifiers or outside fonts), ``width`` and ``height``
    its size [px]. Colours follow the page's text and background; the CSS variables ``--sixd-ink`` and ``--sixd-paper``
    set others. ``save`` writes it as a file that follows the reader's choice of light or dark.
    """

    svg: str
    width: int
    height: int
    title: str = ""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure to an SVG file, whole or not at all, and return its path."""
        if not isinstance(path, (str, os.PathLike)):
            raise FileError(f"save: path is {path!r}, expected the name of a file such as 'arm.svg'.")
        target = Path(path).expanduser()
        if target.is_dir() or not target.name:
            raise FileError(f"save: {str(path)!r} is a folder, expected the name of a file such as 'arm.svg'.")
        if target.suffix.lower() != ".svg":
            raise FileError(f"save: {str(path)!r} does not end in .svg, the only format. Name it {target.stem}.svg.")
        write_together({target: self._repr_svg_() + "\n"}, f"save: cannot write {str(path)!r}")
        return target

    def _repr_svg_(self) -> str:
        """The figure as a file of its own, on a background of its own."""
        return self.svg.replace("<svg ", f"<svg {_OWN_FILE} ", 1)

    def _repr_html_(self) -> str:
        """The figure inside a page, in the page's colours."""
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing of {self.title!r}: {self.width} × {self.height} px, {len(self.svg) / 1000:.0f} kB>"
