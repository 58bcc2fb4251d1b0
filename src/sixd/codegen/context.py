"""The context: a table of eight-byte words that compiled code reaches by a pointer, so that it links to nothing.

Compiled code adds to ``count`` when a result is suspect (not finite, or very large); the others are addresses.
"""

from __future__ import annotations

MATH = ("sin", "cos", "tan", "asin", "acos", "atan2", "exp", "log")  # of libm, for float64
PYTHON = ("array_type", "descr", "none", "array_new", "tuple_new", "tuple_set", "incref", "decref")
CONTEXT = ("count", *MATH, *PYTHON)


def offset(name: str) -> int:
    """Where a word of the context lies [bytes]."""
    return 8 * CONTEXT.index(name)
