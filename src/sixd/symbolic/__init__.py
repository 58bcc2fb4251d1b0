"""Symbols: a polynomial ring with a normal form, and equations of motion in closed form as a textbook prints them."""

from sixd.symbolic.ring.normal_form import canonical
from sixd.symbolic.writing.latex_text import latex
