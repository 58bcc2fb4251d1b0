"""Symbolic mathematics: a polynomial ring with a normal form, and equations of motion in closed form."""

from sixd.symbolic.ring.normal_form import canonical
from sixd.symbolic.writing.latex import latex
from sixd.symbolic.writing.unicode_text import text
