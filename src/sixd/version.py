"""The version of sixd."""

__version__ = "0.1.0"
