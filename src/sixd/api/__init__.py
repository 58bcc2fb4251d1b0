"""The public functions: free functions of a system and arrays, each declared once."""

from sixd.api import manifold  # registers the methods integrate and difference of systems
