"""What users call: free functions of a system and arrays, each declared once."""

from sixd.api import manifold  # what systems have as methods
