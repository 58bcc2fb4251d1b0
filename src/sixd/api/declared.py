"""``LIBRARY`` of the engine with all functions: importing the other modules of this package declares them."""

# in the order of lists of functions
from sixd.api import manifold, dynamics, frames, derivatives, bodies, constraints  # noqa: F401  # isort: skip
from sixd.engine.functions import LIBRARY

__all__ = ["LIBRARY"]
