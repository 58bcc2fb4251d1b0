"""Symbols: a polynomial ring with a normal form, and equations of motion in closed form as a textbook prints them."""

from sixd.symbolic.ring.ring import canonical
from sixd.symbolic.writing.latex import latex
