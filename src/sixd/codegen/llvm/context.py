"""What compiled code knows of the process it runs in: the context, and where the fields of an array lie.

The context is a table of eight-byte words that compiled code reaches by a pointer, so that it links to nothing. It adds
to ``count`` when a result is suspect (not finite, or very large); the other words are addresses. The places of fields
are checked before code that uses them is run, by ``sixd.runtime.python_api.layout_is_known``.
"""

from __future__ import annotations

MATH = ("sin", "cos", "tan", "asin", "acos", "atan2", "exp", "log")  # of libm, for float64
PYTHON = (
    "array_type", "descr", "array_new", "array_return", "tuple_new", "tuple_set", "decref", "vectorcall", "fallback",
)  # fmt: skip
CONTEXT = ("count", *MATH, *PYTHON)

# memory [bytes]: a line of it, what a cache holds, and where in a line a large array begins as glibc makes it
LINE, CACHE, MALLOC = 64, 8 << 20, 16
# bytes from the start of an object of NumPy's array class
TYPE, DATA, NDIM, SHAPE, DESCR, FLAGS = 8, 16, 24, 32, 56, 64
PAYLOAD = 32  # of a bytes object, which holds the context of an entry
CONTIGUOUS_ALIGNED = 0x0001 | 0x0100
TYPE_NUMBER = {"float64": 12, "float32": 11}


def offset(name: str) -> int:
    """Where a word of the context lies [bytes]."""
    return 8 * CONTEXT.index(name)
