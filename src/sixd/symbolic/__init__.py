"""Symbolic mathematics: a polynomial ring with a normal form, and equations of motion in closed form."""

from sixd.symbolic.ring.ring import canonical
from sixd.symbolic.writing.latex import latex
