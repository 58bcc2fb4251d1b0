"""Symbols: a polynomial ring with a normal form, and equations of motion in closed form as a textbook prints them."""

from sixd.symbolic.printing import latex
from sixd.symbolic.ring import canonical
