"""Drawings of mechanisms as figures in a textbook: SVG made from the model."""

from sixd.drawing.drawing import Drawing
from sixd.drawing.figure import draw

__all__ = ["Drawing", "draw"]
